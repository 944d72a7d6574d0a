"""The settings of question answering over text, tables and graphs, configurable by gin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from lisax.errors import LisaxError
from lisax.papers.recipe import GIN_FILE, MODEL, ClaimsRecipe
from lisax.sampling.question_examples import DEPTHS

MODELS = ("retriever", "retriever_second", "reader_first", "reader")
INDEXES = ("text", "raw", "verbalized")


@dataclasses.dataclass(frozen=True)
class QuestionRecipe(ClaimsRecipe):
    """Defaults are the paper's sizes; a recipe for small machines is `experiments/udt_qa/scratch.gin`.

    `train` maps a model to its gin file: `retriever` (trained against BM25's negatives), `retriever_second` (starting
    from it, against its own negatives), `reader_first` (trained on one passage per question that contains the answer;
    ours, for small models), and `reader` (starting from that, if there is one). Both readers point, or both generate.
    Each model is trained for every index of `learned_from` and named after it: `reader_text`. An index has only text
    ("text") or also tables and graphs, "raw" or "verbalized". Models trained on text answer from every index of
    `indexes` (the paper's hot-swap), others from their own index.

    `verbalizer`: MODEL_DIR or bundle of a trained verbalizer; None: the rule that replaces unfaithful verbalizations.
    `claims`: a LisT5 recipe (gin file) whose models check claims against every index; None: no claims. `warm_up`: a
    LisT5 recipe. `validation_claims` and `report_claims` limit questions here. With a `backbone`, readers point, and if
    no `retriever` is trained, its own vectors of passages and questions are searched (zero-shot)."""

    gin_module: ClassVar[str] = "udt_qa"
    model_names: ClassVar[Sequence[str]] = MODELS

    learned_from: Sequence[str] = INDEXES
    indexes: Sequence[str] = INDEXES
    verbalizer: str | None = dataclasses.field(default=None, metadata=MODEL)
    method: str = "fused"  # bm25, dense or fused: the passages for the reader
    retrieved: int = 100  # passages per question
    mined: int = 100  # passages per training question, for sampling negatives
    negatives: int = 1  # hard negatives per gold passage
    passages: int = 100  # passages that the reader reads, one of `DEPTHS`
    question_tokens: int = 128  # a question for the retriever; passages have twice as many
    passage_tokens: int = 256  # a question with one passage, for the reader
    places: int = 16  # occurrences of the answer in a question's passages that train a pointing reader
    answer_tokens: int = 32
    train_questions: int | None = None
    # Share of pages, by a hash of their ids, whose text is left out of every index: only tables and graphs have their
    # content.
    withheld_pages: float = 0.0
    claims: str | None = dataclasses.field(default=None, metadata=GIN_FILE)
    checked_claims: int | None = None  # of the reported split, and equally many over tables; None: all
    claim_passages: int = 20  # passages whose units are ranked per claim

    def __post_init__(self):
        super().__post_init__()
        for field in ("learned_from", "indexes"):
            if unknown := set(getattr(self, field)) - set(INDEXES):
                raise LisaxError(
                    f"QuestionRecipe.{field} names {', '.join(sorted(unknown))}; there are {', '.join(INDEXES)}"
                )
        if "text" not in self.indexes or not set(self.learned_from) <= set(self.indexes):
            raise LisaxError("QuestionRecipe.indexes must hold 'text' and all of learned_from")
        vectors = self.backbone is not None or "retriever" in self.train
        if "reader" not in self.train or (self.method != "bm25" and not vectors):
            raise LisaxError(
                "QuestionRecipe.train must name a gin file for 'reader' and, unless method is 'bm25' or there is a "
                "backbone, for 'retriever'"
            )
        if self.passages not in DEPTHS:
            raise LisaxError(
                f"QuestionRecipe.passages must be one of {', '.join(map(str, DEPTHS))}, found {self.passages}"
            )
        if not 0 <= self.withheld_pages < 1:
            raise LisaxError(f"QuestionRecipe.withheld_pages must be from 0 to below 1, found {self.withheld_pages}")
        if self.method not in ("bm25", "dense", "fused"):
            raise LisaxError(f"QuestionRecipe.method must be bm25, dense or fused, found '{self.method}'")
        if "retriever_second" in self.train and "retriever" not in self.train:
            raise LisaxError(
                "QuestionRecipe.train names 'retriever_second', which starts from 'retriever': name it too"
            )

    def expanded(self) -> QuestionRecipe:
        """The recipe with a model for every index of `learned_from` in `train` and `initial`."""
        train = {
            f"{model}_{index}": self.train[model]
            for index in self.learned_from
            for model in MODELS
            if model in self.train
        }
        initial = {f"{model}_{index}": path for index in self.learned_from for model, path in self.initial.items()}
        if "retriever_second" in self.train:
            initial |= {f"retriever_second_{index}": f"retriever_{index}" for index in self.learned_from}
        if "reader_first" in self.train:
            initial |= {f"reader_{index}": f"reader_first_{index}" for index in self.learned_from}
        expanded = dataclasses.replace(self)
        object.__setattr__(expanded, "train", train)
        object.__setattr__(expanded, "initial", initial)
        return expanded

    def retriever(self, learned: str) -> str | None:
        """The retriever for models trained on an index."""
        names = [f"{model}_{learned}" for model in ("retriever_second", "retriever")]
        return next((name for name in names if name in self.train), None)

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Pairs (trained on, answers from), in the report's order."""
        return tuple(
            (learned, index) for learned in self.learned_from for index in self.indexes if learned in ("text", index)
        )
