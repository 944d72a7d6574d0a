"""Corrupts human references of data-to-text records by rule: what a check of faithfulness should refuse.

Every kind takes references at random (by a hash, so that the set is the same on every machine), first one of each record,
and changes what they say of their data. No choice depends on the check. The records are read where they are;
nothing of them is kept here.
"""

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
        for triples, _ in self.references:
            for name, value in triples.pairs:
                self.values.setdefault(name, []).append(value)


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


# --- Kinds ----------------------------------------------------------------------------------


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


def others_value(source: Source) -> Made:
    """The value that another thing has for the same attribute."""
    pairs = [(name, place) for name, value in source.triples.pairs if (place := _once(source, value))]
    if not pairs:
        return None
    name, place = source.drawn.choice(pairs)
    own = set(RUN.findall(fold(" ".join((source.triples.title, *sum(source.triples.pairs, ()))))))
    values = [other for other in source.pool.values[name] if not own.issuperset(RUN.findall(fold(other)))]
    return (source.triples, _put(source.text, [(place, source.drawn.choice(values))])) if values else None


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
    "added negation": added_negation,
    "removed negation": removed_negation,
    "quantifier": quantified,
    "invented name": invented_name,
    "wrong number": wrong_number,
    "another's value": others_value,
}
