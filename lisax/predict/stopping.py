"""Early stopping of a ranker: candidates are scored in the order of retrieval, in chunks, until an unseen one hardly enters
the best five any more.

How likely one enters is counted on held-out claims, all of whose candidates were scored: of those whose fifth best score
after so many candidates was about as high, the share in which a later one scored higher. Only the order of scores counts,
so that any scorer will do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lisax.metrics.ranking import DEPTH, complete_recall
from lisax.records import Claim, Hit, LisaxError
from lisax.runtime.model_card import ModelCard

CHUNK = 10  # candidates scored at a time, at least DEPTH
BINS = 6  # of equally many claims, by their fifth best score
BOUNDS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)  # of a curve


@dataclasses.dataclass(frozen=True)
class Stopping:
    """The table; the field `stopping` of a ranker's `model.json`.

    After (i + 1) * `chunk` candidates a fifth best score of at least `edges[i][b]`, the last such b, gives an unseen
    candidate the chance `chances[i][b + 1]` to enter the best five. `claims`: how many it was fitted on."""

    chunk: int
    edges: tuple[tuple[float, ...], ...]
    chances: tuple[tuple[float, ...], ...]
    claims: int

    @classmethod
    def of(cls, card: ModelCard) -> Stopping | None:
        """What was fitted for a model; None where nothing was. DataError where its numbers are none, or its rows do not
        fit each other."""
        found = card.get("stopping")
        if found is None:
            return None
        chunk, edges, chances, claims = card.needed(
            "stopping.chunk", "stopping.edges", "stopping.chances", "stopping.claims"
        )
        if not isinstance(chunk, int) or chunk < DEPTH:
            raise card.error("stopping.chunk", f"expected a whole number of at least {DEPTH}, found {chunk!r:.50}")
        for field, rows in (("stopping.edges", edges), ("stopping.chances", chances)):
            if not _are_numbers(rows):
                raise card.error(field, "expected a list of lists of numbers")
        if [len(row) + 1 for row in edges] != [len(row) for row in chances]:
            raise card.error("stopping.chances", "expected one more in each row than `edges` has")
        return cls(chunk, tuple(map(tuple, edges)), tuple(map(tuple, chances)), claims)

    def chance(self, scores: Sequence[float]) -> float:
        """That an unseen candidate enters the best five of those that were scored; 1 where nothing is known of so many."""
        row = len(scores) // self.chunk - 1
        if row < 0 or row >= len(self.edges) or len(scores) % self.chunk:
            return 1.0
        return self.chances[row][int(np.searchsorted(self.edges[row], _fifth(scores), side="right"))]

    def scored(self, scores: Sequence[float], bound: float) -> int:
        """How many of a claim's candidates, with these scores in the order of retrieval, are scored under a bound."""
        for count in range(self.chunk, len(scores), self.chunk):
            if self.chance(scores[:count]) < bound:
                return count
        return len(scores)


def _are_numbers(rows: Any) -> bool:
    return isinstance(rows, (list, tuple)) and all(
        isinstance(row, (list, tuple)) and all(isinstance(one, (int, float)) for one in row) for row in rows
    )


def _fifth(scores: Sequence[float]) -> float:
    return float(np.partition(scores, -DEPTH)[-DEPTH])


def fit(claims: Sequence[Sequence[float]], chunk: int = CHUNK) -> Stopping:
    """The table of held-out claims: of each, the scores of all its candidates in the order of retrieval. LisaxError where
    none has more than `chunk` of them."""
    if chunk < DEPTH:
        raise LisaxError(f"expected chunks of at least {DEPTH} candidates, found {chunk}")
    edges, chances = [], []
    for count in range(chunk, max(map(len, claims), default=0), chunk):
        seen = [scores for scores in claims if len(scores) > count]
        fifths = np.array([_fifth(scores[:count]) for scores in seen])
        enters = np.array([max(scores[count:]) > fifth for scores, fifth in zip(seen, fifths)])
        # Bins without claims, where many fifth scores are the same, are left out.
        row = np.unique(np.quantile(fifths, np.arange(1, BINS) / BINS))
        of = np.searchsorted(row, fifths, side="right")
        edges.append(tuple(map(float, row)))
        # With one claim more of either kind: of few claims little is known.
        chances.append(tuple(float((enters[of == b].sum() + 1) / ((of == b).sum() + 2)) for b in range(len(row) + 1)))
    if not edges:
        raise LisaxError(f"early stopping cannot be fitted: no claim has more than {chunk} candidates")
    return Stopping(chunk, tuple(edges), tuple(chances), len(claims))


class Point(NamedTuple):
    """Of a curve: what a bound saves, and what it costs."""

    bound: float | None  # None: everything is scored
    scored: float  # share of all candidates
    recall: float  # at 5, of complete evidence


def curve(
    stopping: Stopping,
    claims: Mapping[str, Claim],
    candidates: Mapping[str, Sequence[Hit]],
    bounds: Sequence[float] = BOUNDS,
) -> list[Point]:
    """What each bound would have saved and cost; `candidates` in the order of retrieval with the scores of all."""
    total, points = sum(map(len, candidates.values())), []
    for bound in (None, *bounds):
        run, scored = {}, 0
        for claim, hits in candidates.items():
            scores = [hit.score for hit in hits]
            count = len(hits) if bound is None else stopping.scored(scores, bound)
            scored += count
            run[claim] = [
                dataclasses.replace(hits[place], rank=rank)
                for rank, place in enumerate(np.argsort(-np.array(scores[:count]), kind="stable"), start=1)
            ]
        points.append(Point(bound, scored / max(1, total), complete_recall(claims.values(), run, (DEPTH,))[DEPTH]))
    return points


def lines_of(points: Sequence[Point]) -> list[str]:
    """A curve as lines of text."""
    every = points[0].recall
    lines = [f"{'chance below':>12} {'scored %':>9} {'recall@5 %':>11} {'lost':>6}"]
    for point in points:
        name = "score all" if point.bound is None else f"{point.bound:g}"
        lines.append(
            f"{name:>12} {100 * point.scored:9.1f} {100 * point.recall:11.2f} {100 * (every - point.recall):6.2f}"
        )
    return lines


def described(stopping: Stopping) -> dict[str, Any]:
    """The field of `model.json`."""
    return {"stopping": dataclasses.asdict(stopping)}
