"""LisT5's ranker and labellers, trained on the sentences, rows and edges of one index."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from lisax.papers.base import REPORT, TRAIN, VALIDATION
from lisax.papers.list5.run import List5
from lisax.papers.settings import fact, kept
from lisax.papers.staged import Staged
from lisax.papers.stages import Stage
from lisax.predict.passage_index import PassageIndex
from lisax.records import Claim, Hit, Label
from lisax.retrieval.documents import CLAIMS_AT_A_TIME
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.runs import write_run
from lisax.sampling.files import hashed_share

DECIDED = (Label.SUPPORTS, Label.REFUTES)


class MixedList5(List5):
    """LisT5 trained only on claims that are true or false: tables and graphs may decide the others. NOT ENOUGH INFO is
    learned from irrelevant units that the ranker selects in addition to the evidence."""

    def __init__(self, data, out, recipe, *, index: Path, passages: int):
        super().__init__(data, out, recipe)
        self._mixed, self._passages = index, passages

    @functools.cached_property
    def evidence(self) -> PassageIndex:
        return PassageIndex(MixedIndex.open(self._mixed))

    @property
    def units(self) -> PassageIndex:
        self.see("evidence_digest")
        return self.evidence

    def claims_of(self, role: str) -> dict[str, Claim]:
        """Claims over pages and over tables that name their deciding rows, by a hash of their ids, so that they mix."""
        return self._mixed_evidence[role]

    @kept
    def _mixed_evidence(self) -> dict[str, dict[str, Claim]]:
        found = {
            role: decided(
                dataclasses.replace(claim, evidence_sets=claim.evidence_sets + claim.mixed_sets)
                for claim in self.data_claims(role).values()
            )
            for role in (TRAIN, VALIDATION, REPORT)
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

    def stages(self) -> list[Stage]:
        """LisT5's stages, with units of the passages that the index finds as candidates."""
        roles = (TRAIN, VALIDATION)
        outputs = [self.run_file("candidates", role) for role in roles]
        retrieve = Stage("retrieve", ["index"], outputs, functools.partial(self._retrieve, roles))
        return [retrieve if stage.name == "retrieve" else stage for stage in super().stages()]

    @fact
    def evidence_digest(self) -> str:
        return self.evidence.index.bm25.digest

    @fact
    def passages(self) -> int:
        """The number of passages whose units are candidates of a claim."""
        return self._passages

    def _retrieve(self, roles: Sequence[str]) -> None:
        for role in roles:
            self.see("evidence_digest")
            found = units_of_passages(self, self._mixed, list(self.claims_of(role).values()), self.passages)
            hits = (
                Hit(claim, unit, rank, 1 / rank)
                for claim, units in found.items()
                for rank, unit in enumerate(units[: self.recipe.candidates], start=1)
            )
            write_run(self.run_file("candidates", role), hits, "candidates")


def units_of_passages(run: Staged, index: Path, claims: Sequence[Claim], passages: int) -> dict[str, list[str]]:
    """The units of the first `passages` passages that an index finds for each claim, by its id."""
    found = run.at_workers(functools.partial(_open_units, index, passages), claims, CLAIMS_AT_A_TIME)
    return {claim.id: units for claim, units in zip(claims, found, strict=True)}


def _open_units(index: Path, passages: int) -> Callable[[Sequence[Claim]], list[list[str]]]:
    evidence = PassageIndex(MixedIndex.open(index))
    return lambda claims: list(evidence.retrieve(claims, passages).values())


def decided(claims: Iterable[Claim]) -> dict[str, Claim]:
    """The claims that are true or false, by id."""
    return {claim.id: claim for claim in claims if claim.label in DECIDED}
