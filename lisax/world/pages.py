"""From facts to pages: 4 to 9 sentences, each with the facts that it states."""

from __future__ import annotations

import dataclasses
import random

from lisax.records import Document, Sentence
from lisax.world.facts import Entity, Fact, Neighbourhood
from lisax.world.phrases import COMPANIONS, FILLER_OF_KIND, FILLERS

MIN_SENTENCES, MAX_SENTENCES = 4, 9


@dataclasses.dataclass(slots=True)
class Page:
    """`sentences`: (text, facts stated). `stated` facts may be about other entities than `entity`."""

    entity: Entity
    sentences: list[tuple[str, tuple[Fact, ...]]]

    def document(self) -> Document:
        page = self.entity.page
        return Document(page, self.entity.title, tuple(Sentence(page, n, text) for n, (text, _) in
                                                       enumerate(self.sentences)), self.entity.redirects)


def capitalise(text: str) -> str:
    return text[0].upper() + text[1:]


def write_pages(place: Neighbourhood, rng: random.Random) -> list[Page]:
    """One page for each entity. Every fact with `stated` is stated at least once, the others nowhere."""
    own: list[list[Fact]] = [[] for _ in place.entities]
    from_outside: list[list[Fact]] = [[] for _ in place.entities]
    for facts in place.facts:
        for fact in facts.values():
            if not fact.stated:
                continue
            here = True
            if fact.relation.inverse and fact.target is not None and len(from_outside[fact.target.index]) < 3:
                chance = rng.random()
                if chance < 0.4:
                    from_outside[fact.target.index].append(fact)
                here = chance >= 0.15
            if here:
                own[fact.subject.index].append(fact)
    return [Page(entity, _sentences(place, entity, own[entity.index], from_outside[entity.index], rng))
            for entity in place.entities]


def _sentences(place: Neighbourhood, entity: Entity, own: list[Fact], from_outside: list[Fact],
               rng: random.Random) -> list[tuple[str, tuple[Fact, ...]]]:
    own = list(own)
    rng.shuffle(own)
    noun = entity.role if entity.kind == "person" else rng.choice((entity.role, entity.role))
    article = "an" if noun[0] in "aeiou" else "a"
    verb = "was" if entity.kind in ("person", "band", "battle") else "is"
    opening, opened = f"{capitalise(entity.mention if entity.kind in ('river', 'battle') else entity.name)} " \
                      f"{verb} {article} {noun}", ()
    if own and rng.random() < 0.3:
        fact = own.pop()
        opening, opened = f"{opening} that {_say(fact, rng)}" if entity.kind != "person" else \
            f"{opening} who {_say(fact, rng)}", (fact,)
    # Each plan is (subject to be chosen later or fixed, phrase, facts).
    plans: list[tuple[str, str, tuple[Fact, ...]]] = []
    while own:
        fact = own.pop()
        if own and rng.random() < 0.3:
            second = own.pop()
            plans.append(("", f"{_say(fact, rng)} and {_say(second, rng)}", (fact, second)))
        else:
            plans.append(("", _say(fact, rng), (fact,)))
            if len(fact.relation.page) > 1 and rng.random() < 0.06:  # the same fact in other words
                plans.append(("", _say(fact, rng), (fact,)))
    for fact in from_outside:
        plans.append(("", rng.choice(fact.relation.inverse).replace("{s}", fact.subject.mention), (fact,)))
    room = MAX_SENTENCES - 1 - len(plans)
    if entity.companion >= 0 and room > 0:
        companion = place.entities[entity.companion]
        facts = [f for f in place.facts[entity.companion].values() if f.stated]
        rng.shuffle(facts)
        for fact in facts[:min(room, 1 + (rng.random() < 0.5))]:
            plans.append((_introduce(entity, companion), _say(fact, rng), (fact,)))
    fillers = list(FILLERS[FILLER_OF_KIND[entity.kind]])
    rng.shuffle(fillers)
    while fillers and len(plans) + 1 < MAX_SENTENCES and \
            (len(plans) + 1 < MIN_SENTENCES or rng.random() < 0.1):
        plans.append(("", fillers.pop(), ()))
    rng.shuffle(plans)
    sentences = [(opening + ".", opened)]
    after_companion = False
    for subject, phrase, facts in plans:
        mention = subject or _refer(entity, after_companion, rng)
        sentences.append((f"{mention} {phrase}.", facts))
        after_companion = bool(subject)
    return sentences


def _say(fact: Fact, rng: random.Random) -> str:
    return rng.choice(fact.relation.page).replace("{o}", fact.text)


def _introduce(entity: Entity, companion: Entity) -> str:
    if entity.kind == "person":
        his = "Her" if entity.female else "His"
        kin = "namesake" if companion.name == entity.name else "sister" if companion.female else "brother"
        return f"{his} {kin} {companion.mention}"
    return f"{COMPANIONS[entity.kind]} {companion.name}"


def _refer(entity: Entity, after_companion: bool, rng: random.Random) -> str:
    """How a later sentence names its subject: never by a pronoun right after a sentence about another."""
    name = capitalise(entity.mention if entity.kind in ("river", "battle") else entity.name)
    if after_companion:
        return name
    if entity.kind == "person":
        return rng.choice(("She" if entity.female else "He", entity.surname, f"The {entity.role}", name))
    if entity.kind == "band":
        return rng.choice(("The band", name))
    return rng.choice(("It", f"The {entity.role}", name))
