"""Substitutes by the vectors of a sentence encoder: words that mean the same by themselves, and in the claim.

A word's substitutes come from the corpus. They have its ending and another stem, stand beside the same small words, and
each is among the nearest of the other. In the claim they change its vector little. Nearness alone does not tell a synonym
from an opposite or from another member of a class; `opposites.are_unlike` knows those, and of two words for people the
rarer is the more special one.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from lisax.adversary.lexicon import Substitute, WordRelation
from lisax.adversary.opposites import are_unlike
from lisax.adversary.prose import article
from lisax.adversary.statements import PERSON_NOUNS
from lisax.text.stop_words import INDEX_STOP_WORDS

VOCABULARY, LEAST_USED = 5_000, 3  # words of the corpus, the most frequent ones, used so often at least
NEIGHBOURS = 80  # frequent words, beside which a word stands
NEAREST = 4  # of a word, by its vector
# Least cosines: of two words (of verbs, whose vectors are farther apart), of what they stand beside, of two claims.
ALONE, ALONE_VERBS, BESIDE, IN_CLAIM = 0.79, 0.71, 0.35, 0.95
_WORD = re.compile(r"(?<![\w'-])(?:(?P<article>an?) )?(?P<word>[a-z]{4,})(?![\w'-])")
_TOKEN = re.compile(r"[a-z]+(?:['-][a-z]+)*", re.IGNORECASE)
_ENDING = re.compile(r"(?:ing|ed|(?<!s)s|ly|est)$")

Encode = Callable[[Sequence[str]], np.ndarray]


class EncoderLexicon:
    """`encode` maps texts to vectors of length 1 [texts, width]."""

    def __init__(self, texts: Iterable[str], encode: Encode):
        self._encode = encode
        self._count, beside = Counter(), Counter()
        for text in texts:
            tokens = _TOKEN.findall(text)
            self._count.update(tokens)
            beside.update(pair for pair in itertools.pairwise(tokens))
        known = (
            word
            for word, count in self._count.most_common()
            if count >= LEAST_USED
            and len(word) > 3
            and word.islower()
            and word.isalpha()
            and word not in INDEX_STOP_WORDS
        )
        self._words = list(itertools.islice(known, VOCABULARY))
        self._place = {word: i for i, word in enumerate(self._words)}
        self._vectors = encode(self._words) if self._words else np.zeros((0, 1))
        self._contexts = self._beside(beside)

    def _beside(self, pairs: Counter) -> np.ndarray:
        """[words, 2 * NEIGHBOURS]: how often frequent words stand before and after each word, at length 1."""
        frequent = {word: i for i, (word, _) in enumerate(self._count.most_common(NEIGHBOURS))}
        counts = np.zeros((len(self._words), 2 * NEIGHBOURS))
        for (first, second), count in pairs.items():
            if second in self._place and first in frequent:
                counts[self._place[second], frequent[first]] += count
            if first in self._place and second in frequent:
                counts[self._place[first], NEIGHBOURS + frequent[second]] += count
        return counts / np.maximum(1e-9, np.linalg.norm(counts, axis=1, keepdims=True))

    def substitutes(self, text: str) -> list[Substitute]:
        found = []
        for match in _WORD.finditer(text):
            before = text[: match.start()]
            if match["word"] not in self._place or before.count("(") > before.count(")"):
                continue  # `Jackie (2016 film)` is a name
            for other, near in self._near(match["word"]):
                new = f"{article(other)} {other}" if match["article"] else other
                reason = f'"{match["word"]}" and "{other}" have a cosine of {near:.2f}'
                relation = self._relation(match["word"], other)
                found.append(Substitute(match.start(), match.end(), new, relation, reason))
        if not found:
            return []
        changed = [text[: edit.start] + edit.new + text[edit.end :] for edit in found]
        vectors = self._encode([text, *changed])
        return [edit for edit, same in zip(found, vectors[1:] @ vectors[0]) if same >= IN_CLAIM]

    def _near(self, word: str) -> list[tuple[str, float]]:
        return [(other, near) for other, near in self._nearest(word) if word in dict(self._nearest(other))]

    def _nearest(self, word: str) -> list[tuple[str, float]]:
        """The words nearest to a word that may stand in its place, with their cosines."""
        i = self._place[word]
        near = self._vectors @ self._vectors[i]
        fits = self._contexts @ self._contexts[i] >= BESIDE
        least = ALONE_VERBS if word.endswith("ed") else ALONE
        places = (j for j in np.argsort(-near, kind="stable") if near[j] >= least and fits[j])
        others = ((self._words[j], float(near[j])) for j in places)
        return list(itertools.islice((pair for pair in others if _exchangeable(word, pair[0])), NEAREST))

    def _relation(self, word: str, other: str) -> WordRelation:
        if not {word, other} <= PERSON_NOUNS:
            return WordRelation.SYNONYM
        return WordRelation.HYPERNYM if self._count[other] > self._count[word] else WordRelation.HYPONYM


def _exchangeable(word: str, other: str) -> bool:
    """Whether two words have the same ending and other stems, and are not known to be unlike."""
    endings = [found[0] if (found := _ENDING.search(one)) else "" for one in (word, other)]
    return endings[0] == endings[1] and word[:3] != other[:3] and not are_unlike(word, other)
