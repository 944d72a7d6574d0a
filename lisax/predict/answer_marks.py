"""The kind of answer that a question asks for, by its first words, and the parts of a sentence that are of this kind: a
date for "when", a number for "how many", a name for "who". No model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from lisax.formats.triples import EMPTY, is_missing
from lisax.text import quantities
from lisax.text.dates import YEAR, find_dates
from lisax.text.quantities import Kind
from lisax.text.stop_words import FUNCTION_WORDS
from lisax.text.words import content_stems, words

AnswerKind = Literal["time", "number", "name"]
Span = tuple[int, int]

_ASKED: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?:{forms})\b", re.IGNORECASE))
    for kind, forms in (
        (
            "number",
            "how (?:many|much|long|tall|high|far|old|deep|wide|large|big|heavy|fast|hot|cold|often)"
            "|wie (?:viele?|hoch|lang|weit|alt|tief|breit|groß|schwer)|combien|what (?:percentage|share|temperature)",
        ),
        ("time", "when|wh(?:at|ich) (?:year|date|day|month|time)|wann|quand|cuándo"),
        ("name", "who|whom|whose|wer|wen|wem|qui|quién"),
    )
)
_YEAR = re.compile(rf"(?<![\d.,]){YEAR}(?![\d.,]*\d)")
_CLOCK = re.compile(r"(?<![\d.:])\d{1,2}(?:[:.]\d{2}(?:\s?[ap]\.?m\b\.?)?|\s?[ap]\.?m\b\.?)(?![\d:])", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w'’-]*\.?")


def asked(question: str) -> AnswerKind | None:
    """The kind of answer that a question asks for; None if its words do not show it."""
    found = [(match.start(), kind) for kind, forms in _ASKED if (match := forms.search(question))]
    return min(found)[1] if found else None


def marks(question: str, sentence: str) -> list[Span]:
    """The parts of a sentence, [start, end), that are of the kind that the question asks for and that the question does
    not have itself; empty if the kind is not known."""
    kind = asked(question)
    if kind is None:
        return []
    known = set(words(question))
    found = {"time": _times, "number": _numbers, "name": _names}[kind](sentence)
    return [(start, end) for start, end in found if not set(words(sentence[start:end])) <= known]


def cell_marks(question: str, row: str) -> list[Span]:
    """The cells of a row, `town, mayor | Tarn, Olin Marsh`, in a column whose name is in the question, if the question
    does not have the cell itself; for "who" only names, and the first of the row if the question names no column of
    names; empty for a row with commas within its cells, and if the cells that the question asks for have no value."""
    header, between, values = row.partition(" | ")
    names, cells, known = header.split(", "), values.split(", "), content_stems(question)
    who, found, others, start = asked(question) == "name", [], [], len(header) + len(between)
    missing = False
    if not between or len(names) != len(cells):
        return []
    for name, cell in zip(names, cells):
        stems = content_stems(name)
        is_asked, is_empty = bool(stems) and stems <= known, cell == EMPTY or is_missing(cell)
        missing |= is_asked and is_empty
        is_name = any(_names(f". {cell}")) and not any(map(str.isdigit, cell))
        if not is_empty and not content_stems(cell) <= known and (is_name or not who):
            (found if is_asked else others).append((start, start + len(cell)))
        start += len(cell) + len(", ")
    return found or (others[:1] if who and not missing else [])


def _times(text: str) -> Iterator[Span]:
    end = 0
    dates = [(start, stop) for _, start, stop in find_dates(text.lower())]
    years = [match.span() for match in _YEAR.finditer(text)]
    for start, stop in sorted([*dates, *years, *(match.span() for match in _CLOCK.finditer(text))]):
        if start >= end:
            yield start, stop
            end = stop


def _numbers(text: str) -> Iterator[Span]:
    dates = [(start, stop) for _, start, stop in find_dates(text.lower())]
    for one in quantities.find(text):
        year = one.kind is Kind.PLAIN and _YEAR.fullmatch(text[one.start : one.end])
        if one.kind is not Kind.ORDINAL and not year and not any(a < one.end and one.start < b for a, b in dates):
            yield one.start, one.end


def _names(text: str) -> Iterator[Span]:
    """Runs of capitalised words other than function words: `Olin B. Marsh`. The first word of a text has a capital in
    any case and is left out if it is the only one of its run."""
    run: list[Span] = []
    for match in _WORD.finditer(text):
        word = match[0].rstrip(".")
        adjoins = not run or not text[run[-1][1] : match.start()].strip()
        if word[0].isupper() and word.lower() not in FUNCTION_WORDS:
            if not adjoins:
                yield from _run(run)
                run = []
            run.append((match.start(), match.start() + len(word)) if len(word) > 2 else match.span())
        elif run:
            yield from _run(run)
            run = []
    yield from _run(run)


def _run(words_at: list[Span]) -> Iterator[Span]:
    if words_at and (len(words_at) > 1 or words_at[0][0] > 0):
        yield words_at[0][0], words_at[-1][1]
