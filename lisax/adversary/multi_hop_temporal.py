"""Multi-hop temporal attacks: compare the events of two linked pages.

    The Nice Guys was released after its director was born.      the link, both dates: three sentences, two pages
    The Nice Guys was released before the birth of Shane Black.   refuted

The label follows from the two dates, which must not overlap, and not from the source claim, whose page is only the
start of the search.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from lisax.adversary.attack import Attack, AttackKind, random_of
from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.multi_hop import made_by
from lisax.adversary.prose import sentence
from lisax.adversary.statements import NOUN_OF, StatedEvent, Statements
from lisax.adversary.subjects import subject_of
from lisax.records import Claim, Label, split_sentence_id


class MultiHopTemporal:
    """One attack per pair of pages, however many claims lead to it."""

    kind = AttackKind.MULTI_HOP_TEMPORAL

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed
        self._done: set[tuple[str, ...]] = set()

    def attack(self, claim: Claim) -> Iterator[Attack]:
        rng = random_of(self._seed, self.kind, claim.id)
        for page in self._pages(claim):
            about = self._corpus.about(page)
            if not about.events:
                continue
            for unit, other, role in self._linked(page):
                told = self._corpus.about(other)
                if not told.events or tuple(sorted((page, other))) in self._done or told.name == about.name:
                    continue
                if (attack := self._compare(claim, about, told, page, other, unit, role, rng)) is not None:
                    self._done.add(tuple(sorted((page, other))))
                    yield attack
                    return

    def _pages(self, claim: Claim) -> list[str]:
        subject = subject_of(claim.text, self._corpus)
        pages = ([subject.page] if subject else []) + [split_sentence_id(unit)[0] for unit in claim.gold_ids]
        return [page for page in dict.fromkeys(pages) if page in self._corpus]

    def _linked(self, page: str) -> Iterator[tuple[str, str, str | None]]:
        """(sentence with the link, linked page, the role of its subject for this page or None)."""
        for role, unit, maker in made_by(self._corpus, page):
            yield unit, maker, role
        for line in self._corpus.lines(page):
            for _, other in line.names:
                if other not in (None, page):
                    yield line.unit, other, None

    def _compare(
        self,
        claim: Claim,
        about: Statements,
        told: Statements,
        page: str,
        other: str,
        unit: str,
        role: str | None,
        rng: random.Random,
    ) -> Attack | None:
        pairs = [
            (mine, theirs)
            for mine in about.events
            for theirs in told.events
            if mine.date.before(theirs.date) or theirs.date.before(mine.date)
        ]
        names = [self._corpus.written(place) for place in (page, other)]
        if not pairs or None in names:
            return None
        mine, theirs = rng.choice(pairs)
        said = rng.choice(("before", "after"))
        true = said == ("before" if mine.date.before(theirs.date) else "after")
        by_role = role is not None and not about.person and rng.random() < 0.5
        text = f"{names[0]} {mine.text} {said} {f'its {role}' if by_role else names[1]} {_again(mine, theirs)}"
        if theirs.once in NOUN_OF and not by_role and rng.random() < 0.4:
            event = f"{NOUN_OF[theirs.once]} {names[1]}"
            lived = (
                mine.once == "died"
                and said == "after"
                and any(one.once == "born" and one.date.before(theirs.date) for one in about.events)
            )
            text = f"{names[0]} lived to see {event}" if lived else f"{names[0]} {mine.text} {said} {event}"
        units = dict.fromkeys((*((unit,) if by_role else ()), mine.unit, theirs.unit))
        return Attack(
            self.kind,
            (claim.id,),
            sentence(text),
            Label.SUPPORTS if true else Label.REFUTES,
            (tuple(units),),
            f"events of {page} and {other}",
            _reason(names, mine, theirs),
        )


def _again(mine: StatedEvent, theirs: StatedEvent) -> str:
    """The second verb, shortened where it would repeat the first: `X came out after Y did`."""
    if mine.text != theirs.text:
        return theirs.text
    return mine.text.split()[0] if mine.text.startswith(("was ", "were ")) else "did"


def _reason(names: list[str], mine: StatedEvent, theirs: StatedEvent) -> str:
    return f"{names[0]} {mine.text}: {mine.date.text()}; {names[1]} {theirs.text}: {theirs.date.text()}"
