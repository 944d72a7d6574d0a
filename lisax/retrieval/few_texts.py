"""BM25 over a few texts without an index: idf and average length are computed from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from lisax.retrieval.bm25_builder import K1, B
from lisax.retrieval.terms import stems


def scores(query: str, texts: Sequence[str]) -> list[float]:
    """The score of each text for the query."""
    words, *stemmed = stems([query, *texts])
    average = sum(map(len, stemmed)) / max(len(stemmed), 1) or 1.0
    holding = Counter(term for text in stemmed for term in set(text))
    found = []
    for text in stemmed:
        counts, score = Counter(text), 0.0
        for term in words:
            if (count := counts[term]) > 0:
                idf = math.log(1 + (len(stemmed) - holding[term] + 0.5) / (holding[term] + 0.5))
                score += idf * count / (count + K1 * (1 - B + B * len(text) / average))
        found.append(score)
    return found
