"""Does a text state the facts of the data, and only these? Every number, date and name of the input is looked for in
the text.

- A number is compared as it is written, with its minus sign, but a text may write an equal quantity (`1.5 million` for
  `1,500,000`, `2 km` for `2,000 m`). A number of several values must occur that number of times; a number or a date that
  is not in the title, a name or a subject must not occur more often. Numbers that a value joins (`3-2`, `10:30`,
  `1984/85`) must follow each other in the text, all numbers of a value that joins several times.
- A date (`1932-03-15`, `15 March 1932`, `March 15th, 1932`, `Mar 1932`) is compared by its day, however it is written.
- A name is a word of the title or of a value that has a capital or a digit (or of a script without capitals) and is not
  a function word. So are a number as a word (`five`), the word after a value's number (`745 feet`), and a sign (`%`,
  `$`), or it spelt out.
- Where a title or value has no capital (`michelle j. wolff`), each of its other words counts as a name; of a phrase of
  more than four, which may be in other words, half must be in the text.

Invented is whatever the text adds to the input: a number in digits or words, a sign, a date of which no part is from
elsewhere, `⁇` (a character that the vocabulary cannot write), and, where the words that any text may use are known,
every other word. So are a negation (`never`, `isn't`) of data without one, a quantity in words (`half of`, `twice`),
and a name: a word with a capital inside a sentence that no word of the data begins like (`Italian`, of `Italy`), except
abbreviations, months and everyday words. A negation in the name of an attribute must be in the text.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Set
from typing import NamedTuple

from lisax.formats.budget import squeeze
from lisax.formats.triples import Triples
from lisax.text import quantities
from lisax.text.dates import MONTH_NUMBERS, Date, find_dates
from lisax.text.folding import RUN, fold
from lisax.text.numbers import ORDINALS, TENS_OF, UNITS
from lisax.text.stop_words import COMMON_WORDS, DATE_WORDS, FUNCTION_WORDS

# A minus with nothing before it; `-$5` too.
_MINUS = r"(?:(?<![^\s(\[{])-[$€£¥]?)?"
NUMBER = re.compile(rf"{_MINUS}(?:\d{{1,3}}(?:,\d{{3}}){{1,20}}+(?:\.\d++)?(?!,*+\d)|(?<![\w.])\.\d+|\d+(?:\.\d+)*)")
_JOINT = re.compile(r"\s?[-/:]\s?")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_MEASURE = re.compile(r"\d+[a-z]*[a-rt-z]")  # `44kg`, but no `1950s`
_UNIT = re.compile(r"\d\s?(?!(?:st|nd|rd|th|s)\b)([a-z]+)\b")
_INITIAL = re.compile(r"\b[^\W\d_]\.")
_SIGN = re.compile(r"[%$€£¥₹°]")
_SPELT = {
    "%": {"percent", "percentage", "cent", "pct"},
    "$": {"dollar", "dollars"},
    "€": {"euro", "euros"},
    "£": {"pound", "pounds"},
    "¥": {"yen", "yuan"},
    "₹": {"rupee", "rupees"},
    "°": {"degree", "degrees"},
}
_SPELT_NUMBERS = UNITS | TENS_OF | ORDINALS
_CONFIRMING = {"yes", "true", "none"}  # said by saying the name, or with "no"
_SUBJECT = "subject"  # names a subject inside of a set of triples, of which others may tell
_PHRASE_WORDS = 4  # more of them are a phrase
_NUMBER_WORDS = _SPELT_NUMBERS.keys() | set("hundred thousand million billion trillion dozen".split())
_QUANTITIES = frozenset(
    """half halves twice thrice double doubled triple tripled quadruple quarter quarters third thirds dozen dozens
    score scores hundreds thousands millions billions tens few fewer majority minority""".split()
)
_NEGATION = re.compile(
    r"\b(?:not(?! only| surprisingly| just)|never|neither|nor|nobody|nothing|nowhere|none|without|cannot|no(?! wonder\b|\.? ?\d))\b"
    r"|n't\b"
)
_SENTENCE = re.compile(r"(?<=[^\W_]{2}[.!?])[\"')]*\s+|[;!?]\s|(?<=[a-z)])\.(?=[A-Z])")
_ABBREVIATIONS = frozenset(
    "fc afc cf ac as sc dc us usa uk tv no co st jr sr dr mr mrs ms ma ba bs bsc msc phd hq aka id".split()
)
_STEM = 4  # letters that words of one stem share
_LONGEST = 10  # letters of an abbreviation: a cell of a thousand words has half a million stretches

UNKNOWN = "⁇"  # how SentencePiece writes its unknown piece


class TextFacts(NamedTuple):
    """The parts of a text that are compared: `numbers` as written, those in dates too; `loose` are those outside of
    dates, in their order, `joined` those of them that a mark joins; `words` are folded, signs and runs of letters and
    digits among them."""

    numbers: Counter[str]
    loose: list[str]
    joined: list[list[str]]
    dates: Counter[Date]
    words: set[str]


class Judgement(NamedTuple):
    """The facts that the text lost and those it invented, in the compared form."""

    lost: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def faithful(self) -> bool:
        return not (self.lost or self.invented)


def find(text: str) -> TextFacts:
    """The numbers, dates and words of a text, without months of dates and ordinals in digits among the words."""
    text = fold(text)
    dates: Counter[Date] = Counter()
    loose_text, end = [], 0
    for date, start, after in find_dates(text):
        dates[date] += 1
        loose_text.append(text[end:start])
        end = after
    rest = "|".join([*loose_text, text[end:]])
    words = {run for run in RUN.findall(rest) if not run.isdigit() and not _ORDINAL.fullmatch(run)}
    chains = _chains(rest)
    words.update(_UNIT.findall(rest), _SIGN.findall(rest))
    return TextFacts(
        Counter(NUMBER.findall(text)),
        [number for chain in chains for number in chain],
        [chain for chain in chains if len(chain) > 1],
        dates,
        words,
    )


def _chains(text: str) -> list[list[str]]:
    """The numbers of a text, each with the numbers that a mark joins to it."""
    chains: list[list[str]] = []
    end = None
    for match in NUMBER.finditer(text):
        if end is not None and _JOINT.fullmatch(text, end, match.start()):
            chains[-1].append(match[0])
        else:
            chains.append([match[0]])
        end = match.end()
    return chains


class Facts:
    """The facts that a text about `triples` must hold, and those it may hold."""

    def __init__(self, triples: Triples):
        values = [find(value) for _, value in dict.fromkeys(triples.pairs)]
        title, names = find(triples.title), [find(name) for name, _ in triples.pairs]
        everything = (title, *names, *values)
        self.values = Counter(number for found in values for number in found.loose)
        self.joined = [
            chain for found in everything for chain in ([found.loose] if len(found.joined) > 1 else found.joined)
        ]
        self.dates: Counter[Date] = sum((found.dates for found in values), Counter())
        subjects = [find(value) for name, value in triples.pairs if name == _SUBJECT]
        self._most = _most([find(value) for _, value in triples.pairs], (title, *names, *subjects))
        self.numbers = self.values.copy()
        for found in (title, *names):
            self.numbers |= Counter(found.loose)
            self.dates |= found.dates
        self._numbers = {number for found in everything for number in found.numbers}
        self._loose = {number for found in everything for number in found.loose}
        self._words = {word for found in everything for word in found.words}
        self._parts = {form for found in everything for date in found.dates for form in _forms(date)}
        self._unknown = sum(text.count(UNKNOWN) for text in (triples.title, *itertools.chain(*triples.pairs)))
        self.names = names_of(triples.title).union(*(names_of(value) | _units(value) for _, value in triples.pairs))
        small = list(map(_small_words, (triples.title, *(value for _, value in triples.pairs))))
        self.names = self.names.union(*(words for words in small if len(words) <= _PHRASE_WORDS))
        self._phrases = [words for words in small if len(words) > _PHRASE_WORDS]
        self._written = parts = [triples.title, *itertools.chain(*triples.pairs)]
        self._negated = any(map(_negated, parts))
        self._denied = any(_negated(name) for name, _ in triples.pairs)
        self._stems = {word[:_STEM] for word in self._words if len(word) >= _STEM}
        self._initials = {initials for part in parts for initials in _initials(part)}

    def judge(self, text: str, plain_words: Collection[str] | None = None) -> Judgement:
        """`plain_words`: folded words that a text may use though its input has not got them; None: any."""
        judgement = self._judge(text, plain_words)
        if judgement.faithful or (as_written := self._as_written(text)) == text:
            return judgement
        return self._judge(as_written, plain_words)

    def _as_written(self, text: str) -> str:
        """The text with each quantity of the input written as the input has it: `1,500,000` for `1.5 million`."""
        parts, end = [], 0
        for one in quantities.find(text):
            writings = self._quantities.get((one.value, one.unit, one.kind), ()) if one.exact else ()
            if writings and text[one.start : one.end] not in writings:
                parts += [text[end : one.start], writings[0]]
                end = one.end
        return "".join([*parts, text[end:]])

    @functools.cached_property
    def _quantities(self) -> dict[tuple, list[str]]:
        """(value, unit, kind) -> the input's writings."""
        found: dict[tuple, list[str]] = defaultdict(list)
        for part in self._written:
            for one in quantities.find(part):
                if one.exact:
                    found[one.value, one.unit, one.kind].append(part[one.start : one.end])
        return found

    def _judge(self, text: str, plain_words: Collection[str] | None) -> Judgement:
        found = find(text)
        # A date of the input, repeated in whole or in part, states none of its other numbers; one put together may.
        spare = Counter(found.loose)
        spare.update(form for date in found.dates.elements() if not self._repeats(date) for form in _forms(date))
        lost = [
            number
            for number, count in self.numbers.items()
            if spare[number] < self.values[number] or max(spare[number], found.numbers[number]) < count
        ]
        lost += ["-".join(chain) for chain in self.joined if not _follow(chain, found.loose)]
        lost += ["-".join(map(str, date)) for date, count in self.dates.items() if found.dates[date] < count]
        months = {word for date in found.dates for word in _month_names(date)}
        lost += sorted(_unsaid(self.names - months, found.words))
        lost += [" ".join(sorted(phrase)) for phrase in self._phrases if 2 * len(phrase & found.words) < len(phrase)]
        invented = [number for number in found.numbers if number not in self._numbers | self._parts]
        invented += ["-".join(map(str, date)) for date in found.dates if not self._has(date)]
        invented += [number for number, count in Counter(found.loose).items() if count > self._most.get(number, count)]
        invented += [
            "-".join(map(str, date)) for date, count in found.dates.items() if count > self._most.get(date, count)
        ]
        unsaid = {word for word in _unsaid(found.words, self._words) if not _MEASURE.fullmatch(word)}
        invented += sorted(
            word
            for word in unsaid
            if self._counts(word)
            or (plain_words is not None and word not in FUNCTION_WORDS and word not in plain_words)
        )
        invented += [UNKNOWN] * (text.count(UNKNOWN) > self._unknown)
        lost += ["not"] * (self._denied and not _negated(text))
        if not (lost or invented):  # else it is refused already
            invented += [] if self._negated else _NEGATION.findall(fold(text))
            invented += sorted(found.words & _QUANTITIES - self._words)
            invented += self._invented_names(text)
        return Judgement(tuple(lost), tuple(invented))

    def numbers_lost(self, text: str) -> list[str]:
        """The numbers and dates that are missing from a text: a rough check, for texts from elsewhere."""
        found = find(self._as_written(text))
        return [
            *(self.numbers.keys() - found.numbers.keys()),
            *("-".join(map(str, date)) for date in self.dates.keys() - found.dates.keys()),
        ]

    def _repeats(self, date: Date) -> bool:
        """Whether a date is one of the input's, or its month or year."""
        return any(all(part in (0, its) for part, its in zip(date, own)) for own in self.dates)

    def _has(self, date: Date) -> bool:
        """Whether a date is the input's, but for parts that the input has outside of dates."""
        year, month, day = ({str(part), f"{part:02}"} & self._loose for part in date)
        named = month or self._words.intersection(_month_names(date))
        return any(
            all(part in (0, its) or loose for part, its, loose in zip(date, own, (year, named, day)))
            for own in ((0, 0, 0), *self.dates)
        )

    def _counts(self, word: str) -> bool:
        """Whether a word that the input lacks states a number or a sign; `one` and `first` need not."""
        if word in _SPELT_NUMBERS:
            return word not in ("one", "first") and str(_SPELT_NUMBERS[word]) not in self._numbers
        return word in _NUMBER_WORDS or word in _SPELT or _has_digit(word)

    def _invented_names(self, text: str) -> Iterator[str]:
        """The words with capitals inside a sentence that are like no word of the data; the first word of a sentence
        too, if such a word follows it."""
        for sentence in _SENTENCE.split(text):
            runs = list(RUN.finditer(sentence))
            strange = [run[0][:1].isupper() and self._is_strange(run[0]) for run in runs]
            for number, run in enumerate(runs):
                begins = number == 0 or sentence[: run.start()].rstrip()[-1:] in "(\"':."
                if strange[number] and (not begins or (number == 0 and strange[1:2] == [True])):
                    yield fold(run[0])

    def _is_strange(self, run: str) -> bool:
        word = fold(run)
        return not (
            len(run) < 2
            or not run.isalpha()
            or word in self._words
            or word in self._initials
            or (len(word) >= _STEM and word[:_STEM] in self._stems)
            or word in MONTH_NUMBERS
            or word in COMMON_WORDS
            or word in DATE_WORDS
            or word in _ABBREVIATIONS
            or word in FUNCTION_WORDS
            or (run.isupper() and len(word) == 2)
        )


def _negated(text: str) -> bool:
    return _NEGATION.search(fold(text)) is not None


def _initials(text: str) -> set[str]:
    """How the words of a name are abbreviated: `us`, `usa` of `United States of America`."""
    letters = [word[0] for word in map(fold, RUN.findall(text)) if word not in FUNCTION_WORDS]
    return {
        "".join(letters[start:end])
        for start in range(len(letters))
        for end in range(start + 2, min(start + _LONGEST, len(letters)) + 1)
    }


def _most(values: Iterable[TextFacts], again: Iterable[TextFacts]) -> dict[str | Date, int]:
    """How often the numbers (outside of dates, or as a part of one) and the dates of values may occur at most; those in
    `again` may occur any number of times."""

    def facts(found: TextFacts) -> Iterator[str | Date]:
        yield from found.loose
        for date in found.dates.elements():
            yield from (date, *_forms(date))

    free = {fact for found in again for fact in facts(found)}
    return Counter(fact for found in values for fact in facts(found) if fact not in free)


def _forms(date: Date) -> set[str]:
    """How the parts of a date may be written as numbers."""
    return {form for part in date if part for form in (str(part), f"{part:02}")}


def _follow(chain: list[str], numbers: list[str]) -> bool:
    return any(numbers[i : i + len(chain)] == chain for i in range(len(numbers) - len(chain) + 1))


def _unsaid(wanted: Set[str], said: Set[str]) -> set[str]:
    """The words that are missing; a sign may be spelt out."""
    return {word for word in wanted - said if said.isdisjoint(_SPELT.get(word, ()))}


def _month_names(date: Date) -> Iterator[str]:
    return (name for name, month in MONTH_NUMBERS.items() if month == date[1])


def names_of(text: str) -> set[str]:
    """The folded words of a text that are names, numbers or signs; those in its dates, initials (`F.`), ordinals and
    measures (`44kg`) in digits are none."""
    runs = RUN.findall(_INITIAL.sub(" ", text))
    names = {fold(run) for run in runs if not (_MEASURE.fullmatch(run) if _has_digit(run) else _is_small(run))}
    return find(text).words & names.union(_NUMBER_WORDS, _SPELT) - FUNCTION_WORDS


def _is_small(run: str) -> bool:
    """Whether a word begins with two small letters of a script that has capitals: Georgian's, which are small by
    Unicode, have none at the head of a word."""
    return all(letter != letter.title() for letter in run[:2])


def _small_words(value: str) -> set[str]:
    """The folded words of at least two letters, but for function words, of a value that has no capital."""
    if any(map(str.isupper, value)):
        return set()
    words = {fold(run) for run in RUN.findall(_INITIAL.sub(" ", value)) if run.isalpha() and len(run) > 1}
    return find(value).words & words - FUNCTION_WORDS - _CONFIRMING


def _units(value: str) -> set[str]:
    """The words that follow a number, but for months."""
    return find(value).words.intersection(_UNIT.findall(fold(value))) - FUNCTION_WORDS - MONTH_NUMBERS.keys()


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def render(triples: Triples) -> str:
    """A plain rendering that holds everything as it is written: `LeBron James: the league is NBA; the team is
    Lakers.`"""
    said = (f"the {name} is {value}" if name else value for name, value in triples.pairs)
    text = squeeze(": ".join(filter(None, (triples.title, "; ".join(said)))))
    return text if text.endswith((".", "!", "?")) else f"{text}."


def without_title(text: str, title: str) -> str:
    """A rendering without the title that opens it, for readers who have the title before it: a table's passage has the
    page's title first, then its own."""
    for named in (title, title.partition(" . ")[0]):
        if text.startswith(f"{named}: "):
            return text[len(named) + 2 :]
    return text


def render_pairs(triples: Triples) -> list[str]:
    """A rendering of each pair, complete on its own."""
    return [render(dataclasses.replace(triples, pairs=(pair,))) for pair in triples.pairs]
