"""Corrupts human references of data-to-text records by rule: what a check of faithfulness should refuse.

Every kind takes references at random (by a hash, so that the set is the same on every machine), first one of each record,
and changes what they say of their data. No choice depends on the check. The records are read where they are;
nothing of them is kept here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lisax.formats.triples import Triples
from lisax.records import DataText
from lisax.sampling.files import hashed_share
from lisax.text.dates import find_dates
from lisax.text.folding import RUN, fold

DATA = Path(__file__).parents[2] / "../shared/data"
PER_KIND = 30


class Corrupted(NamedTuple):
    kind: str
    triples: Triples
    reference: str
    text: str


Made = tuple[Triples, str] | None  # the data, which one kind changes, and the corrupted text


class Pool:
    """The references that may be corrupted, and what is taken from them for others."""

    def __init__(self, records: Sequence[DataText]):
        pairs = sorted(references(records), key=lambda pair: hashed_share(f"{pair[0].id} {pair[1]}"))
        self.references = list(filter(_literal, pairs))
        self.others = [pair for pair in pairs if not _literal(pair)]
        self.titles = [triples.title for triples, _ in self.references]
        self.values: dict[str, list[str]] = {}  # of each attribute
        self.predicates: list[tuple[str, str, str]] = []  # title, attribute, what is said
        for triples, text in self.references:
            for name, value in triples.pairs:
                self.values.setdefault(name, []).append(value)
            if len(triples.pairs) == 1 and re.match(
                rf"{re.escape(triples.title)} (is|was|has|can|comes|are|were) ", text
            ):
                said = text[len(triples.title) :].strip(" .")
                self.predicates.append((triples.title, triples.pairs[0][0], said))


class Source(NamedTuple):
    """A reference to corrupt: its unit, its text, its own random numbers, and where it is from."""

    triples: Triples
    text: str
    drawn: random.Random
    pool: Pool


def references(records: Sequence[DataText]) -> list[tuple[Triples, str]]:
    return [(Triples(record.id, record.title, record.pairs), text) for record in records for text in record.texts]


def corrupted(records: Sequence[DataText], per_kind: int = PER_KIND) -> dict[str, list[Corrupted]]:
    """Kind -> up to `per_kind` corrupted references."""
    pool = Pool(records)
    return {kind: _members(kind, make, pool, per_kind) for kind, make in KINDS.items()}


def _literal(pair: tuple[Triples, str]) -> bool:
    """Whether a reference says title and values as the data write them: what is lost or paraphrased there already would
    hide what the corruption changes."""
    triples, text = pair
    return all(_places(text, value) for value in (triples.title, *(value for _, value in triples.pairs)))


def _members(kind: str, make: Callable[[Source], Made], pool: Pool, count: int) -> list[Corrupted]:
    """One of each record, in the order of the pool from a place of the kind's own; then others of these records, and
    those that are not literal, until there are enough."""
    start = int(hashed_share(kind) * len(pool.references))
    found: list[Corrupted] = []
    used: set[str] = set()
    again = []
    for triples, text in (*pool.references[start:], *pool.references[:start]):
        if len(found) == count:
            return found
        made = [] if triples.id in used else _made(kind, make, triples, text, pool)
        if triples.id in used:
            again.append((triples, text))
        elif made:
            used.add(triples.id)
            found += made
    for triples, text in (*again, *pool.others):
        if len(found) == count:
            break
        found += _made(kind, make, triples, text, pool)
    return found


def _made(kind: str, make: Callable[[Source], Made], triples: Triples, text: str, pool: Pool) -> list[Corrupted]:
    made = make(Source(triples, text, random.Random(f"{kind} {triples.id} {text}"), pool))
    return [] if made is None or made == (triples, text) else [Corrupted(kind, made[0], text, made[1])]


# --- Where something is said ----------------------------------------------------------------


def _places(text: str, value: str) -> list[tuple[int, int]]:
    """Where a value stands in a text, as it is written or, of a date, on the same day."""
    folded = fold(text)
    if len(folded) != len(text):
        return []
    wanted = list(find_dates(fold(value)))
    if len(wanted) == 1 and wanted[0][1:] == (0, len(value)):
        return [(start, end) for date, start, end in find_dates(folded) if date == wanted[0][0]]
    return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(fold(value))}(?!\w)", folded)]


def _once(source: Source, value: str) -> tuple[int, int] | None:
    """Where a value is said, if only there, and nothing else of the data says it too."""
    texts = [source.triples.title, *(value for _, value in source.triples.pairs)]
    places = _places(source.text, value)
    return places[0] if len(places) == 1 and sum(fold(value) in fold(text) for text in texts) == 1 else None


def _put(text: str, changes: Sequence[tuple[tuple[int, int], str]]) -> str:
    for (start, end), new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _exchange(text: str, one: tuple[int, int], other: tuple[int, int]) -> str | None:
    """Two parts of a text exchanged; None where nothing is said between them (`Perugia, Italy`)."""
    one, other = sorted((one, other))
    between = set(RUN.findall(fold(text[one[1] : other[0]])))
    if one[1] > other[0] or between <= {"in", "of", "and", "the", "or", "at"}:
        return None
    return _put(text, [(one, text[slice(*other)]), (other, text[slice(*one)])])


def _is_date(value: str) -> bool:
    return any(True for _ in find_dates(value)) or re.fullmatch(r"1[5-9]\d\d|20[0-4]\d", value) is not None


def _is_number(value: str) -> bool:
    return re.fullmatch(r"[-\d.,]+( \([a-z ]+\))?", value) is not None


# --- Kinds ----------------------------------------------------------------------------------


def _exchanged(source: Source, sort: Callable[[str], object]) -> Made:
    pairs = [(name, value) for name, value in dict.fromkeys(source.triples.pairs) if sort(value) is not None]
    found = [
        text
        for i, (name, value) in enumerate(pairs)
        for other_name, other in pairs[:i]
        if name != other_name
        and sort(value) == sort(other)
        and (one := _once(source, value))
        and (two := _once(source, other))
        and (text := _exchange(source.text, one, two))
    ]
    return (source.triples, source.drawn.choice(found)) if found else None


def exchanged_values(source: Source) -> Made:
    return _exchanged(source, lambda value: None if _is_date(value) else _is_number(value))


def exchanged_dates(source: Source) -> Made:
    return _exchanged(source, lambda value: True if _is_date(value) else None)


def added_negation(source: Source) -> Made:
    said = source.drawn.choice(["{} not", "{} never", "{}n't", "{} no longer"])
    verbs = list(re.finditer(r"\b(is|was|are|were)\b", source.text))
    if not verbs:
        return None
    verb = source.drawn.choice(verbs)
    return source.triples, _put(source.text, [(verb.span(), said.format(verb[0]))])


def removed_negation(source: Source) -> Made:
    """A reference without its negation; there are hardly any, so also one of a fact, beside data that deny the fact."""
    if negated := re.search(r"\b(not|never)\b (?!only|surprisingly)", source.text):
        return source.triples, _put(source.text, [(negated.span(), "")])
    if len(source.triples.pairs) != 1:
        return None
    ((name, value),) = source.triples.pairs
    return Triples(source.triples.id, source.triples.title, ((f"not {name}", value),)), source.text


def quantified(source: Source) -> Made:
    """`half of 5 members`, `twice 5 members`, `dozens of`."""
    places = [place for value in _said_of(source) if (place := _once(source, value))]
    if not places:
        return None
    start, _ = source.drawn.choice(places)
    said = source.drawn.choice(["half of ", "twice ", "dozens of ", "a third of ", "double "])
    return source.triples, _put(source.text, [((start, start), said)])


def invented_name(source: Source) -> Made:
    name = _other_name(source)
    places = [place for value in _said_of(source) if (place := _once(source, value))]
    if not places or name is None:
        return None
    _, end = source.drawn.choice(places)
    said = source.drawn.choice([" and {}", ", {},", " of {}", " with {}"])
    return source.triples, _put(source.text, [((end, end), said.format(name))])


def wrong_number(source: Source) -> Made:
    numbers = list(re.finditer(r"\d+", source.text))
    if not numbers:
        return None
    number = source.drawn.choice(numbers)
    digits = list(number[0])
    at = source.drawn.randrange(len(digits))
    digits[at] = source.drawn.choice([digit for digit in "123456789" if digit != digits[at]])
    return source.triples, _put(source.text, [(number.span(), "".join(digits))])


# Of attributes that name the thing itself, or one like it: either may be the subject.
SAME = set("alternative native latin full fullname nickname abbreviation variation related similar".split())
UNITS = [
    "metres meters metre meter feet foot yards".split(),
    "kilometres kilometers km miles".split(),
    "kilograms kg pounds tonnes".split(),
    "grams g ounces".split(),
    "minutes hours days seconds".split(),
    "celsius fahrenheit".split(),
]
_STEMS = {unit: at for at, units in enumerate(UNITS) for unit in units}


def wrong_unit_or_direction(source: Source) -> Made:
    """Another unit than the data's; or the subject said in the place of its object."""
    told = set(RUN.findall(fold(" ".join(sum(source.triples.pairs, ())))))
    for word in RUN.finditer(source.text):
        if (at := _STEMS.get(fold(word[0]))) is not None and told.intersection(UNITS[at]):
            unit = source.drawn.choice([other for other in UNITS[at] if other[0] != fold(word[0])[0]])
            return source.triples, _put(source.text, [(word.span(), unit)])
    names = [
        value
        for name, value in source.triples.pairs
        if not _is_date(value) and not _is_number(value) and not SAME.intersection(RUN.findall(name))
    ]
    subject = _once(source, source.triples.title)
    found = [
        text
        for value in names
        if subject and (place := _once(source, value)) and (text := _exchange(source.text, subject, place))
    ]
    return (source.triples, source.drawn.choice(found)) if found else None


def others_value(source: Source) -> Made:
    """The value that another thing has for the same attribute."""
    pairs = [(name, place) for name, value in source.triples.pairs if (place := _once(source, value))]
    if not pairs:
        return None
    name, place = source.drawn.choice(pairs)
    own = set(RUN.findall(fold(" ".join((source.triples.title, *sum(source.triples.pairs, ()))))))
    values = [other for other in source.pool.values[name] if not own.issuperset(RUN.findall(fold(other)))]
    return (source.triples, _put(source.text, [(place, source.drawn.choice(values))])) if values else None


def unsupported_addition(source: Source) -> Made:
    """What a reference says of another thing's one fact, said of this one as well."""
    names = {name for name, _ in source.triples.pairs}
    predicates = [
        said for title, name, said in source.pool.predicates if name not in names and title != source.triples.title
    ]
    if not predicates or not source.text.endswith("."):
        return None
    said = source.drawn.choice([". It {}.", ", and it {}.", ". {title} {}."])
    return source.triples, source.text[:-1] + said.format(source.drawn.choice(predicates), title=source.triples.title)


def _said_of(source: Source) -> list[str]:
    return [source.triples.title, *(value for _, value in source.triples.pairs)]


def _other_name(source: Source) -> str | None:
    """A name of another thing, of which no word stands in this one's data or text."""
    own = set(RUN.findall(fold(" ".join((source.text, source.triples.title, *sum(source.triples.pairs, ()))))))
    for _ in range(100):
        name = source.drawn.choice(source.pool.titles)
        if re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+){0,2}", name) and own.isdisjoint(RUN.findall(fold(name))):
            return name
    return None


KINDS: dict[str, Callable[[Source], Made]] = {
    "exchanged values": exchanged_values,
    "exchanged dates": exchanged_dates,
    "added negation": added_negation,
    "removed negation": removed_negation,
    "quantifier": quantified,
    "invented name": invented_name,
    "wrong number": wrong_number,
    "wrong unit or direction": wrong_unit_or_direction,
    "another's value": others_value,
    "unsupported addition": unsupported_addition,
}
