"""Which value a text says of which attribute: values that stand in each other's place, and the subject in its object's.

A cue of an attribute is a word of its name (`population`, `leader name`: by its first letters, so that `leads` is one) or
one of those that English has for it (`born` for `birth`, `by` for an author). A cue speaks for a value near it in its
sentence, on the side on which its value stands: `led by V`, `V leads`, `the leader of X is V`, never `leader of V`. Two
values are exchanged where the cues speak clearly more for the exchanged order than for that of the data; where they say
nothing, nothing is refused.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lisax.formats.triples import Triples
from lisax.text.dates import find_dates
from lisax.text.folding import fold
from lisax.text.stop_words import FUNCTION_WORDS

EXCHANGED = 0.45  # how much more the cues must say for the exchanged order, of 2 at most
REVERSED = 0.4  # the same for the subject in an object's place, of 1
REACH, FARTHEST = 9, 30  # the farthest a cue is from its value, in words of no value, and in all words
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+|[.!?;:,()]")
_NUMERIC = re.compile(r"[-+$€£]?\d[\d.,/:%-]*( \([^()]*\)| [a-z]+)?")
_ENDS = frozenset(".!?;")
_LIST = frozenset({",", "and", "or", "the", "a", "an"})
_COPULAS = frozenset("is are was were be being".split())
# Words between a cue and its value that leave them together, by the cue's part of speech and its side.
_AFTER_NOUN = _COPULAS | _LIST | frozenset("called named known as by of : ( include includes one city".split())
_BEFORE_NOUN = _COPULAS | frozenset(", who the a an one of among been main also".split())
_PREPOSITIONS = frozenset("in on at by of to from for with as into".split())
_AFTER_VERB = _LIST | _PREPOSITIONS
_COMPOUND = frozenset("born based made".split())  # `Texas born X`
_HOLDERS = frozenset("national citizen native member members alumnus graduate".split())  # `a citizen of V`
_PARTICIPLES = frozenset("written led born built run".split())
# Names of a thing itself: which of two is the subject says nothing.
_SAME = frozenset(
    "alternative fullname full nickname native latin abbreviation variation related similar title".split()
)
_BEFORE_VERB = _COPULAS | frozenset(", who which that has have had been also it he she".split())
_OWNING = frozenset("has have had with having".split())
_STEM = 4  # letters that words of one stem share


class Cues(NamedTuple):
    """Words for an attribute: `nouns` name the value or its role, `after` has the value after it, `before` before it."""

    nouns: frozenset[str]
    after: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()


def _cues(nouns: str = "", after: str = "", before: str = "") -> Cues:
    return Cues(frozenset(nouns.split()), frozenset(after.split()), frozenset(before.split()))


_PLACES = frozenset("city region country state county district province municipality town".split())
# Words of attributes' names -> what else English says for them.
KNOWN: dict[str, Cues] = {
    word: cues
    for words, cues in {
        "country location city region place state district municipality county ground headquarter headquarters "
        "residence hometown address foundation campus": _cues(
            "", "in at from located found situated based comes originates eaten stands"
        ),
        "birth born": _cues("birthplace native", "born"),
        "death died": _cues("", "died death passed", ""),
        "leader president mayor chief chancellor dean rector director commander chairman governor manager head coach "
        "chairperson": _cues(
            "leader leaders ruler head boss manager president mayor",
            "led lead headed ruled managed governed commanded",
            "leads heads rules manages managing leading managed",
        ),
        "author writer": _cues("author authors writer", "written penned by", "wrote penned writes"),
        "creator": _cues("creator creators inventor", "created invented by", "creating"),
        "architect designer": _cues("architect designer", "designed by", ""),
        "publisher": _cues("publisher", "published by", "publishes publish"),
        "editor": _cues("editor", "edited by", "edits"),
        "owner": _cues("owner", "owned by", "owns own"),
        "operator operating": _cues(
            "operator", "operated run by governed", "operates runs operate operating govern governs"
        ),
        "owning": _cues("owner", "owned by", "owns own"),
        "alma": _cues("alma", "graduated studied attended graduate from attending"),
        "ethnic": _cues("ethnic group groups", "inhabited"),
        "language languages": _cues("language", "speak speaking", "spoken language speaking"),
        "ingredient ingredients": _cues(
            "ingredient ingredients", "contains includes include contain containing including uses made requires"
        ),
        "club team": _cues("club", "plays played play for at"),
        "tenant tenants": _cues("tenant tenants", "leased", "play plays"),
        "league": _cues("league", "plays compete competes play in competing"),
        "season": _cues("season", "competed in"),
        "members": _cues("members fans"),
        "served": _cues("", "serves serving serve", "served"),
        "length": _cues("long length"),
        "elevation": _cues("elevation above", "at"),
        "height": _cues("tall high height"),
        "pages": _cues("pages"),
        "floor": _cues("floors storeys floor"),
        "retirement": _cues("retirement", "retired"),
        "selected": _cues("", "selected joined chosen hired picked joining"),
        "completion finished": _cues("completion", "completed finished"),
        "start began": _cues("start", "began started begun beginning commenced starting"),
        "established founding founded formation": _cues("", "established founded created formed"),
        "construction built": _cues("", "built constructed erected construction"),
        "added": _cues("", "added"),
        "inauguration": _cues("inauguration", "inaugurated opened"),
        "first": _cues("", "first"),
        "last": _cues("", "last final"),
        "preceded": _cues("predecessor prequel", "preceded by follows after sequel", "precedes"),
        "followed": _cues("successor", "followed by precedes", "follows sequel"),
        "starring": _cues("star", "stars starring starred", "starred stars"),
        "battles": _cues("", "fought battles battle battled"),
        "affiliation affiliations": _cues("affiliation", "affiliated affiliate"),
        "part": _cues("", "part", "includes"),
        "capital": _cues("capital"),
        "largest": _cues("largest"),
        "occupation": _cues("occupation profession", "worked served as"),
        "nationality": _cues("national citizen nationality"),
        "award awards awarded": _cues("award", "won awarded received"),
        "material": _cues("material", "made built"),
        "broadcasted": _cues("", "on by aired broadcast broadcasted shown", "broadcasts airs"),
        "alternative fullname full nickname native latin": _cues("", "known called named aka"),
        "abbreviation": _cues("abbreviation", "abbreviated abbr abbrv"),
        "dedicated": _cues("", "dedicated commemorates"),
        "crew": _cues("", "aboard"),
        "variation variations": _cues("variation variant variations variants version"),
        "course": _cues("course", "served"),
        "style architectural architecture": _cues("style", "style"),
    }.items()
    for word in words.split()
}
_PLAIN = (
    frozenset("name names number code of was to date year building".split()) | FUNCTION_WORDS
)  # of attributes' names: say nothing


class Mention(NamedTuple):
    """A value in a text: its number, and the tokens that it takes."""

    value: int
    start: int
    end: int


def same_stem(word: str, other: str) -> bool:
    """Whether two words begin alike: `publisher` and `published`; not `leader` and `led`, which `KNOWN` has."""
    shared = max(_STEM, min(len(word), len(other), _STEM + 1))
    return word == other or (min(len(word), len(other)) >= _STEM and word[:shared] == other[:shared])


@functools.lru_cache(maxsize=4096)
def has_agent(name: str) -> bool:
    """Whether an attribute's value does what its name says: `written by V`, `V wrote`."""
    return any("by" in KNOWN[word].after for word in _words(name) if word in KNOWN)


@functools.lru_cache(maxsize=1 << 16)
def sides_of(name: str, word: str) -> str:
    """On which sides of a word an attribute's value stands: `a` after it, `b` before it, with `n` for a noun, which has it
    on both, or `v` for a word of a name that is said before its value (`is part of`); empty for a word that is no cue of
    the attribute."""
    own = _words(name)
    known = [KNOWN[one] for one in own if one in KNOWN]
    sides = {side for cues in known for side, words in zip("nab", cues) if word in words}
    if not sides and word not in _PLAIN and any(same_stem(word, one) for one in own):
        agent = any(one.endswith(("er", "or")) and same_stem(word, one) for one in own)
        if fold(name).endswith((" of", " to", " in")):
            sides = {"a", "v"}
        elif word.endswith("ed"):
            sides = {"a"}
        elif agent and not word.endswith(("er", "or", "ers", "ors", "ship")):
            sides = {"b"}
        else:
            sides = {"n"}
    return "".join(sides | ({"a", "b"} if "n" in sides else set()))


def _words(name: str) -> list[str]:
    """The words of an attribute's name that say something."""
    return [word for word in _TOKEN.findall(fold(name)) if word not in _PLAIN and len(word) > 1]


class Said(NamedTuple):
    """A text's tokens, the values in it, and which tokens are theirs."""

    tokens: list[str]
    mentions: list[Mention]
    inside: frozenset[int]


def find_mentions(text: str, values: Sequence[str]) -> Said:
    """The tokens of a text, and where values are said in it; of values that overlap the longer one."""
    folded = fold(text)
    spans = [match.span() for match in _TOKEN.finditer(folded)]
    tokens = [folded[start:end] for start, end in spans]
    for at, (_, end) in enumerate(spans):
        if tokens[at] == "." and not _ends(folded, end, tokens[at - 1] if at else ""):
            tokens[at] = ","
    dates = [(date, start, end) for date, start, end in find_dates(folded)]
    found: list[Mention] = []
    for number, value in enumerate(values):
        wanted = fold(value)
        days = [date for date, start, end in find_dates(wanted) if (start, end) == (0, len(wanted))]
        if days:
            for date, start, end in dates:
                if date == days[0]:
                    inside = [at for at, span in enumerate(spans) if start <= span[0] and span[1] <= end]
                    if inside:
                        found.append(Mention(number, inside[0], inside[-1] + 1))
            continue
        parts = [part for part in _TOKEN.findall(wanted) if part not in ".!?;:,()"]
        found += _runs(tokens, parts, number)
        if not any(mention.value == number for mention in found) and (short := _shortened(wanted)) != wanted:
            found += _runs(tokens, _TOKEN.findall(short), number)
    taken: set[int] = set()
    kept = []
    for mention in sorted(found, key=lambda mention: (mention.start - mention.end, mention.start)):
        places = set(range(mention.start, mention.end))
        if not places & taken:
            taken |= places
            kept.append(mention)
    return Said(tokens, sorted(kept, key=lambda mention: mention.start), frozenset(taken))


def _is_date(value: str) -> bool:
    return any((start, end) == (0, len(value)) for _, start, end in find_dates(value))


def _ends(text: str, after: int, before: str) -> bool:
    """Whether a full stop ends a sentence: not in `F.C.`, `St. Louis` or `abbrv. X`."""
    return len(before) > 2 and before not in ("abbr", "abbrv") and (after == len(text) or not text[after].islower())


def _shortened(value: str) -> str:
    """A value as texts shorten it: without what is in brackets, `.0`, or the last word of `English language`."""
    return re.sub(r"(?<!\s)\s*+\([^()]*+\)$|\.0$|(?<=\w) language$", "", value)


def _runs(tokens: Sequence[str], parts: Sequence[str], number: int) -> Iterator[Mention]:
    """Where the parts follow each other, punctuation aside."""
    if not parts:
        return
    for start in range(len(tokens)):
        if tokens[start] != parts[0]:
            continue
        at, matched = start, 0
        while at < len(tokens) and matched < len(parts):
            if tokens[at] == parts[matched]:
                matched += 1
            elif tokens[at] not in ".,:()":
                break
            at += 1
        if matched == len(parts):
            yield Mention(number, start, at)


class Slots:
    """The attributes and values of one unit, with what speaks for whom."""

    def __init__(self, triples: Triples):
        self.triples = triples
        pairs = [(name, value) for name, value in dict.fromkeys(triples.pairs) if name != "subject"]
        self._names = [name for name, _ in pairs]
        self._values = [triples.title, *dict.fromkeys(value for _, value in pairs)]
        self._value_of = [self._values.index(value) for _, value in pairs]

    def misplaced(self, text: str) -> list[str]:
        """What is said in another's place: `population: 20.5, not area` as (name, value) of the data."""
        said = find_mentions(text, self._values)
        there = {mention.value for mention in said.mentions}
        own = [(name, value) for name, value in zip(self._names, self._value_of) if value in there]
        found = []
        score = functools.lru_cache(None)(lambda name, value: self._score(said, name, value))
        for (name, value), (other, others) in itertools.combinations(own, 2):
            if value == others or name == other or self._both(name, others) or self._both(other, value):
                continue
            if self._sort(value) != self._sort(others):
                continue
            gains = score(name, others) - score(name, value), score(other, value) - score(other, others)
            if sum(gains) > EXCHANGED and min(gains) > -0.1:
                found.append(f"{name}: {self._values[value]} / {other}: {self._values[others]}")
        if 0 in there:
            for name, value in own:
                if (
                    value
                    and not _SAME.intersection(_TOKEN.findall(fold(name)))
                    and not self._both(name, 0)
                    and score(name, 0) - score(name, value) > REVERSED
                ):
                    found.append(f"{name}: {self._values[value]} / {self._values[0]}")
        return found

    def _both(self, name: str, value: int) -> bool:
        """Whether an attribute has a value too."""
        return any(one == name and other == value for one, other in zip(self._names, self._value_of))

    @functools.cached_property
    def _sorts(self) -> list[str]:
        return ["number" if _NUMERIC.fullmatch(value) or _is_date(value) else "name" for value in self._values]

    def _sort(self, value: int) -> str:
        return self._sorts[value]

    def _score(self, said: Said, name: str, value: int) -> float:
        """How much the cues of an attribute speak for a value, of 1."""
        best = 0.0
        for mention in said.mentions:
            if mention.value != value:
                continue
            for at in range(max(0, mention.start - FARTHEST), min(len(said.tokens), mention.end + FARTHEST)):
                if at not in said.inside and (sides := self._sides(said, at, name)):
                    if ("a" if at < mention.start else "b") in sides:
                        best = max(best, self._near(said, at, mention, sides))
        return best

    def _sides(self, said: Said, at: int, name: str) -> str:
        """`sides_of` a word, where it stands: `led by V` and `V led`, `stars V` and `V stars in`, `Texas born`."""
        word, sides = said.tokens[at], sides_of(name, said.tokens[at])
        after = said.tokens[at + 1] if at + 1 < len(said.tokens) else ""
        if not sides or "n" in sides or word in FUNCTION_WORDS:
            return sides
        if word in _PARTICIPLES or word.endswith("ed"):
            if has_agent(name):
                return "a" if after == "by" else "b"
        if word in _COMPOUND and at - 1 in said.inside and after not in _PREPOSITIONS:
            return "b"
        if word in ("stars", "starred"):
            return "b" if after == "in" else "a"
        return sides

    def _near(self, said: Said, at: int, mention: Mention, sides: str) -> float:
        """How near a cue is to a value, of 1: by the words between them, and the other values there."""
        noun, ahead = "n" in sides, at < mention.start
        gap = list(range(at + 1, mention.start) if ahead else range(mention.end, at))
        if _ENDS.intersection(said.tokens[i] for i in gap):
            return 0.0
        weight = 0.6 if said.tokens[at] in FUNCTION_WORDS else 1.0
        words = [said.tokens[i] for i in gap if i not in said.inside]
        if len(words) > REACH:
            return 0.0
        others = [i for i in gap if i in said.inside]
        if others and ahead:  # `the leaders are A and V`
            while gap and (gap[-1] in said.inside or said.tokens[gap[-1]] in _LIST or said.tokens[gap[-1]] == "s"):
                gap.pop()
            left = [i for i in gap if i in said.inside]
            if not left or (words and words[-1] in _COPULAS):
                others = []
                words = [said.tokens[i] for i in gap if i not in said.inside] if not left else words
        if said.tokens[mention.end : mention.end + 1] == ["s"] and ahead:
            weight *= 0.4
        name = self._sort(mention.value) == "name"
        if ahead:
            links, factor = (_AFTER_NOUN, 0.4) if noun else (_AFTER_VERB, 0.75)
            if not noun and _COPULAS.intersection(words):
                weight *= 0.4
            if noun and name and "v" not in sides and "of" in words and not _COPULAS & set(words[words.index("of") :]):
                # `the leader of X` is not X; but `has the nickname of V`, and `the city of V`.
                if words[0] != "of":
                    weight *= 0.4
                elif said.tokens[at] in _HOLDERS:
                    pass
                elif said.tokens[at] in _PLACES:
                    weight *= 0.6
                elif not self._owned(said, at):
                    return 0.0
        else:
            links, factor = (_BEFORE_NOUN, 0.4) if noun else (_BEFORE_VERB, 0.6)
            if noun and words[:1] == ["s"]:
                return 0.0
            if noun and not name:
                links = links | {"in", "of"}
            if noun and name and not words and said.tokens[at] not in _PLACES and said.tokens[at] != "language":
                weight *= 0.3  # `the Apollo 8 commander`
            if not noun and words[-1:] == ["and"]:  # `X plays for V and manages T`
                others, words, weight = ([], [], 0.7 * weight) if others else ([], [], 0.3 * weight)
            elif others and not set(words) - _LIST:
                others = []
        if others:
            sorts = {
                self._sort(one.value) for one in said.mentions if not {*range(one.start, one.end)}.isdisjoint(others)
            }
            weight *= 0.4 if self._sort(mention.value) in sorts else 0.8  # `born in V on 1 May 1950`
        if "been" in words:
            words = [word for word in words if word not in _OWNING]
        return weight * factor ** sum(word not in links for word in words)

    @staticmethod
    def _owned(said: Said, at: int) -> bool:
        """Whether something `has` what the noun names: `has the nickname of V`."""
        before = said.tokens[max(0, at - 3) : at]
        return bool(_OWNING & set(before)) and not _COPULAS & set(before) and "been" not in before
