"""BM25's k1 and b by a grid search on claims with evidence (LisT5, appendix A.3)."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterable, Sequence

from lisax.errors import LisaxError
from lisax.records import Claim, Document
from lisax.retrieval import bm25
from lisax.retrieval.documents import indexed_text
from lisax.retrieval.recall import gold_pages, recall


@dataclasses.dataclass(frozen=True)
class Tried:
    """A pair of parameters, and the share of claims with all pages of an evidence set among the first k, by k."""

    k1: float
    b: float
    recall: dict[int, float]


def grid_search(
    documents: Iterable[Document],
    claims: Iterable[Claim],
    k1s: Sequence[float],
    bs: Sequence[float],
    k: int,
    folder: str | os.PathLike,
) -> list[Tried]:
    """Every pair, best first: by recall among the first `k` pages, of equals by that among the first 10, then 1, and
    then in the order given.

    The text is indexed once, in `folder`; each pair takes the time of rescoring and of searching for the claims. Raises
    LisaxError if no claim has evidence."""
    asked = [claim for claim in claims if gold_pages(claim)]
    if not asked:
        raise LisaxError("k1 and b cannot be chosen: no held-out claim has evidence")
    index = bm25.build(((page.id, indexed_text(page)) for page in documents), folder, k1=k1s[0], b=bs[0])
    cutoffs = [k, *(cutoff for cutoff in (10, 1) if cutoff < k)]
    tried = []
    for k1, b in itertools.product(k1s, bs):
        index.rescore(k1, b)
        found = index.search([claim.text for claim in asked], k)
        pages = {claim.id: [page for page, _ in hits] for claim, hits in zip(asked, found, strict=True)}
        measured = recall(asked, pages, cutoffs)
        tried.append(Tried(k1, b, {cutoff: measured[f"recall_complete@{cutoff}"] for cutoff in cutoffs}))
    return sorted(tried, key=lambda pair: [-pair.recall[cutoff] for cutoff in cutoffs])
