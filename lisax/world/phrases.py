"""The relations of each kind of entity, and the phrases that state them: `relations.tsv` and `fillers.tsv`, read once.

A phrase is a verb phrase with `{o}` for the object, so that every sentence and every claim is "subject + phrase". Pages
use `page` phrases and claims use `claim` phrases: they share few words, so that word overlap seldom finds the evidence.
`inverse` phrases state the same fact from the object's side, with `{s}` for its subject. In the files ` | ` separates
phrases.

Every relation is functional (one object per subject), so a different object refutes. Years are in disjoint eras (people
are born before anything is founded, and works come last), so that one year never decides a claim about another.
"""

from __future__ import annotations

import csv
import dataclasses
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Relation:
    """`draw` is the source of objects: `town`, `year`, `number`, `word`, or a kind or a profession."""

    name: str
    draw: str
    page: tuple[str, ...]
    claim: tuple[str, ...]
    question: str
    values: tuple = ()
    inverse: tuple[str, ...] = ()
    noun: str = ""  # "author": the object is "the author of {s}"
    more: str = ""  # comparison with another entity
    less: str = ""
    more_than: str = ""  # comparison with a number, or the phrase of `more` if it serves both
    less_than: str = ""


WORK_ERA = tuple(range(1970, 2010))
# By the name that the column `values` has; other values are numbers, `40 to 430 by 10`.
VALUES = {
    "births": tuple(range(1860, 1900)),
    "foundings": tuple(range(1920, 1960)),
    "works": WORK_ERA,
    "towns": tuple(range(1500, 1540)),
    "prizes": tuple(
        f"the {a} {b}"
        for a in ("Amber", "Cedar", "Ivory", "Laurel", "Opal", "Pearl", "Ruby", "Topaz")
        for b in ("Medal", "Prize", "Ribbon")
    ),
    "products": tuple(
        """bicycles boots bricks buttons candles carpets cheese clocks cutlery glassware gloves hats lamps
lenses locks needles paper pianos pottery ropes saddles soap tea toys umbrellas wine""".split()
    ),
    "genres": tuple("adventure comedy crime fantasy horror mystery romance satire tragedy western".split()),
    "styles": tuple("blues disco folk funk gospel jazz polka reggae soul swing".split()),
    "colours": tuple(
        f"{a} and {b}" for a in ("black", "blue", "green", "orange", "purple", "red") for b in ("gold", "grey", "white")
    ),
    "rocks": tuple("basalt chalk gneiss granite limestone marble sandstone schist shale slate".split()),
}


def _rows(name: str) -> Iterator[dict[str, str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def _values(text: str) -> tuple:
    if text in VALUES or not text:
        return VALUES.get(text, ())
    first, _, last, _, step = text.split()
    return tuple(range(int(first), int(last) + 1, int(step)))


def _relations() -> dict[str, tuple[Relation, ...]]:
    found = defaultdict(list)
    for row in _rows("relations.tsv"):
        phrases = {name: tuple(filter(None, row.pop(name).split(" | "))) for name in ("page", "claim", "inverse")}
        found[row.pop("kind")].append(Relation(values=_values(row.pop("values")), **phrases, **row))
    return {kind: tuple(relations) for kind, relations in found.items()}


RELATIONS = _relations()

PROFESSIONS = (
    ("novelist",) * 3
    + ("director",) * 2
    + ("footballer",) * 4
    + ("musician",) * 3
    + ("engineer",) * 2
    + ("general",) * 2
    + ("climber",) * 2
)
# Of each kind: what a page calls it, how it introduces a sentence about the subject's companion ("Her brother Joren
# Velin ..." of a person), and whose fillers it has.
_BY_KIND = {row["kind"]: row for row in _rows("kinds.tsv")}
NOUN_OF_KIND = {kind: row["noun"] for kind, row in _BY_KIND.items()}
COMPANIONS = {kind: row["companion"] for kind, row in _BY_KIND.items()}
FILLER_OF_KIND = {"person": "person"} | {kind: row["filler"] for kind, row in _BY_KIND.items()}
FILLER_YEARS = range(2012, 2024)


def _listed(name: str, value: str) -> dict[str, tuple[str, ...]]:
    """The values of a file's rows by what they are `of`."""
    found = defaultdict(list)
    for row in _rows(name):
        found[row["of"]].append(row[value])
    return {of: tuple(values) for of, values in found.items()}


# Sentences that decide nothing, though many have a town {t}, a person {p} or a year {y} after all eras.
FILLERS = _listed("fillers.tsv", "phrase")
# Questions about tables with gaps, by the case in which they are asked.
WORDINGS = _listed("wordings.tsv", "wording")


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers from `low` to `high` by `step`. `phrase` states one {o}; it is compared as "`verb` more
    `noun`", or not at all: of places the first is the lowest number."""

    name: str
    low: int
    high: int
    step: int
    question: str
    phrase: str
    verb: str
    noun: str

    @property
    def values(self) -> range:
        return range(self.low, self.high + 1, self.step)


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """Numbers by year for each entity of a kind."""

    caption: str
    columns: tuple[Column, ...]


def _series() -> dict[str, Series]:
    found: dict[str, Series] = {}
    for row in _rows("series.tsv"):
        kind, caption = row.pop("kind"), row.pop("caption")
        column = Column(**row | {name: int(row[name]) for name in ("low", "high", "step")})
        found[kind] = Series(caption, (*(found[kind].columns if kind in found else ()), column))
    return found


SERIES = _series()
