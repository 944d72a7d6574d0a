"""A table as records, for readers of few tokens: the content of each row, with marks that only the whole table shows.

A record is a row, `{h1} is {c1} ; … ; {hm} is {cm}`. Of a table that describes one subject, which has one row or lists
names and values, each value is one. Empty cells are left out. The records that share most words with the claim come first.

A reader of single rows does not see which number is the highest, which many claims are about. So the extremes of a
column of numbers are marked:

    team is Lund ; points is 31 , the highest . team is Orm ; points is 26 .
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from lisax.formats.budget import squeeze
from lisax.formats.triples import is_missing
from lisax.text.folding import fold
from lisax.text.quantities import Kind, Quantity, column, comparable
from lisax.text.words import shared_words, words

MOST = 16  # records that are written; a reader of few tokens has room for two or three
HIGHEST, LOWEST = "highest", "lowest"
SUPERLATIVES = {
    HIGHEST: set(
        "highest most largest biggest greatest longest tallest best top maximum dearest costliest heaviest deepest busiest "
        "hottest warmest".split()
    ),
    LOWEST: set("lowest least fewest smallest shortest worst minimum cheapest lightest coldest".split()),
}
_TOTALS = frozenset(
    "total;totals;grand total;overall total;sum;subtotal;sub-total;summe;gesamt;insgesamt;total general;totale;totaal;"
    "soma;suma;somme;ensemble;razem;celkem;osszesen;toplam;yhteensa;итого;всего".split(";")
)
_MEANS = frozenset("average mean median avg overall".split())
_LIKE_TOTAL = re.compile(r"\b(?:sub-?|net)?totals?\b|\bsum\b|\boverall\b")
_NAMES_AND_VALUES = {("key", "value"), ("property", "value"), ("attribute", "value"), ("field", "value"), ("", "")}
_DATED = re.compile(r"\W*(?:date|day|when|datum|tag|born|died|deadline)\b|.*\bdate\W*$", re.IGNORECASE | re.DOTALL)
_TIMED = frozenset(
    "start starts begins ends depart departs departure leaves arrive arrives arrival time opens closes".split()
)
_ERAS = frozenset({"bc", "bce"})
_CLOCK = re.compile(r"(?:[01]?\d|2[0-3])[.:][0-5]\d")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\D*(?:1\d|20|21)\d\d\D*")


class Rows(Protocol):
    """A table's header and rows, as wide as it."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def records(claim: str, table: Rows) -> list[str]:
    """The records of a table, ordered by the words that they share with the claim, `MOST` at most; then in its
    order."""
    values = values_of_one_subject(table)
    made = _rows(table) if values is None else [_said(name, cell) for name, cell in values if squeeze(cell)]
    asked = set(words(claim))
    query = " ".join([claim, *(name for name, others in SUPERLATIVES.items() if asked & others)])
    shares = shared_words(query, made)
    order = sorted(range(len(made)), key=lambda i: -shares[i])
    return [squeeze(made[i]) for i in order[:MOST]]


def values_of_one_subject(table: Rows) -> Sequence[tuple[str, str]] | None:
    """The (name, value) pairs of a table that describes one subject: of one that lists them, as info-boxes do, or has
    one row; None of other tables."""
    if tuple(map(fold, table.header)) in _NAMES_AND_VALUES:
        return table.rows
    return list(zip(table.header, table.rows[0], strict=True)) if len(table.rows) == 1 else None


def _rows(table: Rows) -> list[str]:
    summed = totals(table)
    columns = [[squeeze(row[j]) for row in table.rows] for j in range(len(table.header))]
    compared = (tuple("" if i in summed else cell for i, cell in enumerate(cells)) for cells in columns)
    marks = [
        {} if is_dated(name, cells) else _extremes(others)
        for name, cells, others in zip(table.header, columns, compared, strict=True)
    ]
    return [
        " ; ".join(
            _said(name, cell) + (f" , the {marked[i]}" if i in marked else "")
            for name, cell, marked in zip(table.header, row, marks, strict=True)
            if squeeze(cell)
        )
        for i, row in enumerate(table.rows)
    ]


def _said(name: str, cell: str) -> str:
    return f"{name} is {cell}" if squeeze(name) else cell


def totals(table: Rows) -> frozenset[int]:
    """The places of the rows that sum up the others. A row named `Total`, `Summe` or `Average` does at the end or the
    beginning; elsewhere, or named `Total expenses` or not at all, it does if a number of it is the sum of those above."""
    names = [fold(next((cell for cell in row if cell.strip()), "")).strip(" :") for row in table.rows]
    named = [name in _TOTALS or name in _MEANS for name in names]
    like = [bool(_LIKE_TOTAL.search(name)) or not "".join(row[:1]).strip() for name, row in zip(names, table.rows)]
    if not any(named) and not any(like):
        return frozenset()
    end = len(named) - len(list(itertools.takewhile(bool, reversed(named))))
    columns = [
        _Column([one and one.value for one in column([row[j] for row in table.rows])]) for j in range(len(table.header))
    ]
    found = []
    for i, name in enumerate(names):
        adds_up = (like[i] or name in _TOTALS) and any(one.adds_up(i) for one in columns)
        if is_total := adds_up or (named[i] and (i == 0 or i >= end)):
            found.append(i)
        for one in columns:
            one.passes(i, is_total)
    return frozenset(found)


class _Column:
    """The numbers of a column, and the sums above a row: since the last total, of all other rows, and of totals, each
    with the number of its addends."""

    def __init__(self, numbers: Sequence[Fraction | None]):
        self.numbers = numbers
        self.since, self.rows, self.totals = ((Fraction(0), 0) for _ in range(3))

    def adds_up(self, place: int) -> bool:
        return any(count > 1 and total == self.numbers[place] for total, count in (self.since, self.rows, self.totals))

    def passes(self, place: int, is_total: bool) -> None:
        def plus(one: tuple[Fraction, int]) -> tuple[Fraction, int]:
            number = self.numbers[place]
            return one if number is None else (one[0] + number, one[1] + 1)

        if is_total:
            self.since, self.totals = (Fraction(0), 0), plus(self.totals)
        else:
            self.since, self.rows = plus(self.since), plus(self.rows)


@functools.lru_cache(maxsize=1 << 12)
def _extremes(cells: tuple[str, ...]) -> dict[int, str]:
    """Row -> mark of the highest and lowest values of a column of at least three quantities that can be compared."""
    shown = [cell for cell in cells if cell]
    if len(shown) < 3 or not all(map(_DIGIT.search, shown)) or all(map(_YEAR.fullmatch, shown)):
        return {}
    values = [value for value in column(cells) if value is not None]
    if len(values) < len(shown) or not comparable(values) or any(one.kind is Kind.ORDINAL for one in values):
        return {}
    numbers = [value.value for value in values]
    # A value that many rows share marks none of them.
    extremes = {end: mark for end, mark in ((min(numbers), LOWEST), (max(numbers), HIGHEST)) if numbers.count(end) < 3}
    places = (i for i, cell in enumerate(cells) if cell)
    return {i: extremes[number] for i, number in zip(places, numbers) if number in extremes}


def is_dated(name: str, cells: Sequence[str]) -> bool:
    """Whether numbers such as `1/5` or `9.45` in a column of this name are days or times of day, not fractions, or years
    before Christ."""
    if (_DATED.match(name) and any("/" in cell for cell in cells)) or not _ERAS.isdisjoint(words(name)):
        return True
    shown = [cell for cell in cells if not is_missing(cell)]
    return not _TIMED.isdisjoint(words(name)[-1:]) and bool(shown) and all(map(_CLOCK.fullmatch, shown))


def is_name(value: Quantity) -> bool:
    """Whether a rank is the name of something: `47th regiment`."""
    return value.kind is Kind.ORDINAL and bool(value.noun)
