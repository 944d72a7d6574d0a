"""TREC files: a run has six columns (`query Q0 id rank score tag`), qrels have four (`query 0 id relevance`).

Runs and judgements of other tools are read too: ranks from 0, rank 0 for all hits (BEIR), a JSON object of scores
(`{query: {id: score}}`), and judgements in three columns under a heading (`query-id corpus-id score`).

trec_eval reads scores as float32, ignores ranks and puts the later id first where scores are equal. So that other tools
see the intended order, written runs have no equal scores.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.files.reading import parse_json_object, read_lines
from lisax.files.writing import atomic_write
from lisax.records import Hit, check_id

SMALLEST = np.finfo(np.float32).tiny
BEIR_HEADING = ["query-id", "corpus-id", "score"]
LARGEST = 1e38  # larger scores are clipped; float32 has numbers above it


def read_run(path: str | os.PathLike) -> dict[str, list[Hit]]:
    """Query id -> its hits, sorted by rank; queries in the file's order. An empty file is a search without hits.

    Hits of a query that all have rank 0 are ranked by score; other ranks from 0 count from 1. Raises an error for a
    duplicate id or rank of a query, a rank below 0, and a score that is not a number.
    """
    run: dict[str, dict[str, Hit]] = {}
    ranks: set[tuple[str, int]] = set()
    again: dict[str, DataError] = {}  # query -> its first duplicate rank
    found_nothing = Path(path).is_file() and not Path(path).stat().st_size
    for line, text in () if found_nothing else read_lines(path):
        if line == 1 and text.startswith("{"):
            return _read_scores(path)
        columns = text.split()
        if len(columns) != 6:
            raise DataError(
                f"expected six columns (query Q0 id rank score tag), found {len(columns)}", path=path, line=line
            )
        query, _, unit, rank_text, score_text, _ = columns
        rank = _integer(rank_text, path, line, "rank")
        try:
            score = float(score_text)
        except ValueError:
            score = math.nan
        if math.isnan(score):
            raise DataError(f"expected a number, found {score_text!r}", path=path, line=line, field="score")
        if rank < 0:
            raise DataError(f"ranks count from 0 or 1, found {rank}", path=path, line=line, field="rank")
        hits = run.setdefault(query, {})
        if unit in hits:
            raise DataError(f"'{unit}' occurs twice for query '{query}'", path=path, line=line, field="id")
        if (query, rank) in ranks and query not in again:
            again[query] = DataError(
                f"rank {rank} occurs twice for query '{query}'", path=path, line=line, field="rank"
            )
        ranks.add((query, rank))
        hits[unit] = Hit(query, unit, rank, score)
    return {query: _ranked(list(hits.values()), again.get(query)) for query, hits in run.items()}


def _ranked(hits: list[Hit], again: DataError | None) -> list[Hit]:
    """A query's hits by rank, from 1. `again`: the error of a duplicate rank, if one occurs."""
    if again is not None:
        if any(hit.rank for hit in hits):
            raise again
        return by_score(hits)
    hits.sort(key=lambda hit: hit.rank)
    return hits if hits[0].rank else [dataclasses.replace(hit, rank=hit.rank + 1) for hit in hits]


def by_score(hits: Iterable[Hit]) -> list[Hit]:
    """A query's hits ranked by score; equal ones keep their order."""
    order = sorted(hits, key=lambda hit: -hit.score)
    return [dataclasses.replace(hit, rank=rank) for rank, hit in enumerate(order, start=1)]


def _read_scores(path: str | os.PathLike) -> dict[str, list[Hit]]:
    """The run of a JSON object `{query: {id: score}}`, as BEIR's retrieval returns it."""
    run = {}
    for query, scores in parse_json_object("\n".join(text for _, text in read_lines(path)), path=path).items():
        if not isinstance(scores, dict):
            raise DataError(f"expected an object of ids with scores, found {scores!r:.80}", path=path, field=query)
        hits = []
        for unit, score in scores.items():
            if isinstance(score, bool) or not isinstance(score, (int, float)) or math.isnan(score):
                raise DataError(f"expected a number, found {score!r:.80}", path=path, field=f"{query}.{unit}")
            hits.append(Hit(query, unit, 1, float(score)))
        run[query] = by_score(hits)
    return run


def ranked(query: str, found: Iterable[tuple[str, float]]) -> Iterator[Hit]:
    """The (id, score) pairs that a search found for a query, best first, as hits."""
    return (Hit(query, unit, rank, score) for rank, (unit, score) in enumerate(found, start=1))


def by_query(hits: Iterable[Hit]) -> dict[str, list[Hit]]:
    """Groups hits, which must come query by query, as `read_run` would return them."""
    run: dict[str, list[Hit]] = {}
    for hit in hits:
        run.setdefault(hit.query_id, []).append(hit)
    return run


def write_run(path: str | os.PathLike, hits: Iterable[Hit], tag: str) -> int:
    """Writes hits, which must come query by query, in their order and atomically. Returns their number.

    Scores keep every digit, except scores that `strictly_falling` must raise.
    """
    check_id(tag, path=path, field="tag")
    count = 0
    with atomic_write(path) as file:
        for _, of_query in itertools.groupby(hits, key=lambda hit: hit.query_id):
            for hit in strictly_falling(list(of_query)):
                count += 1
                check_id(hit.query_id, path=path, line=count, field="query")
                check_id(hit.id, path=path, line=count, field="id")
                file.write(run_line(hit, tag))
    return count


def strictly_falling(hits: Sequence[Hit]) -> list[Hit]:
    """A query's hits with scores that are distinct in float32; sorted by score, then rank, they keep their order.

    Of equal scores the last is kept and those before it are raised by the smallest float32 steps. So a saturated
    probability stays one: 1 becomes 1.0000001, and log-odds that are clipped there do not change.
    """
    made = [hit if abs(hit.score) <= LARGEST else _cut_off(hit) for hit in hits]
    order = sorted(range(len(hits)), key=lambda i: (-hits[i].score, hits[i].rank))
    scores = np.array([made[i].score for i in order], np.float32)
    if (scores[1:] < scores[:-1]).all():
        return made
    below = np.float32(-np.inf)
    for i, score in zip(reversed(order), scores[::-1]):
        if not score > below:
            score = _next(below)
            made[i] = dataclasses.replace(hits[i], score=float(score))
        below = score
    return made


def _next(score: np.float32) -> np.float32:
    above = np.nextafter(score, np.float32(np.inf))
    if abs(above) < SMALLEST:  # no denormal numbers, which some readers treat as 0
        return SMALLEST if score >= 0 else np.float32(0)
    return above


def as_found(hits: Sequence[Hit]) -> list[Hit]:
    """A query's hits, best first, with the equal scores that `strictly_falling` raised equal again. Scores that a
    float32 step separates count as equal."""
    made, below, saved = list(hits), -math.inf, np.float32(-np.inf)
    for i in reversed(range(len(hits))):
        score = np.float32(hits[i].score)
        if score > _next(saved):
            below = hits[i].score
        else:
            made[i] = dataclasses.replace(hits[i], score=below)
        saved = score
    return made


def _cut_off(hit: Hit) -> Hit:
    if math.isnan(hit.score):
        raise LisaxError(
            f"the score of {hit.id!r} for query {hit.query_id!r} is not a number, so that it has no place in "
            f"the run; check the weights of the model that gave it"
        )
    return dataclasses.replace(hit, score=math.copysign(LARGEST, hit.score))


def run_line(hit: Hit, tag: str) -> str:
    """A line of a run file, with its line break."""
    return f"{hit.query_id} Q0 {hit.id} {hit.rank} {float(hit.score)!r} {tag}\n"


def read_qrels(path: str | os.PathLike) -> dict[str, dict[str, int]]:
    """Query id -> {id: relevance}. Raises an error for a duplicate pair."""
    qrels: dict[str, dict[str, int]] = {}
    of_beir = False
    for line, text in read_lines(path):
        columns = text.split()
        if line == 1 and columns == BEIR_HEADING:
            of_beir = True
            continue
        if of_beir and len(columns) == 3:
            columns.insert(1, "0")
        if len(columns) != 4:
            raise DataError(
                f"expected four columns (query 0 id relevance), or BEIR's three under their heading "
                f"({' '.join(BEIR_HEADING)}), found {len(columns)}",
                path=path,
                line=line,
            )
        query, _, unit, relevance = columns
        judged = qrels.setdefault(query, {})
        if unit in judged:
            raise DataError(f"'{unit}' occurs twice for query '{query}'", path=path, line=line, field="id")
        judged[unit] = _integer(relevance, path, line, "relevance")
    return qrels


def write_qrels(path: str | os.PathLike, qrels: Mapping[str, Mapping[str, int]]) -> int:
    """Writes judgements, atomically. Returns their number."""
    count = 0
    with atomic_write(path) as file:
        for query, judged in qrels.items():
            for unit, relevance in judged.items():
                count += 1
                check_id(query, path=path, line=count, field="query")
                check_id(unit, path=path, line=count, field="id")
                file.write(f"{query} 0 {unit} {int(relevance)}\n")
    return count


def _integer(text: str, path: str | os.PathLike, line: int, field: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"expected an integer, found {text!r}", path=path, line=line, field=field) from None
