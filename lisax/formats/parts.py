"""Rows and columns of tables as text (CLTR, section 3): is the answer to this question in this part of the table?

    query: {question} row: {h1} : {v1} | {h2} : {v2} | … relevant:
    query: {question} column: {h} | {v1} | {v2} | … relevant:

And the header, for the operation (none, a sum …) that makes the answer of cells, as the released code asks for it:

    query: {question} header: {h1} | {h2} | … relevant:

As a pair, for an encoder of two segments, the question and the part, with the released code's `*` (ALBERT has no `|`):

    {question}    {h1} : {v1} * {h2} : {v2} * …
    {question}    {h} * {v1} * {v2} * …

Cells without text are left out, and so are a header's names without text, in training and in inference alike.
"""

from __future__ import annotations

import bisect
import dataclasses
import enum
import json
from collections.abc import Callable, Sequence

from lisax.errors import DataError
from lisax.files.reading import get_field, get_strings
from lisax.formats.budget import Budget, first_words, join, squeeze
from lisax.formats.examples import label_of
from lisax.formats.format import OPERATION, RELEVANCE, Format, PairTexts, Text
from lisax.formats.presets import Preset
from lisax.records import Operation


class PartKind(enum.StrEnum):
    """The kinds of parts of a table; the value is the word that opens it in the input."""

    ROW = "row"
    COLUMN = "column"


class _OfOneUnit:
    """One unit makes the example: the unit ids are its id, and the row holds the fields."""

    __slots__ = ()

    @property
    def unit_ids(self) -> list[str]:
        return [self.unit_id]

    def row(self) -> dict:
        """The JSON object of the example."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True, slots=True)
class PartExample(_OfOneUnit):
    """A question (`claim`, as in every example) and a row or column; `label`: is the answer in it? None: unknown.

    `header` holds the name of every cell of a row, or the one name of a column.
    """

    claim_id: str
    claim: str
    unit_id: str
    kind: PartKind
    header: tuple[str, ...]
    cells: tuple[str, ...]
    label: bool | None = None

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> PartExample:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        kind = get_field(row, "kind", str, **where)
        if kind not in list(PartKind):
            raise DataError(
                f"expected one of {', '.join(PartKind)}, found {json.dumps(kind)[:80]}", field="kind", **where
            )
        label = row.get("label")
        if label is not None and not isinstance(label, bool):
            raise DataError(f"expected true, false or null, found {json.dumps(label)[:80]}", field="label", **where)
        header, cells = (get_strings(row, field, **where) for field in ("header", "cells"))
        names = len(cells) if kind == PartKind.ROW else 1
        if len(header) != names:
            raise DataError(f"expected {names} names, found {len(header)}", field="header", **where)
        return cls(
            *(get_field(row, field, str, **where) for field in ("claim_id", "claim", "unit_id")),
            PartKind(kind),
            header,
            cells,
            label,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class OperationExample(_OfOneUnit):
    """A question (`claim`, as in every example) and the names of a table's columns; `label` None: unknown."""

    claim_id: str
    claim: str
    unit_id: str  # of the table
    header: tuple[str, ...]
    label: Operation | None = None

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> OperationExample:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        return cls(
            *(get_field(row, field, str, **where) for field in ("claim_id", "claim", "unit_id")),
            get_strings(row, "header", **where),
            label_of(row, Operation, **where),
        )


HEADER = "header"
BETWEEN, BETWEEN_IN_PAIRS = " | ", " * "  # cells
Body = Callable[[int, int | None], str]  # (how many cells, how many words of each; None: all) -> their text


def _body(example: PartExample, between: str) -> tuple[Body, list[str]]:
    """A function that gives the text of a part's first cells, each cut to a number of words; and the cells with
    text."""
    names = [squeeze(name) for name in example.header]
    present = [(i, value) for i, value in enumerate(map(squeeze, example.cells)) if value]

    def body(count: int, words: int | None) -> str:
        kept = [(i, first_words(value, words)) for i, value in present[:count]]
        if example.kind == PartKind.ROW:
            return between.join(join(names[i], ":", value) for i, value in kept)
        return between.join(text for text in (names[0], *(value for _, value in kept)) if text)

    return body, [value for _, value in present]


def _fitting(question: str, kind: str, body: Body, present: Sequence[str], preset: Preset, budget: Budget) -> str:
    """The input whose `body` has the most of the `present` texts that fits.

    An input that is too long is cut by words: all texts to the same number, the most that fits; where not even one word
    of each fits, texts are dropped from the end; then the header name that is left is cut. The question is cut last and
    the closing word stays. Raises LisaxError if not even the empty template fits.
    """
    question = squeeze(question)

    def render(document: str, query: str, _entities: int = 0) -> str:
        return join(preset.claim_slot, query, f"{kind}:", document, preset.label_closing)

    def too_long(count: int, words: int | None) -> bool:
        return not budget.fits(render(body(count, words), question))

    if not too_long(len(present), None):
        return render(body(len(present), None), question)
    longest = max((value.count(" ") + 1 for value in present), default=0)
    # Bisection ends next to a length that it tried, so its result is known to fit.
    words = bisect.bisect_left(range(1, longest), True, key=lambda words: too_long(len(present), words))
    if words > 0:
        return render(body(len(present), words), question)
    count = bisect.bisect_left(range(1, len(present)), True, key=lambda count: too_long(count, 1))
    if count > 0:
        return render(body(count, 1), question)
    return budget.shorten(render, body(1, 1), question)


def _part(example: PartExample, preset: Preset, budget: Budget) -> list[Text]:
    inputs = _fitting(example.claim, example.kind, *_body(example, BETWEEN), preset, budget)
    return [Text(inputs, preset.target(example.label))]


def _part_pair(example: PartExample, preset: Preset) -> PairTexts:
    body, present = _body(example, BETWEEN_IN_PAIRS)
    return PairTexts(squeeze(example.claim), body(len(present), None))


def _operation(example: OperationExample, preset: Preset, budget: Budget) -> list[Text]:
    names = [name for name in map(squeeze, example.header) if name]

    def body(count: int, words: int | None) -> str:
        return BETWEEN.join(first_words(name, words) for name in names[:count])

    return [Text(_fitting(example.claim, HEADER, body, names, preset, budget), preset.target(example.label))]


TABLE_PARTS = Format("table_parts", PartExample, _part, RELEVANCE, pairs=_part_pair)
TABLE_OPERATION = Format("table_operation", OperationExample, _operation, OPERATION)
