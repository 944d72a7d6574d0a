"""Multi-hop temporal attacks: compare the events of two pages, one of which a claim is about and which are linked.

    The Nice Guys came out before Gone Girl did.                       The Nice Guys: 2016; Gone Girl: 2014. Refuted
    Gone Girl came out before The Nice Guys did.                       supported, in the same words
    The director of The Nice Guys was born later than Kim Basinger.    the link, both dates: three sentences, three pages

The label follows from the two dates, which must not overlap, and not from the source claim, whose page is only the
start of the search. It does not follow from the wording: the same events are compared in both orders, and of different
events, such as a death and a birth, equal numbers of pairs are compared for either order. A person never directs a film
before being born, so that such pairs are never made.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator

from lisax.adversary.attack import Attack, AttackKind, random_of
from lisax.adversary.corpus import AttackCorpus, subject_of
from lisax.adversary.multi_hop import made_by
from lisax.adversary.prose import sentence
from lisax.adversary.statements import NOUN_OF, StatedEvent
from lisax.records import Claim, Label, split_sentence_id

_RELATED = 12  # pages that are compared with a claim's page and with one another
_LATER = {"before": "earlier", "after": "later"}


@dataclasses.dataclass(frozen=True, slots=True)
class _Pair:
    """Two events of two pages, with the names of the pages and the sentences that link names to pages."""

    claim: Claim
    pages: tuple[str, str]
    names: tuple[str, str]
    links: tuple[str, ...]
    events: tuple[StatedEvent, StatedEvent]

    @property
    def alike(self) -> bool:
        return self.events[0].text == self.events[1].text

    @property
    def in_order(self) -> bool:
        return self.events[0].date.before(self.events[1].date)

    def swapped(self) -> _Pair:
        return dataclasses.replace(self, pages=self.pages[::-1], names=self.names[::-1], events=self.events[::-1])


class MultiHopTemporal:
    """Two attacks per pair of pages, however many claims lead to it; a claim starts one pair of like events and one of
    unlike ones at most."""

    kind = AttackKind.MULTI_HOP_TEMPORAL

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed
        self._done: set[frozenset[str]] = set()
        self._made: dict[str, list[Attack]] = defaultdict(list)
        unlike: dict[tuple[str, str], tuple[list[_Pair], list[_Pair]]] = defaultdict(lambda: ([], []))
        for claim in claims:
            rng = random_of(seed, self.kind, claim.id)
            pairs = self._pairs(claim, rng)
            if like := next((pair for pair in pairs if pair.alike and self._is_new(pair)), None):
                wording = _wording(like, rng)
                self._write(like, wording)
                self._write(like.swapped(), wording)
            for pair in pairs:
                if not pair.alike and not _follows(*pair.events) and self._is_new(pair):
                    unlike[pair.events[0].text, pair.events[1].text][pair.in_order].append(pair)
                    break
        for (first, second), orders in unlike.items():
            for pairs in zip(*orders):
                rng = random_of(seed, self.kind, *(pair.claim.id for pair in pairs))
                wording = f"{{}} {first} {rng.choice(tuple(_LATER))} {{}} {second}"
                for pair in pairs:
                    self._write(pair, wording)

    def attack(self, claim: Claim) -> Iterator[Attack]:
        yield from self._made.pop(claim.id, ())

    def _is_new(self, pair: _Pair) -> bool:
        known = frozenset(pair.pages) in self._done
        self._done.add(frozenset(pair.pages))
        return not known

    def _pairs(self, claim: Claim, rng: random.Random) -> list[_Pair]:
        """Events that can be compared, of the claim's page and the pages that it names, in random order."""
        found = []
        for page in self._pages(claim):
            roles = {maker: (role, unit) for role, unit, maker in made_by(self._corpus, page)}
            linked = [other for line in self._corpus.lines(page) for _, other in line.names if other is not None]
            known = (one for one in dict.fromkeys((page, *roles, *linked)) if one in self._corpus)
            related = [one for one in known if self._corpus.about(one).events]
            for pages in itertools.combinations(related[:_RELATED], 2):
                pages = rng.sample(pages, 2)
                named = [self._named(one, page, roles, rng) for one in pages]
                events = [
                    pair
                    for pair in itertools.product(*(self._corpus.about(one).events for one in pages))
                    if pair[0].date.before(pair[1].date) or pair[1].date.before(pair[0].date)
                ]
                if events and None not in (names := [name for name, _ in named]) and len(set(names)) == 2:
                    links = tuple(unit for _, unit in named if unit is not None)
                    found += [_Pair(claim, tuple(pages), tuple(names), links, pair) for pair in events]
        return rng.sample(found, len(found))

    def _pages(self, claim: Claim) -> list[str]:
        subject = subject_of(claim.text, self._corpus)
        pages = ([subject.page] if subject else []) + [split_sentence_id(unit)[0] for unit in claim.gold_ids]
        return [page for page in dict.fromkeys(pages) if page in self._corpus]

    def _named(self, page: str, start: str, roles: dict, rng: random.Random) -> tuple[str | None, str | None]:
        """How the claim calls a page, by its name or by its role for the page `start`; and the sentence that gives the
        role."""
        role, unit = roles.get(page, (None, None))
        work = self._corpus.written(start)
        if role is not None and work is not None and rng.random() < 0.5:
            return f"the {role} of {work}", unit
        return self._corpus.written(page), None

    def _write(self, pair: _Pair, wording: str) -> None:
        said_before = " before " in wording or " earlier " in wording
        units = dict.fromkeys((*pair.links, *(event.unit for event in pair.events)))
        told = (f"{name} {event.text}: {event.date.text()}" for name, event in zip(pair.names, pair.events))
        self._made[pair.claim.id].append(
            Attack(
                self.kind,
                (pair.claim.id,),
                sentence(wording.format(*pair.names)),
                Label.SUPPORTS if said_before == pair.in_order else Label.REFUTES,
                (tuple(units),),
                f"events of {pair.pages[0]} and {pair.pages[1]}",
                "; ".join(told),
            )
        )


def _follows(one: StatedEvent, two: StatedEvent) -> bool:
    """Whether the order of two linked pages' events is known without any date: a birth comes before whatever else is
    known of a person, and before nearly all events of linked pages, other than a death."""
    return {one.once, two.once} != {"born", "died"} and "born" in (one.once, two.once)


def _wording(pair: _Pair, rng: random.Random) -> str:
    """A comparison of two events of one kind, with a gap for each name."""
    event, said = pair.events[0], rng.choice(tuple(_LATER))
    again = event.text.split()[0] if event.text.startswith(("was ", "were ")) else "did"
    wordings = [f"{{}} {event.text} {said} {{}} {again}", f"{{}} {event.text} {_LATER[said]} than {{}}"]
    if event.once in NOUN_OF:
        wordings.append(f"{NOUN_OF[event.once]} {{}} came {said} that of {{}}")
    return rng.choice(wordings)
