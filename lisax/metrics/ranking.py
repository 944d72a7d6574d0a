"""Ranking measures, computed by ir-measures wherever it defines them (so they equal trec_eval's).

There are two kinds of recall, because a claim needs a *complete* set of evidence and qrels know only single units:

- with qrels, `recall@k` is trec_eval's: the share of relevant units among the first k;
- with claims (`sentence_selection`), `recall@k` is LisT5's, FEVER's evidence recall: the share of claims with some gold
  set completely among the first k, an upper bound of the FEVER score on claims that need evidence; trec_eval's is also
  reported, as `unit_recall@k`.

`precision@5` divides by 5 (trec_eval's P_5), and `map@5` by the number of relevant units (map_cut_5), which for claims
are the units of all gold sets. `f1@5` is the mean over claims of each claim's own F1. LisT5's Table 2 must use the
same, for its 37.17 is not the harmonic mean (39.99) of its 25.66 and 90.54; that one is `f1_of_means@5`. Claims without
gold evidence (NOT ENOUGH INFO) are left out.

A run is ordered by decreasing score, as in trec_eval, but units of equal score keep the order of their ranks, where
trec_eval would take the later id first: saturated scores do not reorder the selection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lisax.errors import DataError
from lisax.records import Claim, Hit

CUTOFFS = (1, 3, 5, 10, 20, 50, 100, 200)
DEPTH = 5  # LisT5's L

Qrels = Mapping[str, Mapping[str, int]]


def qrels_of(claims: Iterable[Claim]) -> dict[str, dict[str, int]]:
    """All gold units of each claim with evidence, with relevance 1."""
    return {claim.id: dict.fromkeys(claim.gold_ids, 1) for claim in claims if claim.gold_ids}


def ordered_ids(hits: Sequence[Hit]) -> list[str]:
    """Ids by decreasing score, equal scores by rank."""
    return [hit.id for hit in sorted(hits, key=lambda hit: (-hit.score, hit.rank))]


def trec_measures(qrels: Qrels, run: Mapping[str, Sequence[Hit]], cutoffs: Sequence[int] = CUTOFFS) -> dict[str, float]:
    """`precision@5`, `map@5`, `ndcg@10`, `mrr`, `recall@k`: means over the queries of `qrels` with a relevant unit. A
    query missing in the run scores 0; a query without judgements is left out."""
    from ir_measures import AP, RR, P, R, nDCG

    named = {f"precision@{DEPTH}": P @ DEPTH, f"map@{DEPTH}": AP @ DEPTH, "ndcg@10": nDCG @ 10, "mrr": RR}
    return _measured(named | {f"recall@{k}": R @ k for k in cutoffs}, qrels, run)


def table_measures(qrels: Qrels, run: Mapping[str, Sequence[Hit]]) -> dict[str, float]:
    """CLTR's table 2 (`precision@5`, `precision@10`, `ndcg@5`, `ndcg@10`, `ndcg@20`, `map`), and `success@k`, the share
    of queries with a relevant unit among the first k. Queries count as in `trec_measures`."""
    from ir_measures import AP, P, Success, nDCG

    named = {f"precision@{k}": P @ k for k in (5, 10)} | {f"ndcg@{k}": nDCG @ k for k in (5, 10, 20)} | {"map": AP}
    return _measured(named | {f"success@{k}": Success @ k for k in (1, 5, 10)}, qrels, run)


def query_scores(qrels: Qrels, run: Mapping[str, Sequence[Hit]]) -> dict[str, dict[str, float]]:
    """`map`, `mrr` and `hit@1` of each query, whose means are those of `table_measures` and `answer_measures`."""
    from ir_measures import AP, RR, Success, iter_calc

    names = {AP: "map", RR: "mrr", Success @ 1: "hit@1"}
    judged, ranked = _judged(qrels, run)
    scores = {name: dict.fromkeys(judged, 0.0) for name in names.values()}  # of a query that found nothing, too
    for metric in iter_calc(list(names), judged, ranked):
        scores[names[metric.measure]][metric.query_id] = float(metric.value)
    return scores


def answer_measures(qrels: Qrels, run: Mapping[str, Sequence[Hit]]) -> dict[str, float]:
    """CLTR's table 3: `mrr` of the first right answer, and `hit@1`. Queries count as in `trec_measures`."""
    from ir_measures import RR, Success

    return _measured({"mrr": RR, "hit@1": Success @ 1}, qrels, run)


def _measured(named: Mapping[str, Any], qrels: Qrels, run: Mapping[str, Sequence[Hit]]) -> dict[str, float]:
    from ir_measures import calc_aggregate

    values = calc_aggregate(list(named.values()), *_judged(qrels, run))
    return {name: float(values[measure]) for name, measure in named.items()}


def _judged(
    qrels: Qrels, run: Mapping[str, Sequence[Hit]]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """The queries of `qrels` with a relevant unit, and their hits with scores that fall by 1 from rank to rank."""
    judged = {query: dict(units) for query, units in qrels.items() if any(r > 0 for r in units.values())}
    if not judged:
        raise DataError("there is nothing relevant to find: no query has a relevant unit")
    # Scores that decrease with rank give trec_eval our order, without ties. As float32, which pytrec_eval uses,
    # negative ranks are exact up to 16 million.
    orders = {query: ordered_ids(run.get(query, ())) for query in judged}
    return judged, {query: {unit: -float(i) for i, unit in enumerate(ids)} for query, ids in orders.items()}


def complete_recall(
    claims: Iterable[Claim], run: Mapping[str, Sequence[Hit]], cutoffs: Sequence[int] = CUTOFFS
) -> dict[int, float]:
    """k -> the share of claims with evidence that have some gold set completely among the first k: the recall curve."""
    needed = [_needed_depth(claim, ordered_ids(run.get(claim.id, ()))) for claim in claims if claim.gold_ids]
    if not needed:
        raise DataError("there is nothing to find: no claim has gold evidence")
    return {k: sum(depth <= k for depth in needed) / len(needed) for k in cutoffs}


def complete_sets(claims: Iterable[Claim], run: Mapping[str, Sequence[Hit]], k: int = DEPTH) -> dict[str, float]:
    """For each claim with evidence, whether some gold set is completely among the first k: 1 or 0, with `recall@k` as
    their mean."""
    return {
        claim.id: float(_needed_depth(claim, ordered_ids(run.get(claim.id, ()))) <= k)
        for claim in claims
        if claim.gold_ids
    }


def _needed_depth(claim: Claim, ids: Sequence[str]) -> float:
    """The smallest k at which some gold set is complete; infinity if none is."""
    rank = {unit: i for i, unit in enumerate(ids, start=1)}
    return min(max(rank.get(unit, float("inf")) for unit in members) for members in claim.evidence_sets if members)


def mean_f1(claims: Iterable[Claim], run: Mapping[str, Sequence[Hit]]) -> float:
    """Mean over claims with evidence of the harmonic mean of P@5 and complete-set recall (0 or 1)."""
    values = []
    for claim in claims:
        if claim.gold_ids:
            kept = ordered_ids(run.get(claim.id, ()))[:DEPTH]
            precision = len(set(kept) & set(claim.gold_ids)) / DEPTH
            values.append(_harmonic(precision, _needed_depth(claim, kept) <= DEPTH))
    return sum(values) / len(values) if values else 0.0


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def sentence_selection(
    claims: Mapping[str, Claim], run: Mapping[str, Sequence[Hit]], cutoffs: Sequence[int] = CUTOFFS
) -> dict[str, float]:
    """LisT5's Table 2 and the recall curve: `precision@5`, `recall@5`, `f1@5`, `map@5`, `f1_of_means@5`,
    `mrr`, `ndcg@10`, `recall@k`, `unit_recall@k`, and the number of `claims` counted."""
    cutoffs = sorted({*cutoffs, DEPTH})
    trec = trec_measures(qrels_of(claims.values()), run, cutoffs)
    recall = complete_recall(claims.values(), run, cutoffs)
    precision = trec[f"precision@{DEPTH}"]
    return {
        f"precision@{DEPTH}": precision,
        f"recall@{DEPTH}": recall[DEPTH],
        f"f1@{DEPTH}": mean_f1(claims.values(), run),
        f"map@{DEPTH}": trec[f"map@{DEPTH}"],
        f"f1_of_means@{DEPTH}": _harmonic(precision, recall[DEPTH]),
        "mrr": trec["mrr"],
        "ndcg@10": trec["ndcg@10"],
        **{f"recall@{k}": value for k, value in recall.items()},
        **{f"unit_recall@{k}": trec[f"recall@{k}"] for k in cutoffs},
        "claims": sum(bool(claim.gold_ids) for claim in claims.values()),
    }
