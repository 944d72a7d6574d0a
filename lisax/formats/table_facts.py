"""Facts that are computed from a table for a claim: counts, sums, means, ranks and differences (ours).

A reader of few tokens neither counts nor adds up, so the numbers that claims about many rows need are computed before it
reads. No claim is parsed: a fact is about values, rows and columns whose words the claim has, and the facts that share
most words with it are read.

    country is Varn in 3 rows                                   a value that the claim names
    date has May in 4 rows                                      a part of values
    club is Orm and country is Sel in 0 rows                    two of them
    remark is empty in 2 rows
    points over 20 in 5 rows , under 20 in 6 rows               a number that the claim names
    country is Varn and points over 20 in 2 rows                with a value that it names
    points : total 210 , mean 17.5                              of all rows
    points with country Varn : total 69 , mean 23               of those with a value that the claim names
    highest points is 31 of Orm , lowest is 12 of Ilm
    latest opened is 7 July of Ilm , earliest is May of Tarn    dates and times, if all are written alike
    Lund is 2 of 12 by points                                   a row that the claim names, from the highest
    points of Lund is 5 more than that of Orm                   two of them
    points of Orm and Lund : total 57 , ratio 1.19
    opened of Lund is earlier than that of Ilm
    4 different values of country , most often Varn in 5 rows
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from lisax.formats.budget import squeeze
from lisax.formats.table_records import SUPERLATIVES, Rows, is_dated, is_name, totals, values_of_one_subject
from lisax.formats.triples import is_missing
from lisax.text import digits, units
from lisax.text.dates import whole_date
from lisax.text.numbers import cardinal
from lisax.text.quantities import Kind, Quantity, column, comparable, find
from lisax.text.stop_words import FUNCTION_WORDS
from lisax.text.words import shared_words, stemmer, words

MOST = 5  # facts of a table that are read
CONDITIONS, NAMED, NUMBERS = 8, 3, 4  # values, rows and numbers of a claim that facts are about
COLUMNS = 8  # columns of numbers that facts are about
YEARS = range(1000, 2101)
RANKS = frozenset("rank rk ranking place position pos no nr number # seed id".split())  # headers of no amounts
HALF = {3: 6, 2: 12}  # months of a year, hours of a day, by the parts of a moment
KEY = 0.9  # share of different values in a column whose values name rows
_TIME = re.compile(r"(\d{1,2})[:.h]([0-5]\d)\s*(am|pm|a\.m\.|p\.m\.)?|(\d{1,2})\s*(am|pm|a\.m\.|p\.m\.)", re.IGNORECASE)
_GROUPED = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3}){1,5}(?![\d,])")
_DIGIT = re.compile(r"\d")
_DEGREES = re.compile(r"° ?[CF]\b|\bCelsius\b|\bFahrenheit\b", re.IGNORECASE)
_LONG = re.compile(r"(?<![\w.,])\d{4,18}(?!\w)")
# Words of claims that ask for a fact with another word.
_SAME = {
    "total": {"sum", "combined", "altogether", "together", "overall", "both"},
    "mean": {"average", "averaged", "averages"},
    "over": {"more", "higher", "greater", "above", "exceed", "exceeds", "exceeded", "least", "larger", "after"},
    "under": {"less", "fewer", "lower", "below", "smaller", "most", "before"},
    "ratio": {"twice", "double", "times", "half", "triple", "thrice", "third", "quarter"},
    "empty": {"no", "not", "without", "none", "never", "missing", "lacks"},
    "earliest": {"first", "before", "earlier", "oldest", "soonest"},
    "latest": {"last", "after", "later", "newest", "recent"},
    "different": {"distinct", "unique", "various"},
    "rows": {"times", "only", "once", "twice"},
}


class Numbers(NamedTuple):
    """The numbers of a column by place, in `unit`, which is empty if they have none. `decimals`: of that with the most.
    `ranked`: they are ranks (`3rd`), of which the lowest is the best."""

    values: Mapping[int, Fraction]
    unit: str = ""
    decimals: int = 2
    ranked: bool = False

    def written(self, asked: Quantity) -> Fraction:
        """The number of a claim's quantity in the unit of the column; as the claim writes it if that is of another kind."""
        unit = units.find(self.unit) if self.unit else None
        if unit is None or unit.base != asked.unit:
            unit = units.find(asked.written) if asked.written else None
        return asked.value if unit is None else unit.back(asked.value)

    def shown(self, number: Fraction, decimals: int = 2) -> str:
        """A number, rounded to `decimals` but to at least two, and its unit."""
        text = digits.in_digits(number, decimals)
        return f"{text} {self.unit}" if self.unit else text


class _Condition(NamedTuple):
    """A value that the claim names, or words of values, in a column at these places; `text` is its part of a fact."""

    column: int
    cell: str
    places: frozenset[int]
    text: str


def facts(claim: str, table: Rows) -> list[str]:
    """The `MOST` facts that share most words with the claim, the best first; none of a table that describes one
    subject."""
    if values_of_one_subject(table) is not None:
        return []
    made = list(dict.fromkeys(_Facts(claim, table).all()))
    if grouped := set(_GROUPED.findall(claim)):  # a reader compares the words of numbers
        kept = {number for row in (*table.rows, [claim]) for cell in row for number in _LONG.findall(cell)}
        made = [_LONG.sub(functools.partial(_with_commas, kept=kept, grouped=grouped), one) for one in made]
    asked = words(claim)
    numbers = [str(found[0]) for at in range(len(asked)) if (found := cardinal(asked, at))]
    query = [claim, *numbers, *(name for name, same in (_SAME | SUPERLATIVES).items() if same.intersection(asked))]
    shares = shared_words(" ".join(_stems(" ".join(query))), [" ".join(_stems(one)) for one in made])
    return [made[i] for i in sorted(range(len(made)), key=lambda i: -shares[i])[:MOST] if shares[i]]


class _Facts:
    """All facts of a table for a claim. Rows of totals are left out, and places number the other rows."""

    def __init__(self, claim: str, table: Rows):
        self.asked: dict[str, str] = {}  # the claim's words by their stems
        for word in words(claim):
            self.asked.setdefault(stemmer()(word), word)
        self.parts = {stem for stem, word in self.asked.items() if _is_part(word)}
        self.parts.difference_update(*map(_stems, table.header))
        self.asked_numbers = [one for one in find(claim) if not one.is_range][:NUMBERS]
        self.header = _different([squeeze(name) or "value" for name in table.header])
        summed = totals(table)
        rows = [row for i, row in enumerate(table.rows) if i not in summed]
        self.cells = [
            tuple("" if is_missing(cell := squeeze(row[j])) else cell for row in rows) for j in range(len(self.header))
        ]
        of_numbers = {
            j: cells
            for j, cells in enumerate(self.cells)
            if numbers_of(cells).values and not is_dated(self.header[j], cells)
        }
        comma = any(map(digits.decimal_comma, of_numbers.values()))
        self.numbers = {j: found for j, cells in of_numbers.items() if (found := numbers_of(cells, comma)).values}
        self.conditions = self._named()[:CONDITIONS]
        amounts = [
            j for j, one in self.numbers.items() if not one.ranked and self.header[j].lower().strip(". ") not in RANKS
        ]
        asked = [j for j in amounts if self._asks_for(self.header[j])]
        self.columns = (asked or amounts)[:COLUMNS]
        self.moments = {
            j: found for j, cells in enumerate(self.cells) if j not in self.numbers and (found := moments_of(cells))
        }
        others = [j for j in range(len(self.cells)) if j not in self.numbers and j not in self.moments]
        self.keys = [j for j in others if _names_rows(self.cells[j])]

    def all(self) -> Iterator[str]:
        yield from self._counts()
        yield from self._thresholds()
        yield from self._sums()
        yield from self._extremes()
        yield from self._ranks_and_differences()
        yield from self._different_values()

    def _asks_for(self, text: str) -> bool:
        return not self.asked.keys().isdisjoint(_stems(text))

    def _adds_up(self, j: int) -> bool:
        """Whether a sum or a ratio of a column's numbers means something: not of temperatures in °C."""
        unit = units.find(self.numbers[j].unit) if self.numbers[j].unit else None
        return not (unit.offset if unit else _DEGREES.search(self.header[j]))

    def _named(self) -> list[_Condition]:
        """Texts that the claim names, then parts of texts, then numbers."""
        texts, parts, numbers = [], [], []
        for j, (name, cells) in enumerate(zip(self.header, self.cells)):
            whole: dict[str, set[int]] = {}
            with_stem: dict[str, set[int]] = {}
            for i, cell in enumerate(cells):
                stems = set(_stems(cell))
                if stems and self.asked.keys() >= stems:
                    whole.setdefault(cell, set()).add(i)
                for stem in () if j in self.numbers else self.parts & stems:
                    with_stem.setdefault(stem, set()).add(i)
            (numbers if j in self.numbers else texts).extend(
                _Condition(j, cell, frozenset(found), f"{name} is {cell}") for cell, found in whole.items()
            )
            together: dict[frozenset[int], list[str]] = {}
            for stem, word in self.asked.items():  # in the claim's order
                if stem in with_stem:
                    together.setdefault(frozenset(with_stem[stem]), []).append(word)
            parts += (
                _Condition(j, " ".join(said), found, f"{name} has {' '.join(said)}")
                for found, said in together.items()
                if len(found) < len(cells) and found not in whole.values()
            )
        return texts + parts + numbers

    def _counts(self) -> Iterator[str]:
        for one in self.conditions:
            if len(one.places) > 1:
                yield f"{one.text} in {_rows(len(one.places))}"
        for one, other in itertools.combinations(self.conditions, 2):
            if one.column != other.column:
                yield f"{one.text} and {other.text} in {_rows(len(one.places & other.places))}"
        for name, cells in zip(self.header, self.cells):
            empty = cells.count("")
            if 0 < empty < len(cells) and self._asks_for(name):
                yield f"{name} is empty in {_rows(empty)}"

    def _thresholds(self) -> Iterator[str]:
        for j, asked in itertools.product(self.columns, self.asked_numbers):
            name, numbers = self.header[j], self.numbers[j]
            number = numbers.written(asked)
            over = {i for i, value in numbers.values.items() if value > number}
            under = {i for i, value in numbers.values.items() if value < number}
            if not (over and under) and not (self._asks_for(name) and _is_near(number, numbers.values.values())):
                continue
            shown = numbers.shown(number, digits.decimals_of(number))
            yield f"{name} over {shown} in {_rows(len(over))} , under {shown} in {_rows(len(under))}"
            for one in self.conditions:
                if one.column not in self.numbers and len(one.places) > 1:
                    counts = (
                        f"{said} {shown} in {_rows(len(one.places & some))}"
                        for said, some in (("over", over), ("under", under))
                    )
                    yield f"{one.text} and {name} {' , '.join(counts)}"

    def _sums(self) -> Iterator[str]:
        texts = [one for one in self.conditions if one.column not in self.numbers]
        for j in self.columns:
            numbers = self.numbers[j]
            unread = any(map(_DIGIT.search, (cell for i, cell in enumerate(self.cells[j]) if i not in numbers.values)))
            if unread or _are_years(numbers):  # such as `about 400`
                continue
            groups = {"": list(numbers.values.values())}
            for one in texts:
                of = f" with {self.header[one.column]} {one.cell}"
                groups.setdefault(of, [value for i, value in numbers.values.items() if i in one.places])
            for of, values in groups.items():
                if len(values) > 1:
                    total = f"total {numbers.shown(sum(values), numbers.decimals)} , " if self._adds_up(j) else ""
                    yield f"{self.header[j]}{of} : {total}mean {numbers.shown(sum(values) / len(values))}"

    def _extremes(self) -> Iterator[str]:
        """The rows with the extremes of a column, by the first column that names rows; without ties."""
        if not self.keys:
            return
        names = self.cells[self.keys[0]]
        columns = [(j, "highest", "lowest", self.numbers[j].values) for j in self.columns]
        columns += [(j, "latest", "earliest", moments) for j, moments in self.moments.items()]
        for j, high, low, values in columns:
            ends, name = [], f" {self.header[j]}"
            for said, extreme in ((high, max(values.values())), (low, min(values.values()))):
                place, *ties = (i for i, value in values.items() if value == extreme)
                if names[place] and not ties:
                    ends.append(f"{said}{name} is {self.cells[j][place]} of {names[place]}")
                    name = ""  # only the first has it
            if ends:
                yield " , ".join(ends)

    def _ranks_and_differences(self) -> Iterator[str]:
        naming = [one for one in self.conditions if len(one.places) == 1 and one.column in self.keys]
        first = min((one.column for one in naming), default=None)
        named: dict[int, str] = {}  # in the first column that names any
        for one in naming:
            if one.column == first:
                named.setdefault(min(one.places), one.cell)
        for j, moments in self.moments.items():
            for (i, cell), (k, other) in itertools.combinations(list(named.items())[:NAMED], 2):
                if i in moments and k in moments:
                    order = (moments[i] > moments[k]) - (moments[i] < moments[k])
                    said = ("the same as", "later than", "earlier than")[order]
                    yield f"{self.header[j]} of {cell} is {said} that of {other}"
        for j in self.columns:
            numbers = self.numbers[j]
            ours = [(i, cell) for i, cell in named.items() if i in numbers.values][:NAMED]
            for i, cell in ours:
                rank = 1 + sum(value > numbers.values[i] for value in numbers.values.values())
                yield f"{cell} is {rank} of {len(numbers.values)} by {self.header[j]}"
            for (i, cell), (k, other) in itertools.combinations(ours, 2):
                more = numbers.values[i] - numbers.values[k]
                shown = numbers.shown(abs(more), numbers.decimals)
                said = f"{shown} {'more' if more > 0 else 'less'} than" if more else "equal to"
                yield f"{self.header[j]} of {cell} is {said} that of {other}"
                if not self._adds_up(j) or _are_years(numbers):
                    continue
                total = numbers.shown(numbers.values[i] + numbers.values[k], numbers.decimals)
                total = f"{self.header[j]} of {cell} and {other} : total {total}"
                low, high = sorted((numbers.values[i], numbers.values[k]))
                yield f"{total} , ratio {digits.in_digits(high / low)}" if low > 0 else total

    def _different_values(self) -> Iterator[str]:
        every = self._asks_for(" ".join(("different", *_SAME["different"])))
        for j, cells in enumerate(self.cells):
            if j not in self.numbers and (every or self._asks_for(self.header[j])):
                counts = Counter(filter(None, cells))
                if 1 < len(counts) < counts.total():
                    (cell, count), (_, next_count) = counts.most_common(2)
                    most = f" , most often {cell} in {_rows(count)}" if count > next_count else ""
                    yield f"{len(counts)} different values of {self.header[j]}{most}"


def _with_commas(match: re.Match, kept: Collection[str], grouped: Collection[str]) -> str:
    """A long number with commas between its thousands; a cell's number, which may be a year, stays unless the claim has
    it with commas."""
    text = f"{int(match[0]):,}"
    return text if text in grouped or match[0] not in kept else match[0]


def _different(names: Sequence[str]) -> list[str]:
    """The names of columns; one that several have with a number."""
    counts = Counter()
    made = []
    for name in names:
        counts[name] += 1
        made.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return made


def _is_part(word: str) -> bool:
    """Whether a word of a claim is looked for within values: short numbers are in scores and dates of all kinds."""
    return word not in FUNCTION_WORDS and (not word.isdecimal() or len(word) > 2)


def _is_near(number: Fraction, values: Collection[Fraction]) -> bool:
    """Whether a number is at most as far from the values as the lowest is from the highest."""
    low, high = min(values), max(values)
    return 2 * low - high <= number <= 2 * high - low


def _are_years(numbers: Numbers) -> bool:
    return all(value.denominator == 1 and int(value) in YEARS for value in numbers.values.values())


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def _stems(text: str) -> list[str]:
    return list(map(stemmer(), words(text)))


def _names_rows(cells: Sequence[str]) -> bool:
    shown = [cell for cell in cells if cell]
    return len(shown) > 1 and len(set(shown)) >= KEY * len(shown)


@functools.lru_cache(maxsize=1 << 12)
def moments_of(cells: tuple[str, ...]) -> Mapping[int, tuple[int, ...]]:
    """The dates, or the times of day, of a column by place, in an order; none if a fifth of its cells are other things, if
    some have a year or a day and others not, or if they run into the next year or day (`30 Dec`, `2 Jan`)."""
    found = {i: one for i, cell in enumerate(cells) if cell and (one := _moment(cell)) is not None}
    alike = len({tuple(part is None for part in one) for one in found.values()}) == 1
    if len(found) < max(2, 0.8 * sum(map(bool, cells))) or not alike:
        return {}
    made = {i: tuple(part or 0 for part in one) for i, one in found.items()}
    first = next(iter(made.values()))
    if len(first) == 3 and first[0]:  # with years
        return made
    falls = [one[-2] - other[-2] for one, other in itertools.pairwise(made.values()) if other < one]  # months, or hours
    return {} if len(falls) == 1 and falls[0] >= HALF[len(first)] else made


def _moment(cell: str) -> tuple[int | None, ...] | None:
    """(year, month, day) of a date, (hour, minute) of a time."""
    if (time := _TIME.fullmatch(cell)) is None:
        return whole_date(cell.lower())
    hour, half = int(time[1] or time[4]), (time[3] or time[5] or "").lower()[:1]
    if hour > 24 or (half and not 1 <= hour <= 12):
        return None
    return (hour % 12 + 12 * (half == "p") if half else hour), int(time[2] or 0)


@functools.lru_cache(maxsize=1 << 12)
def numbers_of(cells: tuple[str, ...], comma: bool = False) -> Numbers:
    """The numbers of a column; none if a fifth of its cells, or all but one, are other things, or if they cannot be
    compared. `comma` as of `column`."""
    found = {i: one for i, one in enumerate(column(cells, comma=comma)) if one is not None and one.exact}
    read: Sequence = list(found.values())
    if len(read) < max(2, 0.8 * sum(map(bool, cells))) or not comparable(read) or any(map(is_name, read)):
        return Numbers({})
    unit = units.find(read[0].written) if read[0].kind is Kind.MEASURE else None
    values = {i: one.value if unit is None else unit.back(one.value) for i, one in found.items()}
    ranked = any(one.kind is Kind.ORDINAL for one in read)
    return Numbers(values, "" if unit is None else unit.word, max(map(digits.decimals_of, values.values())), ranked)
