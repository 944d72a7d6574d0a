"""The figures and the report of a LisT5 run: `metrics.json`, `report.html` and the table in the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from lisax.metrics import fever as fever_metrics
from lisax.metrics.ranking import complete_sets, sentence_selection
from lisax.papers import reporting
from lisax.papers.attack_report import attack_figures, attack_tables, verdict_scores
from lisax.papers.base import REPORT, TRAIN
from lisax.papers.list5.recipe import GIVEN, VECTORS, ZERO_SHOT
from lisax.papers.list5.run import VARIANTS, List5, aggregate_of
from lisax.papers.over_pages import ATTACKED
from lisax.records import Claim, Hit, Prediction
from lisax.report.report import ClaimView, EvidenceView, Heatmap, Report, ResultTable, figure, published
from lisax.retrieval.recall import recall as document_recall
from lisax.retrieval.runs import read_run
from lisax.sampling.examples import Lookup, first_found

CLAIMS_SHOWN = 2000
RECALL = "recall@5"
SELECTIONS = {
    "bm25": "BM25 over sentences",
    "rank": "monoT5 without entities",
    "rank_entities": "monoT5 with entities",
    "fused": "monoT5 with entities and BM25",
    "zero_shot": "given ranker, not trained here",
    "vectors": "sentence vectors and BM25",
    "rerank": "sentence vectors, BM25 and a ranker",
    "hops": "with a second hop",
}
ROWS = {
    "claim_only": "claim only, no evidence",
    "bm25": "listwise infused on BM25's sentences",
    "bm25_any": "pointwise, any decides, on BM25's sentences",
    "any": "pointwise, any sentence decides",
    "first": "pointwise, first sentence",
    "sum": "pointwise, sum",
    "max": "pointwise, max",
    "listwise": "listwise",
    "infused": "listwise, noise infused",
    "infused_without_entities": "listwise infused, ranker without entities",
    GIVEN: "given labeller, not trained here",
}
VERDICT_COLUMNS = (
    ("Label accuracy", "label_accuracy"),
    ("FEVER score", "fever_score"),
    ("2+ sentences", "multi_evidence", "found_label_accuracy"),
    ("Evidence recall", "evidence_recall"),
)
SELECTION_COLUMNS = (("P@5", "precision@5"), ("R@5", RECALL), ("F1@5", "f1@5"), ("MAP@5", "map@5"))
TILES = (
    ("FEVER score", "fever_score"),
    ("Label accuracy", "label_accuracy"),
    ("Evidence recall", "evidence_recall"),
    ("Two sentences or more", "multi_evidence", "found_label_accuracy"),
)
PUBLISHED_NOTE = (
    "The LisT5 paper's own figures, of T5-3B on the whole FEVER development set: for orientation, not measured here."
)


def finish(run: List5) -> str:
    """Computes all figures, writes `metrics.json` and `report.html`, and returns the table for a terminal."""
    claims = run.labelled_claims(REPORT)
    given = (ZERO_SHOT,) if run.recipe.zero_shot else ()
    vectors = () if run.recipe.backbone is None else (VECTORS,)
    selectors = ("bm25", *given, *vectors, *run.recipe.rankers, run.recipe.first_selector, run.recipe.selector)
    selections = {name: read_run(run.run_file(name, REPORT)) for name in dict.fromkeys(selectors)}
    verdicts = {
        variant: run.verdicts(variant, REPORT) for variant in VARIANTS if run.predictions_file(variant).exists()
    }
    figures = _figures(run, claims, selections, verdicts)
    return reporting.write(run.out, figures, _report(run, claims, selections, verdicts, figures))


def finish_early(run: List5) -> str:
    """For a run that stopped before its end: writes recall of pages and the majority's score to `metrics.json`, unless
    that has a whole run's, and returns them as a table for a terminal. Empty if nothing is retrieved yet."""
    if not run.run_file("documents", REPORT).exists():
        return ""
    claims, train = run.labelled_claims(REPORT), run.labelled_claims(TRAIN).values()
    found = {
        "retrieval": _document_recall(run, claims),
        "majority": fever_metrics.evaluate(claims, fever_metrics.majority_verdicts(train, claims)),
        "claims": {role: len(of_role) for role, of_role in run.claims.items()},
        "reported_split": run.reported_split,
        **reporting.facts(run),
    }
    keys = [key for key in found["retrieval"] if "complete" in key]
    columns = [(f"R@{key.removeprefix('recall_complete@')}", key) for key in keys]
    rows = {"all pages of an evidence set": found["retrieval"]}
    return reporting.write_early(run.out, found, ResultTable.of("Page retrieval", columns, rows))


def _document_recall(run: List5, claims: Mapping[str, Claim]) -> dict:
    return document_recall(claims.values(), run.ranked("documents", REPORT))


def _figures(run: List5, claims: Mapping[str, Claim], selections: Mapping, verdicts: Mapping) -> dict:
    evaluated = {variant: fever_metrics.evaluate(claims, found) for variant, found in verdicts.items()}
    best = best_variant(evaluated)
    selection = {name: sentence_selection(claims, hits) for name, hits in selections.items()}
    oracle = {
        name: fever_metrics.oracle_score(claims, {i: _read_of(hits.get(i, ()), run.lookup) for i in claims})
        for name, hits in selections.items()
    }
    found_whole = run.recipe.selector, {name: complete_sets(claims.values(), hits) for name, hits in selections.items()}
    return {
        "retrieval": _document_recall(run, claims),
        "ranking": selection[run.recipe.selector],
        "fever": evaluated[best] if best else None,
        "best_variant": best,
        **({"grid": run.grid} if run.grid else {}),
        "variants": evaluated,
        **reporting.baselines(run, claims),
        "selection": {name: selection[name] | {"oracle_fever_score": oracle[name]} for name in selection},
        "calibration": {
            variant: found
            for variant in evaluated
            if variant != GIVEN
            and (found := run.calibration_figures(claims, variant, VARIANTS[variant][0], aggregate_of(variant)))
        },
        "attacks": attack_figures(run, list(evaluated)),
        "differences": reporting.differences(verdict_scores(run, claims, list(verdicts), best) | {RECALL: found_whole}),
        "claims": {role: len(found) for role, found in run.claims.items()},
        "reported_split": run.reported_split,
        **reporting.facts(run),
    }


def _name(measure: str, variant: str) -> str:
    return (SELECTIONS if measure == RECALL else ROWS)[variant]


def _read_of(hits: Iterable[Hit], lookup: Lookup) -> list[str]:
    """Ids of the sentences of a selection that a labeller reads."""
    return [passage.id for passage in first_found((hit.id for hit in hits), lookup)]


def best_variant(evaluated: Mapping[str, Mapping]) -> str | None:
    """The variant that the report shows: the paper's, listwise infused; else pointwise by any sentence, or given."""
    return next((variant for variant in ("infused", "any", GIVEN) if variant in evaluated), None)


def _report(
    run: List5, claims: Mapping[str, Claim], selections: Mapping, verdicts: Mapping, figures: Mapping
) -> Report:
    best = figures["best_variant"]
    chosen = verdicts.get(best, {})
    selection = {SELECTIONS[name]: found for name, found in figures["selection"].items()}
    labelled = {"majority label": figures["majority"], "words of the claim": figures["claim_words"]}
    labelled |= {ROWS[variant]: found for variant, found in figures["variants"].items()}
    oracle = {"fever_score": figures["selection"][run.recipe.selector]["oracle_fever_score"]}
    return reporting.report(
        run,
        figures,
        "LisT5",
        f"{len(claims):,} claims",
        models=(*run.recipe.rankers, *run.recipe.labellers),
        tiles={name: figure(figures["variants"][best], *path) for name, *path in TILES} if best else {},
        tiles_of=ROWS[best] if best else "",
        recall_curves={
            name: {int(key.removeprefix("recall@")): value for key, value in found.items() if key.startswith("recall@")}
            for name, found in selection.items()
        },
        result_tables=[
            ResultTable.of(
                "Label prediction",
                VERDICT_COLUMNS,
                labelled | {"oracle labels on our selection": oracle},
                "Label accuracy and FEVER score (label right and a whole evidence set among the first five sentences), "
                "in percent.",
                PUBLISHED_NOTE,
                best=best and ROWS[best],
                published=published("LisT5 verdicts"),
            ),
            ResultTable.of(
                "Sentence selection",
                SELECTION_COLUMNS,
                selection,
                "Of the first five sentences, in percent. Recall asks for a complete evidence set.",
                PUBLISHED_NOTE,
                published=published("LisT5 selection"),
            ),
            *attack_tables(figures["attacks"], ROWS),
            reporting.calibration_table(figures["calibration"], ROWS),
            *reporting.difference_tables(figures["differences"], _name),
        ],
        heatmaps=_grid(figures.get("grid", ())),
        claims=_views(run, claims, chosen, selections, best),
        **reporting.on_claims(claims, chosen),
    )


def _grid(tried: Sequence[Mapping]) -> list[Heatmap]:
    """Recall of pages on held-out claims for each pair of k1 (rows) and b (columns)."""
    if not tried:
        return []
    depth, best = next(iter(tried[0]["recall"])), tried[0]
    found = {(one["k1"], one["b"]): one["recall"][depth] for one in tried}
    k1s, bs = (sorted({pair[i] for pair in found}) for i in (0, 1))
    return [
        Heatmap(
            "BM25 by k1 and b",
            tuple(f"k1 {k1}" for k1 in k1s),
            tuple(f"b {b}" for b in bs),
            tuple(tuple(found[k1, b] for b in bs) for k1 in k1s),
            f"Share of held-out claims with all pages of an evidence set among the first {depth}; chosen: k1 "
            f"{best['k1']}, b {best['b']}.",
        )
    ]


def _views(
    run: List5, claims: Mapping[str, Claim], chosen: Mapping[str, Prediction], selections: Mapping, best: str | None
) -> list[ClaimView]:
    """The first claims, followed by attacked ones."""

    def scores(hits: Iterable[Hit]) -> dict[str, float]:
        return {hit.id: hit.score for hit in hits}

    selected = selections[run.recipe.selector]
    views = [
        claim_view(run.lookup, claims[i], chosen[i], scores(selected.get(i, ())))
        for i in list(claims)[:CLAIMS_SHOWN]
        if i in chosen
    ]
    if best and run.recipe.attacks:
        selected = read_run(run.run_file(run.recipe.selector, ATTACKED))
        views += [
            claim_view(run.lookup, run.claims[ATTACKED][i], verdict, scores(selected.get(i, ())))
            for i, verdict in itertools.islice(run.verdicts(best, ATTACKED).items(), CLAIMS_SHOWN)
        ]
    return views


def claim_view(lookup: Lookup, claim: Claim, verdict: Prediction, scores: Mapping[str, float]) -> ClaimView:
    """A claim as the report shows it; `scores` are those of the selection, by sentence id."""
    gold = set(claim.gold_ids)

    def evidence(unit: str) -> EvidenceView:
        passage = lookup(unit)
        return EvidenceView(
            unit, passage.title if passage else "", passage.text if passage else "", scores.get(unit), unit in gold
        )

    return ClaimView(
        claim.id,
        claim.text,
        claim.label,
        verdict.label,
        verdict.probabilities,
        tuple(map(evidence, verdict.evidence)),
        tuple(evidence(unit) for unit in claim.gold_ids if unit not in verdict.evidence),
        str(fever_metrics.outcome(claim, verdict)),
        claim.kind,
    )
