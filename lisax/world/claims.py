"""Claims over the pages, their labels, and every set of sentences that decides them.

`one_hop`: "Tarn has 5,000 dwellers". `two_hop`: "the author of X is a native of Tarn", decided by the author's identity
and her birthplace. `joint`: "Y, the author of X, is a native of Tarn", two facts of which one false suffices to refute.
`compare`: "X is older than Y", "X has more than 5,000 inhabitants".

The facts that pages state are drawn before any text is written, and true and false objects come from the same
distribution, so the words of a claim do not reveal its label.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterable, Mapping, Sequence

from lisax.records import LABELS, Claim, Label, sentence_id
from lisax.text.articles import capitalised
from lisax.world.facts import Entity, Fact, Geography, Neighbourhood, format_number
from lisax.world.pages import WorldPage
from lisax.world.tables import WorldTable, edges_of, row_of_cell

ONE_HOP, TWO_HOP, JOINT, COMPARE = "one_hop", "two_hop", "joint", "compare"
# How often each kind is tried; of 100 claims kept, about 70, 10, 10 and 10.
SHARES = {ONE_HOP: 0.56, TWO_HOP: 0.15, JOINT: 0.13, COMPARE: 0.16}
# Two facts are both stated in 4 cases of 9. Keeping 2 of 5 undecided pairs makes a third of the claims undecided.
KEEP_UNDECIDED_PAIR = 0.4
# Each half of a joint claim is true with this probability; then 9 of 36 are supported, 11 refuted, 16 undecided.
JOINT_TRUE = 3 / 4
KEEP_JOINT = {Label.SUPPORTS: 1.0, Label.REFUTES: 9 / 11, Label.NOT_ENOUGH_INFO: 9 / 16}


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """The logical form of a claim: the facts it needs, and its statements on them.

    `steps`: (entity title, relation name), one for `one_hop`. For `two_hop` the second entity is the object of the
    first step, and `values` has the last object. A `joint` claim has a value for each step. A `compare` claim has one
    step and a bound in `values`, or two steps and no value; `operator` is < or >.
    """

    steps: tuple[tuple[str, str], ...]
    operator: str
    values: tuple[str | int, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Stated:
    """A claim (its id still empty) with the entity whose page it belongs to, and its logical form."""

    claim: Claim
    subject: Entity
    form: Form


class WorldEvidence:
    """Where the pages and graphs of a neighbourhood state each fact, and its tables, if given."""

    def __init__(self, place: Neighbourhood, pages: Sequence[WorldPage], tables: Sequence[WorldTable] | None = None):
        self._structures: dict[int, list[str]] = {}
        self._ids: dict[int, list[str]] = {}
        self._edges: dict[int, list[str]] = {}
        for page in pages:
            for fact, edge in edges_of(place, page):
                self._edges.setdefault(id(fact), []).append(edge)
                if tables is not None:
                    self._structures.setdefault(id(fact), []).append(edge)
            for number, (_, facts) in enumerate(page.sentences):
                for fact in facts:
                    self._ids.setdefault(id(fact), []).append(sentence_id(page.entity.page, number))
        for table in tables or ():
            for fact, cells in table.cells.items():
                self._structures.setdefault(fact, []).extend(map(row_of_cell, cells))

    def ids(self, fact: Fact) -> list[str]:
        return self._ids.get(id(fact), [])

    def told(self, fact: Fact) -> list[str]:
        """The sentences that state a fact, and the edges and rows if tables are given."""
        return [*self.ids(fact), *self._structures.get(id(fact), ())]

    def edges(self, fact: Fact) -> list[str]:
        return self._edges.get(id(fact), [])

    def sets(self, facts: Sequence[Fact]) -> tuple[tuple[str, ...], ...]:
        """All minimal sets: one sentence for each fact (one sentence may state both), none containing another."""
        return _minimal(map(self.ids, facts))

    def mixed_sets(self, facts: Sequence[Fact]) -> tuple[tuple[str, ...], ...]:
        """Like `sets`, but only those with an edge or a row; empty if no tables are given."""
        sentences = {unit for fact in facts for unit in self.ids(fact)}
        return tuple(units for units in _minimal(map(self.told, facts)) if not sentences.issuperset(units))


def _minimal(told: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    every = {tuple(sorted(set(choice), key=choice.index)) for choice in itertools.product(*told)}
    minimal = [s for s in every if not any(set(other) < set(s) for other in every)]
    unique = {frozenset(s): s for s in sorted(minimal)}
    return tuple(sorted(unique.values()))


class ClaimWriter:
    """Writes the claims of one neighbourhood; `rng` is its own random stream.

    The words of a claim must not reveal its label. Which facts are stated is independent of their content, so it is
    enough to draw a candidate's template before its label is known. One-hop claims can have any label for any entity.
    The other kinds are tried once; undecidable ones are kept with the probability that makes them a third, and a
    one-hop claim replaces each candidate that is not kept.
    """

    def __init__(
        self,
        geography: Geography,
        place: Neighbourhood,
        pages: Sequence[WorldPage],
        rng: random.Random,
        shares: Mapping[str, float] = SHARES,
        tables: Sequence[WorldTable] | None = None,
    ):
        self.geography, self.place, self.rng = geography, place, rng
        self.evidence = WorldEvidence(place, pages, tables)
        self._shares = tuple(shares), tuple(shares.values())
        self._counts = dict.fromkeys(LABELS, 0)

    def claims(self, entity: Entity, count: int) -> list[Stated]:
        """`count` different claims about `entity` (rarely fewer), with labels balanced over the neighbourhood."""
        write = {ONE_HOP: self._one_hop, TWO_HOP: self._two_hop, JOINT: self._joint, COMPARE: self._compare}
        written: dict[str, Stated] = {}
        for _ in range(count):
            kind = self.rng.choices(*self._shares)[0]
            stated = write[kind](entity)
            if stated is None or stated.claim.text in written:
                stated = self._one_hop(entity)
            if stated is not None and stated.claim.text not in written:
                written[stated.claim.text] = stated
                self._counts[stated.claim.label] += 1
        return list(written.values())

    def _next_label(self, among: Sequence[Label]) -> Label:
        """The label with the fewest claims so far, drawn among equals."""
        return min(among, key=lambda label: (self._counts[label], self.rng.random()))

    def _one_hop(self, entity: Entity) -> Stated | None:
        label = self._next_label(LABELS)
        decided = label != Label.NOT_ENOUGH_INFO
        facts = [f for f in self.place.facts[entity.index].values() if f.stated == decided]
        return self._about(entity, (self.rng.choice(facts),), entity.mention, label, ONE_HOP)

    def _two_hop(self, entity: Entity) -> Stated | None:
        bridge = self._bridge(entity)
        fact = self.rng.choice(list(self.place.facts[bridge.target.index].values()))
        if fact.target is entity:
            return None
        facts = (bridge, fact)
        if all(f.stated for f in facts):
            label = self._next_label((Label.SUPPORTS, Label.REFUTES))
        elif self.rng.random() < KEEP_UNDECIDED_PAIR:
            label = Label.NOT_ENOUGH_INFO
        else:
            return None
        return self._about(entity, facts, f"the {bridge.relation.noun} of {entity.mention}", label, TWO_HOP)

    def _bridge(self, entity: Entity) -> Fact:
        return self.rng.choice([f for f in self.place.facts[entity.index].values() if f.relation.noun])

    def _joint(self, entity: Entity) -> Stated | None:
        """ "`other`, the author of `entity`, was born in `object`": false as soon as one half is false."""
        bridge = self._bridge(entity)
        named, other = bridge.text, bridge.target
        if self.rng.random() >= JOINT_TRUE:
            while other is bridge.target:  # at least two entities fit every relation
                named, _, other = self.geography.draw(bridge.relation, entity, self.place.entities, self.rng)
        fact = self.rng.choice(list(self.place.facts[other.index].values()))
        text = fact.text if self.rng.random() < JOINT_TRUE else self._other_object(fact)
        if text is None or fact.target is entity:
            return None
        halves = ((bridge, named), (fact, text))
        false = [f for f, value in halves if f.stated and value != f.text]
        stated = bridge.stated and fact.stated
        label = Label.REFUTES if false else Label.SUPPORTS if stated else Label.NOT_ENOUGH_INFO
        if self.rng.random() >= KEEP_JOINT[label]:
            return None
        words = f"{capitalised(named)}, the {bridge.relation.noun} of {entity.mention}, {fact.said(self.rng, text)}."
        deciding = [(f,) for f in false] or [(bridge, fact)]
        return self._stated(entity, words, label, deciding, Form(_steps((bridge, fact)), "=", (named, text)), JOINT)

    def _about(self, entity: Entity, facts: Sequence[Fact], mention: str, label: Label, kind: str) -> Stated | None:
        """ "`mention` has `object`" of the last fact, with a false object half the time when undecidable."""
        fact, text = facts[-1], facts[-1].text
        if label == Label.REFUTES or (label == Label.NOT_ENOUGH_INFO and self.rng.random() < 0.5):
            text = self._other_object(fact)
            if text is None:
                return None
        words = f"{capitalised(mention)} {fact.said(self.rng, text)}."
        form = Form(_steps(facts), "=", (text,))
        return self._stated(entity, words, label, [facts], form, kind)

    def _other_object(self, fact: Fact) -> str | None:
        """A false object, half the time the companion's own, which occurs in the same pages."""
        if self.rng.random() < 0.5:
            other = self.place.facts[fact.subject.companion][fact.relation.name]
            if other.text != fact.text:
                return other.text
        for _ in range(20):
            text, _, _ = self.geography.draw(fact.relation, fact.subject, self.place.entities, self.rng)
            if text != fact.text:
                return text
        return None

    def _compare(self, entity: Entity) -> Stated | None:
        facts = [f for f in self.place.facts[entity.index].values() if f.relation.more]
        fact = self.rng.choice(facts)
        more = self.rng.random() < 0.5
        operator = ">" if more else "<"
        if self.rng.random() < 0.5:
            others = [e for e in self.place.entities if e.kind == entity.kind and e is not entity]
            other = self.place.facts[self.rng.choice(others).index][fact.relation.name]
            pair = (fact, other)
            undecided = not all(f.stated for f in pair)
            if other.number == fact.number or (undecided and self.rng.random() >= KEEP_UNDECIDED_PAIR):
                return None
            phrase = (fact.relation.more if more else fact.relation.less).replace("{o}", other.subject.mention)
            holds, form = (fact.number > other.number) == more, Form(_steps(pair), operator)
        else:
            # The bound is as likely to be below the number as above it. Near either end of the range one side is
            # impossible and the bound would reveal the answer, so only bounds with numbers on both sides are kept.
            values, pair = fact.relation.values, (fact,)
            margin = len(values) // 4
            at = values.index(fact.number) + self.rng.choice((-1, 1)) * self.rng.randint(1, margin)
            if not margin <= at < len(values) - margin:
                return None
            bound, undecided = values[at], not fact.stated
            phrase = fact.relation.more_than if more else fact.relation.less_than
            phrase = phrase.replace("{o}", str(bound) if fact.relation.draw == "year" else format_number(bound))
            holds, form = (fact.number > bound) == more, Form(_steps(pair), operator, (bound,))
        label = Label.NOT_ENOUGH_INFO if undecided else Label.SUPPORTS if holds else Label.REFUTES
        words = f"{capitalised(entity.mention)} {phrase}."
        return self._stated(entity, words, label, [pair], form, COMPARE)

    def _stated(
        self, entity: Entity, text: str, label: Label, deciding: Sequence[Sequence[Fact]], form: Form, kind: str
    ) -> Stated | None:
        """A claim that each of the fact tuples in `deciding` decides."""
        sets, mixed = (
            tuple(sorted({units for facts in deciding for units in find(facts)}))
            if label != Label.NOT_ENOUGH_INFO
            else ()
            for find in (self.evidence.sets, self.evidence.mixed_sets)
        )
        if not sets and label != Label.NOT_ENOUGH_INFO:  # stated only on a page beyond the end of the world
            return None
        return Stated(Claim("", text, label, sets, kind=kind, mixed_sets=mixed), entity, form)


def _steps(facts: Sequence[Fact]) -> tuple[tuple[str, str], ...]:
    return tuple((fact.subject.title, fact.relation.name) for fact in facts)
