"""Draws examples whose claims and sentences differ only in the words that decide them: a curriculum of contrasts (ours).

`contrasts.toml` has the frames of each capability and `fillings.toml` the names, things and deeds that fill their
slots. A frame has wordings of a claim and of three kinds of evidence, which support it, refute it and leave it open.
Each claim is read with all three, so that a claim reveals nothing about its label. A frame may have a counterclaim,
which is right where the claim is wrong; it is read with the same evidence. No frame gives evidence that has to be
guessed at: silence is NOT ENOUGH INFO.

In a wording `[a|b]` is one of two texts (choices of equally many texts go together), ` // ` separates sentences and
` :: ` a title from its sentence. `¦` becomes the bar between a table's header and a row. Slots:

    {person}, {person2}     two different fillings of `person`; {act.did} is the field `did` of a filling of `act`
    {n0} to {n3}            ascending numbers of the series `n`; {n1+n2}, {y2-y0}, {k1*2} are computed from them
    {k1 in words}           the number spelled out; {d1 ordinal}, {d1 th}: `third`, `3rd`
    {m1 in digits}          the number of the month, from 1; {d1 in two digits}, {m1 in two digits}: `05`

`with = ["body civic", "person human"]` makes a frame of each pair: {who} is {body} or {person}, {act} its deed.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage
from lisax.records import LABELS
from lisax.text.articles import article
from lisax.text.dates import MONTHS
from lisax.text.numbers import number_words, ordinal_digits, ordinal_words

# Numbers of a series: the lowest, the highest, and the step between two that follow each other in the range.
SERIES = {
    "k": range(2, 10),
    "d": range(2, 28),
    "n": range(12, 96),
    "p": range(5, 95, 5),
    "h": range(110, 960),
    "t": range(1_100, 9_900, 10),
    "y": range(1823, 2016),
}
MONTH = "m"  # the series of months from January to August
DRAWN = 4  # numbers of each series in a frame
# How a slot's number is written, by the words after it.
WRITTEN: Mapping[str, Callable[[int], str]] = {
    "in words": number_words,
    "in digits": str,
    "in two digits": "{:02}".format,
    "ordinal": ordinal_words,
    "th": ordinal_digits,
}
TITLED, LED = 0.5, 0.2  # shares of triples with a title, and with a word such as "Bulletin:" before their evidence
# How many other sentences, which decide nothing, are before or after the evidence: one of these, equally often.
ASIDES = (0, 0, 0, 0, 1, 1, 2, 3)
FORMS = ("claim", "counter", "supports", "refutes", "silent")

_SLOT = re.compile(r"\{([^{}]+)\}")
_CHOICE = re.compile(r"\[([^\[\]]+)\]")
_NAMED = re.compile(r"([a-z_]+)(\d*)(?:\.([a-z]+))?")
_NUMBER = re.compile(rf"([{''.join(SERIES)}{MONTH}])([0-{DRAWN - 1}])")
_ARTICLE = re.compile(r"\b([Aa]) (?=(\S+))")
_FIRST = re.compile(r'^"?[a-z]')
_TERM = re.compile(r"([+*-]?)(\w+)")


@dataclasses.dataclass(frozen=True)
class Frame:
    """The wordings of a triple, or with `counter` of two. `dated`: it has years or months, which a title must not."""

    capability: str
    claim: tuple[str, ...]
    supports: tuple[str, ...]
    refutes: tuple[str, ...]
    silent: tuple[str, ...]
    counter: tuple[str, ...] = ()

    @property
    def dated(self) -> bool:
        return any(name[:1] in ("y", MONTH) and name[1:2].isdigit() for name in self.slots)

    @property
    def slots(self) -> set[str]:
        return {slot for form in FORMS for text in getattr(self, form) for slot in _SLOT.findall(text)}


@dataclasses.dataclass(frozen=True)
class Fillings:
    """Texts by slot; of a slot with `fields` each text has these, separated by slashes."""

    texts: Mapping[str, Sequence[str]]
    fields: Mapping[str, Sequence[str]]


def _toml(name: str) -> dict:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


@functools.cache
def frames() -> dict[str, tuple[Frame, ...]]:
    """The frames of each capability."""
    return {capability: tuple(_frames(capability, rows)) for capability, rows in _toml("contrasts.toml").items()}


def _frames(capability: str, rows: Sequence[dict]) -> Iterator[Frame]:
    for row in rows:
        for pair in row.pop("with", [""]):
            who, _, act = pair.partition(" ")
            named = {"who": who, "act": act} if pair else {}
            wordings = {form: tuple(_renamed(text, named) for text in texts) for form, texts in row.items()}
            yield Frame(capability, **wordings)


def _renamed(text: str, named: Mapping[str, str]) -> str:
    """The text with slots of the names' values: {who2} becomes {body2}."""
    for name, value in named.items():
        text = re.sub(rf"\{{{name}\b|\{{{name}(?=\d)", "{" + value, text)
    return text


@functools.cache
def fillings() -> Fillings:
    tables = _toml("fillings.toml")
    fields = {name: tuple(names.split()) for name, names in tables.pop("fields").items()}
    return Fillings({name: tuple(texts) for name, texts in tables.items()}, fields)


def draw(count: int, seed: int = 0) -> Iterator[Example]:
    """At least `count` examples and at most five more, the capabilities in turn, deterministic for a seed.

    The examples of a frame follow each other: a claim with evidence that supports it, refutes it and leaves it open,
    and its counterclaim with the same evidence."""
    known = frames()
    names, drawn, number = tuple(known), 0, 0
    while drawn < count:
        capability = names[number % len(names)]
        rng = random.Random(f"lisax.contrasts:{seed}:{number}")
        for example in _examples(rng.choice(known[capability]), f"contrast-{capability}-{seed}-{number}", rng):
            drawn += 1
            yield example
        number += 1


def _examples(frame: Frame, name: str, rng: random.Random) -> Iterator[Example]:
    draft = _Draft(rng)
    claim_at, evidence_at = rng.randrange(64), rng.randrange(64)
    evidence = [_one(getattr(frame, form), evidence_at) for form in FORMS[2:]]
    claims = [_one(getattr(frame, form), claim_at) for form in FORMS[:2] if getattr(frame, form)]
    title = ""
    if not any(" :: " in text for text in evidence) and rng.random() < TITLED:
        title = draft.text(rng.choice(fillings().texts["title" if frame.dated else "dated_title"]))
    lead = f"{rng.choice(fillings().texts['lead'])}: " if rng.random() < LED else ""
    # Claims first: they fill their slots before a silent text does.
    stated = [_sentence(draft.text(claim)) for claim in claims]
    read = [
        [
            draft.passage(f"{name}-{form}_{i}", title, part, "" if i else lead)
            for i, part in enumerate(text.split(" // "))
        ]
        for form, text in zip(FORMS[2:], evidence, strict=True)
    ]
    asides = [_aside(f"{name}-aside_{i}", title, draft.parts, rng) for i in range(rng.choice(ASIDES))]
    place = rng.randint(0, len(asides))
    read = [[*asides[:place], *passages, *asides[place:]] for passages in read]
    return triples(name, stated, read)


def _aside(id: str, title: str, named: set[str], rng: random.Random) -> Passage:
    """A sentence that decides nothing; every other one is evidence of another frame, with other names and nouns than
    those of `named`, to which its own are added."""
    draft = _Draft(rng, named)
    text = rng.choice(fillings().texts["aside"])
    if rng.random() < 0.5:
        frame = rng.choice([one for some in frames().values() for one in some])
        text = rng.choice(rng.choice([frame.supports, frame.refutes, frame.silent])).partition(" // ")[0]
    return draft.passage(id, title, text)


def triples(name: str, claims: Sequence[str], evidence: Sequence[Sequence[Passage]]) -> Iterator[Example]:
    """The examples of a claim, and of its counterclaim if there is one, with evidence that supports the claim, refutes
    it and leaves it open; in this order."""
    supports, refutes, open_ = LABELS
    for number, (claim, labels) in enumerate(zip(claims, (LABELS, (refutes, supports, open_)), strict=False)):
        for form, passages, label in zip(FORMS[2:], evidence, labels, strict=True):
            yield Example(f"{name}-{number}-{form}", claim, tuple(passages), label=label)


def _one(texts: Sequence[str], place: int) -> str:
    """The text at a place that counts in rounds: forms with equally many texts are worded alike."""
    return texts[place % len(texts)]


def _sentence(text: str) -> str:
    """The text with a capital and `an` before vowels, without the blanks that empty choices leave."""
    text = " ".join(text.split()).replace(" ,", ",").replace(" .", ".").replace("¦", "|")
    text = _ARTICLE.sub(lambda match: f"{match[1]}{article(match[2])[1:]} ", text)
    return _FIRST.sub(lambda match: match[0].upper(), text)


class _Draft:
    """A frame's fillings and choices: a slot has one filling, choices of equally many texts are decided alike."""

    def __init__(self, rng: random.Random, parts: set[str] | None = None):
        self.rng = rng
        self.filled: dict[str, str] = {}
        self.chosen: dict[int, int] = {}
        self.parts = set() if parts is None else parts  # names and nouns of the fillings so far
        self.numbers: dict[str, list[int]] = {}

    def passage(self, id: str, title: str, text: str, lead: str = "") -> Passage:
        own, separator, rest = text.rpartition(" :: ")
        return Passage(id, _sentence(self.text(own)) if separator else title, lead + _sentence(self.text(rest)))

    def text(self, text: str) -> str:
        text = _CHOICE.sub(lambda match: self.choice(match[1]), text)
        return _SLOT.sub(lambda match: self.slot(match[1]), text)

    def choice(self, options: str) -> str:
        texts = options.split("|")
        if len(texts) not in self.chosen:
            self.chosen[len(texts)] = self.rng.randrange(len(texts))
        return texts[self.chosen[len(texts)]]

    def slot(self, slot: str) -> str:
        if _NUMBER.match(slot):
            return self.number(slot)
        name, number, field = _NAMED.fullmatch(slot).groups()
        if name + number not in self.filled:
            self.filled[name + number] = self.filling(name)
        filling = self.filled[name + number]
        return filling.split("/")[fillings().fields[name].index(field)] if field else filling

    def filling(self, name: str) -> str:
        """A filling that shares no name with the others, and neither a field nor the last word with others of its
        kind: `the council` and `the budget council` might be one."""
        kind = [filled for slot, filled in self.filled.items() if slot.rstrip("0123456789") == name]
        fields = {part for filled in kind for part in (*filled.split("/"), filled.split()[-1])}
        for _ in range(100):
            parts: list[str] = []
            made = self.drawn(name, parts)
            if self.parts.isdisjoint(parts) and fields.isdisjoint((*made.split("/"), made.split()[-1])):
                self.parts.update(parts)
                return made
        raise LisaxError(f"the fillings of '{name}' are too few for this frame")

    def drawn(self, name: str, parts: list[str]) -> str:
        """A filling whose own slots are filled; adds all that it consists of to `parts`."""
        text = self.rng.choice(fillings().texts[name])
        if not _SLOT.search(text):
            parts.append(text)
        return _SLOT.sub(lambda match: self.drawn(match[1], parts), text)

    def number(self, slot: str) -> str:
        """The number of a slot such as `n1+n2 in words`, with a comma for thousands if it is not a year."""
        written, _, form = slot.partition(" ")
        total = 0
        for sign, term in _TERM.findall(written):
            value = self.value(term)
            total = total * value if sign == "*" else total - value if sign == "-" else total + value
        if form:
            return WRITTEN[form](total + (written[0] == MONTH))
        if written[0] == MONTH:
            return MONTHS[total]
        return str(total) if written.startswith("y") and total > 1000 else f"{total:,}"

    def value(self, term: str) -> int:
        if term.isdigit():
            return int(term)
        series = term[0]
        if series not in self.numbers:
            self.numbers[series] = sorted(self.rng.sample(range(8) if series == MONTH else SERIES[series], DRAWN))
        return self.numbers[series][int(term[1])]
