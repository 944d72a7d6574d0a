"""Combines a ranker with BM25 (ours): a logistic regression on both scores, fitted on held-out claims.

A ranker trained from scratch on few claims catches matches that BM25 misses, and misses others that BM25 catches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lisax.errors import LisaxError
from lisax.records import Claim, Hit

Run = Mapping[str, Sequence[Hit]]
STEPS = 50
RIDGE = 1e-3


def features(ranked: Sequence[Hit], lexical: Sequence[Hit]) -> np.ndarray:
    """`features_of` for a claim's ranked sentences: their probabilities and BM25 scores, 0 where BM25 did not return
    them."""
    found = {hit.id: hit.score for hit in lexical}
    return features_of(
        np.array([hit.score for hit in ranked]),
        np.array([found.get(hit.id, 0.0) for hit in ranked]),
        max(found.values(), default=0.0),
    )


def features_of(probabilities: np.ndarray, lexical: np.ndarray, best: float) -> np.ndarray:
    """float64 [hits, 3]: log-odds of the ranker's probability, BM25's score as a share of the claim's `best`, and 1."""
    return np.stack([log_odds(probabilities), lexical / (best or 1.0), np.ones(len(lexical))], axis=1)


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    """The log-odds of probabilities, float64; those at 0 and 1 are moved off by a millionth."""
    probability = np.clip(probabilities, 1e-6, 1 - 1e-6, dtype=float)
    return np.log(probability) - np.log1p(-probability)


def weights_of(card: Mapping[str, Any]) -> np.ndarray | None:
    """The weights in a ranker's `model.json`, or None if it has none. Raises ValueError unless they are three finite
    numbers, the first (the ranker's) positive."""
    if card.get("fusion") is None:
        return None
    weights = np.array(card["fusion"], float)
    if weights.shape != (3,) or not np.isfinite(weights).all() or weights[0] <= 0:
        raise ValueError(f"`fusion` must be three numbers, the first positive, found {card['fusion']!r:.80}")
    return weights


def fit(claims: Iterable[Claim], ranked: Run, lexical: Run) -> np.ndarray:
    """Fits feature weights [3] that best separate gold sentences from others, by Newton's method."""
    rows, gold = [], []
    for claim in claims:
        if claim.evidence_sets and (hits := ranked.get(claim.id)):
            rows.append(features(hits, lexical.get(claim.id, ())))
            gold += [hit.id in set(claim.gold_ids) for hit in hits]
    if not any(gold) or all(gold):
        raise LisaxError(
            "the ranker cannot be fused with BM25: no held-out claim has both gold and other sentences "
            "among its candidates"
        )
    return logistic(np.concatenate(rows), np.array(gold, float))


def logistic(x: np.ndarray, y: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """Weights [features] of a logistic regression of y [cases], 0 or 1, on x [cases, features], by Newton's method;
    `ridge` times half their squares is added to the loss, a sum over cases."""
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        share = _sigmoid(x @ weights)
        gradient = x.T @ (share - y) + ridge * weights
        hessian = (x * (share * (1 - share))[:, None]).T @ x + ridge * np.eye(x.shape[1])
        weights = weights - np.linalg.solve(hessian, gradient)
    return weights


def fuse(ranked: Run, lexical: Run, weights: np.ndarray) -> Iterator[Hit]:
    """The ranked sentences, reordered and scored by their fused probability."""
    for query, hits in ranked.items():
        scores = probability(features(hits, lexical.get(query, ())), weights)
        for rank, i in enumerate(np.argsort(-scores, kind="stable"), start=1):
            yield Hit(query, hits[i].id, rank, float(scores[i]))


def probability(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Probability of relevance from both scores, float64 [hits]."""
    return _sigmoid(features @ weights)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))
