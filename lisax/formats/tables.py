"""Tables as text (open-domain table verification, section 4): the claim first, then row after row.

    query: {q} table: {caption} . row 1 is : {h1} is {c1} ; … ; {hm} is {cm} . row 2 is : … relevant:
    query: {q} table1: {caption} . row 1 is : … table2: {caption} . row 1 is : … relevant:

The first is one table on its own, the input of the fusion model's encoder; the second all tables of a claim in one
input, with the wording of LisT5's lists, so that the same label words answer it at the first step.

Rows are numbered from 1 and every row repeats the header. Rows that do not fit are dropped whole, from the end. A table
without any row left keeps its header (`header is : {h1} ; … ; {hm} .`).

As a pair, for an encoder of two segments, which has few tokens: the claim, and of each table the facts that are computed
for the claim (`table_facts`) and its records (`table_records`), best first.

    {q}    {caption} . {m} rows . {fact} . … {h1} is {c1} ; … ; {hm} is {cm} . …
"""

from __future__ import annotations

import bisect
import dataclasses
import enum
import heapq
import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lisax.errors import DataError
from lisax.files.reading import get_field
from lisax.formats.budget import Budget, CountTokens, first_words, join, squeeze
from lisax.formats.examples import label_of, shares_taught
from lisax.formats.format import TABLE_CLASSES, VERDICT, Format, PairTexts, Text
from lisax.formats.presets import Preset
from lisax.formats.ranking import titled
from lisax.formats.table_facts import facts
from lisax.formats.table_records import records, values_of_one_subject
from lisax.records import Label, Table


@dataclasses.dataclass(frozen=True, slots=True)
class TableView:
    """A table cut to some of its columns; `caption` is the table's, or else its title."""

    id: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def row(self) -> dict:
        return {"id": self.id, "caption": self.caption, "header": self.header, "rows": self.rows}

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None, field: str = "tables") -> TableView:
        """The view of a JSON object; DataError names the field at fault below `field`."""
        where = {"path": path, "line": line}
        if not isinstance(row, dict):
            raise DataError(f"expected an object, found {json.dumps(row)[:80]}", field=field, **where)
        for name, kind in (("id", str), ("caption", str), ("header", list), ("rows", list)):
            if not isinstance(row.get(name), kind):
                raise DataError(
                    f"expected {kind.__name__}, found {json.dumps(row.get(name))[:80]}",
                    field=f"{field}.{name}",
                    **where,
                )
        for i, cells in enumerate((row["header"], *row["rows"])):
            name = f"{field}.rows[{i - 1}]" if i else f"{field}.header"
            if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
                raise DataError(f"expected a list of strings, found {json.dumps(cells)[:80]}", field=name, **where)
            if len(cells) != len(row["header"]):
                raise DataError(
                    f"expected {len(row['header'])} cells as in the header, found {len(cells)}", field=name, **where
                )
        return cls(row["id"], row["caption"], tuple(row["header"]), tuple(map(tuple, row["rows"])))


@dataclasses.dataclass(frozen=True, slots=True)
class TableExample:
    """A claim with its tables, best first; `gold` marks the gold tables of the claim. `taught` are a teacher's
    probabilities of the verdicts, in the order of LABELS, or none."""

    claim_id: str
    claim: str
    tables: tuple[TableView, ...] = ()
    label: Label | None = None
    gold: tuple[bool, ...] = ()
    taught: tuple[float, ...] = ()

    @property
    def unit_ids(self) -> list[str]:
        return [table.id for table in self.tables]

    def row(self) -> dict:
        """The JSON object of the example."""
        return {
            "claim_id": self.claim_id,
            "claim": self.claim,
            "tables": [table.row() for table in self.tables],
            "label": self.label,
            "gold": self.gold,
            **({"taught": list(self.taught)} if self.taught else {}),
        }

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> TableExample:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        tables = tuple(
            TableView.from_row(table, field=f"tables[{i}]", **where)
            for i, table in enumerate(get_field(row, "tables", list, **where))
        )
        label = label_of(row, Label, **where)
        gold = get_field(row, "gold", list, **where)
        if not all(isinstance(value, bool) for value in gold) or len(gold) != len(tables):
            raise DataError(
                f"expected {len(tables)} times true or false, one per table, found {json.dumps(gold)[:80]}",
                field="gold",
                **where,
            )
        return cls(
            get_field(row, "claim_id", str, **where),
            get_field(row, "claim", str, **where),
            tables,
            label,
            tuple(gold),
            shares_taught(row, **where),
        )


def view(table: Table, columns: Sequence[int]) -> TableView:
    """The table cut to `columns`, in their order."""
    return TableView(
        table.id,
        table.caption or table.title,
        tuple(table.header[j] for j in columns),
        tuple(tuple(row[j] for j in columns) for row in table.rows),
    )


class TableText(NamedTuple):
    """An input, and how many rows of each table it leaves out."""

    inputs: str
    dropped: tuple[int, ...]


class TableClass(enum.IntEnum):
    """The relation of a table to a claim: the targets of the fusion model, one per table; 0 is a place without a
    table."""

    NO_TABLE = 0
    IRRELEVANT = 1
    TRUE = 2
    FALSE = 3


def table_classes(label: Label | None, gold: Sequence[bool]) -> list[TableClass]:
    """The class of each table: a gold table has the claim's truth, every other one is irrelevant.

    A claim without enough information is decided by no table, not even by the table that it was written about. Without
    a label nothing is known, and a class of 0 carries no loss.
    """
    if label is None:
        return [TableClass.NO_TABLE] * len(gold)
    truth = {Label.SUPPORTS: TableClass.TRUE, Label.REFUTES: TableClass.FALSE}.get(label, TableClass.IRRELEVANT)
    return [truth if is_gold else TableClass.IRRELEVANT for is_gold in gold]


def row_text(number: int, header: Sequence[str], row: Sequence[str]) -> str:
    cells = " ; ".join(f"{name} is {cell}" for name, cell in zip(header, row, strict=True))
    return squeeze(f"row {number} is : {cells} .")


def header_text(header: Sequence[str]) -> str:
    return squeeze(f"header is : {' ; '.join(header)} .") if header else ""


def _encode(
    claim: str, tables: Sequence[TableView], markers: Sequence[str], preset: Preset, budget: Budget
) -> TableText:
    """The input for a claim and its tables, best first, each behind its marker.

    Tables share the budget evenly: the next row always goes to the table that has the fewest tokens so far,
    so the tokens that a small table leaves are the others'.
    """
    claim, captions = squeeze(claim), [squeeze(table.caption) for table in tables]
    headers = [header_text(table.header) for table in tables]
    sizes = [len(table.rows) for table in tables]

    def render(claim: str, captions: Sequence[str], bodies: Sequence[str]) -> str:
        parts = (
            join(marker, titled(caption, body, preset))
            for marker, caption, body in zip(markers, captions, bodies, strict=True)
        )
        return join(preset.claim_slot, claim, *parts, preset.label_closing)

    if budget.tokens is None:
        rows = [[row_text(i, table.header, row) for i, row in enumerate(table.rows, start=1)] for table in tables]
    else:
        room = budget.tokens - budget.count(render(claim, captions, headers))
        if room < 0:
            return TableText(_without_rows(render, claim, captions, headers, budget), tuple(sizes))
        rows = _rows_that_fit(tables, headers, room, budget.count)
    while True:
        text = render(claim, captions, [" ".join(kept) or header for kept, header in zip(rows, headers)])
        # Row by row, tokens are counted on the assumption that counts add up over words. Where a vocabulary
        # breaks that by a piece, the longest list gives a row back; without rows the text is known to fit.
        if budget.fits(text) or not any(rows):
            return TableText(text, tuple(size - len(kept) for size, kept in zip(sizes, rows)))
        max(rows, key=len).pop()


def _rows_that_fit(
    tables: Sequence[TableView], headers: Sequence[str], room: int, count_tokens: CountTokens
) -> list[list[str]]:
    """The first rows of each table that `room` tokens hold, after the headers; only those and the next are read."""
    rows: list[list[str]] = [[] for _ in tables]
    special = count_tokens("")
    waiting = [(0, i) for i, table in enumerate(tables) if table.rows]  # (tokens so far, table): a heap
    while waiting:
        used, i = heapq.heappop(waiting)
        table, number = tables[i], len(rows[i])
        text = row_text(number + 1, table.header, table.rows[number])
        cost = count_tokens(" " + text) - special
        if number == 0 and headers[i]:
            cost -= count_tokens(" " + headers[i]) - special  # the first row takes the header's place
        if cost > room:
            continue
        room -= cost
        rows[i].append(text)
        if number + 1 < len(table.rows):
            heapq.heappush(waiting, (used + cost, i))
    return rows


def _without_rows(
    render: Callable[[str, Sequence[str], Sequence[str]], str],
    claim: str,
    captions: Sequence[str],
    headers: Sequence[str],
    budget: Budget,
) -> str:
    """Where not even the headers fit: captions are cut, then headers, each to the same number of words; the claim
    is cut last."""
    nothing = [""] * len(captions)
    for texts, cut in (
        (captions, lambda words: render(claim, [first_words(text, words) for text in captions], headers)),
        (headers, lambda words: render(claim, nothing, [first_words(text, words) for text in headers])),
    ):
        longest = max((len(text.split()) for text in texts), default=0)
        too_long = bisect.bisect_left(range(longest + 1), True, key=lambda words: not budget.fits(cut(words)))
        if too_long > 0:
            return cut(too_long - 1)
    return budget.shorten(lambda _, query, entities: render(query, nothing, nothing), "", claim)


def _tables(example: TableExample, preset: Preset, budget: Budget) -> list[Text]:
    """All tables in one input. One table is written as the first of a list, so that a model reads one as it reads many."""
    markers = [f"table{i}:" for i in range(1, len(example.tables) + 1)]
    text = _encode(example.claim, example.tables, markers, preset, budget)
    return [Text(text.inputs, preset.target(example.label), sum(text.dropped))]


def _each_table(example: TableExample, preset: Preset, budget: Budget) -> list[TableText]:
    return [_encode(example.claim, [table], ["table:"], preset, budget) for table in example.tables]


def _tables_pair(example: TableExample, preset: Preset) -> PairTexts:
    return PairTexts(squeeze(example.claim), join(*(pair.second for pair in _pair_of_each(example, preset))))


def _pair_of_each(example: TableExample, preset: Preset) -> list[PairTexts]:
    claim = squeeze(example.claim)
    return [PairTexts(claim, titled(table.caption, text_of(claim, table), preset)) for table in example.tables]


def text_of(claim: str, table: TableView) -> str:
    """The number of rows of a table, its facts and its records, each ended by a full stop; only the records if it
    describes one subject."""
    size = [f"{len(table.rows)} rows"] if table.rows and values_of_one_subject(table) is None else []
    return " ".join(f"{said} ." for said in (*size, *facts(claim, table), *records(claim, table)))


TABLES = Format("tables", TableExample, _tables, VERDICT, depth="tables", pairs=_tables_pair)
TABLE_FUSION = Format(
    "table_fusion", TableExample, _each_table, TABLE_CLASSES, each="table", depth="tables", pairs=_pair_of_each
)
