"""The entities of a claim about a table: linked against its gold table, or found in the claim without it.

`link` is TabFact's entity linking as a rule: spans of the claim grow word by word while a single cell (of the header,
the rows, or the caption) has all of their words, and are kept if they make up a cell or enough of it. It needs the gold
table, so it serves to reproduce published figures and is not an open setting. `spans` uses only the claim.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Iterator

from lisax.records import Claim, Table
from lisax.retrieval.entities import ABBREVIATIONS, CONNECTIVES
from lisax.text.dates import MONTHS
from lisax.text.numbers import ordinal_digits
from lisax.text.stop_words import COMMON_WORDS, FUNCTION_WORDS, INDEX_STOP_WORDS
from lisax.text.words import words

SHORT_MONTHS = {month.lower(): month[:3].lower() for month in MONTHS}
ORDINALS = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th"}
CROWD = ("people", "audience")
CAPTION = (-1, -1)
SOME_CELL = -2  # the row of a link to a column in which several cells fit
# Never an entity on their own, even if a column has this name.
UNLINKED = INDEX_STOP_WORDS | frozenset("team time date school from 's".split())
# Carry little meaning when they are only a part of a cell.
FREQUENT = (
    COMMON_WORDS
    | UNLINKED
    | frozenset(
        """
air america american area august australia away award back bill book building bus business canada car championship
china city club code college company country countries day december direct directed district draft education
election england english episode european february football foreign france french game general german germany golf
government governor great group home house india indian international issue italy japan join jump language law list
local london manager market mean member military month mountain museum musical name nation national news north
number october office official open park party people person place plan play president production public racing
radio rail real receive record region report representative river road second senate series service set show song
south spell station story street student study system television texas title total tour town train two university
value washington water week west white woman word work world year
""".split()
    )
)
PLURALS = (("ies", "y"), ("es", ""), ("s", ""))
TENSES = (("ied", "y"), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""))

QUOTED = re.compile(r"[\"“]([^\"“”]+)[\"”]")
_MONTH = f"(?:{'|'.join([*SHORT_MONTHS, *SHORT_MONTHS.values()])})"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DATED = re.compile(rf"\b(?:{_DAY} {_MONTH}|{_MONTH} {_DAY})\b(?:(?: ?,)? \d{{4}}\b)?", re.IGNORECASE)
_FILLERS = COMMON_WORDS | INDEX_STOP_WORDS | FUNCTION_WORDS
# Words of claims about tables that are rarely cells: they compare, count, and connect.
UNTELLING = (
    COMMON_WORDS
    | INDEX_STOP_WORDS
    | frozenset(
        """
's average amount compared different difference equal equally exactly fewer fewest finish finished gave gets give given
go got great greater greatest happen happened high higher highest include included including large larger largest lead
least less long longer longest loss low lower lowest make maximum minimum number occur occurred old older oldest pair
play played range record recorded score scored short shorter shortest single small smaller smallest sum take taken
took total twice use used win won against also beat beaten young younger youngest come came lose lost hold held
receive received show shown list listed
""".split()
    )
)

MARKS = ".,;:!?()[]\"'“”‘’"

Place = tuple[int, int]


def link(claim: Claim, table: Table) -> tuple[str, ...]:
    """The claim's spans that are cells of the table or name them, in claim order, with repetitions.

    A word in another form than in the cell is returned in the cell's form (`players` for `player`).
    """
    words = claim.text.lower().split()
    places = _places(table)
    found = _grow(words, places, 1.0)
    if not any(span.place for span in found):
        found = _grow(words, places, 0.0)
    return tuple(span.text for span in _join(found) if span.place)


@dataclasses.dataclass(frozen=True, slots=True)
class _Span:
    text: str
    place: Place | None


class _Places:
    """The places of the words in a table."""

    def __init__(self, table: Table):
        self.cells: dict[Place, str] = {CAPTION: (table.caption or table.title).lower()}
        for number, row in enumerate((table.header, *table.rows)):
            for column, text in enumerate(row):
                self.cells[number, column] = text.lower()
        self._of: dict[str, dict[Place, str]] = {}
        self.repeated: set[str] = set()  # words that some cell has twice
        for place, text in self.cells.items():
            words = text.split()
            self.repeated |= {word for word, count in Counter(words).items() if count > 1}
            for word in words:
                for form in _cell_forms(word, text):
                    self._of.setdefault(form, {}).setdefault(place, word)

    def of(self, word: str) -> dict[Place, str]:
        """Places with a word in any form, and the form it has there."""
        found: dict[Place, str] = {}
        for form in _forms(word):
            for place, written in self._of.get(form, {}).items():
                found.setdefault(place, written)
        return found


_places = functools.lru_cache(maxsize=4)(_Places)  # files list the claims of a table consecutively


def _grow(words: list[str], places: _Places, threshold: float) -> list[_Span]:
    """Splits the claim into spans, longest first from the left; linked ones have a place."""
    spans: list[_Span] = []
    grown: list[tuple[str, dict[Place, str]]] = []
    shared: set[Place] = set()

    def close() -> None:
        if grown:
            spans.append(_choose(grown, shared, places, threshold))
            grown.clear()

    for word in words:
        found = places.of(word)
        if not found or (any(word == before for before, _ in grown) and word not in places.repeated):
            close()
            spans.append(_Span(word, None))
            continue
        if grown and not shared & found.keys():
            close()
        shared = shared & found.keys() if grown else set(found)
        grown.append((word, found))
    close()
    return spans


def _choose(grown: list[tuple[str, dict[Place, str]]], shared: set[Place], places: _Places, threshold: float) -> _Span:
    """Chooses a span's place: the cells nearest in length compete, and a cell with exactly these words always wins."""
    words = [word for word, _ in grown]
    plain = " ".join(words)
    if plain in UNLINKED or not any(c.isalnum() for c in plain):
        return _Span(plain, None)
    bare = _bare(plain)
    length = len(bare.split())
    cells = {place: _bare(places.cells[place]) for place in sorted(shared)}
    distances = {place: abs(len(cell.split()) - length) for place, cell in cells.items()}
    distance = min(distances.values())
    nearest = [place for place in cells if distances[place] == distance]
    place = nearest[0]
    written = " ".join(word if word in places.cells[place] else found[place] for word, found in grown)
    if distance == 0:
        return _Span(written, place)
    if _weight(bare, length, distance, cells[place], len(shared) == 1, place) <= threshold:
        return _Span(plain, None)
    return _Span(written, place if len(nearest) == 1 or place[0] <= 0 else (SOME_CELL, place[1]))


def _weight(bare: str, length: int, distance: int, cell: str, is_only: bool, place: Place) -> float:
    """The weight for linking a span of `length` words to a cell that has `distance` more words."""
    words = bare.split()
    weight = length - 4 * distance / (length + distance)
    if not any(_is_number(word) and int(word) < 100 for word in words):
        weight += -1 if all(word in FREQUENT for word in words) else 4
    weight += (length > 1) + is_only + (length > distance)
    weight += 2 * ("(" in cell and ")" in cell) + 2 * (place[0] == 0)
    weight += 5 * any(word in SHORT_MONTHS or word in SHORT_MONTHS.values() for word in words)
    return weight - 5 * (bare not in cell)


def _join(spans: list[_Span]) -> list[_Span]:
    """Joins two spans of one cell with one word between them, without that word."""
    joined: list[_Span] = []
    for span in spans:
        while span.place and len(joined) > 1 and (before := joined[-2]).place and not joined[-1].place:
            same = before.place in (span.place, (SOME_CELL, span.place[1]))
            if not same or (_is_number(before.text) and _is_number(span.text)):
                break
            del joined[-2:]
            span = _Span(f"{before.text} {span.text}", span.place)
        joined.append(span)
    return joined


def _bare(text: str) -> str:
    return text.replace(",", "").replace(".", "").replace("/", "")


@functools.lru_cache(maxsize=1 << 16)
def _forms(word: str) -> tuple[str, ...]:
    """A word and the words it may be an inflection of."""
    found = [word]
    if word.isascii() and word.isalpha():
        for suffixes in (PLURALS, TENSES):
            for suffix, instead in suffixes:
                if word.endswith(suffix) and len(word) - len(suffix) >= 2 and not word.endswith("ss"):
                    found.append(word[: len(word) - len(suffix)] + instead)
    return tuple(dict.fromkeys(found))


def _cell_forms(word: str, cell: str) -> Iterator[str]:
    """The forms under which claims may name a word of a cell."""
    yield from _forms(word)
    if word in ORDINALS:
        yield ORDINALS[word]
    if len(word) == 2 and word[0] == "0" and word.isdigit():
        yield word[1]
    if word in ("crowd", "attendance"):
        yield from CROWD
    if word in SHORT_MONTHS:
        yield SHORT_MONTHS[word]
    yield from (month for month, short in SHORT_MONTHS.items() if short == word)
    if word.isdecimal() and len(word) <= 2 and any(month in cell for month in SHORT_MONTHS.values()):
        yield ordinal_digits(int(word))


def _is_number(word: str) -> bool:
    return word.isdecimal() and len(word) < 10


def spans(claim: Claim) -> tuple[str, ...]:
    """Entities from only the claim: quotations, dates, numbers, and runs of informative words.

    Common words and punctuation end a run, but `of` and the like are kept between capitals (`University of Oslo`).
    Single numbers up to 20 are left out: they usually count things rather than name a cell. A claim of nothing else (`The
    total score is 11`) gives its words one by one.
    """
    found: list[str] = []
    text = QUOTED.sub(lambda match: found.append(match[1].strip()) or " , ", claim.text)
    text = DATED.sub(lambda match: found.append(match[0]) or " , ", text)
    run: list[str] = []

    def close() -> None:
        found.append(" ".join(run))
        run.clear()

    tokens = text.split()
    for token, following in zip(tokens, [*tokens[1:], ""]):
        word = token.strip(MARKS)
        small = word.casefold()
        joins = run and small in CONNECTIVES and run[-1][0].isupper() and following[:1].isupper()
        if not word or token[0] in MARKS or (small in UNTELLING and not joins):
            close()
        if word and (joins or small not in UNTELLING):
            run.append(word)
            # `J.` and `St.` are abbreviations; any other mark at the end of a word ends the run.
            if token[-1] in MARKS and not (token[-1] == "." and (len(word) == 1 or small in ABBREVIATIONS)):
                close()
    close()
    named = tuple(span for span in dict.fromkeys(found) if span and not (_is_number(span) and int(span) <= 20))
    return named or tuple(dict.fromkeys(word for word in words(claim.text) if word not in _FILLERS))
