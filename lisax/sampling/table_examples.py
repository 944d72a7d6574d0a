"""Example records over tables: a claim with the tables that a model reads for it.

Builders are pure: claims, ranked table ids per claim, a way to look up a table and a choice of its columns
give examples. What cannot be built is counted in `skipped` under its reason.

- `closed`: the gold table alone;
- `retrieved`: the first k retrieved tables, as a model meets them in use;
- `training`: the same, with the gold table in the place of the lowest-ranked one where it was not retrieved.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from lisax.records import (
    LABELS,
    Claim,
    DataError,
    Label,
    LisaxError,
    Table,
    get_field,
    read_json_lines,
    write_json_lines,
)
from lisax.sampling.examples import Ranked

Lookup = Callable[[str], "Table | None"]
Columns = Callable[[Table, Claim], Sequence[int]]  # the columns of a table to keep for a claim, in table order

CLOSED, ONE = "tables_closed", "tables_one"
DEPTHS = (1, 3, 5, 10)  # k, the tables read for a claim

NOT_RETRIEVED = "a claim for which no table was retrieved"
NO_GOLD = "a claim without a gold table"
NOT_IN_COLLECTION = "a table that is not in the collection"


@dataclasses.dataclass(frozen=True, slots=True)
class TableView:
    """A table cut to some of its columns; `caption` is the table's, or else its title."""

    id: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def row(self) -> dict:
        return {"id": self.id, "caption": self.caption, "header": self.header, "rows": self.rows}

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None, field: str = "tables") -> TableView:
        """The view of a JSON object; DataError names the field at fault below `field`."""
        where = {"path": path, "line": line}
        if not isinstance(row, dict):
            raise DataError(f"expected an object, found {json.dumps(row)[:80]}", field=field, **where)
        for name, kind in (("id", str), ("caption", str), ("header", list), ("rows", list)):
            if not isinstance(row.get(name), kind):
                raise DataError(
                    f"expected {kind.__name__}, found {json.dumps(row.get(name))[:80]}",
                    field=f"{field}.{name}",
                    **where,
                )
        for i, cells in enumerate((row["header"], *row["rows"])):
            name = f"{field}.rows[{i - 1}]" if i else f"{field}.header"
            if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
                raise DataError(f"expected a list of strings, found {json.dumps(cells)[:80]}", field=name, **where)
            if len(cells) != len(row["header"]):
                raise DataError(
                    f"expected {len(row['header'])} cells as in the header, found {len(cells)}", field=name, **where
                )
        return cls(row["id"], row["caption"], tuple(row["header"]), tuple(map(tuple, row["rows"])))


@dataclasses.dataclass(frozen=True, slots=True)
class TableExample:
    """A claim with its tables, best first; `gold` says of each whether it is a gold table of the claim."""

    claim_id: str
    claim: str
    tables: tuple[TableView, ...] = ()
    label: Label | None = None
    gold: tuple[bool, ...] = ()

    @property
    def unit_ids(self) -> list[str]:
        return [table.id for table in self.tables]

    def row(self) -> dict:
        """The JSON object of the example."""
        return {
            "claim_id": self.claim_id,
            "claim": self.claim,
            "tables": [table.row() for table in self.tables],
            "label": self.label,
            "gold": self.gold,
        }

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> TableExample:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        tables = tuple(
            TableView.from_row(table, field=f"tables[{i}]", **where)
            for i, table in enumerate(get_field(row, "tables", list, **where))
        )
        label = row.get("label")
        if label is not None and label not in list(LABELS):
            raise DataError(
                f"expected null or one of {', '.join(LABELS)}, found {json.dumps(label)}", field="label", **where
            )
        gold = get_field(row, "gold", list, **where)
        if not all(isinstance(value, bool) for value in gold) or len(gold) != len(tables):
            raise DataError(
                f"expected {len(tables)} times true or false, one a table, found {json.dumps(gold)[:80]}",
                field="gold",
                **where,
            )
        return cls(
            get_field(row, "claim_id", str, **where),
            get_field(row, "claim", str, **where),
            tables,
            None if label is None else Label(label),
            tuple(gold),
        )


def write(path: str | os.PathLike, examples: Iterable[TableExample]) -> int:
    """Writes examples as JSON Lines, atomically; returns their number."""
    return write_json_lines(path, (example.row() for example in examples))


def read(path: str | os.PathLike) -> Iterator[TableExample]:
    return (TableExample.from_row(row, path=path, line=line) for line, row in read_json_lines(path))


def view(table: Table, columns: Sequence[int]) -> TableView:
    """The table cut to `columns`, in their order."""
    return TableView(
        table.id,
        table.caption or table.title,
        tuple(table.header[j] for j in columns),
        tuple(tuple(row[j] for j in columns) for row in table.rows),
    )


# --- Builders -------------------------------------------------------------------------------


def closed(
    claims: Iterable[Claim], lookup: Lookup, columns: Columns, *, skipped: Counter | None = None
) -> Iterator[TableExample]:
    """Each claim with its gold table, the first where it has several; claims without one give no example."""
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
    """Every claim with its first `k` retrieved tables, fewer where fewer were retrieved, down to none."""
    _check_depth(k)
    skipped = Counter() if skipped is None else skipped
    for claim in claims:
        tables = _first(run.get(claim.id, ()), lookup, k, skipped)
        if not tables:
            skipped[NOT_RETRIEVED] += 1
        yield _example(claim, tables, columns)


def training(
    claims: Iterable[Claim], run: Ranked, lookup: Lookup, columns: Columns, k: int, *, skipped: Counter | None = None
) -> Iterator[TableExample]:
    """`retrieved` with a gold table in every example: where none was retrieved it takes the last of the k places.

    Claims without a label give no example, nor do those that are true or false by no table of the collection. A
    claim without enough information trains on its own table where it has one (InfoTabs), or else on what was
    retrieved for it.
    """
    _check_depth(k)
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


def file_name(k: int | None) -> str:
    """The stem of the example file of `k` retrieved tables, which its task is named after; None: the closed domain."""
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
    depths: Sequence[int] = DEPTHS,
    skipped: Counter | None = None,
) -> dict[str, int]:
    """Writes `{file_name(k)}.{split}.jsonl` for the closed domain and each depth; returns their numbers of examples.

    Labelled claims only. `in_training` puts the gold table among the retrieved ones.
    """
    known: dict[tuple[str, str], Sequence[int]] = {}  # the tables of a claim stand in most of the files

    def chosen(table: Table, claim: Claim) -> Sequence[int]:
        if (table.id, claim.id) not in known:
            known[table.id, claim.id] = columns(table, claim)
        return known[table.id, claim.id]

    labelled = [claim for claim in claims if claim.label is not None]
    build = training if in_training else retrieved
    # What is missing is counted once, not once a file: the greatest depth meets all of it, but for the claims
    # without a gold table, which only training and the closed domain miss.
    made = {None: closed(labelled, lookup, chosen, skipped=None if in_training else skipped)}
    made |= {k: build(labelled, run, lookup, chosen, k, skipped=skipped if k == max(depths) else None) for k in depths}
    return {
        file_name(k): write(Path(folder) / f"{file_name(k)}.{split}.jsonl", examples) for k, examples in made.items()
    }


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
    """The first gold table that is in the collection."""
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


def _check_depth(k: int) -> None:
    if k < 1:
        raise LisaxError(f"a claim is read with at least one table, found k = {k}")
