"""Text, tables and graphs as passages of about 100 words (UDT-QA, section 4.2), each with the ids of its units.

A unit is a sentence, a row of a table, or an edge of a graph; edges that share one verbalized text stay together. Units
stay whole and in order. A passage holds the units of one page, table or sub-graph that fit; a unit that is longer than
a passage is split.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from lisax.errors import DataError
from lisax.faithful.facts import Facts
from lisax.formats.budget import squeeze
from lisax.formats.triples import Triples, graph_triples, raw_table, raw_text, row_triples, table_triples
from lisax.records import Document, Graph, Table, edge_id
from lisax.retrieval.record_store import Kind

WORDS = 100
BETWEEN = " | "  # between raw rows or edges


class Source(enum.StrEnum):
    """The source of a passage, in the order in which an index holds them."""

    TEXT = "text"
    TABLE = "table"
    GRAPH = "graph"


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """A passage with its id `{source}:{id of the page, table or graph}:{number}`.

    `provenance`: ids of the units in its text. The i-th begins at character `starts[i]`; units that share a text have
    the same start. Text before the first start belongs to no unit: the header of a raw table.
    """

    id: str
    title: str
    text: str
    provenance: tuple[str, ...]
    starts: tuple[int, ...]

    @property
    def source(self) -> Source:
        return source_of(self.id)

    def units_at(self, place: int) -> tuple[str, ...]:
        """The units, usually one, that contain character `place` of the text; for a header the first unit."""
        start = self.starts[max(0, bisect_right(self.starts, place) - 1)]
        return self.provenance[bisect_left(self.starts, start) : bisect_right(self.starts, start)]

    def unit_at(self, place: int) -> str:
        return self.units_at(place)[0]

    @property
    def leading(self) -> tuple[str, ...]:
        """The first unit of each text in the passage."""
        return tuple(
            unit for unit, start, before in zip(self.provenance, self.starts, (None, *self.starts)) if start != before
        )

    def unit_text(self, unit: str) -> str:
        """A unit's text in the passage, without the header that all its units share."""
        start = self.starts[self.provenance.index(unit)]
        end = next((other for other in self.starts if other > start), len(self.text))
        text = self.text[: self.starts[0]] + self.text[start:end]
        return text.removesuffix(BETWEEN).strip()


def source_of(passage_id: str) -> Source:
    return Source(passage_id.partition(":")[0])


# --- On disk: one component of an index per source -----------------------------------------


def component(source: Source) -> str:
    return f"passages-{source}"


def has_passages(components: Iterable[str]) -> bool:
    """Whether an index with these components is an index of passages."""
    return not {component(source) for source in Source}.isdisjoint(components)


def kind_of(source: Source) -> Kind[Passage]:
    return Kind(component(source), "passage", _encode, _decode)


def _encode(passage: Passage) -> str:
    return json.dumps([passage.title, passage.text, passage.provenance, passage.starts], ensure_ascii=False)


def _decode(passage_id: str, text: str) -> Passage:
    title, text, provenance, starts = json.loads(text)
    return Passage(passage_id, title, text, tuple(provenance), tuple(starts))


# --- Made of pages, tables and graphs ------------------------------------------------------


def of_document(page: Document) -> Iterator[Passage]:
    """Packs sentences; those below other headings are other passages, with the headings in their titles."""
    numbers = itertools.count()
    for title, sentences in itertools.groupby(page.sentences, key=page.source):
        units = [((sentence.id,), squeeze(sentence.text)) for sentence in sentences]
        yield from _packed(Source.TEXT, page.id, title, units, " ", numbers=numbers)


def of_table(table: Table) -> Iterator[Passage]:
    """Packs raw rows; each passage begins with the header.

    A header that would fill more than half of every passage is left out; instead each cell is preceded by its column's
    name."""
    units = {number: unit for number in range(len(table.rows)) if (unit := row_triples(table, number)).pairs}
    header = raw_table(table.header, ())
    if wide := _words(header) > WORDS // 2:
        header = ""
    rows = [
        ((unit.id,), raw_text(unit) if wide else raw_table(table.rows[number], ())) for number, unit in units.items()
    ]
    return _packed(Source.TABLE, table.id, table_title(table), rows, BETWEEN, f"{header}{BETWEEN}" if header else "")


def of_graph(graph: Graph) -> Iterator[Passage]:
    """Packs raw edges."""
    units = []
    for i, edge in enumerate(graph.edges):
        units.append(((edge_id(graph.id, i),), raw_text(graph_triples(dataclasses.replace(graph, edges=(edge,))))))
    return _packed(Source.GRAPH, graph.id, squeeze(graph.subject), units, BETWEEN)


Parts = Sequence[tuple[int, str]]  # of a verbalized text: the index of the first pair, and the text from it on


def of_verbalized_table(table: Table, texts: Callable[[Triples], Parts]) -> Iterator[Passage]:
    """Packs verbalized rows; `texts` returns the text of a row."""
    units = [((unit.id,), squeeze(" ".join(text for _, text in texts(unit)))) for unit in table_triples(table)]
    return _packed(Source.TABLE, table.id, table_title(table), units, " ")


def of_verbalized_graph(graph: Graph, texts: Callable[[Triples], Parts]) -> Iterator[Passage]:
    """Packs the parts of a verbalized sub-graph; each represents its edges."""
    edges = [edge_id(graph.id, i) for i, (_, value) in enumerate(graph.edges) if squeeze(value)]
    if not edges:
        return iter(())
    parts = texts(graph_triples(graph))
    if parts[-1][0] >= len(edges):
        raise DataError(
            f"the text of '{graph.id}' has more than its {len(edges)} edges; write the file with "
            "`lisax verbalize` from this corpus"
        )
    ends = [*(first for first, _ in parts[1:]), len(edges)]
    told = [(tuple(edges[first:end]), squeeze(text)) for (first, text), end in zip(parts, ends)]
    return _packed(Source.GRAPH, graph.id, squeeze(graph.subject), told, " ")


def texts_in_order(rows: Iterable[tuple[int, dict]], path: object) -> Callable[[Triples], Parts]:
    """A lookup of verbalized texts by id that reads the file of `lisax verbalize` once, in step with the requests.

    Units must be requested in the order of the file, which is that of the corpus; units that are not requested are
    skipped. Raises an error for a unit that is not found, and for a text that was written for other data: detected by
    its digest or, in lines without one, by a number or date that the text lacks."""
    rows = iter(rows)

    def parts_of(unit: Triples) -> Parts:
        for line, row in rows:
            if row.get("id") == unit.id:
                if not isinstance(row.get("text"), str):
                    raise DataError("expected the text of the unit", path=path, line=line, field="text")
                if row["digest"] != unit.digest if row.get("digest") else Facts(unit).numbers_lost(row["text"]):
                    raise DataError(
                        f"'{unit.id}' is not the source of this text; write the file again with "
                        "`lisax verbalize` from this corpus",
                        path=path,
                        line=line,
                    )
                return _parts(row, path, line)
        raise DataError(
            f"there is no text for '{unit.id}', or not in the corpus's order; write the file with "
            "`lisax verbalize` from this corpus",
            path=path,
        )

    return parts_of


def _parts(row: dict, path: object, line: int) -> Parts:
    """The parts listed in the row, in order; the whole text if none are listed."""
    parts = row.get("parts") or [[0, row["text"]]]
    if (
        not all(isinstance(part, list) and [type(one) for one in part] == [int, str] for part in parts)
        or [first for first, _ in parts] != sorted({first for first, _ in parts})
        or parts[0][0] != 0
    ):
        raise DataError(
            "expected [[number of the first pair, text], …], the first number 0 and the others rising",
            path=path,
            line=line,
            field="parts",
        )
    return parts


def table_title(table: Table) -> str:
    """A table's title for readers of its rows: the page's title, and the caption if it adds something."""
    title, caption = squeeze(table.title), squeeze(table.caption)
    return " . ".join(dict.fromkeys(filter(None, (title, caption))))


# --- Packing -------------------------------------------------------------------------------


def _packed(
    source: Source,
    owner: str,
    title: str,
    texts: Sequence[tuple[tuple[str, ...], str]],
    between: str,
    before: str = "",
    numbers: Iterator[int] | None = None,
) -> Iterator[Passage]:
    """Packs `texts`, each with its units, into passages, with the next `numbers`."""
    texts = [text for text in texts if text[1]]
    room = max(1, WORDS - _words(before))
    numbers = itertools.count() if numbers is None else numbers
    for group in _groups([_words(text) for _, text in texts], room):
        text, starts, provenance = before, [], []
        for i in group:
            units, said = texts[i]
            starts += [len(text)] * len(units)
            provenance += units
            text += said + (between if i < group[-1] else "")
        for piece, skipped in _pieces(text) if len(group) == 1 else [(text, 0)]:
            begins = tuple(max(0, start - skipped) for start in starts)
            yield Passage(f"{source}:{owner}:{next(numbers)}", title, piece, tuple(provenance), begins)


def _groups(lengths: Sequence[int], room: int) -> Iterator[range]:
    """Runs of units with at most `room` words together; a longer unit has a run of its own."""
    start, total = 0, 0
    for i, length in enumerate(lengths):
        if i > start and total + length > room:
            yield range(start, i)
            start, total = i, 0
        total += length
    if start < len(lengths):
        yield range(start, len(lengths))


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Pieces of the text with at most `WORDS` words, about equally long, each with the number of characters
    before it."""
    words = text.split(" ")
    count = -(-len(words) // WORDS)
    size, skipped = -(-len(words) // count), 0
    for start in range(0, len(words), size):
        piece = " ".join(words[start : start + size])
        yield piece, skipped
        skipped += len(piece) + 1


def _words(text: str) -> int:
    return len(text.split())
