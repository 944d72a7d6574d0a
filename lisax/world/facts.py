"""The facts of the world, one neighbourhood of 48 entities at a time.

Entity i belongs to neighbourhood i // 48, which is generated only from (seed, neighbourhood). Facts and the sentences
that state them never leave a neighbourhood (towns elsewhere are only named), so its evidence sets can be listed
completely without the rest of the world.
"""

from __future__ import annotations

import dataclasses
import random

from lisax.world.names import CLUB_WORDS, Names
from lisax.world.phrases import NOUN_OF_KIND, PROFESSIONS, RELATIONS, Relation

LAYOUT = (
    ("town", 4),
    ("river", 2),
    ("mountain", 2),
    ("person", 18),
    ("company", 3),
    ("book", 5),
    ("film", 4),
    ("band", 2),
    ("album", 4),
    ("club", 2),
    ("battle", 2),
)
SIZE = sum(count for _, count in LAYOUT)
KINDS = tuple(kind for kind, count in LAYOUT for _ in range(count))
TOWNS = 4
# Two people share the name of somebody in another family.
NAMESAKES = {5: 6, 11: 12}
FAMILIES = ((0, 1, 2, 3, 4), (6, 7, 8, 9, 10), (12, 13, 14, 15, 16, 17))
# One fact in three is stated by no sentence, which makes one claim in three undecidable.
MUTE_ONE_IN = 3
_FIRST = {kind: KINDS.index(kind) for kind, _ in LAYOUT}


@dataclasses.dataclass(eq=False, slots=True)
class Entity:
    """`name` is used in sentences, `mention` is its unambiguous form, `title` is the title of its page."""

    index: int
    kind: str
    title: str
    name: str
    mention: str
    role: str  # profession of a person, otherwise the noun of its kind
    female: bool | None = None
    surname: str = ""
    companion: int = -1  # index of a relative, a rival, a namesake: another entity of the same kind
    redirects: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        return self.title.replace(" ", "_")


@dataclasses.dataclass(eq=False, slots=True)
class Fact:
    """`relation` of `subject` is `text`; `target` is the entity it refers to, if it is in this neighbourhood."""

    subject: Entity
    relation: Relation
    text: str
    number: int | None
    target: Entity | None
    stated: bool

    def said(self, rng: random.Random, text: str | None = None) -> str:
        """A claim's phrase for the fact, or for another object."""
        return rng.choice(self.relation.claim).replace("{o}", self.text if text is None else text)

    @property
    def cell(self) -> str:
        """The object as tables and graphs write it: an entity by its title."""
        return self.target.title if self.target is not None else self.text


@dataclasses.dataclass(slots=True)
class Neighbourhood:
    number: int
    entities: list[Entity]
    facts: list[dict[str, Fact]]  # for each entity, by relation name, in the order of its relations

    def of_kind(self, kind: str) -> list[Entity]:
        return [entity for entity in self.entities if entity.kind == kind]


def format_number(number: int) -> str:
    return f"{number:,}"


def _mute(relations: int, rng: random.Random) -> set[int]:
    """The relations that stay unstated: each with probability 1/3, but never none.

    So every entity can be used in claims of any label, and no kind of entity hints at one.
    """
    count, rest = divmod(relations, MUTE_ONE_IN)
    return set(rng.sample(range(relations), count + (rng.randrange(MUTE_ONE_IN) < rest)))


class Geography:
    """The settings to generate any neighbourhood of one world: its names, size and seed."""

    def __init__(self, pages: int, seed: int):
        self.pages, self.seed = pages, seed
        self.names = Names(seed)
        self.neighbourhoods = -(-pages // SIZE)

    def rng(self, number: int, purpose: str) -> random.Random:
        return random.Random(f"lisax.world:{self.seed}:{number}:{purpose}")

    def neighbourhood(self, number: int) -> Neighbourhood:
        rng = self.rng(number, "facts")
        entities = self._entities(number, rng)
        facts: list[dict[str, Fact]] = []
        for entity in entities:
            own = {}
            relations = RELATIONS[entity.kind]
            mute = _mute(len(relations), rng)
            for i, relation in enumerate(relations):
                text, value, target = self.draw(relation, entity, entities, rng)
                own[relation.name] = Fact(entity, relation, text, value, target, i not in mute)
            facts.append(own)
        return Neighbourhood(number, entities, facts)

    def draw(
        self, relation: Relation, subject: Entity, entities: list[Entity], rng: random.Random
    ) -> tuple[str, int | None, Entity | None]:
        """An object for `relation`: (text, number, entity). True and false objects come from the same distribution."""
        if relation.values:
            value = rng.choice(relation.values)
            if relation.draw == "word":
                return value, None, None
            return str(value) if relation.draw == "year" else format_number(value), value, None
        if relation.draw == "town":
            text, town = self.draw_town(subject, entities, rng)
            return text, None, town
        choices = [
            e
            for e in entities
            if (e.kind == relation.draw or e.role == relation.draw) and e is not subject and e.name != subject.name
        ]
        target = rng.choice(choices)
        return target.mention, None, target

    def draw_town(self, subject: Entity, entities: list[Entity], rng: random.Random) -> tuple[str, Entity | None]:
        """A town of the neighbourhood or, with equal probability, any town of the world (only by name); never
        `subject`."""
        towns = [town for town in entities[:TOWNS] if town is not subject]
        if rng.random() < 0.5:
            town = rng.choice(towns)
            return town.mention, town
        name = self.names.town(rng.randrange(self.neighbourhoods * TOWNS))
        return (name, None) if name != subject.name else (towns[0].mention, towns[0])

    def _entities(self, number: int, rng: random.Random) -> list[Entity]:
        names = self.names
        towns = [names.town(number * TOWNS + i) for i in range(TOWNS)]
        entities: list[Entity] = []

        def add(kind: str, title: str, name: str = "", mention: str = "", role: str = "", **more) -> None:
            name, role = name or title, role or NOUN_OF_KIND.get(kind, kind)
            entities.append(Entity(len(entities), kind, title, name, mention or name, role, **more))

        for town in towns:
            add("town", town, redirects=(f"{town} Town",) if rng.random() < 0.4 else ())
        for kind in ("river", "mountain"):
            for i in range(2):
                title = names.land(kind, number * 2 + i, towns[0])
                add(kind, title, mention=f"the {title}" if kind == "river" else title)
        self._people(number, rng, add)
        for i in range(3):
            title = names.company(number * 3 + i, towns[0])
            add("company", title, redirects=(f"{title} Limited",) if rng.random() < 0.4 else ())
        units = [names.work(number * 11 + i) for i in range(11)]
        books = [*units[:4], f"Return to {units[0]}"]
        films = [units[0], *units[4:7]]  # the first film shares its title with the first novel,
        albums = [units[1], *units[7:10]]  # the first album with the second
        shared = {units[0], units[1]}
        for kind, titles in (("book", books), ("film", films)):
            for title in titles:
                self._work(add, kind, title, shared)
        for i in range(2):
            add("band", names.band(number * 2 + i, towns[0]))
        for title in albums:
            self._work(add, "album", title, shared)
        for word in CLUB_WORDS:
            add("club", f"{towns[1]} {word}", redirects=(f"{towns[1]} {word} FC",) if rng.random() < 0.4 else ())
        for word in ("Battle", "Siege"):
            add("battle", f"{word} of {towns[2]}", mention=f"the {word} of {towns[2]}")
        for kind, count in LAYOUT:
            if kind != "person":
                first = _FIRST[kind]
                for i in range(count):
                    entities[first + i].companion = first + (i + 1) % count
        return entities

    @staticmethod
    def _work(add, kind: str, name: str, shared: set[str]) -> None:
        noun = NOUN_OF_KIND[kind]
        if name in shared:
            add(kind, f"{name} ({noun})", name, f"the {noun} {name}")
        else:
            add(kind, name)

    def _people(self, number: int, rng: random.Random, add) -> None:
        first = _FIRST["person"]
        people = [
            (surname, given, female, middle)
            for family in range(len(FAMILIES))
            for surname, members, middle in [self.names.family(number * len(FAMILIES) + family)]
            for given, female in members
        ]
        roles = list(PROFESSIONS)
        rng.shuffle(roles)
        shared = {*NAMESAKES, *NAMESAKES.values()}
        for i, other in NAMESAKES.items():
            people[i] = people[other]
            if roles[i] == roles[other]:
                swap = next(j for j in range(len(people)) if roles[j] != roles[i] and j not in shared)
                roles[i], roles[swap] = roles[swap], roles[i]
        companions = dict(NAMESAKES)
        for family in FAMILIES:
            companions |= {i: rng.choice([j for j in family if j != i]) for i in family}
        for i, (surname, given, female, middle) in enumerate(people):
            name = " ".join(part for part in (given, middle, surname) if part)
            title, mention = (f"{name} ({roles[i]})", f"the {roles[i]} {name}") if i in shared else (name, name)
            initial = rng.choice(self.names.parts["given"])[0]
            redirects = (
                (f"{given} {initial}. {surname}",) if not middle and i not in shared and rng.random() < 0.3 else ()
            )
            more = {"female": female, "surname": surname, "companion": first + companions[i], "redirects": redirects}
            add("person", title, name, mention, roles[i], **more)
