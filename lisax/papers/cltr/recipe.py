"""What a run of CLTR consists of; itself set by gin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from lisax.papers.recipe import MODEL, WarmUpRecipe
from lisax.records import LisaxError
from lisax.retrieval.table_text import K1, POOL, B

PARTS, ROWS, COLUMNS, AGGREGATION, OWN = "parts", "rows", "columns", "aggregation", "own"
MODELS = (PARTS, ROWS, COLUMNS, AGGREGATION, OWN)


@dataclasses.dataclass(frozen=True)
class CltrRecipe(WarmUpRecipe):
    """The defaults are the paper's; a recipe for small machines is `experiments/cltr/scratch.gin`.

    `train` maps a model to its gin file: `parts` scores rows and columns alike, `rows` and `columns` are the paper's
    two, `aggregation` beside them is the optional head for operations (`aggregation.py`), and `own` is what they may
    start from: a model that learns from questions made of the collection's own tables (`sampling/own_questions.py`).
    `models` are trained already (checkpoints or bundles) and only used, as in zero-shot transfer.
    """

    gin_module: ClassVar[str] = "cltr"
    model_names: ClassVar[Sequence[str]] = MODELS
    fields_of_models: ClassVar[Sequence[str]] = ("train", "models", "initial")

    models: dict[str, str] = dataclasses.field(default_factory=dict, metadata=MODEL)
    max_tokens: int = 512  # of a question with a row or a column
    target_tokens: int = 2  # a word and EOS, times the examples packed in a row
    # Retrieval: tables scored for a question, with Elasticsearch's k1 and b.
    pool: int = POOL
    k1: float = K1
    b: float = B
    # Splits of questions; None: `train` (and `e2e_train`) teach, `e2e_test`, `e2e_dev`, `test` or `dev` is reported,
    # the first that there is. A reported question teaches nothing, whatever split names it.
    train_splits: Sequence[str] | None = None
    report_split: str | None = None
    train_questions: int | None = None
    validation_questions: int | None = None
    report_questions: int | None = None
    # Of a question's gold tables how many teach. The paper's model sees no other table; rows of `negative_tables` of
    # BM25's pool can be added, and columns of `negative_columns`, where tables differ in their headers.
    # Negative parts of a table that are kept, of each kind; None: all, as in the paper.
    gold_tables: int = 1
    negative_tables: int = 0
    negative_columns: int = 0
    negative_parts: int | None = None
    own_questions: int = 15_000  # made of the collection's tables, where a model `own` is trained
    # Tables are ranked by their cells and BM25 together, weighed on the held-out questions; the paper's by cells.
    fuse_bm25: bool = False
    # The probability from which on a row is among those that are counted, added up …; None: fitted on held-out
    # questions where models are trained, 0.5 where they are given.
    aggregation_threshold: float | None = None

    def __post_init__(self):
        super().__post_init__()
        given = {*self.train, *self.models}
        if given and PARTS not in given and given - {AGGREGATION, OWN} != {ROWS, COLUMNS}:
            raise LisaxError(
                f"CltrRecipe: a model for {', '.join(given)} alone finds no cell: give 'parts', or both "
                "'rows' and 'columns'"
            )
        if both := set(self.train) & set(self.models):
            raise LisaxError(f"CltrRecipe: '{min(both)}' is to be trained and is given as well")
        if OWN in self.models:
            raise LisaxError("CltrRecipe.models names 'own', which others start from: name it in CltrRecipe.initial")
        if self.aggregation_threshold is not None and not 0 <= self.aggregation_threshold <= 1:
            raise LisaxError(
                f"CltrRecipe.aggregation_threshold must lie between 0 and 1, found {self.aggregation_threshold}"
            )
        for field in ("pool", "gold_tables", "own_questions"):
            if getattr(self, field) < 1:
                raise LisaxError(f"CltrRecipe.{field} must be at least 1, found {getattr(self, field)}")

    @property
    def learns(self) -> bool:
        """Whether a model is trained."""
        return bool(self.train)

    @property
    def learns_operations(self) -> bool:
        return AGGREGATION in self.train

    @property
    def scores(self) -> bool:
        """Whether rows and columns are scored, by a model that is trained or given."""
        return bool(self.scorers)

    @property
    def aggregates(self) -> bool:
        """Whether there is a head for operations."""
        return AGGREGATION in self.train or AGGREGATION in self.models

    @property
    def scorers(self) -> tuple[str, ...]:
        """The models that score: one for both kinds, else rows' and columns'."""
        given = {*self.train, *self.models}
        return () if not given else (PARTS,) if PARTS in given else (ROWS, COLUMNS)
