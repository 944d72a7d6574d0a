"""Checks claims against one index of text, tables and graphs, with LisT5's models and the temporal step.

None of the five papers does this. Where the text of some pages is withheld, its content is only in tables and graphs,
and some claims need a page and a table or graph together ("split").
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.corpora.fever import read_predictions
from lisax.errors import DataError
from lisax.papers.base import is_of_warm_up
from lisax.papers.list5.run import List5
from lisax.papers.recipe import WARM_UP
from lisax.papers.stages import Stage
from lisax.papers.udt_qa.claim_models import MixedList5, decided, units_of_passages
from lisax.predict.ranker import Ranker
from lisax.predict.verdicts import write_predictions
from lisax.predict.verifier import Verifier
from lisax.records import Claim, Prediction, split_sentence_id
from lisax.retrieval.runs import read_run

if TYPE_CHECKING:
    from lisax.papers.udt_qa.run import UdtQa

RANKER = "rank_entities"
AT_HAND, SPLIT, WITHHELD, TABLES, UNNAMED = "pages at hand", "split", "pages withheld", "tables", "no evidence named"
GROUPS = (AT_HAND, TABLES, SPLIT, WITHHELD, UNNAMED)  # best first


class ClaimChecks:
    """The stages of a run that check claims, in its folder `claims`.

    Models trained on the text of pages check claims against every index (the hot-swap). If training claims have
    `mixed_sets`, further models are trained on each other index of the recipe's `learned_from` and check claims against
    that index. If their recipe has no warm-up of its own, `warm_up/MODEL` is the run's, with its vocabulary."""

    def __init__(self, run: UdtQa):
        self._run, self.folder = run, run.out / "claims"
        recipe = self.recipe = dataclasses.replace(List5.recipe_class.read([run.recipe.claims]), seed=run.recipe.seed)
        self.labeller, initial = recipe.labellers[-1], recipe.initial
        self._of_warm_up = run.recipe.warm_up and not recipe.warm_up and any(map(is_of_warm_up, initial.values()))
        if self._of_warm_up:
            paths = {model: str(run.warm_up_model(path)) for model, path in initial.items() if is_of_warm_up(path)}
            recipe = dataclasses.replace(recipe, initial=initial | paths, vocabulary=str(run.vocabulary_file))
        self._started = recipe

    @property
    def settings(self) -> list[tuple[str, str]]:
        """Pairs (trained on, checked against), as `QuestionRecipe.settings`."""
        recipe = self._run.recipe
        swapped = [("text", index) for index in recipe.indexes]
        return swapped + [
            (index, index) for index in recipe.learned_from if index != "text" and self._teaches_structures
        ]

    @functools.cached_property
    def _teaches_structures(self) -> bool:
        """Whether training claims have rows or edges as evidence; else models would learn that these never are."""
        return any(claim.mixed_sets for claim in self._run.data.claims("train"))

    def pipeline(self, learned: str) -> List5:
        """The run of LisT5 whose models are trained on the text of pages, or on an index."""
        data, folder = self._run.data, self.models_folder(learned)
        if learned == "text":
            made = List5(data, folder, self._started)
        else:
            index, passages = self._run.index_folder(learned, learned), self._run.recipe.claim_passages
            made = MixedList5(data, folder, self._started, index=index, passages=passages)
        made.workers = self._run.workers
        return made

    def models_folder(self, learned: str) -> Path:
        return self.folder / f"list5.{learned}"

    def ranking_file(self, learned: str, index: str) -> Path:
        return self.folder / f"{learned}.{index}.trec"

    def verdicts_file(self, learned: str, index: str) -> Path:
        return self.folder / f"{learned}.{index}.jsonl"

    def stages(self) -> list[Stage]:
        stages = []
        for learned, index in self.settings:
            if learned == index:
                stages.append(self._training(learned))
            after = [f"claims.train.{learned}", f"index.{index}"]
            outputs = [self.verdicts_file(learned, index), self.ranking_file(learned, index)]
            work = functools.partial(self._check, learned, index)
            stages.append(Stage(f"claims.{learned}.{index}", after, outputs, work))
        return stages

    def _training(self, learned: str) -> Stage:
        after = [WARM_UP] if self._of_warm_up else []
        after += [] if learned == "text" else [f"index.{learned}"]
        models = [self.models_folder(learned) / "models" / model for model in self.recipe.train]
        return Stage(f"claims.train.{learned}", after, models, functools.partial(self._train, learned))

    def _train(self, learned: str) -> None:
        for setting in ("claims", "claims_settings"):
            self._run.see(setting)
        self.pipeline(learned).train_models()

    def _check(self, learned: str, index: str) -> None:
        """Writes verdicts, followed by the temporal step, which keeps the verifier's own label."""
        self._run.see("checked_claims")
        claims, models = list(self.claims.values()), self.models_folder(learned) / "models"
        pipeline, units = self.pipeline(learned), self._run.index_folder(index, index)
        candidates = units_of_passages(self._run, units, claims, self._run.recipe.claim_passages)
        ranked, opens = self.ranking_file(learned, index), functools.partial(Ranker.open, models / RANKER)
        pipeline.rank_claims(opens, claims, candidates, self.recipe.candidates, ranked, RANKER, units)
        opens = functools.partial(Verifier.open, models / self.labeller)
        verdicts = pipeline.verified(opens, claims, read_run(ranked), temporal=True, units=units)
        write_predictions(self.verdicts_file(learned, index), verdicts)

    @functools.cached_property
    def claims(self) -> dict[str, Claim]:
        """Claims of the reported split that are true or false, by id: for a claim without enough information on the
        pages, the tables and graphs may have it."""
        data, split = self._run.data, self._run.reported_split
        of_pages = self._decided(data.claims(split)) if split in data.splits else {}
        # Data with only tables returns the same claims under both names.
        for claim, other in ((of_pages[i], self._of_tables[i]) for i in of_pages.keys() & self._of_tables.keys()):
            if claim != other:
                raise DataError(
                    f"{claim.id!r} is the id of a claim in claims.{split} ('{claim.text:.40}') and of "
                    f"another in table_claims.{split} ('{other.text:.40}'): give one of them another",
                    path=data.folder,
                )
        return of_pages | self._of_tables

    @functools.cached_property
    def _of_tables(self) -> dict[str, Claim]:
        data, split = self._run.data, self._run.reported_split
        return self._decided(data.table_claims(split)) if split in data.table_claim_splits else {}

    def _decided(self, claims: Iterable[Claim]) -> dict[str, Claim]:
        return dict(itertools.islice(decided(claims).items(), self._run.recipe.checked_claims))

    def group(self, claim: Claim) -> str:
        """The best of the groups of a claim's evidence sets: the place of its evidence."""
        if claim.id in self._of_tables:
            return TABLES
        return min(map(self._group, claim.evidence_sets or claim.mixed_sets), key=GROUPS.index, default=UNNAMED)

    def _group(self, evidence: Iterable[str]) -> str:
        """The group of one evidence set. Ids of neither tables, graphs nor sentences count as unnamed evidence."""
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
        """{"learned/index": {group: {accuracy, accuracy_with_dates, claims}}}"""
        groups: dict[str, list[Claim]] = {}
        for claim in self.claims.values():
            groups.setdefault(self.group(claim), []).append(claim)
        found = {}
        for learned, index in self.settings:
            verdicts = {verdict.claim_id: verdict for verdict in read_predictions(self.verdicts_file(learned, index))}
            found[f"{learned}/{index}"] = {
                group: _accuracy(groups[group], verdicts)
                for group in (AT_HAND, SPLIT, WITHHELD, TABLES, UNNAMED)
                if group in groups
            }
        return found


def _accuracy(claims: Sequence[Claim], verdicts: Mapping[str, Prediction]) -> dict[str, float | int]:
    """Accuracy of the labels before and after the temporal step."""
    last = {i: verdict.label for i, verdict in verdicts.items()}
    first = {i: (verdict.temporal or {}).get("verifier_label", verdict.label) for i, verdict in verdicts.items()}
    before, after = (sum(labels[claim.id] == claim.label for claim in claims) / len(claims) for labels in (first, last))
    return {"accuracy": before, "accuracy_with_dates": after, "claims": len(claims)}
