"""Open-domain verification over tables (Schlichtkrull et al., ACL 2021): from a claim and a collection of tables to
true, false, or "no table here decides this".

Tables are retrieved by matching a claim's entities with cells (section 3), and read by text-to-text models or by table
fusion (section 4). The fusion model also estimates how surely a table decides the claim at all (section 5.4).
"""

from __future__ import annotations

import dataclasses
import functools
import io
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.corpora import Dataset, open_folder
from lisax.corpora.tabfact import TabFact
from lisax.corpora.table_predictions import TablePrediction, read_predictions
from lisax.errors import LisaxError
from lisax.files.writing import atomic_write
from lisax.formats.examples import read_examples, write_examples
from lisax.formats.labelling import CLAIM_ONLY
from lisax.formats.tables import TABLES, TableExample
from lisax.metrics import tables as figures
from lisax.metrics import temperature
from lisax.metrics.temperature import Calibration
from lisax.models import table_truth
from lisax.papers.base import REPORT, TRAIN, VALIDATION, Pipeline, tell
from lisax.papers.list5.recipe import TABLE_SHARES, WORLD_SHARES
from lisax.papers.list5.run import List5
from lisax.papers.open_tables.recipe import TableRecipe, depth_of, is_fusion, task_of
from lisax.papers.settings import kept
from lisax.papers.stages import Stage
from lisax.predict.judging import VERIFIED_AT_A_TIME
from lisax.predict.model import Model
from lisax.predict.opening import open_model
from lisax.predict.table_verifier import (
    ONE_BY_ONE,
    TableDecision,
    judged,
    sufficiency,
    table_shares,
    table_verdicts,
    tell_dropped_rows,
    tell_open,
)
from lisax.predict.teaching import AT_A_TIME, open_teaching
from lisax.predict.verdicts import Evidence, write_predictions
from lisax.progress import say
from lisax.records import LABELS, Claim, Label, Table
from lisax.retrieval import tables as table_retrieval
from lisax.retrieval.cells import CellIndex, Strategy, build
from lisax.retrieval.run_files import found_by_cells
from lisax.retrieval.runs import write_run
from lisax.retrieval.table_store import TableStore
from lisax.sampling import table_examples
from lisax.sampling.table_examples import CLOSED, CLOSED_AND_WRONG, DEPTHS
from lisax.weights.checkpoints import FITTED, write_fitted
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import sendable

DEPTH = max(DEPTHS)
ROLES = (TRAIN, VALIDATION, REPORT)
NO_UNDECIDED = "no claim for train has the label NOT ENOUGH INFO, so that no model learns it"
ORACLE = "oracle"  # a fusion model on only the gold table
SCORES = ("probabilities", "attention", "sufficiency")  # of a fusion model
RETRIEVED = "retrieved"  # the model `closed` on retrieved tables, one by one


def _open_scoring(
    model: Path, reads: Callable[[Model, Sequence[TableExample]], Iterable[Any]]
) -> Callable[[Sequence[TableExample]], list[Any]]:
    scorer, reported = open_model(model), False

    def scores_of(examples: Sequence[TableExample]) -> list[Any]:
        nonlocal reported
        found = list(reads(scorer, examples))
        reported = reported or tell_dropped_rows(scorer, f"the tables of {len(examples):,} claims")
        return found

    return scores_of


def _shares(model: Model, examples: Sequence[TableExample]) -> np.ndarray:
    return model.probabilities(examples).astype(np.float64)


def _of_tables(model: Model, examples: Sequence[TableExample]) -> Iterable[tuple[np.ndarray, ...]]:
    """(probabilities, attention, sufficiency) of each claim by a fusion model."""
    found = model.probabilities(examples)
    return zip(*found, sufficiency(model, examples, found.probabilities), strict=True)


class OpenTables(Pipeline):
    """One run in the folder `out`; `stages` lists its steps."""

    indexed = ("tables",)
    recipe_class = TableRecipe
    roles: Sequence[str] = ROLES  # those for which tables are retrieved
    world_settings = {"shares": WORLD_SHARES, "table_shares": TABLE_SHARES}

    def check_data(self) -> None:
        """As for every paper; only retrieval needs no more than one split, of claims with gold tables."""
        splits = self.claim_splits
        if self.runner.until not in self._stages_of_retrieval or {"train"} < set(splits):
            super().check_data()
        elif not splits:
            raise LisaxError(f"{self.data.folder}: claims about tables are needed, found none")
        else:
            self.reported_split = "dev" if "dev" in splits else splits[0]
            self.roles = (REPORT,)

    @property
    def _stages_of_retrieval(self) -> set[str]:
        """The stages that train nothing and read no labels."""
        return {"tables", "retrieve", "compare", *(f"index.{strategy}" for strategy in self.recipe.strategies)}

    @property
    def claim_splits(self) -> Sequence[str]:
        return self.data.table_claim_splits

    @property
    def warm_up_pipeline(self) -> type[Pipeline]:
        return OpenTables if self.recipe.warm_up_pipeline == "open_tables" else List5

    def read_claims(self, split: str) -> Iterator[Claim]:
        return self._worded.table_claims(split)

    @kept
    def _worded(self) -> Dataset:
        """The data, with TabFact's claims in the recipe's wording; other data has one."""
        data, wording = self.data, self.recipe.wording
        return TabFact(data.folder, wording) if isinstance(data, TabFact) and data.wording != wording else data

    def seed_of(self, model: str) -> int:
        own = self.recipe.fusion_seed if is_fusion(model) else None
        return self.recipe.seed if own is None else own

    # --- Files ------------------------------------------------------------------------------

    def index_folder(self, strategy: str) -> Path:
        return self.out / "index" / strategy

    def scores_file(self, model: str, role: str) -> Path:
        return self.out / "predictions" / f"{model}.{role}.npz"

    @property
    def main_name(self) -> str:
        """The name of the runs that verification reads from."""
        return f"{self.recipe.strategy}.{self.recipe.entities}"

    @property
    def main_run(self) -> Path:
        return self.run_file(self.main_name, REPORT)

    # --- Inputs of stages -------------------------------------------------------------------

    @functools.cached_property
    def tables(self) -> TableStore:
        return TableStore.open(self.out / "tables")

    @kept
    def index(self) -> CellIndex:
        return CellIndex.open(self.index_folder(self.recipe.strategy))

    @functools.lru_cache(1 << 14)
    def lookup(self, table: str) -> Table | None:
        return self.tables.get(table)

    @functools.lru_cache(1 << 14)
    def _entities(self, claim: Claim, mode: str) -> Sequence[str]:
        """The entities that retrieve tables for a claim: spans of its text, or linked against its gold table."""
        return table_retrieval.entities(claim, mode, self._gold((claim,), mode))

    def _gold(self, claims: Iterable[Claim], mode: str) -> dict[str, Table]:
        """The gold tables of claims, for the mode that uses them."""
        return table_retrieval.gold_tables(self.lookup, claims, self.data.folder) if mode == "linked" else {}

    def columns(self, table: Table, claim: Claim) -> tuple[int, ...]:
        return self.index.columns(table, self._entities(claim, self.recipe.entities), self.recipe.columns)

    def rows(self, table: Table, claim: Claim, count: int) -> tuple[int, ...]:
        """The rows whose cells match the claim's entities best."""
        return self.index.rows(table, self._entities(claim, self.recipe.entities), count)

    @functools.lru_cache(4)
    def examples(self, name: str, role: str) -> list[TableExample]:
        return list(read_examples(self.examples_file(name, role), TableExample))

    def examples_of(self, model: str, role: str) -> list[TableExample]:
        """The claims with the retrieved tables that a model reads."""
        return self.examples(table_examples.file_name(depth_of(model)), role)

    # --- Stages -----------------------------------------------------------------------------

    def stages(self) -> list[Stage]:
        """The paper's pipeline, from tables and claims to verdicts."""
        recipe = self.recipe
        folder = self.out / "tables"
        tables = Stage("tables", [], [folder], lambda: TableStore.build(self.data.tables(), folder))
        indexes = [
            Stage(f"index.{one}", ["tables"], [self.index_folder(one)], functools.partial(self._build_index, one))
            for one in recipe.strategies
        ]
        # Section 3: the ten best tables per claim.
        found = [self.run_file(self.main_name, role) for role in self.roles]
        retrieve = Stage("retrieve", [f"index.{recipe.strategy}"], found, self._retrieve)
        compared = [pair for pair in self.compared_pairs if pair != (recipe.strategy, recipe.entities)]
        compare = Stage(  # the table of section 5.1: every strategy, with linked entities and with spans
            "compare",
            ["retrieve", *(f"index.{strategy}" for strategy in recipe.strategies)],
            [self.run_file(".".join(pair), REPORT) for pair in compared],
            functools.partial(self._compare, compared),
        )
        return [
            tables,
            *indexes,
            retrieve,
            compare,
            *self.stages_before_training(),
            self.stage_of_tables_read(),
            *(self.training(model, after=["examples"]) for model in recipe.train),
            *map(self.stage_of_verdicts, recipe.train),
        ]

    # --- Retrieval --------------------------------------------------------------------------

    def _build_index(self, strategy: Strategy) -> None:
        build(self.tables, self.index_folder(strategy), strategy)

    def _retrieve(self) -> None:
        strategy, mode = Strategy(self.recipe.strategy), self.recipe.entities
        for role in self.roles:
            claims = self.read_claims(self.reported_split) if role == REPORT else self.limited(role)
            self._search(strategy, mode, list(claims), role)

    def _compare(self, compared: Sequence[tuple[Strategy, str]]) -> None:
        claims = list(self.read_claims(self.reported_split))
        for strategy, mode in compared:
            say(f"  {strategy}, {mode}")
            self._search(strategy, mode, claims, REPORT)

    @property
    def compared_pairs(self) -> list[tuple[Strategy, str]]:
        """(strategy, entities) of every run over the reported claims."""
        return [
            (strategy, mode)
            for strategy in self.recipe.strategies
            for mode in table_retrieval.MODES
            if mode == "spans" or not strategy.whole_query
        ]

    def _search(self, strategy: Strategy, mode: str, claims: Sequence[Claim], role: str) -> None:
        self._gold(claims, mode)  # an error for a missing one names the data
        groups = found_by_cells(self.index_folder(strategy), self.tables.folder, claims, DEPTH, mode, self.workers)
        hits = itertools.chain.from_iterable(groups)
        write_run(self.run_file(f"{strategy}.{mode}", role), hits, str(strategy))

    def texts(self) -> Iterator[str]:
        """Claims and tables as the models read them, from the data and from the warm-up's world."""
        claims, tables = iter(self.claims_of(TRAIN).values()), iter(self.tables)
        if self.recipe.warms_up:
            made = open_folder(self.world_folder)
            claims, tables = itertools.chain(claims, made.table_claims("train")), itertools.chain(tables, made.tables())
            yield from (f"{page.title} . {page.text}" for page in made.documents())
        for table in tables:
            seen = table_examples.view(dataclasses.replace(table, rows=table.rows[:20]), range(len(table.header)))
            example = TableExample(table.id, next((claim.text for claim in claims), ""), (seen,))
            yield TABLES.encode(example, preset=self.preset, count_tokens=len).inputs
        for claim in claims:
            yield CLAIM_ONLY.encode(TableExample(claim.id, claim.text), preset=self.preset, count_tokens=len).inputs

    # --- Training ---------------------------------------------------------------------------

    def stage_of_tables_read(self) -> Stage:
        """Claims with the tables that are read for them: the gold one, and the first retrieved."""
        read = {depth_of(model) for model in self.recipe.train} | ({ONE_BY_ONE} if self.recipe.reads_singly else set())
        depths = sorted(read - {0}) or [1]
        names = [table_examples.file_name(k) for k in (None, *depths)]
        names += [CLOSED_AND_WRONG] if self.recipe.reads_singly else []
        return Stage(
            "examples",
            ["retrieve"],
            [self.examples_file(name, role) for name in names for role in ROLES],
            functools.partial(self._write_examples, depths),
        )

    def _write_examples(self, depths: Sequence[int]) -> None:
        for role in ROLES:
            skipped = Counter()
            table_examples.write_all(
                self.out / "examples",
                role,
                self.limited(role),
                self.ranked(self.main_name, role),
                self.lookup,
                self.columns,
                in_training=role == TRAIN,
                wrong=self.recipe.wrong_tables if self.recipe.reads_singly else None,
                seed=self.recipe.seed,
                depths=depths,
                written=self.recipe.written,
                skipped=skipped,
            )
            tell(skipped)
        if self.recipe.teacher is not None:
            file = self.examples_file(CLOSED_AND_WRONG, TRAIN)
            teaches = functools.partial(open_teaching, sendable(self.recipe.teacher))
            examples = read_examples(file, TableExample)
            write_examples(file, self.at_workers(teaches, examples, AT_A_TIME, "examples"))

    def task_of(self, model: str) -> str:
        if self.recipe.backbone is None or is_fusion(model):
            return task_of(model)
        task = CLOSED_AND_WRONG if model == "closed" else task_of(model)
        return task.replace("tables_", "tables_pair_")

    def lengths_of(self, model: str) -> dict[str, int]:
        tokens = getattr(self.recipe, self._setting_of_tokens(model))
        if is_fusion(model):
            return {"inputs": depth_of(model) * tokens, "targets": depth_of(model)}
        # A teacher's probabilities of the labels follow the class.
        shares = len(LABELS) if model == "closed" and self.recipe.teacher is not None else 0
        return {"inputs": tokens, "targets": self.target_length + shares}

    @staticmethod
    def _setting_of_tokens(model: str) -> str:
        """The setting that limits the tokens of a model's input; for fusion models, of each table."""
        if model == "claim_only":
            return "claim_max_tokens"
        return "table_tokens" if is_fusion(model) or model in ("closed", "one") else "text_tokens"

    # --- Verdicts ---------------------------------------------------------------------------

    def run(self) -> None:
        super().run()
        if not self.undecided_claims:
            say("  " + NO_UNDECIDED)

    def stage_of_verdicts(self, model: str) -> Stage:
        """Verdicts of a model; for a fusion model also its scores of each table."""
        outputs = [self.predictions_file(model), self.model_dir(model) / FITTED]
        singly = model == "closed" and self.recipe.reads_singly
        outputs += [self.predictions_file(RETRIEVED)] if singly else []
        work = functools.partial(self._predict_text, model, singly)
        if is_fusion(model):
            closest_to_gold = model == self.recipe.closest_to_gold
            outputs += [self.scores_file(model, role) for role in (VALIDATION, REPORT)]
            outputs += [self.predictions_file(ORACLE)] if closest_to_gold else []
            work = functools.partial(self._predict_fusion, model, closest_to_gold)
        return Stage(f"predict.{model}", [f"train.{model}", "examples"], outputs, work)

    def _predict_text(self, model: str, singly: bool) -> None:
        name = CLOSED if model in ("claim_only", "closed") else table_examples.file_name(depth_of(model))
        held, examples = (self.examples(name, role) for role in (VALIDATION, REPORT))
        scored = self._scored(model, _shares, held, examples)
        before, shares = (np.array(some).reshape(-1, len(LABELS)) for some in scored)
        calibration = _temperature(model, held, before, LABELS)
        write_fitted(
            self.model_dir(model), {"calibration": dataclasses.asdict(calibration), "columns": self.recipe.columns}
        )
        if model == "claim_only":  # it reads no table
            examples = [dataclasses.replace(example, tables=(), gold=()) for example in examples]
        self._write(model, examples, calibration.apply(shares))
        if singly:
            examples = self.examples(table_examples.file_name(ONE_BY_ONE), REPORT)
            (found,) = self._scored(model, table_shares, examples)
            self._write(RETRIEVED, examples, calibration.apply(np.stack(found)))

    def _scored(
        self,
        model: str,
        reads: Callable[[Model, Sequence[TableExample]], Iterable[Any]],
        *examples: Sequence[TableExample],
    ) -> list[list[Any]]:
        """The scores that `reads` gives the claims of each list of examples, with a model."""
        opens = functools.partial(_open_scoring, self.model_dir(model), reads)
        found = self.at_workers(opens, itertools.chain(*examples), VERIFIED_AT_A_TIME)
        return [list(itertools.islice(found, len(some))) for some in examples]

    def _predict_fusion(self, model: str, closest_to_gold: bool) -> None:
        gold = self.examples(CLOSED, REPORT) if closest_to_gold else []
        held, examples = (self.examples_of(model, role) for role in (VALIDATION, REPORT))
        *scored, of_gold = self._scored(model, _of_tables, held, examples, gold)
        for role, found in zip((VALIDATION, REPORT), scored):
            scores = dict(zip(SCORES, map(np.stack, zip(*found))))
            with atomic_write(self.scores_file(model, role), "wb") as file:
                buffer = io.BytesIO()
                np.savez(buffer, **scores)
                file.write(buffer.getvalue())
            if role == VALIDATION:
                calibration = _temperature(model, held, table_truth.truth(scores["probabilities"]), LABELS[:2])
        decision = self.decision(model)
        fitted = {
            "decision": decision and decision._asdict(),
            "calibration": dataclasses.asdict(calibration),
            "columns": self.recipe.columns,
        }
        write_fitted(self.model_dir(model), fitted)
        tell_open(ModelFolder.find(self.model_dir(model)), decision if self.undecided_claims else None)
        self._write(
            model,
            examples,
            *judged(
                scores["probabilities"],
                scores["sufficiency"],
                decision if self.undecided_claims else None,
                calibration,
            ),
        )
        if closest_to_gold:
            known = np.stack([probabilities for probabilities, *_ in of_gold]) if gold else np.zeros((0, 1, 2))
            self._write(ORACLE, gold, *judged(known, None, None, calibration))

    def _write(
        self,
        model: str,
        examples: Sequence[TableExample],
        shares: np.ndarray,
        sufficiency: np.ndarray | None = None,
        relevance: np.ndarray | None = None,
    ) -> None:
        claims = [self.claims_of(REPORT)[example.claim_id] for example in examples]
        evidence = [
            [Evidence(table.id, "", table.caption, table=table) for table in example.tables] for example in examples
        ]
        write_predictions(
            self.predictions_file(model), table_verdicts(claims, evidence, shares, sufficiency, relevance)
        )

    # --- Inputs of the report -----------------------------------------------------------------

    @kept
    def undecided_claims(self) -> bool:
        """Whether the data has claims that their own table does not decide."""
        return any(claim.label is Label.NOT_ENOUGH_INFO for claim in self.claims_of(TRAIN).values())

    @functools.lru_cache(4)
    def scores(self, model: str, role: str) -> Mapping[str, np.ndarray]:
        """Arrays of `scores_file`: probabilities, attention, sufficiency, in the order of the examples."""
        with np.load(self.scores_file(model, role), allow_pickle=False) as found:
            return dict(found)

    def decided(self, model: str, role: str) -> np.ndarray:
        """Whether a table among those read decides the claim, bool [claims]."""
        return np.array([figures.is_decided(one.label, any(one.gold)) for one in self.examples_of(model, role)], bool)

    def labelled(self, model: str, role: str) -> np.ndarray:
        """Whether the claim has a label, so that `decided` is known, bool [claims]."""
        return np.array([example.label is not None for example in self.examples_of(model, role)], bool)

    def decision(self, model: str) -> TableDecision | None:
        """The sufficiency threshold for NOT ENOUGH INFO: the most accurate one on the validation split, with its
        precision there. None if every validation claim is decided."""
        known = self.labelled(model, VALIDATION)
        missing, scores = ~self.decided(model, VALIDATION)[known], -self.scores(model, VALIDATION)["sufficiency"][known]
        if not missing.any():
            return None
        value = figures.choose_threshold(scores, missing, "accuracy").value
        return TableDecision(-value, self.undecided_claims, figures.at_threshold(scores, missing, value)["precision"])

    def verdicts(self, model: str) -> dict[str, TablePrediction]:
        return {found.verdict.claim_id: found for found in read_predictions(self.predictions_file(model))}


def _temperature(
    model: str, examples: Sequence[TableExample], shares: np.ndarray, labels: Sequence[Label]
) -> Calibration:
    """The temperature of a model's probabilities [claims, labels], from held-out claims that have one of `labels`."""
    held = [i for i, example in enumerate(examples) if example.label in labels and shares[i].any()]
    fitted = temperature.fit(shares[held], np.array([labels.index(examples[i].label) for i in held], int))
    say(f"  {model}: temperature {fitted.temperature:.3f}, fitted on {fitted.claims:,} claims")
    return fitted
