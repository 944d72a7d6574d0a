"""Additional unverifiable proposition attacks: a proposition that no page states is appended to a supported claim, so
that nothing decides it.

Only supported claims are used: a refuted one stays refuted whatever is added. The propositions are private facts that
encyclopedias do not have, and one is used only if none of its words occurs on the claim's pages.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

from lisax.adversary.attack import Attack, AttackKind, random_of
from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.prose import body, is_negated, sentence
from lisax.adversary.subjects import Subject, subject_of
from lisax.records import Claim, Label, split_sentence_id
from lisax.text.stop_words import INDEX_STOP_WORDS
from lisax.text.words import words

_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_MONTHS = ("January", "March", "May", "August", "November")
# `{n}` is a number in words, `{m}` a month. Verb phrases fit `and …`, `who …`; participles follow a noun phrase.
PERSON = (
    "kept {n} dogs",
    "never learned to whistle",
    "could recite {n} poems by heart",
    "disliked the taste of garlic",
    "collected postage stamps as a child",
    "broke an arm at the age of {n}",
    "had {n} cousins",
    "slept badly during the winter",
    "once lost an umbrella on a train",
    "owned {n} bicycles",
    "preferred writing with a pencil",
    "took cold baths every {m}",
    "was afraid of spiders",
    "had a grandfather who repaired clocks",
    "drank {n} cups of coffee a day",
)
PERSON_NOUN = (
    "with {n} cousins",
    "with a fear of spiders",
    "fond of garlic",
    "raised with {n} dogs",
    "allergic to strawberries",
    "with {n} godchildren",
)
THING = (
    "was mentioned in {n} crossword puzzles",
    "was once the answer in a radio quiz",
    "has been mispronounced by {n} newsreaders",
    "inspired the name of a racing pigeon",
    "was the subject of {n} unpublished letters",
    "gave its name to a sailing boat",
    "was debated by a school class in {m}",
    "appears in the diary of a dentist",
    "has been knitted into a scarf",
    "was named on {n} misprinted postcards",
)
THING_NOUN = (
    "mentioned in {n} crossword puzzles",
    "disliked by {n} librarians",
    "mocked in {n} school newspapers",
    "named on {n} misprinted postcards",
    "known to few beekeepers",
)
_IS_A = re.compile(r"(?:is|was) an? [a-zA-Z0-9' -]+")
_PREPOSITION = re.compile(r"\s(?:of|in|from|for|at|by|with|on|to|about|based|who|that|which|and|or|named|called|as)\s")
_CLAUSES = re.compile(r"[,;:]|\b(?:who|which|that)\b")
_MOST_WORDS = 16


class Unverifiable:
    kind = AttackKind.UNVERIFIABLE

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed

    def attack(self, claim: Claim) -> Iterator[Attack]:
        if claim.label is not Label.SUPPORTS or is_negated(claim.text):
            return
        subject = subject_of(claim.text, self._corpus)
        if subject is None or len(subject.predicate.split()) > _MOST_WORDS or _CLAUSES.search(subject.predicate):
            return
        about = self._corpus.about(subject.page)
        if not about.known:
            return
        rng = random_of(self._seed, self.kind, claim.id)
        phrases, join = self._phrases(subject, about.person, rng)
        told = self._told(claim, subject)
        phrase = next(
            (
                filled
                for phrase in rng.sample(phrases, len(phrases))
                if not told & _own_words(filled := _fill(phrase, rng))
            ),
            None,
        )
        if phrase is None:
            return
        yield Attack(
            self.kind,
            (claim.id,),
            sentence(f"{body(claim.text)} {join}{phrase}"),
            Label.NOT_ENOUGH_INFO,
            (),
            f"+ {join}{phrase}",
            f'no page that the claim leads to tells of {about.name}: "{phrase}"',
        )

    def _phrases(self, subject: Subject, person: bool, rng: random.Random) -> tuple[tuple[str, ...], str]:
        """Phrases that can follow, and the word that joins them."""
        noun = _IS_A.fullmatch(subject.predicate) and not _PREPOSITION.search(subject.predicate[6:])
        if noun and subject.predicate.split()[-1].islower() and rng.random() < 0.5:
            return (PERSON_NOUN if person else THING_NOUN), ""
        return (PERSON if person else THING), "and "

    def _told(self, claim: Claim, subject: Subject) -> set[str]:
        pages = {subject.page, *(split_sentence_id(unit)[0] for unit in claim.gold_ids)}
        return {
            word
            for page in pages
            if page in self._corpus
            for line in self._corpus.page(page).sentences
            for word in words(line.text)
        } | set(words(claim.text))


def _fill(phrase: str, rng: random.Random) -> str:
    return phrase.replace("{n}", rng.choice(_NUMBERS)).replace("{m}", rng.choice(_MONTHS))


_COMMON = (
    INDEX_STOP_WORDS
    | set(_NUMBERS)
    | set(words(" ".join(_MONTHS)))
    | set(
        "had has was been once never named mentioned name every during could day of school class child known few".split()
    )
)


def _own_words(phrase: str) -> set[str]:
    return set(words(phrase)) - _COMMON
