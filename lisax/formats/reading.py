"""The texts of retrievers and readers, and the positions in them where an answer may be.

A dual encoder reads questions as they are and passages as `{title} . {text}`; a reader reads each passage as
`question: {question} title: {title} context: {text}`. Only the passage's text is shortened, or else the question.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from lisax.errors import DataError, LisaxError
from lisax.files.reading import get_field
from lisax.formats.budget import Budget, CountTokens, longest_start, squeeze
from lisax.formats.format import SPANS, VECTORS, WRITTEN, Format
from lisax.formats.presets import Preset


@dataclasses.dataclass(frozen=True, slots=True)
class PassageView:
    """A passage of a question; `spans`: characters of its text of an answer that may be learned."""

    id: str
    title: str
    text: str
    spans: tuple[tuple[int, int], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class QuestionExample:
    """A question with its passages. In training of a retriever the first one is gold and the others are not."""

    question_id: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[PassageView, ...]

    def row(self) -> dict:
        return {
            "question_id": self.question_id,
            "question": self.question,
            "answers": list(self.answers),
            "passages": [
                [view.id, view.title, view.text, [list(span) for span in view.spans]] for view in self.passages
            ],
        }

    @staticmethod
    def from_row(row: dict, *, path=None, line=None) -> QuestionExample:
        def get(field: str, kind: type):
            return get_field(row, field, kind, path=path, line=line or 0)

        try:
            views = tuple(
                PassageView(i, title, text, tuple((int(first), int(last)) for first, last in spans))
                for i, title, text, spans in get("passages", list)
            )
        except (TypeError, ValueError):
            raise DataError(
                "expected [id, title, text, [[begin, end], …]]", path=path, line=line, field="passages"
            ) from None
        return QuestionExample(get("question_id", str), get("question", str), tuple(get("answers", list)), views)


class ReadingText(NamedTuple):
    """`inputs`, of which the passage's text, or the start that there was room for, begins at `context`."""

    inputs: str
    context: int


def encode_question(question: str, *, max_tokens: int | None, count_tokens: CountTokens) -> str:
    return _shortened(squeeze(question), "", Budget(count_tokens, max_tokens))


def encode_passage(title: str, text: str, *, max_tokens: int | None, count_tokens: CountTokens) -> str:
    before = f"{squeeze(title)} . " if title else ""
    return _shortened(text, before, Budget(count_tokens, max_tokens))


def encode_reading(
    question: str, title: str, text: str, *, max_tokens: int | None, count_tokens: CountTokens
) -> ReadingText:
    """The text of a question with one of its passages; at most `max_tokens` tokens, special ones among them."""
    before = f"question: {squeeze(question)} title: {squeeze(title)} context: "
    return ReadingText(_shortened(text, before, Budget(count_tokens, max_tokens)), len(before))


def _shortened(text: str, before: str, budget: Budget) -> str:
    """`before` and the longest start of `text` that fits; if even `before` does not, its longest start."""
    kept = longest_start(text, lambda start: budget.fits(before + start))
    if kept is not None:
        return before + kept
    kept = longest_start(before, budget.fits)
    if kept is None:
        raise LisaxError(f"{budget.tokens} tokens do not hold even an empty text: give `inputs` a greater length")
    return kept


NOWHERE = (0, 0)  # the place of a token that stands for no character


class Places(NamedTuple):
    """Character spans of an input's tokens: the i-th token is `inputs[begins[i]:ends[i]]`, a special one `NOWHERE`."""

    begins: list[int]
    ends: list[int]

    @classmethod
    def of(cls, spans: Sequence[tuple[int, int]]) -> Places:
        return cls([begin for begin, _ in spans], [end for _, end in spans])

    def tokens_of(self, begin: int, end: int) -> tuple[int, int] | None:
        """The first and the last token of the characters from `begin` to `end`, or None if one of them is in no token
        (the text was cut before it)."""
        inside = [
            i
            for i, (first, last) in enumerate(zip(self.begins, self.ends))
            if first < end and last > begin and last > first
        ]
        if not inside or self.ends[inside[-1]] < end or self.begins[inside[0]] > begin:
            return None
        return inside[0], inside[-1]


def _question_and_passages(example: QuestionExample, preset: Preset, budget: Budget) -> list[str]:
    """A passage has the budget's tokens, the question half of them."""
    half = None if budget.tokens is None else budget.tokens // 2
    return [
        encode_question(example.question, max_tokens=half, count_tokens=budget.count),
        *(
            encode_passage(view.title, view.text, max_tokens=budget.tokens, count_tokens=budget.count)
            for view in example.passages
        ),
    ]


def _question_with_each_passage(example: QuestionExample, preset: Preset, budget: Budget) -> list[ReadingText]:
    return [
        encode_reading(example.question, view.title, view.text, max_tokens=budget.tokens, count_tokens=budget.count)
        for view in example.passages
    ]


RETRIEVE = Format("retrieve", QuestionExample, _question_and_passages, VECTORS, each="passage")
READ = Format("read", QuestionExample, _question_with_each_passage, WRITTEN, each="passage")
POINT = Format("point", QuestionExample, _question_with_each_passage, SPANS, each="passage")
