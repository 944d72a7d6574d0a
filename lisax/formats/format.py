"""The parts of a text format: the record that it is made from, the text, and the model's answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lisax.errors import LisaxError
from lisax.formats.budget import Budget, CountTokens
from lisax.formats.presets import PAPER, Preset
from lisax.records import LABELS, Label, Operation


class Text(NamedTuple):
    """One input with its target word. `dropped_rows`: rows of the example's tables for which it had no room."""

    inputs: str
    targets: str = ""
    dropped_rows: int = 0


class PairTexts(NamedTuple):
    """One input as two texts: the claim or question, and the evidence."""

    first: str
    second: str


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a format's models.

    Label words are read from the logits of the first decoder step; `words` gives them for a preset. `label` is the
    type of an example's label, `called` its name in error messages. `classes` are the labels that a pair scorer
    distinguishes, with their names in `model.json`. Other answers have none of these."""

    name: str
    label: type | None = None
    called: str = ""
    words: Callable[[Preset], tuple[str, ...]] | None = None
    classes: Mapping[Any, str] = dataclasses.field(default_factory=dict)


RELEVANCE = Answer(
    "relevance",
    bool,
    "true or false",
    lambda preset: preset.ranking_words,
    {True: "relevant", False: "not relevant"},
)
VERDICT = Answer(
    "verdict", Label, "a verdict", lambda preset: preset.label_words, {label: label.value for label in LABELS}
)
OPERATION = Answer("operation", Operation, "an operation", lambda preset: preset.operation_words)
TABLE_CLASSES = Answer("table classes")  # of each table of a claim, and how sure they are together
POINTERS = Answer("pointers")  # to some of a claim's candidates, and the claim's label
SENTENCES = Answer("sentences")  # that say what a row or sub-graph says
VECTORS = Answer("vectors")  # of questions and passages
SPANS = Answer("spans")  # of passages, where the answer to a question stands
WRITTEN = Answer("written answer")  # to a question


@dataclasses.dataclass(frozen=True, eq=False)
class Format:
    """One way of turning an example record into a model's input. The entries are in `catalogue.FORMATS`.

    `name` is its name in tasks, files and `model.json`. `example` is the record of its files (`from_row`, `row`);
    `also` are other records that it can be made from. `texts(example, preset, budget)` gives one text, or one for each
    of an example's parts (`each`: "table", "candidate", "passage"). `pairs(example, preset)` gives the same as two
    texts, one pair or one for each, of which the vocabulary of an encoder makes an input; None: there is no such form.
    `depth` is the field of `model.json` that gives the number read for a claim."""

    name: str
    example: type
    texts: Callable[..., Sequence[Any]]
    answer: Answer
    each: str = ""
    depth: str = ""
    also: tuple[type, ...] = ()
    pairs: Callable[..., Any] | None = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<format {self.name}>"

    @property
    def has_label_words(self) -> bool:
        return self.answer.words is not None

    def words(self, preset: Preset) -> tuple[str, ...]:
        """The label words that a model of this format answers with."""
        if self.answer.words is None:
            raise LisaxError(f"the format '{self}' has no label words: its answers are {self.answer.name}")
        return self.answer.words(preset)

    def encode(
        self, example: Any, *, preset: Preset = PAPER, max_tokens: int | None = None, count_tokens: CountTokens
    ) -> Text:
        """The input of at most `max_tokens` tokens (None: no limit), and the target word.

        `count_tokens` gives the number of tokens of a text; special tokens count in both. Raises LisaxError for an
        example that does not fit the format: another record, a list instead of one sentence, a verdict instead of
        relevance."""
        if self.each:
            raise LisaxError(f"the format '{self}' has an input for each {self.each}: `encode_each` gives them")
        (text,) = self.encode_each(example, preset=preset, max_tokens=max_tokens, count_tokens=count_tokens)
        return text

    def encode_each(
        self, example: Any, *, preset: Preset = PAPER, max_tokens: int | None = None, count_tokens: CountTokens
    ) -> list[Any]:
        """The inputs of a format that has several for an example, each of at most `max_tokens` tokens; see `encode`."""
        self._check(example)
        return list(self.texts(example, preset, Budget(count_tokens, max_tokens)))

    def pair(self, example: Any, *, preset: Preset = PAPER) -> PairTexts:
        """An example as two texts, whole; `Vocabulary.encode_pair` shortens the second. LisaxError as of `encode`."""
        if self.pairs is None or self.each:
            raise LisaxError(f"the format '{self}' has no form of two texts")
        self._check(example)
        return self.pairs(example, preset)

    def pair_of_each(self, example: Any, *, preset: Preset = PAPER) -> list[PairTexts]:
        """One `pair` for each of an example's parts (`each`)."""
        if self.pairs is None or not self.each:
            raise LisaxError(f"the format '{self}' has no form of two texts for each {self.each or 'of several'}")
        self._check(example)
        return list(self.pairs(example, preset))

    def pair_card(self, preset: Preset, max_tokens: int, depth: int = 0) -> dict[str, Any]:
        """`card` of pair scorers: with the names of their classes in place of words."""
        labels = list(self.answer.classes.values())
        card = {"family": self.name, "preset": preset.name, "max_tokens": max_tokens, "labels": labels}
        return {"text": card | ({self.depth: depth} if self.depth and depth else {})}

    def _check(self, example: Any) -> None:
        label, wanted = getattr(example, "label", None), self.answer.label
        if label is not None and wanted is not None and not isinstance(label, wanted):
            raise LisaxError(
                f"claim {example.claim_id}: label {label!r} does not fit the format '{self}', "
                f"which wants {self.answer.called}"
            )
        if not isinstance(example, (self.example, *self.also)):
            raise LisaxError(f"the format '{self}' takes {self.example.__name__}, found {type(example).__name__}")

    def card(self, preset: Preset, max_tokens: int, depth: int = 0, pairs: bool = False) -> dict[str, Any]:
        """The facts about a model's training texts that inference needs, for its `model.json`: {"text": {family,
        preset, max_tokens, words of the answer, tables or candidates, whether inputs are pairs}}.

        `max_tokens`: of an input, with its special tokens; of table fusion, of the claim with one table, and of a
        pointer with one candidate. `depth`: how many tables or candidates are read for a claim. `pairs`: each is read
        by `pair_of_each`."""
        card: dict[str, Any] = {"family": self.name, "preset": preset.name, "max_tokens": max_tokens}
        if self.has_label_words:
            card["words"] = list(self.words(preset))
        if pairs:
            card["pairs"] = True
        return {"text": card | ({self.depth: depth} if self.depth and depth else {})}
