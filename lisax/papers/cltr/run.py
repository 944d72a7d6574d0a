"""CLTR (Pan et al., ACL 2021): from a question and a collection of tables to the cells that answer it.

BM25 pools tables as plain text, with a pretrained encoder's vectors if one is given. A model gives each of their rows
and columns the probability that it contains the answer. A cell scores its row's times its column's probability, and a
table scores its best cell (section 3).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from lisax.corpora import open_folder
from lisax.devices.workers import Opens, lines_to_file
from lisax.errors import LisaxError
from lisax.formats.examples import write_examples
from lisax.formats.parts import TABLE_OPERATION, TABLE_PARTS, OperationExample, PartKind
from lisax.formats.reading import PassageView
from lisax.formats.vocabulary import REQUIRED_WORDS
from lisax.papers.base import REPORT, TRAIN, VALIDATION
from lisax.papers.cltr import pool_scores
from lisax.papers.cltr.operations import AGGREGATING
from lisax.papers.cltr.pool_scores import PoolScores, ScoredTable
from lisax.papers.cltr.questions import QuestionPipeline
from lisax.papers.cltr.recipe import AGGREGATION, COLUMNS, OWN, PARTS, RETRIEVER, ROWS, CltrRecipe
from lisax.papers.settings import fact, kept
from lisax.papers.stages import Stage
from lisax.predict import answer_confidence, score_fusion
from lisax.predict.answer_confidence import AnswerConfidence, Asked
from lisax.predict.retriever import Retriever, add_vectors
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.predict.table_answers import VECTORS, search_by_vectors
from lisax.progress import say
from lisax.records import Hit, Question, Table, is_cell
from lisax.retrieval import fusion, table_text
from lisax.retrieval.dense import keep_weight
from lisax.retrieval.dense_texts import text_of_table
from lisax.retrieval.run_files import open_table_search
from lisax.retrieval.runs import by_query, read_run, write_qrels, write_run
from lisax.sampling import part_examples, question_examples
from lisax.sampling.examples import ranked_ids
from lisax.sampling.own_questions import own_questions
from lisax.weights.checkpoints import FITTED, write_fitted

ROLES = (TRAIN, VALIDATION, REPORT)
# Orders of the pool: by BM25 (and vectors), by best cell, by mean cell, and by best cell with BM25.
BM25, MAX, MEAN, FUSED = "bm25", "max", "mean", "fused"
ROWS_OF_A_TABLE = 50  # used to train a vocabulary
CELLS, TABLES = "cells", "tables"
TASKS = {
    PARTS: "cltr_parts",
    ROWS: "cltr_rows",
    COLUMNS: "cltr_columns",
    AGGREGATION: "cltr_aggregation",
    OWN: "cltr_parts",
    RETRIEVER: "questions_retrieve",
}
WORDS = "words"  # the index in which the retriever's negatives are found


class Cltr(QuestionPipeline):
    """One run in the folder `out`; `stages` lists its steps."""

    recipe_class = CltrRecipe
    asked = "questions with an answer cell"

    @property
    def indexed(self) -> tuple[str, ...]:
        return (WORDS,) if RETRIEVER in self.recipe.train else ("index",)

    @property
    def tables_folder(self) -> Path:
        """The first index of the run, where tables are read."""
        return self.out / WORDS if RETRIEVER in self.recipe.train else self.index_folder

    @property
    def scored_roles(self) -> tuple[str, ...]:
        return (VALIDATION, REPORT) if self.recipe.fuse_bm25 else (REPORT,)

    @property
    def orders(self) -> tuple[str, ...]:
        """The reported orders of the tables; the last is the run's own."""
        if not self.recipe.scorers:
            return (BM25,)
        return (BM25, MEAN, MAX, *([FUSED] if self.recipe.fuse_bm25 else []))

    # --- Files ------------------------------------------------------------------------------

    def run_file(self, name: str, role: str = REPORT) -> Path:
        return super().run_file(name, role)

    def qrels_file(self, what: str) -> Path:
        return self.out / "runs" / f"{what}.{REPORT}.qrels"

    def scores_file(self, role: str) -> Path:
        return self.out / "predictions" / f"scores.{role}.jsonl"

    def model_dir(self, model: str) -> Path:
        given = self.recipe.models.get(model)
        return super().model_dir(model) if given is None else Path(given)

    # --- Inputs of stages -------------------------------------------------------------------

    @kept
    def fusion_weights(self) -> np.ndarray:
        """Weights of the best cell and BM25, fitted on held-out questions."""
        held = list(self.scores(VALIDATION))
        ranked, lexical = (by_query(pool_scores.table_run(held, order)) for order in (MAX, "retrieval"))
        return score_fusion.fit(self.claims[VALIDATION].values(), ranked, lexical)

    @property
    def stored_weights(self) -> np.ndarray | None:
        """The weights that are stored with the model; None if cells have no weight, as users ask for cells."""
        return self.fusion_weights if self.fusion_weights[0] > 0 else None

    def answered(self, role: str) -> tuple[list[Asked], list[Asked]]:
        """The first answers to a role's questions that a cell answers, and to the same without their gold tables."""
        questions = self.questions[role]
        pools = [pool for pool in self.scores(role) if any(map(is_cell, questions[pool.id].evidence))]
        asked = functools.partial(
            pool_scores.asked_cells, weights=self.stored_weights, per_term=self.recipe.backbone is None
        )
        whole = [asked(pool, questions[pool.id]) for pool in pools]
        without = [asked(pool, questions[pool.id], without=self.gold_tables(questions[pool.id])) for pool in pools]
        return whole, without

    @kept
    def answer_confidence(self) -> AnswerConfidence | None:
        """The probability that a best cell is right, fitted on held-out questions with and without gold tables."""
        return answer_confidence.fit(itertools.chain(*self.answered(VALIDATION)))

    def pruning(self, limits: Sequence[int]) -> dict[str, dict]:
        """`pool_scores.pruning_curve` for each order that is preserved: by best cell, and by best cell with BM25."""

        def fused(tables: Sequence[ScoredTable], of: str) -> np.ndarray:
            cells, lexical = (np.array([getattr(table, name) for table in tables]) for name in (of, "retrieval"))
            return score_fusion.features_of(cells, lexical, lexical.max()) @ self.fusion_weights

        found = {MAX: pool_scores.pruning_curve(self.scores(), limits)}
        if FUSED in self.orders:
            found[FUSED] = pool_scores.pruning_curve(self.scores(), limits, worth=fused)
        return found

    def scores(self, role: str = REPORT) -> Iterator[PoolScores]:
        return pool_scores.read_scores(self.scores_file(role))

    # --- Stages -----------------------------------------------------------------------------

    def stages(self) -> list[Stage]:
        """The paper's pipeline, from questions to answer cells."""
        recipe, own_index = self.recipe, self.index_folder == self.out / "index"
        if RETRIEVER in recipe.train and not own_index:
            raise LisaxError("a retriever is trained for an index of the run's own: leave the given one out")
        after = [f"train.{RETRIEVER}"] if RETRIEVER in recipe.train else []
        index = Stage("index", after, [], lambda: self.see("made_from"))
        if own_index:
            index = Stage("index", after, [self.index_folder], self._build_index)
        roles = [*self.scored_roles]
        if recipe.learns_parts and self._negatives:
            roles = [*ROLES]
        roles = [role for role in ROLES if role in roles] + self.aggregation.retrieved_roles
        # Section 4.2: the pool of every question, and its relevance judgements.
        pools = [*(self.run_file(BM25, role) for role in roles), *map(self.qrels_file, (TABLES, CELLS))]
        retrieve = Stage("retrieve", ["index"], pools, functools.partial(self._retrieve, roles))
        first = [index]
        if RETRIEVER in recipe.train:
            folder = self.tables_folder
            words = Stage(WORDS, [], [folder], functools.partial(self._build_words, folder))
            first = [words, *self.stages_of_retriever(), index]
        return [
            *first,
            retrieve,
            *(self.stages_of_training() if recipe.learns_parts else []),
            *(self.stages_of_answers() if recipe.scorers else []),
        ]

    # --- Retrieval --------------------------------------------------------------------------

    def _build_words(self, folder: Path) -> None:
        table_text.build_index(self.data.tables(), folder, k1=self.recipe.k1, b=self.recipe.b)

    def _build_index(self) -> None:
        self._build_words(self.index_folder)
        if RETRIEVER in self.recipe.train:
            add_vectors(self.index_folder, Retriever(self.model_dir(RETRIEVER)), self.workers)
            self._fit_weight()
        elif self.recipe.backbone is not None:
            add_vectors(self.index_folder, SentenceEncoder.open(self.recipe.backbone), self.workers)

    def _fit_weight(self) -> None:
        """Fits the weight of trained vectors against BM25 to held-out questions, and stores it in the index."""
        held = list(self.questions[VALIDATION].values())
        search = search_by_vectors(self.index_folder)
        weight, precisions = fusion.fit(
            search.judged([question.text for question in held], [self.gold_tables(question) for question in held])
        )
        keep_weight(self.index_folder, "tables", weight, len(held))
        say(
            f"  weight of vectors {weight:g}: mean average precision {100 * precisions[weight]:.1f} of {len(held):,} held-out "
            f"questions; {100 * precisions[0.0]:.1f} by BM25 only"
        )

    def found(self, questions: Iterable[Question], k: int) -> Iterator[Hit]:
        """`k` tables for each question by BM25 over their texts; with a backbone, together with its vectors."""
        folder = self.index_folder
        dense = None if self.recipe.backbone is None else functools.partial(search_by_vectors, folder)
        return self._searched(functools.partial(open_table_search, folder, k, dense), questions)

    def _searched(self, opens: Opens, questions: Iterable[Question]) -> Iterator[Hit]:
        return self.at_workers(opens, questions, table_text.QUESTIONS_AT_A_TIME, "questions")

    def _retrieve(self, roles: Sequence[str]) -> None:
        for role in roles:
            questions = self.questions[role].values()
            say(f"  {len(questions):,} questions for {role}")
            write_run(self.run_file(BM25, role), self.found(questions, self.recipe.pool), BM25)
        reported = self.questions[REPORT].values()
        tables = {one.id: dict.fromkeys(self.gold_tables(one), 1) for one in reported}
        write_qrels(self.qrels_file(TABLES), tables)
        cells = {one.id: dict.fromkeys(filter(is_cell, one.evidence), 1) for one in reported}
        write_qrels(self.qrels_file(CELLS), cells)

    def stages_of_retriever(self) -> list[Stage]:
        """Training of the vectors: each question with a table that answers it and others that BM25 finds."""
        examples = self.stage_of_examples(RETRIEVER, [RETRIEVER], self._write_retriever_examples, after=[WORDS])
        return [*self.stages_before_training(), examples, self.training(RETRIEVER, after=[examples.name])]

    def _write_retriever_examples(self) -> None:
        recipe = self.recipe
        opens = functools.partial(open_table_search, self.tables_folder, question_examples.NEAR + 1)

        def view(table: str) -> PassageView:
            return PassageView(table, *text_of_table(self.lookup(table)))

        for role in (TRAIN, VALIDATION):
            questions = self.questions[role].values()
            ranked = ranked_ids(by_query(self._searched(opens, questions)))
            made = question_examples.for_table_retriever(
                questions, ranked, self.gold_tables, view, negatives=recipe.retriever_negatives, seed=recipe.seed
            )
            say(f"  {write_examples(self.examples_file(RETRIEVER, role), made):,} questions for {role}")

    # --- Training ---------------------------------------------------------------------------

    @fact
    def required_words(self) -> Sequence[str]:
        return (*REQUIRED_WORDS, *(self.preset.operation_words if AGGREGATION in self.recipe.train else ()))

    def texts(self) -> Iterator[str]:
        """Questions and the parts of tables as models read them, from the data and from the warm-up's world."""
        questions: Iterable[Question] = self.learned(TRAIN)
        tables: Iterable[Table] = self.tables
        if self.recipe.warms_up:
            made = open_folder(self.world_folder)
            questions = itertools.chain(questions, made.questions("train"))
            tables = itertools.chain(tables, made.tables())
        for table in tables:
            few = dataclasses.replace(table, rows=table.rows[:ROWS_OF_A_TABLE])
            for example in part_examples.parts_of("", "", few):
                yield TABLE_PARTS.encode(example, preset=self.preset, count_tokens=len).inputs
            if AGGREGATION in self.recipe.train:
                names = OperationExample("", "", table.id, table.header)
                yield TABLE_OPERATION.encode(names, preset=self.preset, count_tokens=len).inputs
        for question in questions:
            yield question.text

    def stages_of_training(self) -> list[Stage]:
        """Training of all models and their examples: every row and column of the gold tables, and of retrieved ones
        if the recipe says so. A model that others may start from learns first from questions made of the tables."""
        train, headers = self.recipe.train, self.aggregation.example_files.values()
        own = Stage(OWN, ["index"], self._part_files(self.out / OWN), self._write_own_examples)
        examples = Stage("examples", ["retrieve"], [*self._part_files(self.out), *headers], self._write_examples)
        before = [] if RETRIEVER in self.recipe.train else self.stages_before_training()
        return [
            *before,
            *([own, self.training(OWN, after=[OWN])] if OWN in train else []),
            examples,
            *(self.training(model, after=["examples"]) for model in train if model not in (OWN, RETRIEVER)),
        ]

    def task_of(self, model: str) -> str:
        return TASKS[model] if self.recipe.backbone is None else TASKS[model].replace("cltr_", "cltr_pair_")

    def lengths_of(self, model: str) -> dict[str, int]:
        if model == RETRIEVER:
            tables = 1 + self.recipe.retriever_negatives
            return {"inputs": (2 * tables + 1) * self.recipe.question_tokens, "targets": tables}
        return {"inputs": self.recipe.max_tokens, "targets": self.target_length}

    def examples_folder(self, model: str) -> Path:
        return self.out / OWN if model == OWN else self.out

    def _write_own_examples(self) -> None:
        recipe = self.recipe
        asked = own_questions(self.tables, len(self.tables), recipe.own_questions, recipe.seed)
        found = ranked_ids(by_query(self.found(asked, part_examples.WINDOW)))
        held = int(recipe.validation_share * len(asked)) or 1
        self._write_parts(self.out / OWN, {VALIDATION: asked[:held], TRAIN: asked[held:]}, found)

    def _write_examples(self) -> None:
        self.aggregation.write_examples()
        roles, pools = (TRAIN, VALIDATION), dict[str, list[str]]()
        for role in roles if self._negatives else ():
            pools |= ranked_ids(self._pools(role))
        self._write_parts(self.out, {role: self.learned(role) for role in roles}, pools)

    @property
    def _negatives(self) -> dict[PartKind, int]:
        """How many retrieved tables provide negatives, by kind of part; empty: none."""
        found = {PartKind.ROW: self.recipe.negative_tables, PartKind.COLUMN: self.recipe.negative_columns}
        return found if any(found.values()) else {}

    @staticmethod
    def _part_files(folder: Path) -> list[Path]:
        roles = (TRAIN, VALIDATION)
        return [folder / "examples" / part_examples.file_name(kind, role) for kind in PartKind for role in roles]

    def _write_parts(
        self, folder: Path, questions: Mapping[str, Sequence[Question]], pools: Mapping[str, Sequence[str]]
    ) -> None:
        """Writes the row and column examples of questions by role; `pools` are the tables retrieved for them."""
        recipe = self.recipe
        for role in (TRAIN, VALIDATION):
            counts = part_examples.write_all(
                folder / "examples",
                role,
                [(question, pools.get(question.id, ())) for question in questions[role]],
                self.lookup,
                gold_tables=recipe.gold_tables,
                negative_tables=self._negatives,
                negative_parts=recipe.negative_parts,
                hard_parts=recipe.hard_parts,
                seed=recipe.seed,
            )
            for kind, count in counts.items():
                say(f"  {count:,} {kind}s for {role}")

    def learned(self, role: str) -> list[Question]:
        """The training questions of a role: those answered by a cell, then those answered by an aggregate."""
        return [*self.questions[role].values(), *self.questions.get(AGGREGATING[role], {}).values()]

    def _pools(self, role: str) -> dict[str, list[Hit]]:
        roles = [one for one in (role, AGGREGATING[role]) if self.questions.get(one)]
        return {query: hits for one in roles for query, hits in read_run(self.run_file(BM25, one)).items()}

    # --- Answers ----------------------------------------------------------------------------

    def stages_of_answers(self) -> list[Stage]:
        """Section 3.2: score all rows and columns of the pools, reorder the tables, take the best cell of each. With a
        head for operations, also aggregate cells."""
        recipe = self.recipe
        trained = [f"train.{model}" for model in recipe.scorers if model in recipe.train]

        def rerank(role: str) -> Stage:
            work = functools.partial(self._rerank, role)
            return Stage(f"rerank.{role}", ["retrieve", *trained], [self.scores_file(role)], work)

        runs = [*(order for order in self.orders if order != BM25), *(f"answers.{order}" for order in self.orders)]
        # The weights are stored with a model trained here; a given model is left unchanged.
        weighed = self.model_dir(recipe.scorers[0]) if recipe.fuse_bm25 and recipe.scorers[0] in recipe.train else None
        answer = Stage(
            "answer",
            [f"rerank.{role}" for role in self.scored_roles],
            [*map(self.run_file, (*runs, "gold_table")), *([weighed / FITTED] if weighed is not None else [])],
            functools.partial(self._answer, weighed),
        )
        return [
            *map(rerank, (*self.scored_roles, *self.aggregation.scored_roles)),
            answer,
            *self.aggregation.stages(),
        ]

    def _rerank(self, role: str) -> None:
        questions = list(self.questions[role].values())
        run = read_run(self.run_file(BM25, role)) if questions else {}
        pairs = [(question, run.get(question.id, [])[: self.recipe.scored]) for question in questions]
        models = [self.model_dir(model) for model in self.recipe.scorers]
        opens = functools.partial(pool_scores.open_scoring, self.index_folder, models)
        lines_to_file(self.scores_file(role), opens, pairs, 1, workers=self.workers, what="questions")

    def _answer(self, weighed: Path | None) -> None:
        scored, pools = list(self.scores()), read_run(self.run_file(BM25))
        for order in (MAX, MEAN):
            ordered = by_query(pool_scores.table_run(scored, order))
            write_run(self.run_file(order), pool_scores.with_others(ordered, pools), order)
        if FUSED in self.orders:
            say(
                "  log-odds of relevance: {:.2f} of the best cell's, {:+.2f} of BM25's share, {:+.2f}".format(
                    *self.fusion_weights
                )
            )
            ranked, lexical = (by_query(pool_scores.table_run(scored, order)) for order in (MAX, "retrieval"))
            fused = by_query(score_fusion.fuse(ranked, lexical, self.fusion_weights))
            write_run(self.run_file(FUSED), pool_scores.with_others(fused, pools), FUSED)
            if weighed is not None:
                weights, confidence = self.stored_weights, self.answer_confidence
                if confidence is None:
                    say("  no right answer to a held-out question, so that no probability of answers is fitted")
                fitted = {
                    "fusion": None if weights is None else weights.tolist(),
                    "answers": confidence and dataclasses.asdict(confidence),
                    "retrieval": "bm25" if self.recipe.backbone is None else VECTORS,
                }
                write_fitted(weighed, fitted)
        for order in self.orders:
            answers = pool_scores.answer_run(scored, read_run(self.run_file(order)))
            write_run(self.run_file(f"answers.{order}"), answers, order)
        write_run(self.run_file("gold_table"), pool_scores.gold_run(scored), "gold_table")
