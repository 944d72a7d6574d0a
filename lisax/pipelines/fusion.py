"""A ranker beside BM25 (ours): relevance as a logistic regression on both, fitted on held-out claims.

From scratch and on few claims a ranker knows things that BM25 does not and forgets others that BM25 sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from lisax.records import Claim, Hit, LisaxError

Run = Mapping[str, Sequence[Hit]]
STEPS = 50
RIDGE = 1e-3


def features(ranked: Sequence[Hit], lexical: Sequence[Hit]) -> np.ndarray:
    """float64 [hits, 3] of a claim's ranked sentences: log-odds of the ranker's probability, BM25's score as a share
    of the claim's best (0 for what BM25 did not return), and 1."""
    found = {hit.id: hit.score for hit in lexical}
    best = max(found.values(), default=0.0) or 1.0
    probability = np.clip([hit.score for hit in ranked], 1e-6, 1 - 1e-6)
    shares = [found.get(hit.id, 0.0) / best for hit in ranked]
    return np.stack([np.log(probability) - np.log1p(-probability), shares, np.ones(len(ranked))], axis=1)


def fit(claims: Iterable[Claim], ranked: Run, lexical: Run) -> np.ndarray:
    """Weights [3] of the features that best tell gold sentences from others, by Newton's method."""
    rows, gold = [], []
    for claim in claims:
        if claim.evidence_sets and (hits := ranked.get(claim.id)):
            rows.append(features(hits, lexical.get(claim.id, ())))
            gold += [hit.id in set(claim.gold_ids) for hit in hits]
    if not any(gold) or all(gold):
        raise LisaxError("the ranker cannot be fused with BM25: no held-out claim has both gold and other sentences "
                         "among its candidates")
    x, y, weights = np.concatenate(rows), np.array(gold, float), np.zeros(3)
    for _ in range(STEPS):
        share = _sigmoid(x @ weights)
        gradient = x.T @ (share - y) + RIDGE * weights
        hessian = (x * (share * (1 - share))[:, None]).T @ x + RIDGE * np.eye(3)
        weights = weights - np.linalg.solve(hessian, gradient)
    return weights


def fuse(ranked: Run, lexical: Run, weights: np.ndarray) -> Iterator[Hit]:
    """The ranked sentences in the order of their fused probability, which is their score."""
    for query, hits in ranked.items():
        scores = _sigmoid(features(hits, lexical.get(query, ())) @ weights)
        for rank, i in enumerate(np.argsort(-scores, kind="stable"), start=1):
            yield Hit(query, hits[i].id, rank, float(scores[i]))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))
