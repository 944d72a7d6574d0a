"""Quantities as people write them: sign, digits, magnitude, unit, range, bound, numbers in words.

    find("2½ km of road, $5m a year")     a length of 2,500 m and 5,000,000 $, with their places in the text
    whole("(1,234.50)")                   the quantity of a whole cell; None if the cell is something else
    column(["1.234", "12,5", "7"])        cells that decide together how a comma, a bracket or an `m` is read

A value is an exact fraction in the base unit of its dimension: `2 km` and `900 m` compare as 2000 and 900. Not read as
quantities are dates, times of day, telephone numbers, versions, scores, and codes (`B-52`, `007`, `978-3-16-148410-0`).

Of the libraries, measured on the cells of the golden set (`tests/text/quantities.tsv`), quantulum3 reads 58 % (24 MB, 5 ms
per sentence), price-parser 50 %, pint 30 %, babel in three locales 20 %, number-parser 18 %, text2num 13 %.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from fractions import Fraction

from lisax.text import units
from lisax.text.dates import MONTH_NUMBERS, YEAR
from lisax.text.digits import LONGEST, PLAIN, decimal_comma, decimal_point, lists_apart
from lisax.text.quantity_reader import THREE_DECIMALS, Kind, Quantity, Reader, Reading, Relation

__all__ = ["Kind", "Quantity", "Relation", "column", "comparable", "find", "whole"]

_PLAINEST = re.compile(r"-?(?:[1-9]\d{0,17}|0|[1-9]\d{0,2}(?:,\d{3}){1,5})(?:\.(\d{1,17}))?")
# Footnote marks and other signs after a cell, such as arrows.
_NOTES = re.compile(r"(?:\s?\[[^\[\]]{1,12}\]|\s?[^\w\s%‰°$€£¥₹₽₩₺₪'\"\[\]().+-]|(?<=\d)[¹²³]){1,12}$")
_POWER = re.compile(r"10[¹²³⁰⁴-⁹]+$|m[²³]$")
_NOUN = re.compile(r" [^\W\d_]{2,24}\.?|[^\W\d_]{2,3}\.?")
# Years before and after Christ, whose order is not that of their numbers.
_ERA = re.compile(r"\d ?(?:BCE?|AD|CE|B\.C\.(?:E\.)?|A\.D\.|C\.E\.)$|^(?:AD|A\.D\.) ?\d", re.IGNORECASE)
_REMARKED = re.compile(r"(.*\d) ?([^\W\d_]{1,3})")
_BRACKETED = re.compile(r"([$€£¥₹]?)\(([^()]*)\)( ?%?)")
# A loss without other cells that show it: `(500)`, `(1.5)`, `$(3)`. Other numbers in brackets may be remarks.
_LOSS = re.compile(r"\d{3}|\d[.,]\d|[$€£¥₹%]")
_DIGITS = re.compile(r"\d[\d.,]*")
_EUROS = re.compile(r"€|\bEUR\b|\beuros?\b", re.IGNORECASE)
_OPEN_YEAR = re.compile(rf"{YEAR}-")
_EM = re.compile(r"\d ?m$")
_THOUSANDS = re.compile(r"\d ?(?:k|K|bn|billion|thousand|M)$|\d[bB]$|[$€£].*\d ?m$")
_MILLIONS = re.compile(r"\d ?(?:k|K|M|mn|bn)$")
_SCORE = re.compile(r"\d{1,3} ?[-/] ?\d{1,3}")
_TIED = re.compile(r"(?:=|T-?)(?=\d)|(?<=\d)(?:=|T)$")
_BLANKS = " \xa0"
_REMARK = 3  # letters; a shorter word after a number is a remark (`7.58 pb`) and counts nothing


def find(text: str) -> list[Quantity]:
    """The quantities of a text, from left to right."""
    plain = text.translate(PLAIN)
    comma = decimal_comma([plain])
    return Reader(plain if comma or "," not in plain else lists_apart(plain), Reading(comma)).quantities()


@functools.lru_cache(maxsize=1 << 16)
def whole(
    text: str,
    *,
    comma: bool | None = None,
    point: bool | None = False,
    brackets: bool | None = None,
    metres: bool | None = None,
    billions: bool = False,
) -> Quantity | None:
    """The quantity of a whole text without footnote marks; None if the text is something else.

    `comma`, `point`, `metres` and `billions`: see `Reading`; None: as the text shows. `brackets`: `(4)` is -4; None: `(500)` is
    -500, and `(4)` a remark.
    """
    match = _PLAINEST.fullmatch(text)
    if match and not (comma is not None and ("," in text or match[1])):
        digits = match[1] or ""
        value = Fraction(int(text.replace(",", "").replace(".", "")), 10 ** len(digits))
        return Quantity(value, end=len(text), low=value, high=value)
    if len(text) > 2 * LONGEST:
        return None
    plain = text.translate(PLAIN).rstrip(_BLANKS)
    plain = plain if _POWER.search(plain) else _NOTES.sub("", plain).rstrip(_BLANKS) or plain
    body = plain.lstrip(_BLANKS)
    start = len(plain) - len(body)
    negative = False
    if match := _BRACKETED.fullmatch(body):
        if brackets is None and not _LOSS.search(body):
            return None
        body, negative = "".join(match.groups()), brackets is not False
    elif body[-1:] == "-" and body[-2:-1].isdecimal() and not _OPEN_YEAR.fullmatch(body):
        body, negative = body[:-1], True
    comma = decimal_comma([plain]) if comma is None else comma
    found = _one(body, Reading(comma, point, metres, billions, cell=True))
    if found is None:
        return None
    if negative:
        if not found.exact or found.kind is Kind.ORDINAL:
            return None
        found = dataclasses.replace(found, value=-found.value, low=-found.value, high=-found.value)
    return dataclasses.replace(found, start=start, end=len(plain))


def _one(text: str, reading: Reading) -> Quantity | None:
    """The quantity of a text, with the noun after it."""
    tied = text[:1] == "="
    found = Reader(text[tied:], reading).quantities()
    if len(found) != 1 or found[0].start:
        return None
    one, rest = found[0], text[tied + found[0].end :]
    if rest == "." and one.kind is Kind.PLAIN and text[: one.end].isdecimal():
        tied, rest = True, ""  # `3.` in a cell is the third of a list
    if tied:
        one = dataclasses.replace(one, kind=Kind.ORDINAL) if not one.unit else None
    if rest in ("", "."):
        return one
    if one.unit or not _NOUN.fullmatch(rest) or rest.strip(" .").lower() in MONTH_NUMBERS:
        return None
    return dataclasses.replace(one, noun=rest.strip())


def column(cells: Sequence[str], *, comma: bool = False) -> list[Quantity | None]:
    """The quantity of each cell of a column; None for a cell that is something else.

    The cells decide together whether a comma separates decimals, whether a point does so in sums of money, whether brackets mean a loss (not if all cells have
    them), whether `5m` is a length and `3 B` a noun (unless others are thousands or billions), and whether `1-2` is a score
    (if the second number of a cell is not the higher). A tied rank (`=3`, `T5`) is an ordinal among ranks. `comma`: a comma
    separates decimals in other columns, which decides here if no cell has one, or a point that separates decimals.
    A column of years that are before and after Christ (`63 BC`) has no quantities.
    """
    plain = [cell.translate(PLAIN).strip() if len(cell) < 2 * LONGEST else "" for cell in cells]
    shown = [cell for cell in plain if cell]
    if any(map(_ERA.search, shown)):
        return [None] * len(cells)
    point = _point_in_money(shown)
    may_have = not decimal_point(shown) and not any("," in cell for cell in shown)
    in_thousands = point is False and any(map(_EUROS.search, shown))
    how = {
        "comma": decimal_comma(shown) or ((comma or in_thousands) and may_have) or None,
        "point": point,
        "brackets": not all(map(_BRACKETED.fullmatch, shown)),
        "metres": not any(map(_THOUSANDS.search, shown)) if any(map(_EM.search, shown)) else None,
        "billions": any(map(_MILLIONS.search, shown)),
    }
    found = [_cell(cell, how) for cell in plain]
    if any(one is None and _SCORE.fullmatch(cell) for one, cell in zip(found, plain)):
        found = [None if _SCORE.fullmatch(cell) else one for one, cell in zip(found, plain)]
    ranks = [_TIED.sub("", cell) if _TIED.search(cell) and cell[0] not in "$€£" else "" for cell in plain]
    if any(ranks) and any(found):
        places = [whole(rank) if rank else one for one, rank in zip(found, ranks)]
        found = [place and dataclasses.replace(place, kind=Kind.ORDINAL) for place in places]
    return _in_one_unit(found)


def comparable(quantities: Sequence[Quantity]) -> bool:
    """Whether the values have one dimension and count the same, no range and no named rank (`14th century`) among
    numbers. Unknown units (`16 y`, `8 mo`) are not comparable; remarks of some values (`7.58 pb`) are ignored."""
    remarks = {one.noun for one in quantities if len(one.noun) <= _REMARK}
    if len(remarks) > 1 and all(map(str.islower, remarks)):
        return False
    nouns = {one.noun.lower().rstrip(".").removesuffix("s") if len(one.noun) > _REMARK else "" for one in quantities}
    ranked = {one.kind is Kind.ORDINAL for one in quantities}
    return (
        len({one.unit for one in quantities}) < 2
        and len(nouns - {""}) < 2
        and not (len(nouns) == len(ranked) == 2)
        and not any(one.is_range for one in quantities)
    )


def _point_in_money(cells: Sequence[str]) -> bool | None:
    """Whether a point separates decimals in sums such as `€1.459`; None if that cannot be decided.

    It does if another cell shows it, and in prices of litres: all from 0.5 to 3, some with a third decimal."""
    if decimal_point(cells):
        return True
    numbers = [match[0] for cell in cells if (match := _DIGITS.search(cell))]
    all_small = all(THREE_DECIMALS.fullmatch(one) and Fraction(1, 2) <= Fraction(one) <= 3 for one in numbers)
    if len(numbers) < 2 or not all_small:
        return False
    return None if all(one.endswith("0") for one in numbers) else True


def _cell(cell: str, how: dict) -> Quantity | None:
    """The quantity of a cell of a column, which may have a remark of three letters (`7.58 pb`)."""
    found = whole(cell, **how) if cell else None
    if found is None and (match := _REMARKED.fullmatch(cell)) and match[2].lower() not in MONTH_NUMBERS:
        found = whole(match[1], **how)
        found = found and dataclasses.replace(found, noun=match[2])
    return None if found is not None and found.noun.lower() in ("am", "pm") else found


def _in_one_unit(found: list[Quantity | None]) -> list[Quantity | None]:
    """Gives numbers without a unit the unit of the others, if these have only one: `230lb`, `228`. Counts above a hundred
    are not taken for percentages."""
    written = {one.written for one in found if one is not None and one.unit}
    unit = units.find(*written) if len(written) == 1 else None
    if unit is None or (unit.kind == "percent" and any(_is_bare(one) and abs(one.value) > 100 for one in found)):
        return found
    return [_with_unit(one, unit) if _is_bare(one) else one for one in found]


def _is_bare(one: Quantity | None) -> bool:
    return one is not None and one.kind is Kind.PLAIN


def _with_unit(one: Quantity, unit: units.Unit) -> Quantity:
    value, low, high = (None if part is None else unit.forth(part) for part in (one.value, one.low, one.high))
    return dataclasses.replace(
        one, value=value, low=low, high=high, unit=unit.base, kind=Kind(unit.kind), written=unit.word
    )
