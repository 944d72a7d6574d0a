"""Facts that are computed from the numbers and dates of a claim and its sentences (ours).

A reader of few tokens compares words and not numbers, so sums, differences, bounds and orders are computed before it
reads, as a table's are (`table_facts`). No claim is parsed: a fact is about a number of the claim that no sentence has,
or about numbers of the sentences where the claim has a word that compares, such as `than` or `before`.

    63 is more than 50               a number that the claim bounds
    four years is 48 months          its number in another unit or in other words
    71 metres is 232.94 feet         another number, in the claim's unit
    62 plus 87 is 149                two numbers, or all of a sentence, that make its number, or could
    340 minus 300 is 40
    38 % of 200 is 76
    400 of 600 is 66.67 % , equal to Two thirds
    from 1958 to 1963 is 5 years
    from May 1958 to April 1959 is 11 months
    1980 plus five years is 1985
    Orm: 7,400 is more than Sel: 6,900    numbers that it compares, each with its thing (`compared`)
    1,396 is 2 times 698
    1914 is before 1921              dates that it puts in order
    2024-06-30 is 30 June 2024       the day that it has in words
"""

from __future__ import annotations

import calendar
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from lisax.formats.compared import Compared, Places
from lisax.text import units
from lisax.text.dates import Date, find_dates, in_words, numeric_date
from lisax.text.digits import decimals_of, in_digits
from lisax.text.numbers import ONES, cardinal
from lisax.text.quantities import Kind, Relation, find
from lisax.text.words import words

MOST = 4  # facts that are read
ASKED, FOUND = 3, 6  # numbers of the claim, and of its sentences in one dimension, that facts are about
YEARS = range(1000, 2101)
_IN_YEARS = {"year": Fraction(1), "month": Fraction(1, 12), "day": Fraction(1, 365)}
DATE = "date"  # the dimension of dates, in years; those of other numbers are their base units
_BOUNDS = (Relation.MORE, Relation.LESS, Relation.AT_LEAST, Relation.AT_MOST)
_FOUR_DIGITS = re.compile(r"(?<![\d.,])\d{4}(?![\d]|[.,]\d)")
_SMALL = "|".join((*ONES[1:], r"\d{1,3}", "twenty", "fifty"))
_SHARE = re.compile(
    rf"\b(?P<part>{_SMALL}) (?:in|out of)(?: every| each)? (?P<whole>{_SMALL})\b(?![.,]\d)", re.IGNORECASE
)
_THAN = re.compile(r"\b[a-z]{2,12}(?:er|re|ss) than (?:the |an? |age )?$")
_NEXT = re.compile(r" ([^\W\d_]{1,20})(?: ([^\W\d_]{1,20}))?")
_LONGEST_THAN = 32  # characters
ALIKE = 50  # a bare number has a measure's unit if their ratio is below this
_JOINING = (" and ", " or ", " to ", ", ")
_BARE = re.compile(r"\s*(?:[.;)]|$|(?:on|in|at|and|for|to|from|against|while|but|was)\b)", re.IGNORECASE)
# Words before a number: bounds, which `bound` has, and estimates.
_BEFORE = re.compile(
    r"^(?:(?:(?:no|not) )?(?:more|less|fewer|greater|higher|lower|larger|smaller) than|at (?:least|most)|over|under|above"
    r"|below|up to|exceed\w*|minimum of|maximum of|to|by|about|around|some|nearly|almost|approximately|roughly) ",
    re.IGNORECASE,
)
# Words of claims that put dates in order, and that compare other numbers.
_ORDER = frozenset(
    "before after earlier later earliest latest first last prior preceded followed until since already younger older "
    "youngest oldest newer newest then next previously subsequently".split()
)
_COMPARED = frozenset(
    "than more less fewer most least fewest twice half double triple times won lost beat win exceed exceeds exceeded "
    "increased decreased rose fell grew shrank up down majority minority equal equally same higher highest lower lowest "
    "larger largest smaller smallest bigger biggest greater greatest longer longest shorter shortest taller tallest "
    "heavier heaviest lighter lightest faster fastest slower slowest cheaper cheapest older oldest younger youngest "
    "deeper deepest wider widest hotter hottest colder coldest warmer warmest richer poorer further farther nearer "
    "outnumber outnumbers outnumbered outsold surpassed tripled doubled halved".split()
)
_DIFFERENCES = frozenset({"more", "less", *(word for word in _ORDER | _COMPARED if word.endswith("er"))})
_MULTIPLES = frozenset("times twice double doubled half halved triple tripled".split())


class Number(NamedTuple):
    """A number of a text, from `low` to `high` in the base unit `dimension`.

    `unit` is the unit that the text writes. `bound` means that the number bounds another (`over 50`). `place` numbers the
    sentence, `start` is its offset there. `apart`: it is a difference (`50 more`);
    `partitive`: it counts some of another (`two of the three`)."""

    text: str
    low: Fraction
    high: Fraction
    dimension: str = ""
    unit: str = ""
    bound: bool = False
    place: int = 0
    start: int = 0
    apart: bool = False
    partitive: bool = False

    @property
    def where(self) -> Places:
        """Its sentence, start and end."""
        return self.place, self.start, self.start + len(self.text)

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def share(self) -> Fraction | None:
        """The number as a part of one; None if it is a count or a measure."""
        if self.dimension == "%":
            return self.low / 100
        return self.low if not self.dimension and 0 < self.low < 1 else None

    @property
    def part(self) -> bool:
        """Whether the number is a part of another: a share of one, or `two of the three`."""
        return self.partitive or (not self.dimension and 0 < self.low < 1)

    def within(self, other: Number) -> bool:
        """Whether all values that the number may have are among the other's."""
        return other.low <= self.low and self.high <= other.high

    @property
    def scale(self) -> units.Unit:
        """The unit; of a plain number one that leaves values as they are."""
        return (units.find(self.unit) if self.unit else None) or units.Unit("", self.dimension)

    @property
    def offset(self) -> Fraction:
        """The value of this unit's zero: 273.15 for °C. Numbers whose zero is not 0 are neither added nor multiplied."""
        return self.scale.offset

    @property
    def decimals(self) -> int:
        """The decimals of the number in its unit."""
        return decimals_of(self.scale.back(self.low))

    def shown(self, value: Fraction, decimals: int = 2) -> str:
        """A value in this number's unit, rounded to `decimals` but to at least two."""
        return f"{in_digits(self.scale.back(value), decimals, ',')} {self.unit}".rstrip()

    def against(self, other: Number) -> str:
        """How this number compares with another."""
        names = ("before", "in", "after") if self.dimension == DATE else ("less than", "equal to", "more than")
        return names[1 + (self.low > other.high) - (self.high < other.low)]


@functools.lru_cache(maxsize=1 << 12)
def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of a text, dates and years among them and first; no ordinals."""
    small = text.lower()
    text = text if len(small) == len(text) else small  # `İ` becomes two characters
    read = [_date(text[start:end], date)._replace(start=start) for date, start, end in find_dates(small)]
    shares = [match for match in _SHARE.finditer(text) if match["part"].lower() != match["whole"].lower()]
    for match in shares:
        part, whole = (cardinal([match[name].lower()], 0)[0] for name in ("part", "whole"))
        if 0 < part < whole:
            read.append(Number(match[0], Fraction(part, whole), Fraction(part, whole), start=match.start()))
    ends = {match.end(name) for match in shares for name in ("part", "whole")}
    for one in find(text):
        written = text[one.start : one.end]
        if one.kind is Kind.ORDINAL or one.end in ends:
            continue
        years = list(_FOUR_DIGITS.finditer(written))  # two of `from 1958 to 1963`
        values = {int(year[0]) for year in years}
        if not one.unit and years and {one.low, one.high} == values and YEARS[0] <= one.low <= YEARS[-1]:
            read += (_date(year[0], (int(year[0]), 0, 0))._replace(start=one.start + year.start()) for year in years)
            continue
        bound = one.relation in _BOUNDS
        low, high = (one.value if bound or part is None else part for part in (one.low, one.high))
        bound = bound or _THAN.search(text, max(0, one.start - _LONGEST_THAN), one.start) is not None
        plain = _BEFORE.sub("", written)
        following = match.groups() if (match := _NEXT.match(text, one.end)) else ()
        apart, partitive = not _DIFFERENCES.isdisjoint(following), following == ("of", "the") and not one.unit
        read.append(Number(plain, low, high, one.unit, one.written, bound, 0, one.end - len(plain), apart, partitive))
    return tuple(read)


def _date(text: str, date: Date) -> Number:
    """A date as years; one without month or day lasts from its first day to its last. All months have 31 days."""
    year, month, day = date
    first = (12 * year + (month or 1) - 1) * 31 + (day or 1) - 1
    last = (12 * year + (month or 12) - 1) * 31 + (day or 31) - 1
    return Number(text, Fraction(first, 372), Fraction(last, 372), DATE)


def _of_sentence(text: str) -> Iterator[Number]:
    """The numbers of a sentence. A bare one has the unit of the measure before it (`one is 61 metres high, the other
    57`) or of the next one (`400 and 500 metres`)."""
    last, read = None, numbers(text)
    for number, following in itertools.zip_longest(read, read[1:]):
        if number.unit:
            last = number
        elif not (number.dimension or number.bound) and number.exact:
            joined = following and following.unit and text[number.where[2] : following.start] in _JOINING
            alone = _BARE.match(text, number.where[2]) and text[: number.start].rstrip()[-1:] != ","
            measure = following if joined else last if alone else None
            value = measure.scale.forth(number.low) if measure else 0
            if measure and measure.low and Fraction(1, ALIKE) < value / measure.low < ALIKE:
                shown, unit = f"{number.text} {measure.unit}", measure.unit
                number = number._replace(text=shown, low=value, high=value, dimension=measure.dimension, unit=unit)
        yield number


def number_facts(claim: str, texts: Sequence[str], titles: Sequence[str] = ()) -> list[str]:
    """At most `MOST` facts that a claim and its sentences give, those of the claim's own numbers first. `titles`: of
    the sentences' documents."""
    return list(itertools.islice(dict.fromkeys(_Facts(claim, texts, titles).all()), MOST))


class _Facts:
    """All facts of a claim and its sentences. `found` are the numbers of the sentences by their dimension."""

    def __init__(self, claim: str, texts: Sequence[str], titles: Sequence[str]):
        asked = set(words(claim))
        self.asked = numbers(claim)
        self.orders, self.compares = not asked.isdisjoint(_ORDER), not asked.isdisjoint(_COMPARED)
        self.multiplies = not asked.isdisjoint(_MULTIPLES)
        self.found: dict[str, list[Number]] = {}
        for place, text in enumerate(texts if self.asked or self.orders or self.compares else ()):
            for number in _of_sentence(text):
                if len(of := self.found.setdefault(number.dimension, [])) < FOUND:
                    of.append(number._replace(place=place))
        comparing = self.found and (self.orders or self.compares)
        self.things = Compared(claim, _ORDER | _COMPARED, texts, titles) if comparing else None

    def all(self) -> Iterator[str]:
        for asked in self.asked[:ASKED]:
            if asked.dimension == DATE:
                yield from self._of_date(asked)
            elif asked.share is not None:
                yield from self._of_share(asked)
            elif asked.bound:
                yield from self._of_bound(asked)
            else:
                yield from self._of_value(asked)
        taken = {asked.dimension for asked in self.asked}
        for dimension, of in self.found.items():
            if dimension not in taken and (self.orders if dimension == DATE else self.compares):
                yield from self._in_order(of)
        if self.multiplies:
            yield from self._multiples()

    def _of_date(self, asked: Number) -> Iterator[str]:
        dates = self.found.get(DATE, [])
        if not asked.text.isdecimal():
            same = ((one.text, numeric_date(one.text)) for one in dates if one.against(asked) == "in")
            yield from (f"{text} is {in_words(*date)}" for text, date in same if date)
        if self.orders:
            facts = (f"{one.text} is {one.against(asked)} {asked.text}" for one in dates if not asked.within(one))
            yield from facts
        elif not any(one.low <= asked.high and asked.low <= one.high for one in dates):
            for one, lasting in itertools.product(dates, self.found.get("year", [])):
                for sign, word in ((1, "plus"), (-1, "minus")):
                    year = int(one.low) + sign * lasting.low
                    if lasting.exact and year == int(asked.low):
                        yield f"{one.text} {word} {lasting.text} is {year}"

    def _of_share(self, asked: Number) -> Iterator[str]:
        shares = [one for one in (*self.found.get("%", []), *self.found.get("", [])) if one.share is not None]
        for one in shares[:2]:
            if (one.share, one.text) != (asked.share, asked.text):
                yield f"{one.text} is {_order(one.share, asked.share)} {asked.text}"
        computed = []
        for pair in itertools.combinations(() if shares else self.found.get("", []), 2):
            part, whole = sorted(pair, key=lambda one: one.low)
            if part.exact and whole.exact and 0 < part.low < whole.low:
                share = part.low / whole.low
                fact = f"{part.text} of {whole.text} is {in_digits(100 * share, comma=',')} %"
                computed.append((f"{fact} , {_order(share, asked.share)} {asked.text}", share))
        yield from (fact for fact, _ in computed) if asked.bound else _nearest(computed, asked.share)

    def _same(self, asked: Number) -> list[Number]:
        """The numbers of the sentences in the dimension of a claim's number; plain ones if none is of years."""
        return self.found.get(asked.dimension) or (self.found.get("", []) if asked.dimension == "year" else [])

    def _of_bound(self, asked: Number) -> Iterator[str]:
        same = self._same(asked)
        yield from (f"{one.text} is {one.against(asked)} {asked.text}" for one in same[:2])
        if not same:
            for fact, value in self._computed(asked):
                yield f"{fact} , {_order(value, asked.low)} {asked.text}"

    def _of_value(self, asked: Number) -> Iterator[str]:
        same = self._same(asked)
        equal = next((one for one in same if one.exact and one.low == asked.low), None)
        if equal is not None:
            if equal.text.lower() != asked.text.lower():
                yield f"{equal.text} is {asked.text}"
            return
        yield from (f"{asked.text} is {asked.against(one)} {one.text}" for one in same if one.bound)
        for one in same:
            value, unit = asked.shown(one.low).partition(" ")[::2]
            if one.exact and one.unit and value != one.shown(one.low).partition(" ")[0]:
                yield f"{one.text} is {value} {unit}"
        yield from _nearest(list(self._computed(asked)), asked.low)

    def _computed(self, asked: Number) -> Iterator[tuple[str, Fraction]]:
        """Facts, each with its value, that compute numbers of the claim's dimension from the sentences' numbers."""
        known = {one.low for one in self.asked if one is not asked and not one.dimension}
        same = [one for one in self._same(asked) if one.exact and not one.part]
        same = [one for one in same if one.dimension or one.low not in known]
        for _, of_sentence in itertools.groupby(same, lambda one: one.place):
            terms = list(of_sentence)
            if len(terms) > 2 and not any(one.offset for one in terms):
                total, decimals = sum(one.low for one in terms), max(one.decimals for one in terms)
                yield f"{' plus '.join(one.text for one in terms)} is {terms[0].shown(total, decimals)}", total
        for one, other in sorted(itertools.combinations(same, 2), key=lambda pair: pair[0].place != pair[1].place):
            if one.low == other.low and one.unit != other.unit:
                continue  # one number in two units
            less, more = sorted((one, other), key=lambda one: one.low)
            total, rest = one.low + other.low, more.low - less.low
            decimals = max(one.decimals, other.decimals)
            if not (one.offset or other.offset):
                yield f"{one.text} plus {other.text} is {one.shown(total, decimals)}", total
            shown = one.shown(rest + one.offset, decimals)
            yield f"{more.text} minus {less.text} is {shown}", rest + asked.offset
        if asked.dimension in ("", "year"):
            for pair in itertools.combinations(self.found.get(DATE, []), 2):
                first, last = sorted(pair, key=lambda one: one.low)
                if lasting := _lasting(first, last):
                    count, unit = lasting
                    value = count * _IN_YEARS[unit] if asked.dimension else Fraction(count)
                    yield f"from {first.text} to {last.text} is {count} {unit}{'s' if count > 1 else ''}", value
        if not asked.dimension:
            for share, whole in itertools.product(self.found.get("%", []), same):
                if share.exact:
                    part = share.share * whole.low
                    yield f"{share.text} of {whole.text} is {whole.shown(part)}", part

    def _multiples(self) -> Iterator[str]:
        for dimension, of in self.found.items():
            exact = [one for one in of if one.exact and one.low > 0 and dimension != DATE and not one.offset]
            for pair in itertools.combinations(exact, 2):
                less, more = sorted(pair, key=lambda one: one.low)
                if less.low != more.low:
                    name, other = self._named(more, less)
                    yield f"{name} is {in_digits(more.low / less.low, comma=',')} times {other}"

    def _in_order(self, found: Sequence[Number]) -> Iterator[str]:
        """Two numbers of the things that the claim compares, that of its first thing first; else each number with the
        next greater one."""
        found = sorted((one for one in found if not one.apart), key=lambda one: one.where)
        for one, other in itertools.combinations(found, 2):
            names = self.things.names(one.where, other.where)
            if names and ((names.one and names.other) or len(found) == 2):
                one, other = (other, one) if names.turned else (one, other)
                name, against = self._named(one, other)
                yield f"{name} is {one.against(other)} {against}"
                return
        for less, more in itertools.pairwise(sorted(found, key=lambda one: (one.low, one.high))):
            if less.high < more.low:
                yield f"{less.text} is {less.against(more)} {more.text}"
            elif (less.low, less.high) == (more.low, more.high) and less.text != more.text:
                yield f"{less.text} is equal to {more.text}"

    def _named(self, one: Number, other: Number) -> list[str]:
        """Two numbers, each behind the name of its thing if it has one."""
        pair = sorted((one, other), key=lambda number: number.where)
        names = (self.things and self.things.names(*(number.where for number in pair))) or ("", "")
        shown = {number: f"{name}: {number.text}" if name else number.text for number, name in zip(pair, names)}
        return [shown[one], shown[other]]


def _lasting(first: Number, last: Number) -> tuple[int, str] | None:
    """The completed years from one date to a later one; of less than a year the months, of less than a month the days.

    Months are counted if both dates have one, days if both have one. None if the dates show no difference."""
    (begun, day), (ended, last_day) = (divmod(int(one.low * 372), 31) for one in (first, last))  # months, days
    unsure = max(one.high - one.low for one in (first, last))
    if unsure > Fraction(1, 12):
        begun, ended = (12 * (months // 12) for months in (begun, ended))
    months = ended - begun - (not unsure and last_day < day)
    if months or unsure:
        years = months // 12
        return (years, "year") if years else (months, "month") if months else None
    year, month = divmod(begun, 12)
    days = last_day - day + (calendar.monthrange(year, month + 1)[1] if ended > begun else 0)
    return (days, "day") if days > 0 else None


def _nearest(computed: Sequence[tuple[str, Fraction]], value: Fraction) -> list[str]:
    """The first fact that gives a value; the first two if none does."""
    return [fact for fact, given in computed if given == value][:1] or [fact for fact, _ in computed[:2]]


def _order(value: Fraction, other: Fraction) -> str:
    return "more than" if value > other else "less than" if value < other else "equal to"
