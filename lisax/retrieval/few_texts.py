"""BM25 over a few texts without an index: idf and average length are computed from them."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence

from lisax.retrieval.bm25_builder import K1, B
from lisax.retrieval.terms import stems

KEPT = 10_000  # texts whose terms are kept: those of a small folder are scored for each claim


def scores(query: str, texts: Sequence[str]) -> list[float]:
    """The score of each text for the query."""
    words, counted = stems([query])[0], list(map(_counted, texts))
    lengths = [counts.total() for counts in counted]
    average = sum(lengths) / max(len(lengths), 1) or 1.0
    wanted = set(words)
    holding = Counter(term for counts in counted for term in wanted & counts.keys())
    found = []
    for counts, length in zip(counted, lengths):
        score = 0.0
        for term in words:
            if (count := counts[term]) > 0:
                idf = math.log(1 + (len(counted) - holding[term] + 0.5) / (holding[term] + 0.5))
                score += idf * count / (count + K1 * (1 - B + B * length / average))
        found.append(score)
    return found


@functools.lru_cache(KEPT)
def _counted(text: str) -> Counter[str]:
    return Counter(stems([text])[0])
