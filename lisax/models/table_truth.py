"""Labels and relevance from the probabilities of table fusion, for arrays of numpy and of JAX alike."""

from __future__ import annotations

from typing import Any


def truth(probabilities: Any) -> Any:
    """(p(true), p(false)) [..., 2] of a claim from [..., k, classes], over its tables; numpy stays numpy."""
    return _normalized(probabilities[..., -2:].sum(-2))


def relevance(probabilities: Any) -> Any:
    """p(table) [..., k] from [..., k, classes], over both truths; numpy stays numpy."""
    return _normalized(probabilities[..., -2:].sum(-1))


def _normalized(shares: Any) -> Any:
    """Over the last axis; zeros, of a claim without tables, stay zeros."""
    total = shares.sum(-1, keepdims=True)
    return shares / (total + (total == 0))
