"""Statements that contradict a page: its description with another nationality or year, and its event in another year.

Nationalities are those by which the corpus describes things. Another one is a contradiction only where the page has no
word of it, and neither contains the other.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter

from lisax.adversary.corpus import AttackCorpus
from lisax.text.articles import article
from lisax.text.words import words

PAGES_READ = 20_000  # pages whose descriptions are read; more have no other nationalities
_NATIONALITY = re.compile(r"^an? (?:[12]\d{3} )?([A-Z][a-z]+(?:an|ese|ish|ch|i|k|s)) (?=[a-z])(?!language)")
_YEAR = re.compile(r"^an? ([12]\d{3})\b")
_BROAD = frozenset("African Asian European Jewish Latin Soviet".split())  # who is French is European too
_BRITISH = frozenset("British Cornish English Irish Scottish Welsh".split())
_LEAST_USED = 3  # descriptions that have a word, below which it may not be a nationality
_FARTHEST = 15  # years


class Falsehoods:
    def __init__(self, corpus: AttackCorpus):
        self._corpus = corpus
        counts = Counter(
            found[1]
            for page in itertools.islice(corpus.documents(), PAGES_READ)
            if (about := corpus.about(page.id)).description and (found := _NATIONALITY.match(about.description.text))
        )
        self._nationalities = sorted(
            word for word, count in counts.items() if count >= _LEAST_USED and word not in _BROAD
        )

    def of_description(self, page: str, rng: random.Random) -> str | None:
        """The description of a page with a nationality or a year that it is not of; None if it has neither."""
        description = self._corpus.about(page).description
        text = "" if description is None else description.text
        said = {word[:4] for line in self._corpus.page(page).sentences for word in words(line.text)}
        found = []
        if (year := _YEAR.match(text)) is not None:
            found.append(text[: year.start(1)] + str(other_year(int(year[1]), rng)) + text[year.end(1) :])
        if (nation := _NATIONALITY.match(text)) is not None and nation[1] in self._nationalities:
            others = [
                other
                for other in self._nationalities
                if other[:4].casefold() not in said and not {other, nation[1]} <= _BRITISH
            ]
            if others:
                found.append(text[: nation.start(1)] + rng.choice(others) + text[nation.end(1) :])
        if not found:
            return None
        after_article = rng.choice(found).split(" ", 1)[1]
        return f"{article(after_article)} {after_article}"


def other_year(year: int, rng: random.Random) -> int:
    return year + rng.choice((-1, 1)) * rng.randint(3, _FARTHEST)
