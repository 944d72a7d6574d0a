"""Does a text say what the data says? Every number, date and name of the input is looked for in the text.

- A number is compared as it is written; one that stands for several values must be there as often.
- A date (`1932-03-15`, `15 March 1932`, `March 15th, 1932`, `Mar 1932`) is compared by its day, however it is written.
- A name is a word of the title or of a value that begins with a capital (or has no case) and is no function word.

What the text says beyond the input is invented: a number, a date's month, and, where the words that any text may use
are known, every other word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from lisax.formats.budget import squeeze
from lisax.formats.folding import RUN, fold
from lisax.formats.triples import Triples
from lisax.months import MONTH_NUMBERS

FUNCTION_WORDS = frozenset("""a an the this that these those and or nor but of in on at by for from to with without into as
    is are was were be been being has have had do does did it its he she his her him they their them who whose which what
    when where there not no than then also both each such after before during between under over about through up out
    """.split())
_MONTH = rf"(?:{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})\b\.?"
_DAY = r"(?<!\d)\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"\d{4}(?!\d)"
_DATES = re.compile(
    rf"(?<![\d-])(?P<y1>\d{{4}})-(?P<m1>\d\d)-(?P<d1>\d\d)(?![\d-])"
    rf"|(?P<d2>{_DAY})\s(?:of\s)?(?P<m2>{_MONTH}),?\s(?P<y2>{_YEAR})"
    rf"|\b(?P<m3>{_MONTH})\s(?P<d3>{_DAY}),?\s(?P<y3>{_YEAR})"
    rf"|\b(?P<m4>{_MONTH}),?\s(?:of\s)?(?P<y4>{_YEAR})")
NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]*\d)|\d+(?:\.\d+)*")

Date = tuple[int, int, int]  # year, month, day; 0 where none is said


class Found(NamedTuple):
    """What a text holds: `numbers` as written, those in dates too; `loose` are those outside of dates."""

    numbers: Counter[str]
    loose: Counter[str]
    dates: Counter[Date]
    words: set[str]


class Judgement(NamedTuple):
    """What the text lost and what it invented, as it is compared."""

    lost: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def faithful(self) -> bool:
        return not self.lost and not self.invented


def find(text: str) -> Found:
    """The numbers, dates and words of a text; the words folded, without months of dates and runs with digits."""
    text = fold(text)
    dates: Counter[Date] = Counter()
    loose_text, end = [], 0
    for match in _DATES.finditer(text):
        date = _date(match)
        if date is not None:
            dates[date] += 1
            loose_text.append(text[end:match.start()])
            end = match.end()
    rest = " | ".join([*loose_text, text[end:]])
    words = {run for run in RUN.findall(rest) if not any(map(str.isdigit, run))}
    return Found(Counter(NUMBER.findall(text)), Counter(NUMBER.findall(rest)), dates, words)


def _date(match: re.Match) -> Date | None:
    found = {name[0]: value for name, value in match.groupdict().items() if value is not None}
    month = int(found["m"]) if found["m"].isdigit() else MONTH_NUMBERS[found["m"].rstrip(".")]
    day = int(re.match(r"\d+", found["d"])[0]) if "d" in found else 0
    return (int(found["y"]), month, day) if 1 <= month <= 12 and day <= 31 else None


class Facts:
    """What a text about `triples` must hold, and may."""

    def __init__(self, triples: Triples):
        values = [find(value) for _, value in dict.fromkeys(triples.pairs)]
        title, names = find(triples.title), [find(name) for name, _ in triples.pairs]
        self.numbers: Counter[str] = sum((found.loose for found in values), Counter())
        self.dates: Counter[Date] = sum((found.dates for found in values), Counter())
        for found in (title, *names):
            self.numbers |= found.loose
            self.dates |= found.dates
        everything = (title, *names, *values)
        self._numbers = {number for found in everything for number in found.numbers}
        self._words = {word for found in everything for word in found.words}
        self._months = {month for found in everything for _, month, _ in found.dates}
        self._months |= {MONTH_NUMBERS[word] for word in self._words if word in MONTH_NUMBERS}
        self._parts = {form for found in everything for date in found.dates for part in date
                       for form in (str(part), f"{part:02}")}
        self.names = set().union(*(names_of(text) for text in (triples.title, *(value for _, value in triples.pairs))))

    def judge(self, text: str, plain_words: Collection[str] | None = None) -> Judgement:
        """`plain_words`: folded words that a text may use though its input has not got them; None: any."""
        found = find(text)
        lost = [number for number, count in self.numbers.items() if found.numbers[number] < count]
        lost += ["-".join(map(str, date)) for date, count in self.dates.items() if found.dates[date] < count]
        lost += sorted(self.names - found.words - {word for date in found.dates for word in _month_names(date)})
        invented = [number for number in found.numbers if number not in self._numbers | self._parts]
        invented += ["-".join(map(str, date)) for date in found.dates
                     if date not in self.dates and date[1] not in self._months]
        if plain_words is not None:
            invented += sorted(word for word in found.words - self._words - FUNCTION_WORDS
                               if len(word) > 1 and word not in plain_words)
        return Judgement(tuple(lost), tuple(invented))


def _month_names(date: Date) -> Iterator[str]:
    return (name for name, month in MONTH_NUMBERS.items() if month == date[1])


def names_of(text: str) -> set[str]:
    """The folded words of a text that are names; those in its dates, single letters and runs with digits are none."""
    candidates = (fold(run) for run in RUN.findall(text)
                  if run[0].isalpha() and not run[0].islower() and not any(map(str.isdigit, run)))
    words = find(text).words
    return {word for word in candidates if len(word) > 1 and word in words and word not in FUNCTION_WORDS}


def render(triples: Triples) -> str:
    """A plain rendering that holds everything as it is written: `LeBron James: the league is NBA; the team is Lakers.`"""
    said = (f"the {name} is {value}" if name else value for name, value in triples.pairs)
    text = squeeze(": ".join(filter(None, (triples.title, "; ".join(said)))))
    return text if text.endswith((".", "!", "?")) else f"{text}."
