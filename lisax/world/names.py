"""The closed vocabulary of the world: invented names, built from syllables, the same for every seed.

A name part is one short invented word, so that a small sentencepiece model learns it as one piece. Titles are unique by
arithmetic, not by bookkeeping: the k-th family, town or work of a world is a mixed-radix reading of k (part, then part,
then a layer that adds a word), which is injective.
"""

from __future__ import annotations

import functools
import random

GIVEN_NAMES, SURNAMES, TOWN_WORDS, LAND_WORDS = 200, 300, 400, 240
FAMILY_SIZE = 6
FAMILY_GROUPS = GIVEN_NAMES // FAMILY_SIZE

TOWN_PREFIXES = ("", "New", "Old", "North", "South", "East", "West", "Upper", "Lower", "Great", "Little", "Port")
ADJECTIVES = tuple(
    """amber bitter blue brave bright broken burning cold copper crimson crooked dark deep distant
dry empty endless faint final first frozen gentle golden green grey hidden hollow iron last lonely long lost
marble narrow open painted pale quiet red restless rising scarlet secret silent silver small sunken tall warm
white wild""".split()
)
NOUNS = tuple(
    """anchor answer arrow ashes autumn bell bridge candle canyon castle circle clock coast compass
corridor crown curtain dawn desert door echo ember feather field fire flame flute forest fountain garden gate
glass harbor harvest hour island journey key ladder lake lantern letter lighthouse meadow memory mirror morning
mountain night ocean orchard palace path promise rain river road rope shadow ship shore song square stair station
storm stranger street summer teacher throne tower valley village voyage winter window""".split()
)
ANIMALS = tuple(
    """badgers bears cranes crows dolphins eagles falcons finches foxes geese hares hawks herons
horses lions magpies moths otters owls ravens robins seals sparrows stags swallows swans tigers wolves""".split()
)
INDUSTRIES = tuple(
    "Mills Works Press Foundry Brewery Motors Records Shipyard Textiles Instruments Optics Trading".split()
)
CLUB_WORDS = ("United", "Rovers")


def _words(purpose: str, count: int, starts: str, middles: str, ends: str, taken: set[str]) -> tuple[str, ...]:
    """`count` distinct capitalised words from every start + middle + end, in an order fixed by `purpose`."""
    every = [a + b + c for a in starts.split() for b in middles.split() for c in ends.split()]
    random.Random(f"lisax.world.names:{purpose}").shuffle(every)
    fresh = [word for word in dict.fromkeys(every) if word not in taken][:count]
    taken.update(fresh)
    return tuple(word.capitalize() for word in fresh)


@functools.cache
def vocabulary() -> dict[str, tuple[str, ...]]:
    """Name parts by purpose; the first half of the given names is female, the second male."""
    taken: set[str] = set()
    half = GIVEN_NAMES // 2
    female = _words("female", half, "b d f j k l m n r s t v y z", "a e i o u", "ba da la lia mi na ra ri sa va", taken)
    male = _words(
        "male", half, "b d f h j k l m n r t v", "a e i o u", "ben dan dric gan len mir nas rek ron tor vin", taken
    )
    surname = _words(
        "surname",
        SURNAMES,
        "b br c d dr f g h k kr l m n p r s st t tr v w",
        "a e i o u",
        "den gard ker lin lund mond nell rath rick sen stad ton vell wick",
        taken,
    )
    town = _words(
        "town",
        TOWN_WORDS,
        "al ar bel bor cal dal el fen gal hal il kar kel lor mar mel nor or pel ral sel tal tor ul val ver",
        "a e i o u",
        "burg dale fell gate holm mere moor port stead thorpe vik wold",
        taken,
    )
    land = _words(
        "land", LAND_WORDS, "a e i o u", "b d g k l m n r s t v z", "ak ash en esh in ik ol osk ul um un ush", taken
    )
    return {
        "given": female + male,
        "surname": surname,
        "town": town,
        "river": land[: LAND_WORDS // 2],
        "mountain": land[LAND_WORDS // 2 :],
    }


class Names:
    """Names by ordinal for one seed: the k-th family, town or work."""

    def __init__(self, seed: int):
        self._seed = seed
        self.parts = vocabulary()
        self._families = self._order("families", SURNAMES * FAMILY_GROUPS)
        self._towns = self._order("towns", TOWN_WORDS)
        self._works = self._order("works", len(ADJECTIVES) * len(NOUNS))
        self._bands = self._order("bands", len(ADJECTIVES) * len(ANIMALS))
        self._companies = self._order("companies", SURNAMES * len(INDUSTRIES))
        self._lands = {kind: self._order(f"{kind}s", LAND_WORDS // 2) for kind in ("river", "mountain")}
        # Each family takes female and male names in turn: six names, three of each.
        shuffle = random.Random(f"lisax.world:{seed}:given")
        half = GIVEN_NAMES // 2
        female, male = list(range(half)), list(range(half, 2 * half))
        shuffle.shuffle(female)
        shuffle.shuffle(male)
        self._given = [index for pair in zip(female, male) for index in pair]

    def _order(self, purpose: str, count: int) -> list[int]:
        order = list(range(count))
        random.Random(f"lisax.world:{self._seed}:{purpose}").shuffle(order)
        return order

    def family(self, ordinal: int) -> tuple[str, list[tuple[str, bool]], str]:
        """(surname, six of (given name, is female), middle name or '') of the `ordinal`-th family."""
        layer, place = divmod(ordinal, len(self._families))
        surname, group = divmod(self._families[place], FAMILY_GROUPS)
        members = self._given[group * FAMILY_SIZE : (group + 1) * FAMILY_SIZE]
        given = self.parts["given"]
        middle = "" if layer == 0 else given[(layer - 1) % GIVEN_NAMES]
        return self.parts["surname"][surname], [(given[i], i < GIVEN_NAMES // 2) for i in members], middle

    def town(self, ordinal: int) -> str:
        layer, place = divmod(ordinal, TOWN_WORDS)
        region, prefix = divmod(layer, len(TOWN_PREFIXES))
        words = self.parts["town"]
        name = f"{TOWN_PREFIXES[prefix]} {words[self._towns[place]]}".strip()
        return name if region == 0 else f"{name} by {words[(region - 1) % TOWN_WORDS]}"

    def work(self, ordinal: int) -> str:
        """A title such as `The Silver Harbor`; in large worlds `The Silver Harbor of Tarn`."""
        layer, place = divmod(ordinal, len(self._works))
        adjective, noun = divmod(self._works[place], len(NOUNS))
        name = f"The {ADJECTIVES[adjective].capitalize()} {NOUNS[noun].capitalize()}"
        return name if layer == 0 else f"{name} of {self.parts['town'][(layer - 1) % TOWN_WORDS]}"

    def band(self, ordinal: int, town: str) -> str:
        layer, place = divmod(ordinal, len(self._bands))
        adjective, animal = divmod(self._bands[place], len(ANIMALS))
        name = f"The {ADJECTIVES[adjective].capitalize()} {ANIMALS[animal].capitalize()}"
        return self._of_town(name, layer, town)

    def company(self, ordinal: int, town: str) -> str:
        layer, place = divmod(ordinal, len(self._companies))
        surname, industry = divmod(self._companies[place], len(INDUSTRIES))
        return self._of_town(f"{self.parts['surname'][surname]} {INDUSTRIES[industry]}", layer, town)

    def land(self, kind: str, ordinal: int, town: str) -> str:
        """The name of a `river` or a `mountain`."""
        order = self._lands[kind]
        layer, place = divmod(ordinal, len(order))
        word = {"river": "River", "mountain": "Mount"}[kind]
        return self._of_town(f"{word} {self.parts[kind][order[place]]}", layer, town)

    @staticmethod
    def _of_town(name: str, layer: int, town: str) -> str:
        """Beyond the first layer a name repeats, and is distinguished by a town of its own neighbourhood."""
        return name if layer == 0 else f"{name} ({town})"
