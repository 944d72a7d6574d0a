"""Recall of retrieved documents against gold evidence.

There are two definitions of "found", both over claims with gold evidence (so without NOT ENOUGH INFO): `recall_any@k`:
some gold page is among the first k; `recall_complete@k`: all pages of some complete evidence set are. The second is an
upper bound of the FEVER score, and the one to watch for two-hop claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lisax.records import Claim, split_sentence_id

CUTOFFS = (1, 5, 10, 20, 50, 100, 200, 500, 1000)


def gold_pages(claim: Claim) -> list[frozenset[str]]:
    """The pages of each evidence set of a claim."""
    return [frozenset(split_sentence_id(unit)[0] for unit in units) for units in claim.evidence_sets if units]


def recall(
    claims: Iterable[Claim], retrieved: Mapping[str, Sequence[str]], cutoffs: Sequence[int] = CUTOFFS
) -> dict[str, float]:
    """`{"recall_any@k": …, "recall_complete@k": …, "claims": n}`; a claim without a run has no hits.

    `retrieved` maps claim ids to page ids, best first. Without any claim with evidence: `{"claims": 0}`.
    """
    totals = {f"recall_{kind}@{k}": 0 for kind in ("any", "complete") for k in cutoffs}
    count = 0
    for claim in claims:
        if not (sets := gold_pages(claim)):
            continue
        count += 1
        first_rank = {page: rank for rank, page in reversed(list(enumerate(retrieved.get(claim.id, ()), start=1)))}
        never = float("inf")
        any_rank = min(first_rank.get(page, never) for pages in sets for page in pages)
        complete_rank = min(max(first_rank.get(page, never) for page in pages) for pages in sets)
        for k in cutoffs:
            totals[f"recall_any@{k}"] += any_rank <= k
            totals[f"recall_complete@{k}"] += complete_rank <= k
    if not count:
        return {"claims": 0}
    return {name: total / count for name, total in totals.items()} | {"claims": count}
