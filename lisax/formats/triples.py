"""A unit of structure as pairs (UDT-QA, section 3.1): a row of a table or a sub-graph around one subject.

The title stands for [title] in the verbalizer's input: the table's title, or the subject. Empty values are left out.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from lisax.errors import DataError
from lisax.files.reading import get_field
from lisax.formats.budget import squeeze
from lisax.records import Graph, Table

EMPTY = "empty"
_MISSING = frozenset({"-", "–", "—", "−", "--", "n/a", "n.a."})  # cells that mark a missing value


@dataclasses.dataclass(frozen=True, slots=True)
class Triples:
    """`pairs` are (name, value) in reading order: header and cell, or relation and object."""

    id: str
    title: str
    pairs: tuple[tuple[str, str], ...]

    def to_row(self) -> dict:
        """The record that `from_row` reads."""
        return {"id": self.id, "title": self.title, "pairs": [list(pair) for pair in self.pairs]}

    @property
    def digest(self) -> str:
        """A digest of title and pairs, in 16 characters."""
        said = json.dumps([self.title, self.pairs], ensure_ascii=False)
        return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:16]

    @staticmethod
    def from_row(row: dict, *, path=None, line=None) -> Triples:
        def get(field: str, kind: type):
            return get_field(row, field, kind, path=path, line=line)

        pairs = get("pairs", list)
        for i, pair in enumerate(pairs):
            if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
                raise DataError(
                    f"expected [name, value], found {pair!r:.80}", path=path, line=line, field=f"pairs[{i}]"
                )
        return Triples(get("id", str), get("title", str), tuple((name, value) for name, value in pairs))


def row_triples(table: Table, number: int) -> Triples:
    """Row `number` (from 0) of a table; its id is `{table}#r{number}`."""
    pairs = zip(table.header, table.rows[number], strict=True)
    return Triples(f"{table.id}#r{number}", squeeze(table.title or table.caption), _filled(pairs))


def table_triples(table: Table) -> Iterator[Triples]:
    """The rows of a table that hold anything."""
    for number in range(len(table.rows)):
        if (row := row_triples(table, number)).pairs:
            yield row


def graph_triples(graph: Graph) -> Triples:
    """A sub-graph; its id is the graph's."""
    return Triples(graph.id, squeeze(graph.subject), _filled(graph.edges))


def _filled(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    squeezed = ((squeeze(name), squeeze(value)) for name, value in pairs)
    return tuple((name, value) for name, value in squeezed if value)


def is_missing(cell: str) -> bool:
    """Whether a cell without spaces around it has no value: it is empty or has a mark of that."""
    return not cell or cell.lower() in _MISSING


def raw_text(triples: Triples) -> str:
    """The raw form of one unit, without its title, which a passage keeps: `name, value | name, value`."""
    return " | ".join(", ".join(filter(None, pair)) for pair in triples.pairs)


def raw_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The paper's raw form of several rows of one table: the header, then the rows, cells joined with `,` and rows
    with `|`; a cell without text is written `empty`."""
    return " | ".join(", ".join(squeeze(cell) or EMPTY for cell in row) for row in (header, *rows))
