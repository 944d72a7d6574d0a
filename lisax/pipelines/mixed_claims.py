"""Claims checked against one index of text, tables and graphs by LisT5's models, which have learned from sentences.

None of the five papers does this. Where the text of some pages is withheld, what it said stands in tables and graphs
alone, and some claims need a page and a table or graph together ("split").
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.corpora.fever import read_predictions, write_predictions
from lisax.formats.families import Family
from lisax.pipelines.base import WARM_UP, gin_text, is_of_warm_up
from lisax.pipelines.inference import rank_to_file, verify
from lisax.pipelines.mixed_evidence import MixedEvidence
from lisax.pipelines.text_model import TextModel
from lisax.records import Claim, DataError, Label, split_sentence_id
from lisax.retrieval.entities import default_spotter
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.runs import read_run

if TYPE_CHECKING:
    from lisax.pipelines.udt_qa import UdtQa

RANKER = "rank_entities"
AT_HAND, SPLIT, WITHHELD, TABLES, UNNAMED = "pages at hand", "split", "pages withheld", "tables", "no evidence named"
GROUPS = (AT_HAND, TABLES, SPLIT, WITHHELD, UNNAMED)  # the best first


class ClaimChecks:
    """The stages of a run that check claims, in its folder `claims`.

    Where their recipe has no warm-up of its own, `warm_up/MODEL` is the run's, with its vocabulary.
    """

    def __init__(self, run: UdtQa):
        from lisax.pipelines.list5 import List5

        self._run, self.folder = run, run.out / "claims"
        self.recipe = dataclasses.replace(List5.read_recipe([run.recipe.claims]), seed=run.recipe.seed)
        self.labeller = self.recipe.labellers[-1]
        recipe, initial = self.recipe, self.recipe.initial
        self._of_warm_up = run.recipe.warm_up and not recipe.warm_up and any(map(is_of_warm_up, initial.values()))
        if self._of_warm_up:
            paths = {model: str(run.warm_up_model(path)) for model, path in initial.items() if is_of_warm_up(path)}
            recipe = dataclasses.replace(recipe, initial=initial | paths, vocabulary=str(run.vocabulary_file))
        self._pipeline = functools.partial(List5, run.data, self.folder / "list5", recipe)

    def verdicts_file(self, index: str) -> Path:
        return self.folder / f"{index}.jsonl"

    def run(self) -> None:
        models = [self.folder / "list5" / "models" / model for model in self.recipe.train]
        self._run.stages.run("claims.train", lambda: self._pipeline().train_models(), outputs=models,
                             after=[WARM_UP] if self._of_warm_up else [],
                             settings={"recipe": dataclasses.asdict(self.recipe), "data": self._run.data_print,
                                       "gin": gin_text(self._run.recipe.claims)})
        for index in self._run.recipe.indexes:
            self._run.stages.run(f"claims.{index}", functools.partial(self._check, index),
                                 outputs=[self.verdicts_file(index)], after=["claims.train", f"index.{index}"],
                                 settings={"claims": self._run.recipe.checked_claims,
                                           "passages": self._run.recipe.claim_passages})

    def _check(self, index: str) -> None:
        claims, models = list(self.claims.values()), self.folder / "list5" / "models"
        evidence = MixedEvidence(MixedIndex.open(self._run.index_folder(index, index)))
        ranked = self.folder / f"{index}.trec"
        candidates = evidence.retrieve(claims, self._run.recipe.claim_passages)
        rank_to_file(TextModel.open(models / RANKER), claims, candidates, evidence.lookup, ranked, tag=RANKER,
                     depth=self.recipe.candidates, spot=default_spotter(self._pipeline().index.titles).spot,
                     made_from=json.dumps([index, evidence.index.bm25.digest, self._run.recipe.checked_claims,
                                           self._run.recipe.claim_passages, self._run.stages.digest("claims.train")]))
        labeller = TextModel.open(models / self.labeller)
        aggregate = "any" if labeller.family is Family.LABEL_POINTWISE else "max"
        verdicts = verify(labeller, claims, read_run(ranked), evidence.lookup, aggregate=aggregate)
        write_predictions(self.verdicts_file(index), verdicts, self.claims, evidence.original_page)

    @functools.cached_property
    def claims(self) -> dict[str, Claim]:
        """Claims of the reported split that are true or false: of one without enough information on the pages, tables
        and graphs may have it."""
        data, split = self._run.data, self._run.reported_split
        of_pages = self._decided(data.claims(split)) if split in data.splits else {}
        # Data of tables alone has the same claims under both names.
        for claim, other in ((of_pages[i], self._of_tables[i]) for i in of_pages.keys() & self._of_tables.keys()):
            if claim != other:
                raise DataError(f"{claim.id!r} is the id of a claim in claims.{split} ('{claim.text:.40}') and of "
                                f"another in table_claims.{split} ('{other.text:.40}'): give one of them another",
                                path=data.folder)
        return of_pages | self._of_tables

    @functools.cached_property
    def _of_tables(self) -> dict[str, Claim]:
        data, split = self._run.data, self._run.reported_split
        return self._decided(data.table_claims(split)) if split in data.table_claim_splits else {}

    def _decided(self, claims: Iterable[Claim]) -> dict[str, Claim]:
        true_or_false = (claim for claim in claims if claim.label in (Label.SUPPORTS, Label.REFUTES))
        return {claim.id: claim for claim in itertools.islice(true_or_false, self._run.recipe.checked_claims)}

    def group(self, claim: Claim) -> str:
        """Where the evidence of a claim can be found: its best set."""
        if claim.id in self._of_tables:
            return TABLES
        return min(map(self._group, claim.evidence_sets), key=GROUPS.index, default=UNNAMED)

    def _group(self, evidence: Iterable[str]) -> str:
        """The group of one set. What is neither a table's, a graph's nor a sentence's id names nothing."""
        pages, structures = [], 0
        for unit in evidence:
            if self._run.is_structure(unit):
                structures += 1
                continue
            try:
                pages.append(self._run.is_kept(split_sentence_id(unit)[0]))
            except DataError:
                return UNNAMED
        if not pages:
            return TABLES
        return WITHHELD if not any(pages) else SPLIT if structures or not all(pages) else AT_HAND

    def figures(self) -> dict[str, dict[str, Mapping[str, float | int]]]:
        """{index: {group: {accuracy, claims}}}"""
        groups: dict[str, list[Claim]] = {}
        for claim in self.claims.values():
            groups.setdefault(self.group(claim), []).append(claim)
        found = {}
        for index in self._run.recipe.indexes:
            labels = {verdict.claim_id: verdict.label for verdict in read_predictions(self.verdicts_file(index))}
            found[index] = {group: {"accuracy": sum(labels[claim.id] is claim.label for claim in groups[group])
                                    / len(groups[group]), "claims": len(groups[group])}
                            for group in (AT_HAND, SPLIT, WITHHELD, TABLES, UNNAMED) if group in groups}
        return found
