"""What a retriever's and a reader's texts look like, and where in them an answer may stand.

A dual encoder reads questions as they are and passages as `{title} . {text}`; a reader reads each passage as
`question: {question} title: {title} context: {text}`. Only the passage's text is shortened, or else the question.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from lisax.formats.budget import CountTokens, fits, longest_start, squeeze
from lisax.records import LisaxError


class Reads(enum.StrEnum):
    """The families of these models, as `model.json` names them."""

    RETRIEVE = "retrieve"
    READ = "read"
    POINT = "point"


class ReadingText(NamedTuple):
    """`inputs`, of which the passage's text, or the start that there was room for, begins at `context`."""

    inputs: str
    context: int


def encode_question(question: str, *, max_tokens: int | None, count_tokens: CountTokens) -> str:
    return _shortened(squeeze(question), "", max_tokens, count_tokens)


def encode_passage(title: str, text: str, *, max_tokens: int | None, count_tokens: CountTokens) -> str:
    before = f"{squeeze(title)} . " if title else ""
    return _shortened(text, before, max_tokens, count_tokens)


def encode_reading(
    question: str, title: str, text: str, *, max_tokens: int | None, count_tokens: CountTokens
) -> ReadingText:
    """The text of a question with one of its passages; at most `max_tokens` tokens with EOS."""
    before = f"question: {squeeze(question)} title: {squeeze(title)} context: "
    return ReadingText(_shortened(text, before, max_tokens, count_tokens), len(before))


def _shortened(text: str, before: str, max_tokens: int | None, count_tokens: CountTokens) -> str:
    """`before` and the longest start of `text` that fits; where `before` alone does not, its longest start."""
    kept = longest_start(text, lambda start: fits(before + start, max_tokens, count_tokens))
    if kept is not None:
        return before + kept
    kept = longest_start(before, lambda start: fits(start, max_tokens, count_tokens))
    if kept is None:
        raise LisaxError(f"{max_tokens} tokens do not hold even an empty text: give `inputs` a greater length")
    return kept


class Places(NamedTuple):
    """Character spans of an input's tokens: the i-th token is `inputs[begins[i]:ends[i]]`."""

    begins: list[int]
    ends: list[int]

    def tokens_of(self, begin: int, end: int) -> tuple[int, int] | None:
        """The first and the last token of the characters from `begin` to `end`, or None where one of them is in no
        token (the text was cut before it)."""
        inside = [
            i
            for i, (first, last) in enumerate(zip(self.begins, self.ends))
            if first < end and last > begin and last > first
        ]
        if not inside or self.ends[inside[-1]] < end or self.begins[inside[0]] > begin:
            return None
        return inside[0], inside[-1]
