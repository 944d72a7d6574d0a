"""LisT5's ranker and labellers on data with tables and graphs: trained on the sentences of its pages, or on the
sentences, rows and edges of one index."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lisax.pipelines.base import TRAIN, VALIDATION
from lisax.pipelines.list5 import List5
from lisax.pipelines.mixed_evidence import MixedEvidence
from lisax.records import Claim, Hit, Label
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.runs import write_run
from lisax.sampling import examples as sampling

DECIDED = (Label.SUPPORTS, Label.REFUTES)


class PagesList5(List5):
    """LisT5 as it is, on data whose claims may name rows and edges as evidence too: what sentences tell teaches."""

    def __init__(self, data, out, recipe, *, is_structure: Callable[[str], bool]):
        self._is_structure = is_structure
        super().__init__(data, out, recipe)

    def read_claims(self, split: str) -> Iterator[Claim]:
        for claim in self.data.claims(split):
            sets = tuple(units for units in claim.evidence_sets if not any(map(self._is_structure, units)))
            if sets or not claim.evidence_sets:
                yield dataclasses.replace(claim, evidence_sets=sets)


class MixedList5(List5):
    """Claims that are true or false alone teach: of one without enough information on the pages, tables and graphs may
    have it. What says nothing of a claim is learned from what the ranker selects beside its evidence."""

    def __init__(self, data, out, recipe, *, index: Path, passages: int):
        super().__init__(data, out, recipe)
        self._mixed, self._passages = index, passages

    @functools.cached_property
    def evidence(self) -> MixedEvidence:
        return MixedEvidence(MixedIndex.open(self._mixed))

    @property
    def lookup(self) -> sampling.Lookup:
        return self.evidence.lookup

    @functools.cached_property
    def claims(self) -> dict[str, dict[str, Claim]]:
        return {role: decided(claims.values()) for role, claims in self.claims_of_data.items()}

    def retrieve_candidates(self) -> None:
        roles = (TRAIN, VALIDATION)

        def work() -> None:
            for role in roles:
                claims = list(self.claims[role].values())
                found = self.evidence.retrieve(claims, self._passages)
                write_run(self.candidates_file(role), (
                    Hit(claim, unit, rank, 1 / rank) for claim, units in found.items()
                    for rank, unit in enumerate(units[:self.recipe.candidates], start=1)), "candidates")

        self.stages.run("retrieve", work, outputs=[self.candidates_file(role) for role in roles], after=["index"],
                        settings={"claims": self.data_print, "index": self.evidence.index.bm25.digest,
                                  "passages": self._passages, "candidates": self.recipe.candidates,
                                  "roles": [self.recipe.validation_share, self.recipe.validation_claims]})


def decided(claims: Iterable[Claim]) -> dict[str, Claim]:
    """Those that are true or false, by id."""
    return {claim.id: claim for claim in claims if claim.label in DECIDED}
