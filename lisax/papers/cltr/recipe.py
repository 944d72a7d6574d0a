"""The settings of a CLTR run, configurable by gin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from lisax.errors import LisaxError
from lisax.papers.recipe import MODEL, PaperRecipe
from lisax.retrieval.table_text import K1, POOL, B

PARTS, ROWS, COLUMNS, AGGREGATION, OWN, RETRIEVER = "parts", "rows", "columns", "aggregation", "own", "retriever"
MODELS = (PARTS, ROWS, COLUMNS, AGGREGATION, OWN, RETRIEVER)


@dataclasses.dataclass(frozen=True)
class CltrRecipe(PaperRecipe):
    """Defaults are the paper's; a recipe for small machines is `experiments/cltr/scratch.gin`.

    `train` maps a model to its gin file. `parts` scores both rows and columns; `rows` and `columns` are the paper's two
    models; `aggregation` is the optional head for operations (`operations.py`); `own` is a model that the others may
    start from, trained on questions generated from the collection's own tables (`sampling/own_questions.py`). `models`
    are trained models (checkpoints or bundles) that are only used, as in zero-shot transfer. With a `backbone`, tables
    are found by its vectors and BM25, and no head for operations is trained; `retriever` (ours) trains these vectors
    first, on questions with their tables."""

    gin_module: ClassVar[str] = "cltr"
    model_names: ClassVar[Sequence[str]] = MODELS
    fields_of_models: ClassVar[Sequence[str]] = ("train", "models", "initial")

    models: dict[str, str] = dataclasses.field(default_factory=dict, metadata=MODEL)
    max_tokens: int = 512  # a question with a row or a column
    target_tokens: int = 2  # a word and EOS, times the examples packed in a row
    # Retrieval: tables scored per question, with Elasticsearch's k1 and b.
    pool: int = POOL
    scored: int | None = None  # of the pool, the first tables whose rows and columns are scored; None: all
    k1: float = K1
    b: float = B
    # Splits of questions. None: `train` (and `e2e_train`) for training; the first that exists of `e2e_test`, `e2e_dev`,
    # `test` and `dev` is reported. Reported questions are never trained on, whatever split names them.
    train_splits: Sequence[str] | None = None
    report_split: str | None = None
    train_questions: int | None = None
    validation_questions: int | None = None
    report_questions: int | None = None
    # Questions answered by more cells are not learned from: most of these only happen to have the same text. None: all
    # are.
    answer_cells: int | None = None
    # How many of a question's gold tables are trained on. The paper's model sees no other table; rows of
    # `negative_tables` tables of BM25's pool can be added, and columns of `negative_columns`, which help where tables
    # differ in their headers. Then the number of negative parts kept per table and kind; None: all, as in the paper.
    gold_tables: int = 1
    negative_tables: int = 0
    negative_columns: int = 0
    negative_parts: int | None = None
    # In addition, the negative parts per table and kind that share most words with the question.
    hard_parts: int = 0
    # For the retriever: tables other than the gold one of each question, that BM25 finds, and the tokens of a question;
    # a table has twice as many.
    retriever_negatives: int = 2
    question_tokens: int = 96
    own_questions: int = 15_000  # generated from the collection's tables, to train `own`
    # Rank tables by their cells and BM25 together, with weights fitted on held-out questions; the paper ranks by cells.
    fuse_bm25: bool = False
    # The row probability from which on a row is counted or added up; None: fitted on held-out questions for trained
    # models, 0.5 for given ones.
    aggregation_threshold: float | None = None

    def __post_init__(self):
        super().__post_init__()
        given = {*self.train, *self.models}
        if given - {RETRIEVER} and PARTS not in given and given - {AGGREGATION, OWN, RETRIEVER} != {ROWS, COLUMNS}:
            raise LisaxError(
                f"CltrRecipe: a model for {', '.join(given)} without the other finds no cell: give 'parts', or both "
                "'rows' and 'columns'"
            )
        if both := set(self.train) & set(self.models):
            raise LisaxError(f"CltrRecipe: '{min(both)}' is to be trained and is given as well")
        if OWN in self.models:
            raise LisaxError("CltrRecipe.models names 'own', which others start from: name it in CltrRecipe.initial")
        if RETRIEVER in given and (self.backbone is None or RETRIEVER in self.models):
            raise LisaxError(
                "CltrRecipe: a 'retriever' is trained, on a backbone: name it in train and give the backbone"
            )
        if self.backbone is not None and AGGREGATION in self.train:
            raise LisaxError("CltrRecipe.train names 'aggregation', which is for T5: leave it out with a backbone")

    @property
    def learns(self) -> bool:
        """Whether the run trains a model."""
        return bool(self.train)

    @property
    def learns_parts(self) -> bool:
        """Whether the run trains a model of rows, columns or operations."""
        return bool(self.train.keys() - {RETRIEVER})

    @property
    def aggregates(self) -> bool:
        """Whether the run has a head for operations."""
        return AGGREGATION in self.train or AGGREGATION in self.models

    @property
    def scorers(self) -> tuple[str, ...]:
        """The models, trained or given, that score rows and columns: one for both, or one for each."""
        given = {*self.train, *self.models} - {RETRIEVER}
        return () if not given else (PARTS,) if PARTS in given else (ROWS, COLUMNS)

    @property
    def scores(self) -> bool:
        """Whether rows and columns are scored. Stages that read this and not `scorers` are not redone for others."""
        return bool(self.scorers)
