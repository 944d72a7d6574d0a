"""Conjunction attacks: two claims about one subject are joined, dropping the second subject; labels follow "and". Of
two claims that are both refuted, or both undecided, either would do, so that they are not joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lisax.adversary.attack import Attack, AttackKind, both, random_of
from lisax.adversary.corpus import AttackCorpus, Subject, subject_of
from lisax.adversary.prose import sentence
from lisax.records import LABELS, Claim, Label
from lisax.text.stop_words import INDEX_STOP_WORDS
from lisax.text.words import words

CONNECTIVES = ("and", "and", "and also")
# Two claims that share more than this part of the shorter one's words mean nearly the same.
_OVERLAP = 0.6
_MOST_WORDS = 16
# After `stars an actor who sings`, a joined phrase would refer to the actor.
_RELATIVE = re.compile(r"\b(?:who|whom|whose|which|that|where|when)\b")


class Conjunction:
    """Joins each claim with one other claim about its subject, drawn from the claims that follow it."""

    kind = AttackKind.CONJUNCTION

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._seed = seed
        self._subjects: dict[str, Subject] = {}
        self._of_page: dict[str, list[Claim]] = {}
        for claim in claims:
            subject = subject_of(claim.text, corpus)
            if (
                subject is not None
                and claim.label is not None
                and len(subject.predicate.split()) <= _MOST_WORDS
                and not any(mark in subject.predicate for mark in (",", ";", ":", " and ", " or ", " but "))
            ):
                self._subjects[claim.id] = subject
                self._of_page.setdefault(subject.page, []).append(claim)
        self._places = {claim.id: i for of_page in self._of_page.values() for i, claim in enumerate(of_page)}

    def attack(self, claim: Claim) -> Iterator[Attack]:
        subject = self._subjects.get(claim.id)
        if subject is None or _RELATIVE.search(subject.predicate):
            return
        of_page, place = self._of_page[subject.page], self._places[claim.id]
        rng = random_of(self._seed, self.kind, claim.id)
        others = [
            other
            for other in of_page[place + 1 :]
            # Two refuted or two undecided claims state nothing new together.
            if (claim.label is not other.label or claim.label is Label.SUPPORTS)
            and _goes_with(subject, self._subjects[other.id])
        ]
        if others:
            # Most pairs are refuted, so the label is drawn first, and a claim that cannot have it is skipped.
            wanted = rng.choice(LABELS)
            others = [other for other in others if both(claim, other)[0] is wanted]
        if others:
            other = rng.choice(others)
            second, (label, sets) = self._subjects[other.id], both(claim, other)
            connective = rng.choice(CONNECTIVES)
            added = f"{connective} {second.predicate}"
            text = sentence(f"{subject.written} {subject.predicate} {added}")
            reason = f'"{claim.text}" is {claim.label}, "{other.text}" is {other.label}'
            yield Attack(self.kind, (claim.id, other.id), text, label, sets, f"+ {added}", reason)


def _goes_with(first: Subject, second: Subject) -> bool:
    """Whether two claims can be joined: same name, agreement in number, and different statements."""
    if first.written != second.written or {first.number, second.number} == {"s", "p"}:
        return False
    one, two = (set(words(subject.predicate)) - INDEX_STOP_WORDS for subject in (first, second))
    return len(one & two) < _OVERLAP * max(1, min(len(one), len(two)))
