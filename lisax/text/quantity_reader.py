"""Reads the quantities of one text from left to right: a number, its magnitude and unit, and the words around it.

The text has plain characters (`digits.PLAIN`). Dates, times of day, telephone numbers, versions and web addresses are
passed over.
"""

from __future__ import annotations

import bisect
import dataclasses
import enum
import re
from fractions import Fraction

from lisax.text import digits, units
from lisax.text.dates import MONTH_NUMBERS
from lisax.text.digits import FREE, NUMBER
from lisax.text.spelled import BEGIN, spelled
from lisax.text.units import Unit


class Kind(enum.StrEnum):
    PLAIN = "plain"
    PERCENT = "percent"  # the unit is %, the value 5 for 5 %; basis points are hundredths
    CURRENCY = "currency"  # the unit is a sign ($, €) or a code (CHF)
    MEASURE = "measure"  # the unit is the base unit: m, kg, s, K …
    ORDINAL = "ordinal"


class Relation(enum.StrEnum):
    """The word before a quantity: `over 5` is MORE, `rose by 5 %` is BY, `rose to 5 %` is TO."""

    EXACTLY = ""
    ABOUT = "~"
    MORE = ">"
    LESS = "<"
    AT_LEAST = ">="
    AT_MOST = "<="
    BY = "by"
    TO = "to"


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity at [start, end) of its text.

    `value`: exact, in `unit`; of a range its middle. `low` and `high` bound it: they equal the value unless the text gives
    a range or a bound, and None is open. `written` is the unit as the text writes it. `noun` is the word that a cell has
    after the number (`5 goals`).
    """

    value: Fraction
    unit: str = ""
    kind: Kind = Kind.PLAIN
    start: int = 0
    end: int = 0
    low: Fraction | None = None
    high: Fraction | None = None
    relation: Relation = Relation.EXACTLY
    written: str = ""
    noun: str = ""

    @property
    def is_range(self) -> bool:
        return None not in (self.low, self.high) and self.low != self.high

    @property
    def exact(self) -> bool:
        """Whether it is one value: not a range, a bound or an estimate."""
        return self.low == self.high and self.relation in (Relation.EXACTLY, Relation.BY, Relation.TO)


_BEFORE = 32  # characters before a number that are searched for its sign, currency and bound
_BEGIN = re.compile(rf"{FREE}(?:\.?\d|[{digits.VULGARS}])|{BEGIN}", re.IGNORECASE)
_MONTH = rf"(?:{'|'.join(sorted(map(str.capitalize, MONTH_NUMBERS), key=len, reverse=True))})\b\.?"
_OTHER = re.compile(
    rf"""
    \b(?:https?://|www\.)\S++
  | (?<=\S)\[[^\[\]]{{1,12}}\]
  | \bISBN(?:-1[03])?+:?+[ ]?\d[\d -]{{0,20}}+[\dX]?
  | \+\d{{1,3}}[ -]\(?\d[\d()-]*+(?:[ ][\d()-]{{2,9}}+)++
  | \(\d{{3}}\)[ ]?\d{{3}}-\d{{4}}(?!\d)
  | {FREE}\d++(?:-\d++){{2,}}+
  | {FREE}\d++/\d++/\d++
  | {FREE}\d++-0\d++
  | {FREE}\d{{1,2}}:\d\d(?:\.\d++)?+(?![\d:])
  | {FREE}\d{{1,2}}(?:[:.]\d\d)?(?:[ ]?-[ ]?\d{{1,2}}(?:[:.]\d\d)?)?[ ]?(?:[ap]\.?m|[AP]\.?M)\b\.?
  | {FREE}(?:\d++\.){{2,}}+\d++(?<!\.\d{{3}})(?![\d,])
  | {FREE}\d{{1,3}}0'?s\b
  | {FREE}(?:\d{{1,2}}(?:st|nd|rd|th)?[ ](?:of[ ])?)?{_MONTH}(?:[ ]\d{{1,2}}(?:st|nd|rd|th)?(?!\w))?+,?+(?:[ ]\d{{4}}(?!\w))?+
    """,
    re.VERBOSE,
)
THREE_DECIMALS = re.compile(r"[1-9]\d{0,2}\.\d{3}(?!\d|[.,]\d)")
_PHONE = re.compile(r"\d{3}-\d{4}")

# Before a number; all are searched at the end of a short stretch.
_SIGN = re.compile(
    rf"(?:^|(?<=[\s(\[{{=~≈<>≤≥]))(?P<sign>[-+±])?(?P<currency>{units.CURRENCY_BEFORE})?[ \xa0]?(?P<inner>[-+])?$"
)
_CURRENCY = re.compile(rf"(?:{units.CURRENCY_BEFORE})[ \xa0]?-?$")
_MINUS = re.compile(r"(?:^|(?<=\s))minus[ -]$", re.IGNORECASE)
_CELL_MINUS = re.compile(r"[ \xa0]?- ")
_RELATIONS = {
    Relation.ABOUT: r"~|≈|approx\.?|approximately|about|around|roughly|circa|ca?\.|nearly|almost|some",
    Relation.AT_LEAST: r">=|≥|at least|not less than|no less than|no fewer than|minimum of|min\.",
    Relation.AT_MOST: r"<=|≤|at most|(?<!add )(?<!adds )(?<!added )up to|not more than|no more than|maximum of|max\.",
    Relation.MORE: r">|more than|greater than|higher than|larger than|over|above|exceed(?:ing|s|ed)?",
    Relation.LESS: r"<|less than|fewer than|lower than|smaller than|under|below",
    Relation.BY: r"by",
    Relation.TO: r"to",
}
_RELATION = re.compile(
    rf"(?:^|(?<=[\s(\[{{]))(?:{'|'.join(f'(?P<{name.name}>(?:{words}))' for name, words in _RELATIONS.items())})[ \xa0]?$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:^|(?<=[\s(\[]))(?:№|#|Rank|rank|No\.?|Nr\.)[ \xa0]?$")
_FROM = re.compile(r"(?:^|(?<=\s))(?:between|from) $", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween [^\w\s]{0,3}$", re.IGNORECASE)

# After a number.
_WORD = re.compile(
    r"[ \xa0-]?(?P<word>[^\W\d_]{1,24}+(?:/[^\W\d_]{1,8}+)?(?:[²³]|[23](?!\w))?\.?|°[CF]\b|[%‰°$€£¥₹₽₩₺₪]|'|\")"
)
_DEGREES = re.compile(r"[ ]?°[ ]?(?P<scale>[CF])\b")
_SEVERAL = re.compile(rf"[ \xa0-]?(?P<words>{units.SEVERAL_WORDS})(?!\w)", re.IGNORECASE)
_OF = re.compile(r" (?:de|of)(?= )")
_AMERICAN = re.compile(r"[ \xa0]U\.?S\.?(?= )")
_ORDINAL_ENDS = re.compile(r"(?:st|nd|rd|th|[ºª]|\.?ème|er|ère)(?!\w)")
_CLOCK = re.compile(r"(\d{1,3}+):([0-5]\d):([0-5]\d(?:\.\d{1,6}+)?)(?![\d:])")
_MINUTES = re.compile(r"(\d{1,3}+)'([0-5]\d\.\d{2,3}|1[2-9]|[2-5]\d)(?![\d.])\"?")  # inches are below twelve
_NEXT_PART = re.compile(r"(?P<link>[ \xa0:]?)-?(?P<number>\d{1,3}+(?:\.\d++)?)(?![\d,/])")
_MORE_WORDS = re.compile(r"[ \xa0]?\w")
_JOINT = re.compile(
    r"[ \xa0]?-[ \xa0]?| (?:to|bis|through) |(?P<and> and )|[ \xa0]?(?P<around>±|\+/-)[ \xa0]?", re.IGNORECASE
)
_OR_MORE = re.compile(
    r"[ ]?\+(?![ ]?[\w-])| or (?:more|over|above|greater)\b| (?:and|or) (?:up|upwards)\b", re.IGNORECASE
)
_OR_LESS = re.compile(r" or (?:less|fewer|under|below)\b", re.IGNORECASE)
_A_WORD = re.compile(r" \w")
_INCHES = re.compile(r" ?\d{1,2}\"")
_LENGTH = re.compile(
    r"\s(?:race|sprint|relay|freestyle|backstroke|butterfly|breaststroke|hurdles|dash|medley|swim|run"
    r"|tall|high|long|deep|wide|thick|away|above|below|from)\b"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """How ambiguous signs are read. `comma`: a comma separates decimals. `point`: in `€1.234` a point separates decimals,
    not thousands; None: such a sum is not read. `metres`: an `m` is a length; None: it is one in `5 m`, but a million in
    `5m`. `billions`: a `B` is one after any number. `cell`: the text is a cell."""

    comma: bool = False
    point: bool | None = False
    metres: bool | None = None
    billions: bool = False
    cell: bool = False


@dataclasses.dataclass(slots=True)
class _Part:
    """A number at [start, end) with its magnitude and unit; `plain` is the number without its magnitude."""

    number: Fraction
    start: int
    end: int
    plain: Fraction
    unit: Unit | None = None
    is_ordinal: bool = False

    @property
    def is_scaled(self) -> bool:
        return self.number != self.plain


_Bounds = tuple[Fraction, Fraction]


class Reader:
    """Reads one text."""

    def __init__(self, text: str, reading: Reading):
        self.text, self.reading = text, reading

    def quantities(self) -> list[Quantity]:
        found: list[Quantity] = []
        at = 0
        for place in self._places():
            if place >= at:
                one, at = self._quantity(place)
                found += [one] if one is not None else []
        return found

    def _places(self) -> list[int]:
        """The places at which numbers may begin."""
        others = [match.span() for match in _OTHER.finditer(self.text)]
        ends = [end for _, end in others]
        places = []
        for match in _BEGIN.finditer(self.text):
            i = bisect.bisect_right(ends, match.start())
            if i == len(ends) or match.start() < others[i][0]:
                places.append(match.start())
        return places

    def _quantity(self, place: int) -> tuple[Quantity | None, int]:
        """The quantity at a place, and the place to read on from."""
        part, end = self._part(place)
        if part is None:
            return None, end
        bounds = None
        joint = _JOINT.match(self.text, end)
        if joint is not None and self._may_join(part, joint):
            other, after = self._part(joint.end())
            is_hyphen = joint[0].strip(" \xa0") == "-"
            if other is None:
                if joint[0] == "-" and after > joint.end():
                    return None, after  # a code
            elif joint["around"] and not other.is_ordinal:
                bounds, end = (part.number - other.number, part.number + other.number), after
                part.unit = part.unit or other.unit
            elif (bounds := self._range(part, other, is_hyphen)) is not None:
                part.unit, part.number, end = other.unit or part.unit, sum(bounds) / 2, after
            elif is_hyphen and not other.is_ordinal:
                return None, after  # a score, a season
        return self._in_context(part, bounds, end), end

    def _may_join(self, part: _Part, joint: re.Match) -> bool:
        """Whether a range may follow: `from 5 t to 7 t` is a change, and `and` joins after `between`."""
        if joint["and"]:
            return _BETWEEN.search(self.text, max(0, part.start - _BEFORE), part.start) is not None
        return not part.is_ordinal and (self.reading.cell or part.unit is None or not joint[0].strip().isalpha())

    def _range(self, part: _Part, other: _Part, is_hyphen: bool) -> _Bounds | None:
        """(low, high) of a range in the second unit; None if the second number is not the higher. The first number shares
        a magnitude that only the second has."""
        low, high = part.number, other.number
        if other.is_ordinal or (
            is_hyphen and _PHONE.fullmatch(self.text, part.start, other.end) and (low % 10 or high % 10)
        ):
            return None
        if part.unit is not None and other.unit is not None and part.unit != other.unit:
            if part.unit.base != other.unit.base:
                return None
            low = other.unit.back(part.unit.forth(low))
        elif other.is_scaled and not part.is_scaled and low < other.plain:
            low *= other.number / other.plain
        return (low, high) if low < high else None

    # --- Around a number -----------------------------------------------------------------------

    def _in_context(self, part: _Part, bounds: _Bounds | None, end: int) -> Quantity | None:
        """The quantity with its sign, currency and bound; None if the number is a part of a word before it."""
        text, start, negative = self.text, part.start, False
        if sign := _SIGN.search(text[max(0, start - _BEFORE) : start]):
            start -= len(sign[0])
            negative = "-" in (sign["sign"] or "") + (sign["inner"] or "")
            if sign["currency"] and not self._take_currency(part, units.currency(sign["currency"])):
                return None
        elif start and (text[start - 1].isalnum() or text[start - 1] in "_$€£"):
            return None
        is_range = bounds is not None and part.number != part.plain  # not `1.200 ± 50`
        if not self.reading.point and self._may_be_thousands(part, bounds[0] if is_range else part.number):
            if self.reading.point is None:
                return None
            part.number, added = 1000 * part.number, 999 * part.plain
            bounds = bounds and (bounds[0] + added, 1000 * bounds[1] if is_range else bounds[1] + added)
        if self.reading.cell and _CELL_MINUS.fullmatch(text, 0, part.start):
            start, negative = 0, True
        if minus := _MINUS.search(text[max(0, start - _BEFORE) : start]):
            start, negative = start - len(minus[0]), True
        if negative:
            part.number = -part.number
            bounds = bounds and (-bounds[1], -bounds[0])
        relation = Relation.EXACTLY
        before = text[max(0, start - _BEFORE) : start]
        if match := _RELATION.search(before):
            relation, start = Relation[match.lastgroup], start - len(match[0])
        elif part.unit is None and bounds is None and (match := _NUMBERED.search(before)):
            part.is_ordinal, start = True, start - len(match[0])
        elif bounds is not None and (match := _FROM.search(before)):
            start -= len(match[0])
        if match := _OR_MORE.match(text, end):
            relation, end = Relation.AT_LEAST, match.end()
        elif match := _OR_LESS.match(text, end):
            relation, end = Relation.AT_MOST, match.end()
        return _made(part, bounds, relation, start, end)

    def _take_currency(self, part: _Part, currency: Unit) -> bool:
        """Gives a number the currency before it: `$5m` are millions."""
        if part.unit is not None and part.unit.word == "m":
            part.number, part.unit = part.number * 10**6, None
        elif part.unit is not None and part.unit.base != currency.base:
            return False
        part.unit = part.unit or currency
        return True

    def _may_be_thousands(self, part: _Part, low: Fraction) -> bool:
        """Whether a sum of money, from `low` on, was read with decimals that may be thousands: `€1.234`, `1.234 €`."""
        is_money = part.unit is not None and part.unit.kind == "currency" and part.unit.base not in "$£"
        as_written = is_money and low == part.plain and not self.reading.comma
        return as_written and THREE_DECIMALS.match(self.text, part.start) is not None

    # --- A number and its unit -----------------------------------------------------------------

    def _part(self, place: int) -> tuple[_Part | None, int]:
        """The number at a place with its magnitude and unit, and the place to read on from."""
        text = self.text
        if (clock := _CLOCK.match(text, place)) is not None:
            seconds = Fraction(clock[1]) * 3600 + int(clock[2]) * 60 + Fraction(clock[3])
            return _Part(seconds, place, clock.end(), seconds, units.find("s")), clock.end()
        if (minutes := _MINUTES.match(text, place)) is not None:
            seconds = int(minutes[1]) * 60 + Fraction(minutes[2])
            return _Part(seconds, place, minutes.end(), seconds, units.find("s")), minutes.end()
        match = NUMBER.match(text, place)
        if match is None:
            return self._in_words(place)
        number, end = digits.number(match, self.reading.comma), match.end()
        if number is None:
            return None, end
        part = _Part(number, place, end, number)
        if match["plain"] and (ends := _ORDINAL_ENDS.match(text, end)):
            part.is_ordinal, part.end = True, ends.end()
            return part, part.end
        self._add_unit(part)
        after = text[part.end : part.end + 2]
        is_code = part.end == end and (after[:1].isalpha() or after[:1] == "_")
        if part.unit is None and (is_code or (after[:1] == "." and after[1:].isalnum())):
            return None, part.end
        return part, part.end

    def _in_words(self, place: int) -> tuple[_Part | None, int]:
        found = spelled(self.text, place)
        if found is None:
            return None, place + 1
        part = _Part(found.number, place, found.end, found.number, is_ordinal=found.is_ordinal)
        if not part.is_ordinal:
            self._add_unit(part)
            if found.bare and part.end == found.end:
                return None, part.end
        return part, part.end

    def _add_unit(self, part: _Part) -> None:
        """Adds the magnitudes and the unit after a number, and the further parts of a compound (`5 ft 3 in`)."""
        for _ in range(3):  # `3 lakh crore`
            match = _WORD.match(self.text, part.end)
            factor = match and self._magnitude(match, part)
            if not factor:
                break
            part.number, part.end = part.number * factor, match.end()
        found = self._unit(part)
        if found is None:
            return
        part.unit, part.end = found
        smallest = part.unit
        while smallest.smaller is not None and (following := self._next_part(part.end, smallest)) is not None:
            number, smallest, part.end = following
            part.number += part.unit.back(smallest.forth(number))

    def _magnitude(self, match: re.Match, part: _Part) -> int | None:
        """The power of ten that a word after a number means."""
        word = match["word"].removesuffix(".")
        is_spaced = self.text[part.end] in " \xa0-"
        if word == "m":
            metres = self.reading.metres
            if not self._follows_currency(part) and (
                metres or (metres is None and (is_spaced or _LENGTH.match(self.text, match.end())))
            ):
                return None
        elif word == "T":
            return 10**12 if self._follows_currency(part) else None
        elif word in ("k", "K", "b", "B") and not (word == "B" and self.reading.billions):
            is_code = word in "bB" and part.number.denominator == 1 and not self._follows_currency(part)
            if is_spaced or is_code:
                return None
        return units.MAGNITUDES.get(word) or units.MAGNITUDES.get(word.lower())

    def _follows_currency(self, part: _Part) -> bool:
        return _CURRENCY.search(self.text[max(0, part.start - _BEFORE) : part.start]) is not None

    def _unit(self, part: _Part) -> tuple[Unit, int] | None:
        """The unit after a number, and its end."""
        text, place = self.text, part.end
        if match := _DEGREES.match(text, place):
            return units.find("°" + match["scale"]), match.end()
        if match := _SEVERAL.match(text, place):
            return units.find(match["words"]), match.end()
        # `millions de dollars`, `U.S. dollars`: a currency has to follow.
        skipped = (part.is_scaled and _OF.match(text, place)) or _AMERICAN.match(text, place)
        found = self._unit_word(skipped.end() if skipped else place)
        if found is None or (skipped and found[0].kind != "currency"):
            return None
        unit, end = found
        if unit.word in ("'", '"') and not (self.reading.cell or _INCHES.match(text, end)):
            return None
        if unit.word == "in" and not self.reading.cell and _A_WORD.match(text, end):
            return None  # a preposition
        return unit, end

    def _unit_word(self, place: int) -> tuple[Unit, int] | None:
        match = _WORD.match(self.text, place)
        if match is None or (self.text[place] == "-" and match["word"] in units.AFTER_NO_HYPHEN):
            return None
        for word in (match["word"], match["word"].removesuffix(".")):
            if (unit := units.find(word)) is not None:
                return unit, match.start("word") + len(word)
        return None

    def _next_part(self, place: int, unit: Unit) -> tuple[Fraction, Unit, int] | None:
        """(number, unit, end) of a smaller part of a compound after a unit. Inches after feet and minutes after hours need
        no unit of their own (`5 foot 2`, `3h20`)."""
        match = _NEXT_PART.match(self.text, place)
        if match is None:
            return None
        number, end = Fraction(match["number"]), match.end()
        found = self._unit_word(end)
        if found is not None and found[0].word == "m" and unit.base == "s":
            found = units.find("min"), found[1]
        if found is not None and found[0].base == unit.base and found[0].factor < unit.factor:
            return number, *found
        if unit.word not in (("foot", "feet") if match["link"] == " " else ("'", "h")):
            return None
        return None if _MORE_WORDS.match(self.text, end) else (number, units.find(unit.smaller), end)


def _made(part: _Part, bounds: _Bounds | None, relation: Relation, start: int, end: int) -> Quantity:
    """The quantity in the base unit."""
    unit = part.unit
    value, low, high = part.number, *(bounds or (part.number, part.number))
    if unit is not None:
        value, low, high = map(unit.forth, (value, low, high))
    if bounds is None:
        low = None if relation in (Relation.LESS, Relation.AT_MOST) else low
        high = None if relation in (Relation.MORE, Relation.AT_LEAST) else high
    kind = Kind.ORDINAL if part.is_ordinal else Kind.PLAIN if unit is None else Kind(unit.kind)
    base, word = ("", "") if unit is None else (unit.base, unit.word)
    return Quantity(value, base, kind, start, end, low, high, relation, word)
