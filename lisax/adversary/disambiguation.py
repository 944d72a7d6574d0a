"""Entity disambiguation attacks: a claim about another page with the same surface name, which is all that the claim
gives.

    Kate Hudson is an American actress.   ->   Kate Hudson is a British political activist.
                                               Kate Hudson is a British activist who leads a campaign.

The claim is in words of its own: a description without some of its modifiers, with or without another statement of the
page; an event by its year; a work after its maker. It is supported by the other page, as all of the authors' examples
are. Where the description has a nationality or a year, another attack has a false one, which the page refutes
(`Falsehoods`).
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterable, Iterator

from lisax.adversary.attack import Attack, AttackKind, random_of
from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.falsehoods import Falsehoods
from lisax.adversary.multi_hop import ROLES, made_by
from lisax.adversary.prose import readable, sentence, without_parentheses
from lisax.adversary.statements import nouns_of
from lisax.records import Claim, Label, split_sentence_id
from lisax.retrieval.titles import unqualified
from lisax.text.articles import article

_VERB_OF = {role: verb for verb, role in ROLES.items()} | {"writer": "wrote"}


@dataclasses.dataclass(frozen=True, slots=True)
class _Said:
    """`text` is true of a page according to `units`; `false`, if there is one, is refuted by the first of them."""

    text: str
    units: tuple[str, ...]
    false: str | None = None


class Disambiguation:
    """Repeats no statement on a namesake."""

    kind = AttackKind.DISAMBIGUATION

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed
        self._falsehoods = Falsehoods(corpus)
        self._used: set[str] = set()

    def attack(self, claim: Claim) -> Iterator[Attack]:
        rng = random_of(self._seed, self.kind, claim.id)
        for page, name in self._subjects(claim):
            namesakes = [
                other
                for other in self._corpus.pages_named(name)
                if other != page and unqualified(self._corpus.page(other).title)[0] == name
            ]
            for other in rng.sample(namesakes, len(namesakes)):
                fresh = [
                    said
                    for said in self._said(other, name, page, rng)
                    if said.text not in self._used and not self._copies(said)
                ]
                if fresh:
                    said = rng.choice(fresh)
                    self._used.add(said.text)
                    edit, reason = f"{page} -> {other}", f'"{name}" is also the name of {other}, whose page says so'
                    made = [(said.text, Label.SUPPORTS, said.units, reason)]
                    if said.false is not None:
                        made.append((said.false, Label.REFUTES, said.units[:1], f"{reason}: {said.text}"))
                    for text, label, units, why in made:
                        yield Attack(self.kind, (claim.id,), sentence(text), label, (units,), edit, why)
                    return

    def _subjects(self, claim: Claim) -> list[tuple[str, str]]:
        """(page, its name) of the claim's first name, and of the pages of its evidence if the claim names them."""
        pages = [split_sentence_id(unit)[0] for unit in claim.gold_ids]
        for named in self._corpus.names_in(claim.text)[:1]:
            meant = self._corpus.meant(claim.text, named)
            pages = [meant, *pages] if meant else [*(p for p in named.pages if p in pages)] or list(named.pages[:1])
        return [
            (page, name)
            for page in dict.fromkeys(pages)
            if page in self._corpus
            if (name := unqualified(self._corpus.page(page).title)[0]) in claim.text
        ]

    def _copies(self, said: _Said) -> bool:
        """Whether a sentence states the same in the same words."""
        return any(said.text in without_parentheses(readable(self._corpus.text(unit))) for unit in said.units)

    def _said(self, page: str, name: str, instead: str, rng: random.Random) -> list[_Said]:
        """Claims about `page` under the shared name, in other words than its sentences."""
        about, theirs = self._corpus.about(page), self._corpus.about(instead)
        excluded = {phrase.text for phrase in theirs.predicates}
        said = [
            _Said(f"{maker} {verb} {name}", (unit,))
            for role, unit, other in made_by(self._corpus, page)
            if (maker := self._corpus.written(other)) and (verb := _VERB_OF.get(role))
        ]
        said += [
            _Said(f"{name} {event.text} in {event.date.year}", (event.unit,))
            for event in about.events
            if event.date.year > 0 and event.text not in {one.text for one in theirs.events}
        ]
        if about.description is None:
            return said
        unit, told = about.description.unit, about.description.text
        first = without_parentheses(readable(self._corpus.text(unit)))
        verb = "was" if f" was {told}" in first else "is"
        false = self._falsehoods.of_description(page, rng)
        more = [phrase for phrase in about.predicates if phrase.unit != unit and phrase.text not in excluded]
        for true, wrong in zip(_shorter(told), _shorter(false) if false else itertools.repeat(None)):
            for phrase in (None, *more):
                clause = f" {'who' if about.person else 'that'} {phrase.text}" if phrase else ""
                units = (unit,) if phrase is None else (unit, phrase.unit)
                claims = [f"{name} {verb} {text}{clause}" if text else None for text in (true, wrong)]
                said.append(_Said(claims[0], units, claims[1] if wrong != true else None))
        return said


def _shorter(description: str) -> list[str]:
    """A description, without the words after its noun, and then without one after another of the words before it."""
    nouns = nouns_of(description)
    *modifiers, noun = nouns.split()[1:]
    texts = [description, nouns]
    if len(modifiers) > 1:
        rest = f"{modifiers[0]} {noun}"
        texts.append(f"{article(rest)} {rest}")
    return texts
