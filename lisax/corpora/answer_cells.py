"""Finds the cells of a table that contain an answer known only as text: labels for rows and columns by distant
supervision.

Answers and cells are compared by value: numbers (`12,467`, `12467`, `$12,467.00`), measures (`2 km`, `2,000 m`), dates by
day, month and year (`1 May 1921`, `1921-05-01`), everything else by its words, ignoring case, accents and punctuation. Footnote marks (`39†`,
`Varn[2]`) are ignored. If no cell is equal, cells are compared without closing brackets (`Indonesia (INA)`), and then
by whether the answer makes up most of the cell (`CLOSENESS`).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from lisax.records import Table, cell_id
from lisax.text.dates import whole_date
from lisax.text.quantities import Kind, Quantity, whole

Place = tuple[int, int]  # row, column
# A text's value: ("number", Fraction), ("measure", Fraction, unit), ("date", year, month, day) or ("text", words).
Value = tuple

# The least share of a cell's characters that the answer within it must have.
CLOSENESS = 0.75
LONGEST_MARKS = 200  # in characters

NO_CELL = "questions whose answer is not a cell of their table (their evidence is the table)"
SEVERAL_COLUMNS = "questions whose answer is in several columns (their evidence is the table)"
COUNT = "questions for a number that may be one of rows (their evidence is the table)"

_ASKS_NUMBER = re.compile(r"\b(how many|how much|numbers? of|total|amount|difference|average)\b", re.IGNORECASE)
_MARKS = re.compile(r"(\[[^\[\]]{1,12}\]|[*†‡§¶^])+\s*$")
_DETAILS = re.compile(r"(?<!\s)\s*+[(\[][^()\[\]]*+[)\]]\s*$")
_DIGIT = re.compile(r"[\d½¼¾⅓⅔]")
_NO_WORD = re.compile(r"[\W_]+")


@functools.lru_cache(maxsize=1 << 16)
def value_of(text: str) -> Value:
    """The value of a text; texts that mean the same have equal values. A text without words is ("text", "")."""
    text = _without_marks(text)
    if (number := _quantity(text)) is not None:
        return ("number", number.value) if number.kind is not Kind.MEASURE else ("measure", number.value, number.unit)
    lower = text.casefold()
    if (date := whole_date(lower)) is not None:
        return "date", *date
    letters = "".join(c for c in unicodedata.normalize("NFKD", lower) if not unicodedata.combining(c))
    return "text", _NO_WORD.sub(" ", letters).strip() or lower


def _without_marks(text: str) -> str:
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    # Marks are searched only at the end: on a text of nothing but marks, the search would start again at each of them.
    return (text[:-LONGEST_MARKS] + _MARKS.sub("", text[-LONGEST_MARKS:])).strip()


def exact_number(text: str) -> Fraction | None:
    """The number that a whole text is, with a currency, a percent sign, a magnitude (`1.5m`) and footnote marks
    allowed; one in words is a name (`Seven`)."""
    number = _quantity(text)
    return None if number is None or number.kind is Kind.MEASURE else number.value


def _quantity(text: str) -> Quantity | None:
    """The quantity that a text is: one value, or about one, in digits, of nothing that it names."""
    if not _DIGIT.search(text):
        return None
    found = whole(text)
    if found is None or found.low != found.high or found.noun or found.kind is Kind.ORDINAL:
        return None
    return found


def _equal(answer: str, cell: str) -> bool:
    return value_of(answer) == value_of(cell)


def _equal_without_details(answer: str, cell: str) -> bool:
    return value_of(_DETAILS.sub("", answer)) == value_of(_DETAILS.sub("", cell)) != ("text", "")


def _close(answer: str, cell: str) -> bool:
    kind, words = value_of(answer)[:2]
    other, within = value_of(cell)[:2]
    return (
        kind == other == "text"
        and bool(words)
        and f" {words} " in f" {within} "
        and len(words) >= CLOSENESS * len(within)
    )


def find_cells(table: Table, answers: Sequence[str]) -> list[Place]:
    """The cells that contain the answers, by row, from every column that contains all of them; empty if no column does.

    The strictest comparison that finds a column decides. Answers without any text are ignored.
    """
    answers = [" ".join(answer.split()) for answer in answers if answer.strip()]
    for same in (_equal, _equal_without_details, _close) if answers else ():
        columns = [rows for j in range(len(table.header)) if (rows := _rows_with(table, j, answers, same))]
        if columns:
            return sorted(place for places in columns for place in places)
    return []


def _rows_with(table: Table, column: int, answers: Iterable[str], same: Callable[[str, str], bool]) -> list[Place]:
    """The cells of a column that contain an answer; empty if the column lacks one of the answers."""
    found: set[Place] = set()
    for answer in answers:
        rows = {(i, column) for i, row in enumerate(table.rows) if row[column].strip() and same(answer, row[column])}
        if not rows:
            return []
        found |= rows
    return sorted(found)


def may_be_count(question: str, table: Table, answers: Sequence[str]) -> bool:
    """Whether the answer may be a number of rows rather than a cell: the question asks for a number, and the answer is
    a whole number up to the number of rows. In a table with numbered rows, each such number is a cell as well."""
    number = exact_number(answers[0]) if len(answers) == 1 else None
    return (
        _ASKS_NUMBER.search(question) is not None
        and number is not None
        and number.denominator == 1
        and 0 <= number <= len(table.rows)
    )


def evidence_of(
    question: str, table: Table, answers: Sequence[str], *, warn: Callable[[str], None], known: bool = False
) -> tuple[str, ...]:
    """The ids of the cells that contain the answers. If none are found, only the table's id, with a call of `warn`.

    An answer in several columns does not show which of them was asked for, and one that `may_be_count` need not be a
    cell: their cells are not taken, unless the answers are `known` to be cells.
    """
    places = find_cells(table, answers)
    columns = len({column for _, column in places})
    reason = (
        NO_CELL
        if not places
        else None
        if known
        else (SEVERAL_COLUMNS if columns > 1 else COUNT if may_be_count(question, table, answers) else None)
    )
    if reason is None:
        return tuple(cell_id(table.id, *place) for place in places)
    warn(reason)
    return (table.id,)
