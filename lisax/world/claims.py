"""Claims over the pages, their labels, and every set of sentences that decides them.

A claim is decided by one or two steps: the object of (entity, relation), and for two hops the entity
itself found as the object of (subject, relation). Which facts are stated is drawn before anything is
said, and true and false objects come from the same draw, so the words of a claim do not tell its label.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Sequence

from lisax.records import Claim, Label, LABELS, sentence_id
from lisax.world.facts import Entity, Fact, Geography, Neighbourhood
from lisax.world.pages import Page, capitalise

ONE_HOP, TWO_HOP, COMPARE = "one_hop", "two_hop", "compare"
SHARES = {ONE_HOP: 0.7, TWO_HOP: 0.2, COMPARE: 0.1}
MAX_SETS = 40


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
    """Writes the claims of one neighbourhood; `rng` is its own stream."""

    def __init__(self, geography: Geography, place: Neighbourhood, pages: Sequence[Page], rng: random.Random):
        self.geography, self.place, self.rng = geography, place, rng
        self.evidence = Evidence(pages)
        self._label = rng.randrange(3)

    def claims(self, entity: Entity, count: int) -> list[Stated]:
        """At most `count` different claims about `entity`; labels and kinds in fixed proportions."""
        written: dict[str, Stated] = {}
        for _ in range(count):
            kind = self.rng.choices(tuple(SHARES), tuple(SHARES.values()))[0]
            label = LABELS[self._label % 3]
            for _ in range(24):
                stated = {ONE_HOP: self._one_hop, TWO_HOP: self._two_hop, COMPARE: self._compare}[kind](entity, label)
                if stated is not None and stated.claim.text not in written:
                    written[stated.claim.text] = stated
                    self._label += 1
                    break
        return list(written.values())

    # Each draws one candidate, and gives None where the candidate's label is not the one asked for:
    # rejection keeps the words independent of the label, because muteness is independent of the words.

    def _one_hop(self, entity: Entity, label: Label) -> Stated | None:
        fact = self.rng.choice(list(self.place.facts[entity.index].values()))
        return self._about(entity, (), fact, entity.mention, label, ONE_HOP)

    def _two_hop(self, entity: Entity, label: Label) -> Stated | None:
        bridges = [f for f in self.place.facts[entity.index].values() if f.relation.noun and f.target is not None]
        if not bridges:
            return None
        bridge = self.rng.choice(bridges)
        fact = self.rng.choice(list(self.place.facts[bridge.target.index].values()))
        if fact.target is entity:
            return None
        return self._about(entity, (bridge,), fact, f"the {bridge.relation.noun} of {entity.mention}", label, TWO_HOP)

    def _about(self, entity: Entity, bridges: tuple[Fact, ...], fact: Fact, mention: str, label: Label,
               kind: str) -> Stated | None:
        facts = (*bridges, fact)
        if all(f.stated for f in facts) == (label == Label.NOT_ENOUGH_INFO):
            return None
        text = fact.text
        if label == Label.REFUTES or (label == Label.NOT_ENOUGH_INFO and self.rng.random() < 0.5):
            text = self._other_object(fact)
            if text is None:
                return None
        words = f"{capitalise(mention)} {self.rng.choice(fact.relation.claim).replace('{o}', text)}."
        return self._stated(entity, words, label, facts, Form(_steps(facts), "=", text), kind)

    def _other_object(self, fact: Fact) -> str | None:
        """A false object, half the time the companion's own: it stands in the same pages."""
        companion = fact.subject.companion
        if companion >= 0 and self.rng.random() < 0.5:
            other = self.place.facts[companion].get(fact.relation.name)
            if other is not None and other.text != fact.text:
                return other.text
        for _ in range(20):
            text, _, _ = self.geography.draw(fact.relation, fact.subject, self.place.entities, self.rng)
            if text != fact.text:
                return text
        return None

    def _compare(self, entity: Entity, label: Label) -> Stated | None:
        facts = [f for f in self.place.facts[entity.index].values() if f.relation.more]
        if not facts:
            return None
        fact = self.rng.choice(facts)
        more = self.rng.random() < 0.5
        if self.rng.random() < 0.5:
            return self._compare_entities(entity, fact, more, label)
        values = fact.relation.values
        step = self.rng.randrange(1, len(values) // 4 + 1)
        place = values.index(fact.number) + self.rng.choice((-step, step))
        # Bounds near either end would tell the answer: only bounds that have numbers on both sides.
        if not len(values) // 4 <= place < len(values) - len(values) // 4:
            return None
        bound = values[place]
        if not self._fits((fact,), (fact.number > bound) == more, label):
            return None
        phrase = fact.relation.more_than if more else fact.relation.less_than
        text = str(bound) if fact.relation.draw == "year" else f"{bound:,}"
        return self._stated(entity, f"{capitalise(entity.mention)} {phrase.replace('{o}', text)}.", label, (fact,),
                            Form(_steps((fact,)), ">" if more else "<", bound), COMPARE)

    def _compare_entities(self, entity: Entity, fact: Fact, more: bool, label: Label) -> Stated | None:
        others = [e for e in self.place.entities if e.kind == entity.kind and e is not entity]
        other = self.place.facts[self.rng.choice(others).index][fact.relation.name]
        if other.number == fact.number or not self._fits((fact, other), (fact.number > other.number) == more, label):
            return None
        phrase = (fact.relation.more if more else fact.relation.less).replace("{o}", other.subject.mention)
        return self._stated(entity, f"{capitalise(entity.mention)} {phrase}.", label, (fact, other),
                            Form(_steps((fact, other)), ">" if more else "<", None), COMPARE)

    @staticmethod
    def _fits(facts: Sequence[Fact], holds: bool, label: Label) -> bool:
        if not all(f.stated for f in facts):
            return label == Label.NOT_ENOUGH_INFO
        return label == (Label.SUPPORTS if holds else Label.REFUTES)

    def _stated(self, entity: Entity, text: str, label: Label, facts: Sequence[Fact], form: Form,
                kind: str) -> Stated | None:
        sets = () if label == Label.NOT_ENOUGH_INFO else self.evidence.sets(facts)
        if label != Label.NOT_ENOUGH_INFO and not sets:  # stated only on a page past the end of the world
            return None
        return Stated(Claim("", text, label, sets, kind=kind), entity, form)


def _steps(facts: Sequence[Fact]) -> tuple[tuple[str, str], ...]:
    return tuple((fact.subject.title, fact.relation.name) for fact in facts)
