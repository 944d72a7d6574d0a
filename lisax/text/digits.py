"""Numbers in digits, with the separators of any locale: thousands by commas, points, spaces or apostrophes, decimals by
point or comma; fractions and powers of ten.

`PLAIN` makes the digits and signs of all scripts those of ASCII, one character for one, so that places stay.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction

from lisax.text import units

LONGEST = 1000  # digits; a longer run of digits is not read as a number
HIGHEST_POWER = 400  # of ten
MOST_DECIMALS = 6  # of a read value that are kept when it is written

_NARROW = "\xa0"  # any space that separates thousands and breaks no line
_SAME = {
    **dict.fromkeys("−‐‑–﹣", "-"),
    **dict.fromkeys("’′`´", "'"),
    **dict.fromkeys("″”“", '"'),
    **dict.fromkeys("\u2007\u2009\u202f", _NARROW),
    **dict.fromkeys("\t\n\r\f\v\u2002\u2003\u3000", " "),
    "٫": ".",
    "٬": ",",
    "٪": "%",
    "✕": "×",
    "⋅": "·",
    "∙": "·",
    "㎞": "k",
}


class _Plain(dict):
    """A character -> the one to read in its place."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if 0xFF01 <= code <= 0xFF5E:
            plain = chr(code - 0xFEE0)
        elif (digit := unicodedata.decimal(character, None)) is not None:
            plain = str(digit)
        else:
            plain = _SAME.get(character, character)
        self[code] = plain
        return plain


PLAIN = _Plain()

_VULGAR = {
    chr(code): Fraction(unicodedata.numeric(chr(code))).limit_denominator(100)
    for code in (*range(0xBC, 0xBF), *range(0x2150, 0x215F), 0x2189)
}
VULGARS = "".join(_VULGAR)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
FREE = r"(?<![\w.,'/^])(?<![^\W\d_]-)"  # the number is not a part of a word or a number before it
NUMBER = re.compile(
    rf"""(?:
    (?P<whole>\d{{1,4}}+)[ -](?P<over>\d{{1,3}}+)[/⁄](?P<under>\d{{1,3}}+)(?![\d/])
  | (?P<simple>\d{{1,4}}+)[/⁄](?P<parts>\d{{1,4}}+)(?![\d/])
  | (?P<ones>\d{{1,9}}+)?[ ]?(?P<vulgar>[{VULGARS}])
  | (?P<spaced>\d{{1,3}}+(?:[ ]\d{{3}}(?!\d)|\xa0\d{{3}}(?!\d))++(?:[.,]\d++)?+)
  | (?P<plain>\.?\d++(?:[.,]\d++|['_]\d{{3}}(?!\d))*+)
    )
    (?:[ ]?[×x*·][ ]?10(?:\^(?P<power>[-+]?\d{{1,9}}+)|(?P<raised>[⁻⁺]?[⁰¹²³⁴-⁹]{{1,9}}+))
      | [eE](?P<e>[-+]?\d{{1,9}}+)(?!\w)
      | (?<=10)\^(?P<ten>[-+]?\d{{1,9}}+) | (?<=10)(?P<raisedten>[⁻⁺]?[⁰¹²³⁴-⁹]{{1,9}}+))?+""",
    re.VERBOSE,
)
_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})*,\d{3}")
_COMMA = re.compile(r"\d\.\d{3},\d|(?<![\d,])\d++,(?:\d{1,2}|\d{4,}+)(?![\d,])|(?<!\d)0,\d")
_GROUPED = re.compile(r"\D?\d{1,3},\d{3}")
_POINTS = re.compile(r"\d(?:\.\d{3}){2}(?!\d)")
_POINT = re.compile(r"\d(?:,\d{3})+(?:\.|,\d{3})(?:\d|\b)|(?<![\d.])\d++\.(?:\d{1,2}|\d{4,}+)(?![\d.])|(?<!\d)0\.\d")
# Two small numbers that may be a list (`Lines 3,4`), and the word after them.
_LISTED = re.compile(r"(?<![\d.,])([1-9]\d?),([1-9]\d?)(?![\d,])(?:[ \xa0]?([^\W\d_]{1,24}|[%‰°$€£¥₹₽₩₺₪]))?")
_NEXT_LISTED = re.compile(r" (?:and|or|&) (\d{1,3}+)(?![\d.,]\d)")
_BETWEEN = re.compile(r"between $", re.IGNORECASE)
_CURRENCY = re.compile(rf"(?:{units.CURRENCY_BEFORE})[ \xa0]?$")
_BELOW_ONE = re.compile(r"(?<![\d.,])0,\d")
_TWO_DECIMALS = re.compile(r"\d,\d\d(?!\d)")
_POINT_GROUPED = re.compile(r"\D{0,2}\d{1,3}\.\d{3}(?!\d)\D{0,8}")


def decimal_comma(texts: Sequence[str]) -> bool:
    """Whether a comma separates decimals in these texts: some show it, and none shows a point.

    Small numbers such as `3,4`, which may be a list, show it only before or after a unit, or together with others: two
    decimals in all texts that have a comma, or a point that separates thousands."""
    decimals = [text for text in texts if _COMMA.search(text)]
    if len(decimals) < 2 or not all(map(_TWO_DECIMALS.search, decimals)):
        sure = any(_COMMA.search(_LISTED.sub(_unless_listed, text)) for text in decimals)
        decimals = decimals if sure or (len(texts) > 1 and any(map(_POINT_GROUPED.fullmatch, texts))) else []
    below_one = any(map(_BELOW_ONE.search, texts))
    thousands = 0 if below_one else sum(_GROUPED.fullmatch(text) is not None for text in texts)
    shown = len(decimals) >= max(thousands, 1) or (len(texts) > 1 and any(map(_POINTS.search, texts)))
    return shown and not decimal_point(texts)


def decimal_point(texts: Sequence[str]) -> bool:
    """Whether a text has a number with a point that can only separate decimals: `1.5`, `0.125`, `1,234.5`."""
    return any(map(_POINT.search, texts))


def _unless_listed(match: re.Match) -> str:
    """Two numbers with a unit, or the second of which is the lower, as they are; of a list nothing."""
    first, second, word = match.groups()
    is_measure = word and word != "in" and (units.find(word) or word.lower() in units.MAGNITUDES)
    is_price = _CURRENCY.search(match.string[max(0, match.start() - 6) : match.start()])
    may_be_list = int(first) < int(second) or len(first + second) == 2
    return "" if may_be_list and not is_measure and not is_price else match[0]


def lists_apart(text: str) -> str:
    """A text in which a comma separates no decimals, of the same length, with lists of small numbers (`floors 3,4 and
    5`) as numbers of their own. Where a point separates decimals, two other numbers at a comma are not read."""
    has_point = decimal_point([text])

    def apart(match: re.Match) -> str:
        if _unless_listed(match):
            return match[0]
        following = _NEXT_LISTED.match(text, match.end(2))
        is_list = following is not None and int(match[1]) < int(match[2]) < int(following[1])
        if is_list and not _BETWEEN.search(text[max(0, match.start() - 8) : match.start()]):
            return match[0].replace(",", ";")
        return match[0].replace(",", "_") if has_point else match[0]

    return _LISTED.sub(apart, text)


def decimals_of(value: Fraction) -> int:
    """The decimals of a value; 0 of a value that has more than `MOST_DECIMALS`."""
    return next((places for places in range(MOST_DECIMALS + 1) if 10**places % value.denominator == 0), 0)


def in_digits(value: Fraction, decimals: int = 2, comma: str = "") -> str:
    """A value rounded to `decimals` but to at least two, without zeros at their end.

    A value below one has more, up to twelve, until three digits are shown. `comma` separates thousands."""
    decimals = max(2, decimals)
    while decimals < 2 * MOST_DECIMALS and 0 < abs(value) * 10**decimals < 100:
        decimals += 1
    whole, rest = divmod(round(abs(value) * 10**decimals), 10**decimals)
    text = f"{whole:{comma}}.{rest:0{decimals}}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 and text != "0" else text


def number(match: re.Match, comma: bool) -> Fraction | None:
    """The number of a match of `NUMBER`; None if it is a code, a season, a place among others, or too long. `comma`: a
    comma separates decimals."""
    if match["whole"] or match["simple"]:
        over, under = int(match["over"] or match["simple"]), int(match["under"] or match["parts"])
        shown = match["parts"] or match["under"]
        if not 0 < over < under or math.gcd(over, under) > 1 or (under > 100 and under % 100) or shown[0] == "0":
            return None
        return int(match["whole"] or 0) + Fraction(over, under)
    if match["vulgar"]:
        return int(match["ones"] or 0) + _VULGAR[match["vulgar"]]
    digits = match["plain"] or re.sub(r"[ \xa0]", "", match["spaced"])
    if len(digits) > LONGEST:
        return None
    written = _with_point(digits, comma, grouped=bool(match["spaced"]))
    if written is None:
        return None
    before, _, after = written.partition(".")
    if len(before) > 2 and before[0] == "0" and before.strip("0"):
        return None
    found = Fraction(int((before or "0") + after), 10 ** len(after))
    power = (
        match["power"] or match["e"] or match["ten"] or (match["raised"] or match["raisedten"] or "").translate(_RAISED)
    )
    if not power:
        return found
    if power[-1] in "+-" or abs(exponent := int(power)) > HIGHEST_POWER:
        return None
    if match["ten"] or match["raisedten"]:
        return Fraction(10) ** exponent if digits == "10" else None
    return found * Fraction(10) ** exponent


def _with_point(digits: str, comma: bool, grouped: bool) -> str | None:
    """Digits with a decimal point, without other separators; None if they are grouped like no number. `grouped`: spaces
    have separated the thousands already."""
    marks = {character for character in digits if not character.isdecimal()}
    if not marks:
        return digits
    if marks <= {",", "."} and len(marks) == 1:
        return _with_one_mark(digits, *marks, comma, grouped)
    # The last mark is the decimal one, unless it separates thousands only.
    point = max(marks, key=digits.rfind)
    before, _, after = digits.rpartition(point) if point in ",." else (digits, "", "")
    others = marks - {point} if point in ",." else marks
    if len(others) != 1 or (point in before and point not in others):
        return None
    (mark,) = others
    return f"{before.replace(mark, '')}.{after}" if _GROUPS.fullmatch(before.replace(mark, ",")) else None


def _with_one_mark(digits: str, mark: str, comma: bool, grouped: bool) -> str | None:
    before, _, after = digits.partition(mark)
    if mark in after:
        parts = digits.split(".")
        is_address = not comma and len(parts) == 4 and all(int(part) < 256 and str(int(part)) == part for part in parts)
        return (
            None
            if grouped or is_address or not _GROUPS.fullmatch(digits.replace(".", ","))
            else digits.replace(mark, "")
        )
    thousands = len(after) == 3 and 0 < len(before) < 4 and before[0] != "0" and not grouped
    if thousands and comma == (mark == "."):
        return before + after
    if mark == "," and (not before or (len(after) > 3 and not comma)):
        return None
    return f"{before}.{after}"
