"""Writes a world as a folder in the plain layout, one neighbourhood at a time."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import os
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lisax.errors import LisaxError
from lisax.files.writing import atomic_write, write_json
from lisax.records import Claim, Document, Operation
from lisax.world.claims import SHARES, ClaimWriter
from lisax.world.facts import SIZE, Geography, Neighbourhood
from lisax.world.pages import WorldPage, write_pages
from lisax.world.questions import questions_of
from lisax.world.table_aggregations import TableAggregationWriter
from lisax.world.table_claims import SHARES as TABLE_SHARES
from lisax.world.table_claims import TableClaimWriter
from lisax.world.table_questions import QUESTIONS_PER_TABLE, TableQuestionWriter
from lisax.world.tables import graph_row, tables_of

VERSION = 3
SPLITS = ("train", "dev", "test")


def neighbourhoods(
    pages: int, seed: int = 0, numbers: Iterable[int] | None = None
) -> Iterator[tuple[Geography, Neighbourhood, list[WorldPage]]]:
    """Each neighbourhood, or those of `numbers`, with its pages; the last one of all is cut so that the world has
    exactly `pages` pages."""
    geography = Geography(pages, seed)
    for number in range(geography.neighbourhoods) if numbers is None else numbers:
        place = geography.neighbourhood(number)
        written = write_pages(geography, place, geography.rng(number, "pages"))
        geography.rng(number, "order").shuffle(written)
        yield geography, place, written[: pages - number * SIZE]


def iterate_documents(pages: int, seed: int = 0) -> Iterator[Document]:
    """The pages of a world as documents, streaming; the same as in `pages.jsonl` of `write`."""
    for _, _, written in neighbourhoods(pages, seed):
        for page in written:
            yield page.document()


def split_of(index: int, seed: int) -> str:
    """The split of a page: of every ten pages, one at a drawn place is for dev and one for test."""
    tens, place = divmod(index, 10)
    dev, test = random.Random(f"lisax.world:{seed}:split:{tens}").sample(range(10), 2)
    return "dev" if place == dev else "test" if place == test else "train"


def write(
    folder: str | os.PathLike,
    pages: int,
    seed: int = 0,
    claims_per_page: int = 3,
    shares: Mapping[str, float] = SHARES,
    table_shares: Mapping[str, float] = TABLE_SHARES,
    questions_per_page: int = 1,
    questions_per_table: int = QUESTIONS_PER_TABLE,
    aggregations_per_table: int = 0,
    mixed_evidence: bool = False,
) -> dict:
    """Writes the world to `folder`, and returns the content of `world.json`: seed, version, counts.

    `shares` weighs the kinds of claims that are tried (`one_hop`, `two_hop`, `joint`, `compare`; default
    `claims.SHARES`, see `claims`). `table_shares` weighs those of claims over tables (`lookup`, `superlative`, `count`,
    `compare`, `conjunction`; see `table_claims`). Questions are those of `questions`, at most `questions_per_page`
    about one fact, and of `table_questions`. With `aggregations_per_table` there are also that many of
    `table_aggregations` per table, and every question has its operation; other questions and their ids stay the same.
    With `mixed_evidence` claims also have sets with edges and rows that state a sentence's fact, or that decide a
    table's claim (except for superlatives and counts, which need the whole table).

    Files: `pages`, `tables`, `graphs`, `claims.{train,dev,test}`, `questions.{train,dev,test}` and
    `table_claims.{train,dev,test}`, all `.jsonl`, each replaced only when all of them are complete; empty ones are not
    written. Memory does not grow with `pages`.
    """
    if pages < 1:
        raise LisaxError(f"a world needs at least one page, found pages={pages}")
    sizes = {
        "claims_per_page": claims_per_page,
        "questions_per_page": questions_per_page,
        "questions_per_table": questions_per_table,
        "aggregations_per_table": aggregations_per_table,
    }
    for name, size in sizes.items():
        if size < 0:
            raise LisaxError(f"{name} must not be negative, found {size}")
    _check_shares("shares", shares, SHARES)
    _check_shares("table_shares", table_shares, TABLE_SHARES)
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise LisaxError(f"{folder} is a file: a world is written to a folder")
    by_split = (f"{what}.{split}" for what in ("claims", "questions", "table_claims") for split in SPLITS)
    names = ["pages", "tables", "graphs", *by_split]
    counts = dict.fromkeys(names, 0)
    labels: dict[str, dict[str, int]] = {split: {} for split in SPLITS}
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context(atomic_write(folder / f"{name}.jsonl")) for name in names}

        def put(name: str, row: dict) -> None:
            files[name].write(json.dumps(row, ensure_ascii=False) + "\n")
            counts[name] += 1

        for geography, place, written in neighbourhoods(pages, seed):
            rng = functools.partial(geography.rng, place.number)
            tables = tables_of(place, written, rng("tables"))
            claims = ClaimWriter(geography, place, written, rng("claims"), shares, tables if mixed_evidence else None)
            for table in tables:
                put("tables", table.row())
            question_rng, evidence = rng("questions"), claims.evidence
            table_claims = TableClaimWriter(
                geography, place, tables, rng("table claims"), table_shares, evidence if mixed_evidence else None
            )
            table_questions = TableQuestionWriter(place, tables, evidence, rng("table questions"))
            aggregations = TableAggregationWriter(place, rng("table aggregations"))
            for i, page in enumerate(written):
                index = place.number * SIZE + i
                split = split_of(index, seed)
                put("pages", page_row(page))
                put("graphs", graph_row(place, page))
                for n, stated in enumerate(claims.claims(page.entity, claims_per_page)):
                    put(f"claims.{split}", plain_row(stated.claim, f"w{index}c{n}"))
                    label = str(stated.claim.label)
                    labels[split][label] = labels[split].get(label, 0) + 1
                own = [table for table in tables if table.owner is page.entity]
                asked = itertools.chain(
                    questions_of(place, page, evidence, tables, question_rng, questions_per_page),
                    *(table_questions.questions(table, questions_per_table) for table in own),
                    *(aggregations.questions(table, aggregations_per_table) for table in own),
                )
                for n, row in enumerate(asked):
                    operation = row.pop("operation", Operation.NONE)  # `table_questions` has one for an extreme number
                    said = {"operation": operation} if aggregations_per_table else {}
                    put(f"questions.{split}", {"id": f"w{index}q{n}", **row, **said})
                for n, claim in enumerate(itertools.chain(*map(table_claims.claims, own))):
                    put(f"table_claims.{split}", plain_row(claim, f"w{index}t{n}"))
    for name in names:
        if not counts[name]:  # in a world of a few pages; readers refuse empty files
            (folder / f"{name}.jsonl").unlink()
    summary = {
        "name": "world",
        "version": VERSION,
        "seed": seed,
        **sizes,
        "shares": dict(shares),
        "table_shares": dict(table_shares),
        "mixed_evidence": mixed_evidence,
        "counts": counts,
        "labels": labels,
    }
    write_json(folder / "world.json", summary)
    return summary


def _check_shares(name: str, shares: Mapping[str, float], known: Mapping[str, float]) -> None:
    if unknown := sorted(set(shares) - set(known)):
        raise LisaxError(f"{name} may name {', '.join(known)}, found {', '.join(unknown)}")
    if not (sum(shares.values()) > 0 and all(0 <= share < math.inf for share in shares.values())):
        raise LisaxError(f"{name} must be numbers of at least 0, one of them more, found {dict(shares)}")


def page_row(page: WorldPage) -> dict:
    return {
        "id": page.entity.page,
        "title": page.entity.title,
        "sentences": [text for text, _ in page.sentences],
        "redirects": list(page.entity.redirects),
    }


def plain_row(claim: Claim, id: str) -> dict:
    return {
        "id": id,
        "claim": claim.text,
        "label": str(claim.label),
        "evidence": [list(s) for s in claim.evidence_sets],
        "kind": claim.kind,
        **({"mixed_evidence": [list(s) for s in claim.mixed_sets]} if claim.mixed_sets else {}),
    }
