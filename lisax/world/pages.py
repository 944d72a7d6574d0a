"""Turns facts into pages: 4 to 9 sentences, each with the facts that it states."""

from __future__ import annotations

import dataclasses
import random

from lisax.records import Document, Sentence
from lisax.text.articles import capitalised
from lisax.world.facts import Entity, Fact, Geography, Neighbourhood
from lisax.world.phrases import COMPANIONS, FILLER_OF_KIND, FILLER_YEARS, FILLERS

MIN_SENTENCES, MAX_SENTENCES = 4, 9
# A fact about another entity ("X was written by Y") is also stated on Y's page ("Y wrote X") with probability INVERSE,
# and with ONLY_INVERSE only on Y's page. A page has at most MAX_INVERSE of them.
INVERSE, ONLY_INVERSE, MAX_INVERSE = 0.8, 0.15, 4
# With this probability a sentence calls its subject "the author of X", if that is a stated fact. The sentence then
# states that fact too, and may decide a two-hop claim without others.
EPITHET = 0.3
# Up to three sentences that decide nothing, each with this probability.
FILLER = 0.5


@dataclasses.dataclass(slots=True)
class WorldPage:
    """`sentences`: (text, facts stated). Facts may be about other entities than `entity`."""

    entity: Entity
    sentences: list[tuple[str, tuple[Fact, ...]]]

    def document(self) -> Document:
        page = self.entity.page
        return Document(
            page,
            self.entity.title,
            tuple(Sentence(page, n, text) for n, (text, _) in enumerate(self.sentences)),
            self.entity.redirects,
        )


def write_pages(geography: Geography, place: Neighbourhood, rng: random.Random) -> list[WorldPage]:
    """One page for each entity. Every fact with `stated` is stated at least once, the others nowhere."""
    said: list[list[tuple[Fact, bool]]] = [[] for _ in place.entities]
    epithets: list[list[Fact]] = [[] for _ in place.entities]
    for facts in place.facts:
        for fact in facts.values():
            if not fact.stated:
                continue
            here = True
            target = fact.target
            if fact.relation.noun:
                epithets[target.index].append(fact)
            if fact.relation.inverse and sum(inverse for _, inverse in said[target.index]) < MAX_INVERSE:
                chance = rng.random()
                if chance < INVERSE:
                    said[target.index].append((fact, True))
                here = chance >= ONLY_INVERSE
            if here:
                said[fact.subject.index].append((fact, False))
    return [
        WorldPage(entity, _sentences(geography, place, entity, said[entity.index], epithets[entity.index], rng))
        for entity in place.entities
    ]


def _sentences(
    geography: Geography,
    place: Neighbourhood,
    entity: Entity,
    said: list[tuple[Fact, bool]],
    epithets: list[Fact],
    rng: random.Random,
) -> list[tuple[str, tuple[Fact, ...]]]:
    rng.shuffle(said)
    joined = " who " if entity.kind == "person" else " that "
    verb = "was" if entity.kind in ("person", "band", "battle") else "is"
    opening, opened = f"{_name(entity)} {verb} {'an' if entity.role[0] in 'aeiou' else 'a'} {entity.role}", ()
    if said and rng.random() < 0.3:
        fact = said.pop()
        opening, opened = opening + joined + _say(*fact, rng), (fact[0],)
    # (subject or "" for the page's own, phrase, facts), shuffled at the end.
    plans: list[tuple[str, str, tuple[Fact, ...]]] = []
    while said:
        first = said.pop()
        crowded = len(said) > MAX_SENTENCES - 3 - len(plans)
        if said and (crowded or rng.random() < 0.35):
            second = said.pop()
            plans.append(("", f"{_say(*first, rng)} and {_say(*second, rng)}", (first[0], second[0])))
        else:
            plans.append(("", _say(*first, rng), (first[0],)))
    companion = place.entities[entity.companion]
    facts = [fact for fact in place.facts[entity.companion].values() if fact.stated]
    rng.shuffle(facts)
    for fact in facts[: max(0, min(MAX_SENTENCES - 1 - len(plans), 1 + (rng.random() < 0.5)))]:
        plans.append((_introduce(entity, companion), _say(fact, False, rng), (fact,)))
    for filler in rng.sample(FILLERS[FILLER_OF_KIND[entity.kind]], 3):
        count = len(plans) + 1
        if count < MIN_SENTENCES or (count < MAX_SENTENCES and rng.random() < FILLER):
            plans.append(("", _fill(filler, geography, place, entity, rng), ()))
    rng.shuffle(plans)
    sentences = [(opening + ".", opened)]
    about_companion = False
    for subject, phrase, facts in plans:
        after_companion, about_companion = about_companion, bool(subject)
        if not subject and epithets and rng.random() < EPITHET:
            epithet = rng.choice(epithets)
            if epithet not in facts:
                subject = f"The {epithet.relation.noun} of {epithet.subject.mention}"
                facts = (epithet, *facts)
        sentences.append((f"{subject or _refer(entity, after_companion, rng)} {phrase}.", facts))
    return sentences


def _say(fact: Fact, inverse: bool, rng: random.Random) -> str:
    if inverse:
        return rng.choice(fact.relation.inverse).replace("{s}", fact.subject.mention)
    return rng.choice(fact.relation.page).replace("{o}", fact.text)


def _fill(filler: str, geography: Geography, place: Neighbourhood, entity: Entity, rng: random.Random) -> str:
    if "{t}" in filler:
        return filler.replace("{t}", geography.draw_town(entity, place.entities, rng)[0])
    if "{p}" in filler:
        people = [e for e in place.of_kind("person") if e.name != entity.name]
        return filler.replace("{p}", rng.choice(people).mention)
    return filler.replace("{y}", str(rng.choice(FILLER_YEARS)))


def _name(entity: Entity) -> str:
    """The name that begins a sentence: `Mara Velin`, `The River Osk`."""
    return capitalised(entity.mention if entity.kind in ("river", "battle") else entity.name)


def _introduce(entity: Entity, companion: Entity) -> str:
    if entity.kind == "person":
        his = "Her" if entity.female else "His"
        kin = "namesake" if companion.name == entity.name else "sister" if companion.female else "brother"
        return f"{his} {kin} {companion.mention}"
    return f"{COMPANIONS[entity.kind]} {companion.name}"


def _refer(entity: Entity, after_companion: bool, rng: random.Random) -> str:
    """How a later sentence names its subject: never by a pronoun right after a sentence about another entity."""
    name = _name(entity)
    if after_companion:
        return name
    if entity.kind == "person":
        return rng.choice(("She" if entity.female else "He", entity.surname, f"The {entity.role}", name))
    if entity.kind == "band":
        return rng.choice(("The band", name))
    return rng.choice(("It", f"The {entity.role}", name))
