"""What a text says beyond its data in words, which no comparison of values sees.

- A negation (`not`, `never`, `isn't`) where neither a name nor a value of the data has one; and its loss.
- A quantity in words that the data have not got (`half of`, `twice`, `dozens`).
- A unit beside which the data name another of the same dimension alone (`feet`, of `height (in metres)`).
- A name: a word with a capital inside of a sentence that no word of the data begins like (`Italian`, of `Italy`), that is
  no abbreviation of the data (`US`), no month and no word of everyday use.
- A statement: a sentence or clause in which no word comes from a value, and some word is neither from the data nor one of
  those that say of any thing where it is, what it is called or what it does; and a text with several such words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Set

from lisax.formats.triples import Triples
from lisax.text.dates import MONTH_NUMBERS
from lisax.text.folding import RUN, fold
from lisax.text.stop_words import COMMON_WORDS, DATE_WORDS, FUNCTION_WORDS

# Units of one dimension: where the data name one, a text that names another of them alone is wrong.
_UNITS = [
    frozenset(units.split())
    for units in (
        "millimetre centimetre metre kilometre foot inch yard mile",
        "gram kilogram tonne ounce pound",
        "second minute hour day week month",
        "celsius fahrenheit kelvin",
        "litre gallon pint",
        "dollar euro pound yen rupee peso",
    )
]
_UNIT_OF = {
    "feet": "foot",
    "inches": "inch",
    "meter": "metre",
    "meters": "metre",
    "kilometer": "kilometre",
    "kilometers": "kilometre",
    "km": "kilometre",
    "kg": "kilogram",
    "ft": "foot",
    "liters": "litre",
}
STRANGE_WORDS = 3  # so many in a text are a statement, wherever they stand
_STEM = 4  # letters that words of one stem share
_LONGEST = 10  # letters of an abbreviation: a cell of a thousand words has half a million stretches
_NEGATION = re.compile(
    r"\b(?:not(?! only| surprisingly| just)|never|neither|nor|nobody|nothing|nowhere|none|without|cannot|no(?! wonder\b|\.? ?\d))\b"
    r"|n't\b"
)
_QUANTITIES = frozenset(
    """
half halves twice thrice double doubled triple tripled quadruple quarter quarters third thirds dozen dozens score scores
hundreds thousands millions billions tens few fewer majority minority
""".split()
)
_SENTENCE = re.compile(r"(?<=[^\W_]{2}[.!?])[\"')]*\s+|[;!?]\s|(?<=[a-z)])\.(?=[A-Z])")
# What joins statements; a clause with its own verb may stand alone.
_CLAUSE = re.compile(r",? and (?=(?:it|he|she|they|is|was|are|were|has|had|have|can|comes) )|,? but ")
_ABBREVIATIONS = frozenset(
    "fc afc cf ac as sc dc us usa uk tv no co st jr sr dr mr mrs ms ma ba bs bsc msc phd hq aka id".split()
)
# Words that say of any thing where it is, what it is called, what it is made of and what it does.
PLAIN_WORDS = frozenset(
    """
able about above according across active actually added addition affiliated again age ago aired all along alongside also
although always among another approximately area around articles associated attached attend attended available award
awarded away back base based became because become been began begin beginning begun being belong belonging belongs below
beside birthplace body book books born branch broadcast build building built call called came can capital career
case category century character characters cities citizen city class classed classified club code come comes coming
commonly company comprises compete competed competes completed concerned connected considered consist consisting
consists constructed construction contain contained containing contains country county course cover covers created
currently death decade dedicated denoted derived describes description designed dessert destination died different dish
dishes during each earlier east eaten either employs end ended entire episode established ethnic example fall falls
famous feature featured features fictional field film find finished first floor floors followed following follows food
foods football for form formation formed former formerly forms fought found founded from full further game games gave given go
goes graduate graduated ground group had hails has having he head headed headquartered headquarters heads held help here
high his hold holds home house houses however identified important inaugurated include included includes including
individual inhabitants inhabited inside instead international introduced involved island item its itself join joined
kept kind kinds known land language large later latter leader leading leads led left length level lie lies like line list
live lived lives local locally located location long made main mainly make makes making manage managed many material may
mean means measures meant member members mentioned metres meters might mission more most name named names namely national
nationality native natives near new north northeast northwest not novel now number numbers of officially often on once
one only open opened operated operates or order origin original originally originate originated originates originating
other others otherwise out over own owned owner owns page pages part particular parts party passed people per performed
person place placed places plant play played player playing plays popular population position possible present president
previous previously primary produced provided provides published put ran range ranked real received referred regarded
region related released remains represented represents resided respectively result river role rule run runs said same
school season second see seen selected sequel series serve served serves service serving set several short show shown
side similar since singer site situated size so some sometimes south southeast southwest speak speaking speaks special
spent spoken sport stand stands started state states still stood street studied study style subject such taken takes team
term than that the their them there these they thing third this those thought through thus time titled together took total
town traditional traditionally twice type types typical typically under up upon use used uses using usually varieties
various version very via average child children close coffee cuisine customer customers establishment family friendly
good great high highly kid kids low menu offer offering offers price priced prices quality rate rated rating ratings sell
sells shop try venue was way well went west when where which while whilst whole whose wide will wins with within won
word work worked works would write writer writes written wrote year years you
""".split()
)


def negated(text: str) -> bool:
    return _NEGATION.search(fold(text)) is not None


class Additions:
    """What texts about `triples` may say in words; `words`: all folded words of the data."""

    def __init__(self, triples: Triples, words: Set[str]):
        self._words = words
        parts = [triples.title, *(part for pair in triples.pairs for part in pair)]
        self._negated = any(map(negated, parts))
        self._denied = any(negated(name) for name, _ in triples.pairs)
        self._stems = {word[:_STEM] for word in words if len(word) >= _STEM}
        self._initials = {initials for part in parts for initials in _initials(part)}
        self._said = {word for _, value in triples.pairs for word in _content(value)}
        self._said_stems = {word[:_STEM] for word in self._said if len(word) >= _STEM}

    def lost(self, text: str) -> list[str]:
        """`not`, where the data deny something and the text does not."""
        return ["not"] if self._denied and not negated(text) else []

    def invented(self, text: str, plain_words: Collection[str] | None = None) -> list[str]:
        """`plain_words`: folded words that a text may use besides `PLAIN_WORDS`."""
        found = [] if self._negated else [match[0] for match in _NEGATION.finditer(fold(text))]
        words = {fold(run) for run in RUN.findall(text)}
        found += sorted((words & _QUANTITIES) - self._words)
        found += sorted(self._other_units(words))
        found += self._names(text)
        return found + self._statements(text, PLAIN_WORDS.union(plain_words or ()))

    def _other_units(self, words: Set[str]) -> set[str]:
        """Units of a text beside which the data name another of the same dimension."""
        said, told = ({_unit(word): word for word in some} for some in (words, self._words))
        return {said[unit] for units in _UNITS if units & told.keys() for unit in (units & said.keys()) - told.keys()}

    def _names(self, text: str) -> list[str]:
        """Words with capitals inside of a sentence that nothing in the data is like."""
        found = []
        for sentence in _SENTENCE.split(text):
            runs = list(RUN.finditer(sentence or ""))
            for number, run in enumerate(runs):
                begins = number == 0 or sentence[: run.start()].rstrip()[-1:] in "(\"':."
                followed = number + 1 < len(runs) and runs[number + 1][0][:1].isupper()
                if (
                    run[0][:1].isupper()
                    and len(run[0]) > 1
                    and run[0].isalpha()
                    and (not begins or (followed and number == 0 and self._is_strange(runs[1][0])))
                    and self._is_strange(run[0])
                ):
                    found.append(fold(run[0]))
        return found

    def _is_strange(self, run: str) -> bool:
        word = fold(run)
        return not (
            self._is_known(word)
            or word in COMMON_WORDS
            or word in DATE_WORDS
            or word in _ABBREVIATIONS
            or word in PLAIN_WORDS
            or word in FUNCTION_WORDS
            or (run.isupper() and len(word) == 2)
        )

    def _is_known(self, word: str) -> bool:
        return (
            word in self._words
            or word in self._initials
            or word in MONTH_NUMBERS
            or (len(word) >= _STEM and word[:_STEM] in self._stems)
        )

    def _statements(self, text: str, plain: Collection[str]) -> list[str]:
        strange = []
        for sentence in _SENTENCE.split(text):
            for clause in _CLAUSE.split(sentence or ""):
                words = list(dict.fromkeys(_content(clause)))
                unknown = [word for word in words if not self._is_known(word) and word not in plain and word.isalpha()]
                if len(unknown) > 0 and not self._says_a_value(words):
                    return unknown
                strange += [word for word in unknown if len(word) > 2]
        return strange if len(strange) >= STRANGE_WORDS else []

    def _says_a_value(self, words: Iterable[str]) -> bool:
        return any(
            word in self._said or word[0].isdigit() or (len(word) >= _STEM and word[:_STEM] in self._said_stems)
            for word in words
        )


def _unit(word: str) -> str:
    return _UNIT_OF.get(word) or (word[:-1] if word.endswith("s") else word)


def _content(text: str) -> list[str]:
    return [
        word
        for word in map(fold, RUN.findall(text))
        if word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit())
    ]


def _initials(text: str) -> set[str]:
    """How the words of a name are abbreviated: `us`, `usa` of `United States of America`."""
    letters = [word[0] for word in map(fold, RUN.findall(text)) if word not in FUNCTION_WORDS]
    return {
        "".join(letters[start:end])
        for start in range(len(letters))
        for end in range(start + 2, min(start + _LONGEST, len(letters)) + 1)
    }
