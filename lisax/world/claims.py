"""Claims over the pages, their labels, and every set of sentences that decides them.

A claim is decided by one or two steps: the object of (entity, relation), and for two hops the entity
itself found as the object of (subject, relation). Which facts are stated is drawn before anything is
said, and true and false objects come from the same draw, so the words of a claim do not tell its label.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Mapping, Sequence

from lisax.records import LABELS, Claim, Label, sentence_id
from lisax.world.facts import Entity, Fact, Geography, Neighbourhood, format_number
from lisax.world.pages import Page, capitalise

ONE_HOP, TWO_HOP, COMPARE = "one_hop", "two_hop", "compare"
# Before some two-hop claims and comparisons are given up for one-hop claims: about 70, 20 and 10 in 100.
SHARES = {ONE_HOP: 0.54, TWO_HOP: 0.3, COMPARE: 0.16}
# Two facts are both stated in 4 cases of 9. Keeping 2 of 5 undecided pairs makes the undecided a third.
KEEP_UNDECIDED_PAIR = 0.4


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """The logical form: facts needed, in order, then `operator` (=, <, >) applied to the last.

    `steps`: (entity title, relation name). For one hop one step; for two hops the second step's title is
    the object of the first; a comparison of two entities has two independent steps. `value`: the object or
    the number claimed, None where two steps are compared with each other.
    """

    steps: tuple[tuple[str, str], ...]
    operator: str
    value: str | int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Stated:
    claim: Claim
    subject: Entity
    form: Form


class Evidence:
    """Where a neighbourhood's pages state each fact."""

    def __init__(self, pages: Sequence[Page]):
        self._ids: dict[int, list[str]] = {}
        for page in pages:
            for number, (_, facts) in enumerate(page.sentences):
                for fact in facts:
                    self._ids.setdefault(id(fact), []).append(sentence_id(page.entity.page, number))

    def ids(self, fact: Fact) -> list[str]:
        return self._ids.get(id(fact), [])

    def sets(self, facts: Sequence[Fact]) -> tuple[tuple[str, ...], ...]:
        """All minimal sets: one sentence for each fact (one sentence may state both), none containing another."""
        every = {tuple(sorted(set(choice), key=choice.index)) for choice in
                 itertools.product(*(self.ids(fact) for fact in facts))}
        minimal = [s for s in every if not any(set(other) < set(s) for other in every)]
        unique = {frozenset(s): s for s in sorted(minimal)}
        return tuple(sorted(unique.values()))


class ClaimWriter:
    """Writes the claims of one neighbourhood; `rng` is its own stream.

    The words of a claim must not tell its label. Which facts are stated is independent of what they say, so
    it is enough that a candidate's template is drawn before its label is known: one-hop claims can have any
    label for any entity; the other kinds are tried once, undecidable ones being kept with the probability
    that makes them a third, and a one-hop claim takes the place of a candidate that was not kept.
    """

    def __init__(self, geography: Geography, place: Neighbourhood, pages: Sequence[Page], rng: random.Random,
                 shares: Mapping[str, float] = SHARES):
        self.geography, self.place, self.rng = geography, place, rng
        self.evidence = Evidence(pages)
        self._shares = tuple(shares), tuple(shares.values())
        self._counts = dict.fromkeys(LABELS, 0)

    def claims(self, entity: Entity, count: int) -> list[Stated]:
        """`count` different claims about `entity` (rarely fewer), the labels balanced over the neighbourhood."""
        written: dict[str, Stated] = {}
        for _ in range(count):
            kind = self.rng.choices(*self._shares)[0]
            stated = self._two_hop(entity) if kind == TWO_HOP else self._compare(entity) if kind == COMPARE else None
            if stated is None or stated.claim.text in written:
                stated = self._one_hop(entity)
            if stated is not None and stated.claim.text not in written:
                written[stated.claim.text] = stated
                self._counts[stated.claim.label] += 1
        return list(written.values())

    def _next_label(self, among: Sequence[Label]) -> Label:
        """The label with the fewest claims so far; among equals, any."""
        return min(among, key=lambda label: (self._counts[label], self.rng.random()))

    def _one_hop(self, entity: Entity) -> Stated | None:
        label = self._next_label(LABELS)
        facts = [f for f in self.place.facts[entity.index].values() if f.stated != (label == Label.NOT_ENOUGH_INFO)]
        return self._about(entity, (self.rng.choice(facts),), entity.mention, label, ONE_HOP)

    def _two_hop(self, entity: Entity) -> Stated | None:
        bridges = [f for f in self.place.facts[entity.index].values() if f.relation.noun]
        if not bridges:
            return None
        bridge = self.rng.choice(bridges)
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

    def _about(self, entity: Entity, facts: Sequence[Fact], mention: str, label: Label, kind: str) -> Stated | None:
        """"`mention` has `object`" of the last fact, with a false object half the time when undecidable."""
        fact, text = facts[-1], facts[-1].text
        if label == Label.REFUTES or (label == Label.NOT_ENOUGH_INFO and self.rng.random() < 0.5):
            text = self._other_object(fact)
            if text is None:
                return None
        words = f"{capitalise(mention)} {self.rng.choice(fact.relation.claim).replace('{o}', text)}."
        return self._stated(entity, words, label, facts, Form(_steps(facts), "=", text), kind)

    def _other_object(self, fact: Fact) -> str | None:
        """A false object, half the time the companion's own: it stands in the same pages."""
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
            holds, form = (fact.number > other.number) == more, Form(_steps(pair), operator, None)
        else:
            # The bound is as likely below the number as above it. Near either end of the range one side is
            # impossible and the bound would tell the answer: only bounds with numbers on both sides are kept.
            values, pair = fact.relation.values, (fact,)
            margin = len(values) // 4
            at = values.index(fact.number) + self.rng.choice((-1, 1)) * self.rng.randint(1, margin)
            if not margin <= at < len(values) - margin:
                return None
            bound, undecided = values[at], not fact.stated
            phrase = fact.relation.more_than if more else fact.relation.less_than
            phrase = phrase.replace("{o}", str(bound) if fact.relation.draw == "year" else format_number(bound))
            holds, form = (fact.number > bound) == more, Form(_steps(pair), operator, bound)
        label = Label.NOT_ENOUGH_INFO if undecided else Label.SUPPORTS if holds else Label.REFUTES
        return self._stated(entity, f"{capitalise(entity.mention)} {phrase}.", label, pair, form, COMPARE)

    def _stated(self, entity: Entity, text: str, label: Label, facts: Sequence[Fact], form: Form,
                kind: str) -> Stated | None:
        sets = () if label == Label.NOT_ENOUGH_INFO else self.evidence.sets(facts)
        if label != Label.NOT_ENOUGH_INFO and not sets:  # stated only on a page past the end of the world
            return None
        return Stated(Claim("", text, label, sets, kind=kind), entity, form)


def _steps(facts: Sequence[Fact]) -> tuple[tuple[str, str], ...]:
    return tuple((fact.subject.title, fact.relation.name) for fact in facts)
