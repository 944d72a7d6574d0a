"""LisT5's ranker and labellers, trained on the sentences, rows and edges of one index instead of a corpus's sentences."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable
from pathlib import Path

from lisax.papers.base import TRAIN, VALIDATION
from lisax.papers.list5.run import List5
from lisax.predict.passage_index import PassageIndex
from lisax.records import Claim, Hit, Label
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.runs import write_run
from lisax.sampling.files import hashed_share

DECIDED = (Label.SUPPORTS, Label.REFUTES)


class MixedList5(List5):
    """Claims that are true or false alone teach: of one without enough information on the pages, tables and graphs may
    have it. What says nothing of a claim is learned from what the ranker selects beside its evidence."""

    def __init__(self, data, out, recipe, *, index: Path, passages: int):
        super().__init__(data, out, recipe)
        self._mixed, self._passages = index, passages

    @functools.cached_property
    def evidence(self) -> PassageIndex:
        return PassageIndex(MixedIndex.open(self._mixed))

    @property
    def units(self) -> PassageIndex:
        return self.evidence

    @functools.cached_property
    def claims(self) -> dict[str, dict[str, Claim]]:
        """Those of pages and, of those over tables, those that name what decides them; in an order of their ids, so that
        any first of them are of both."""
        found = {
            role: decided(
                dataclasses.replace(claim, evidence_sets=claim.evidence_sets + claim.mixed_sets)
                for claim in claims.values()
            )
            for role, claims in self.claims_of_data.items()
        }
        found[TRAIN] |= self._of_tables("train")
        if self.reported_split != "dev":
            found[VALIDATION] |= dict(itertools.islice(self._of_tables("dev").items(), len(found[VALIDATION])))
        return {
            role: dict(sorted(claims.items(), key=lambda item: hashed_share(item[0]))) for role, claims in found.items()
        }

    def _of_tables(self, split: str) -> dict[str, Claim]:
        claims = self.data.table_claims(split) if split in self.data.table_claim_splits else ()
        return decided(
            dataclasses.replace(claim, evidence_sets=claim.mixed_sets) for claim in claims if claim.mixed_sets
        )

    def retrieve_candidates(self) -> None:
        roles = (TRAIN, VALIDATION)

        def work() -> None:
            for role in roles:
                claims = list(self.claims[role].values())
                found = self.evidence.retrieve(claims, self._passages)
                write_run(
                    self.candidates_file(role),
                    (
                        Hit(claim, unit, rank, 1 / rank)
                        for claim, units in found.items()
                        for rank, unit in enumerate(units[: self.recipe.candidates], start=1)
                    ),
                    "candidates",
                )

        self.stages.run(
            "retrieve",
            work,
            outputs=[self.candidates_file(role) for role in roles],
            after=["index"],
            settings={
                "claims": self.data_print,
                "index": self.evidence.index.bm25.digest,
                "passages": self._passages,
                "candidates": self.recipe.candidates,
                "roles": [self.recipe.validation_share, self.recipe.validation_claims],
            },
        )


def decided(claims: Iterable[Claim]) -> dict[str, Claim]:
    """Those that are true or false, by id."""
    return {claim.id: claim for claim in claims if claim.label in DECIDED}
