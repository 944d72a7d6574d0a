"""Example records over tables: a claim with the tables that a model reads for it.

Builders are pure functions of claims, ranked table ids per claim, a table lookup and a choice of columns. Claims that
give no example are counted in `skipped` under the reason.

- `closed`: only the gold table;
- `retrieved`: the first k retrieved tables, as in use;
- `training`: the same, where a gold table that was not retrieved replaces the lowest-ranked one;
- `unrelated`: one retrieved table that is not a gold one, which is not enough to decide.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from lisax.formats.examples import write_examples
from lisax.formats.tables import TableExample, view
from lisax.records import Claim, Label, Table
from lisax.sampling.examples import Ranked
from lisax.sampling.written import draw_tables

Lookup = Callable[[str], "Table | None"]
Columns = Callable[[Table, Claim], Sequence[int]]  # the columns of a table to keep for a claim, in table order

CLOSED, ONE = "tables_closed", "tables_one"
CLOSED_AND_WRONG = "tables_closed_and_wrong"
DEPTHS = (1, 3, 5, 10)  # k, the tables read per claim

NOT_RETRIEVED = "a claim for which no table was retrieved"
NO_GOLD = "a claim without a gold table"
NOT_IN_COLLECTION = "a table that is not in the collection"


# --- Builders -------------------------------------------------------------------------------


def closed(
    claims: Iterable[Claim], lookup: Lookup, columns: Columns, *, skipped: Counter | None = None
) -> Iterator[TableExample]:
    """Each claim with its gold table, the first if it has several; claims without one give no example."""
    skipped = Counter() if skipped is None else skipped
    for claim in claims:
        gold = _gold(claim, lookup, skipped)
        if gold is None:
            skipped[NO_GOLD] += 1
        else:
            yield _example(claim, [gold], columns)


def retrieved(
    claims: Iterable[Claim], run: Ranked, lookup: Lookup, columns: Columns, k: int, *, skipped: Counter | None = None
) -> Iterator[TableExample]:
    """Every claim with its first `k` retrieved tables, or fewer if fewer were retrieved, possibly none."""
    skipped = Counter() if skipped is None else skipped
    for claim in claims:
        tables = _first(run.get(claim.id, ()), lookup, k, skipped)
        if not tables:
            skipped[NOT_RETRIEVED] += 1
        yield _example(claim, tables, columns)


def training(
    claims: Iterable[Claim], run: Ranked, lookup: Lookup, columns: Columns, k: int, *, skipped: Counter | None = None
) -> Iterator[TableExample]:
    """`retrieved` with a gold table in every example: if none was retrieved, it takes the last of the k places.

    Claims without a label give no example, nor do true or false claims whose table is not in the collection. A NOT
    ENOUGH INFO claim is trained on its own table if it has one (InfoTabs), otherwise on its retrieved tables."""
    skipped = Counter() if skipped is None else skipped
    for claim in claims:
        if claim.label is None:
            continue
        tables = _first(run.get(claim.id, ()), lookup, k, skipped)
        if not any(table.id in claim.gold_ids for table in tables):
            gold = _gold(claim, lookup, skipped)
            if gold is not None:
                tables = [*tables[: k - 1], gold]
            elif claim.label is not Label.NOT_ENOUGH_INFO:
                skipped[NO_GOLD] += 1
                continue
        if tables:
            yield _example(claim, tables, columns)
        else:
            skipped[NOT_RETRIEVED] += 1


def unrelated(
    claims: Iterable[Claim], run: Ranked, lookup: Lookup, columns: Columns, share: float, seed: int = 0
) -> Iterator[TableExample]:
    """A `share` of the true and false claims, each with a retrieved table that is not its own, as NOT ENOUGH INFO. The
    draws depend only on the seed and the claim."""
    for claim in claims:
        rng = random.Random(f"lisax.unrelated:{seed}:{claim.id}")
        others = [unit for unit in run.get(claim.id, ()) if unit not in claim.gold_ids]
        if claim.label in (None, Label.NOT_ENOUGH_INFO) or not others or rng.random() >= share:
            continue
        table = lookup(rng.choice(others))
        if table is not None:
            yield dataclasses.replace(_example(claim, [table], columns), label=Label.NOT_ENOUGH_INFO)


def file_name(k: int | None) -> str:
    """The stem of the example file of `k` retrieved tables, which also names its task; None: the closed domain."""
    return CLOSED if k is None else ONE if k == 1 else f"tables_top{k}"


def write_all(
    folder: str | os.PathLike,
    split: str,
    claims: Sequence[Claim],
    run: Ranked,
    lookup: Lookup,
    columns: Columns,
    *,
    in_training: bool,
    wrong: float | None = None,
    seed: int = 0,
    depths: Sequence[int] = DEPTHS,
    written: int = 0,
    skipped: Counter | None = None,
) -> dict[str, int]:
    """Writes `{file_name(k)}.{split}.jsonl` for the closed domain and each depth. Returns the numbers of examples.

    Only labelled claims are written. `in_training` puts the gold table among the retrieved ones. With a share `wrong`,
    `{CLOSED_AND_WRONG}.{split}.jsonl` has the closed domain and, with this seed, `unrelated` tables, and in training
    among them `written` examples (`sampling.written`)."""
    known: dict[tuple[str, str], Sequence[int]] = {}  # most files contain the same tables for a claim

    def chosen(table: Table, claim: Claim) -> Sequence[int]:
        if (table.id, claim.id) not in known:
            known[table.id, claim.id] = columns(table, claim)
        return known[table.id, claim.id]

    labelled = [claim for claim in claims if claim.label is not None]
    build = training if in_training else retrieved
    # Skipped claims are counted once, not per file: the greatest depth covers all of them, except claims without a gold
    # table, which only training and the closed domain skip.
    made = {CLOSED: closed(labelled, lookup, chosen, skipped=None if in_training else skipped)}
    if wrong is not None:
        others = unrelated(labelled, run, lookup, chosen, wrong, seed)
        both = itertools.chain(closed(labelled, lookup, chosen), others)
        if in_training and written:
            both = [*both, *draw_tables(written, seed)]
            random.Random(f"lisax.written:{seed}").shuffle(both)
        made[CLOSED_AND_WRONG] = both
    for k in depths:
        counted = skipped if k == max(depths) else None
        made[file_name(k)] = build(labelled, run, lookup, chosen, k, skipped=counted)
    return {name: write_examples(Path(folder) / f"{name}.{split}.jsonl", some) for name, some in made.items()}


def _example(claim: Claim, tables: Sequence[Table], columns: Columns) -> TableExample:
    gold = set(claim.gold_ids)
    return TableExample(
        claim.id,
        claim.text,
        tuple(view(table, columns(table, claim)) for table in tables),
        claim.label,
        tuple(table.id in gold for table in tables),
    )


def _gold(claim: Claim, lookup: Lookup, skipped: Counter) -> Table | None:
    """The first gold table that is in the collection, or None."""
    return next(iter(_first(claim.gold_ids, lookup, 1, skipped)), None)


def _first(units: Iterable[str], lookup: Lookup, k: int, skipped: Counter) -> list[Table]:
    """The first `k` of the tables that are in the collection."""

    def found() -> Iterator[Table]:
        for unit in units:
            table = lookup(unit)
            if table is None:
                skipped[NOT_IN_COLLECTION] += 1
            else:
                yield table

    return list(itertools.islice(found(), k))
