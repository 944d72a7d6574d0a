"""Text, tables and graphs as passages of about 100 words (UDT-QA, section 4.2), each with the way back to its units.

A unit is a sentence, a row of a table, or an edge of a graph; edges that one verbalized text tells stand there together.
Units stay whole and in order; a passage holds as many of one page, table or sub-graph as there is room for, and a unit
that is longer than a passage is cut.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from lisax.formats.budget import squeeze
from lisax.formats.faithfulness import Facts
from lisax.formats.triples import Triples, graph_triples, raw_table, raw_text, row_triples, table_triples
from lisax.records import DataError, Document, Graph, Table, edge_id

WORDS = 100
BETWEEN = " | "  # rows and edges in their raw form


class Source(enum.StrEnum):
    """Where a passage comes from; in the order in which an index holds them."""

    TEXT = "text"
    TABLE = "table"
    GRAPH = "graph"


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """`provenance`: ids of the units that its text is made of; the i-th begins at character `starts[i]`, at the same one
    as those that are told with it.

    Its id is `{source}:{id of the page, table or graph}:{number}`. Before the first start stands what belongs to no
    unit: the header of a raw table.
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
        """The units, mostly one, that hold character `place` of the text; of a header the first."""
        start = self.starts[max(0, bisect_right(self.starts, place) - 1)]
        return self.provenance[bisect_left(self.starts, start) : bisect_right(self.starts, start)]

    def unit_at(self, place: int) -> str:
        return self.units_at(place)[0]

    @property
    def leading(self) -> tuple[str, ...]:
        """One unit of each text that the passage is made of, its first."""
        return tuple(
            unit for unit, start, before in zip(self.provenance, self.starts, (None, *self.starts)) if start != before
        )

    def unit_text(self, unit: str) -> str:
        """What the passage says of a unit, after the header that all of its units share."""
        start = self.starts[self.provenance.index(unit)]
        end = next((other for other in self.starts if other > start), len(self.text))
        text = self.text[: self.starts[0]] + self.text[start:end]
        return text.removesuffix(BETWEEN).strip()


def source_of(passage_id: str) -> Source:
    return Source(passage_id.partition(":")[0])


def of_document(page: Document) -> Iterator[Passage]:
    """Sentences, packed."""
    units = [((sentence.id,), squeeze(sentence.text)) for sentence in page.sentences]
    return _packed(Source.TEXT, page.id, page.title, units, " ")


def of_table(table: Table) -> Iterator[Passage]:
    """Raw rows, packed; each passage begins with the header.

    A header that would fill more than half of every passage stands in none: each cell has its own name before it."""
    units = {number: unit for number in range(len(table.rows)) if (unit := row_triples(table, number)).pairs}
    header = raw_table(table.header, ())
    if wide := _words(header) > WORDS // 2:
        header = ""
    rows = [
        ((unit.id,), raw_text(unit) if wide else raw_table(table.rows[number], ())) for number, unit in units.items()
    ]
    return _packed(Source.TABLE, table.id, table_title(table), rows, BETWEEN, f"{header}{BETWEEN}" if header else "")


def of_graph(graph: Graph) -> Iterator[Passage]:
    """Raw edges, packed."""
    units = []
    for i, edge in enumerate(graph.edges):
        units.append(((edge_id(graph.id, i),), raw_text(graph_triples(dataclasses.replace(graph, edges=(edge,))))))
    return _packed(Source.GRAPH, graph.id, squeeze(graph.subject), units, BETWEEN)


Parts = Sequence[tuple[int, str]]  # of a verbalized text: the number of the first pair, and what is said from it on


def of_verbalized_table(table: Table, texts: Callable[[Triples], Parts]) -> Iterator[Passage]:
    """Verbalized rows, packed; `texts` gives the text of a row."""
    units = [((unit.id,), squeeze(" ".join(text for _, text in texts(unit)))) for unit in table_triples(table)]
    return _packed(Source.TABLE, table.id, table_title(table), units, " ")


def of_verbalized_graph(graph: Graph, texts: Callable[[Triples], Parts]) -> Iterator[Passage]:
    """The parts of a verbalized sub-graph, packed; each stands for its edges."""
    edges = [edge_id(graph.id, i) for i, (_, value) in enumerate(graph.edges) if squeeze(value)]
    if not edges:
        return iter(())
    parts = texts(graph_triples(graph))
    if parts[-1][0] >= len(edges):
        raise DataError(
            f"the text of '{graph.id}' tells of more than its {len(edges)} edges; write the file with "
            "`lisax verbalize` from this corpus"
        )
    ends = [*(first for first, _ in parts[1:]), len(edges)]
    told = [(tuple(edges[first:end]), squeeze(text)) for (first, text), end in zip(parts, ends)]
    return _packed(Source.GRAPH, graph.id, squeeze(graph.subject), told, " ")


def texts_in_order(rows: Iterable[tuple[int, dict]], path: object) -> Callable[[Triples], Parts]:
    """A look-up of verbalized texts by id that reads the file of `lisax verbalize` once, as it is asked.

    Units must be asked in the file's order, which is that of the corpus; those of the file that are not asked for are
    passed over. One that does not come any more is an error, as is a text of a unit that was another: by its digest,
    or, where a line has none, by a number or date that it does not say."""
    rows = iter(rows)

    def parts_of(unit: Triples) -> Parts:
        for line, row in rows:
            if row.get("id") == unit.id:
                if not isinstance(row.get("text"), str):
                    raise DataError("expected the text of the unit", path=path, line=line, field="text")
                if row["digest"] != unit.digest if row.get("digest") else Facts(unit).numbers_lost(row["text"]):
                    raise DataError(
                        f"'{unit.id}' is not what this text was written of; write the file anew with "
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
    """Those that the row names, in order; the whole text where it names none."""
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
    """What a reader needs to know what a row is about: the page's title, and the caption where it says more."""
    title, caption = squeeze(table.title), squeeze(table.caption)
    return " . ".join(dict.fromkeys(filter(None, (title, caption))))


# --- Packing -------------------------------------------------------------------------------


def _packed(
    source: Source, owner: str, title: str, texts: Sequence[tuple[tuple[str, ...], str]], between: str, before: str = ""
) -> Iterator[Passage]:
    """`texts`: each with its units."""
    texts = [text for text in texts if text[1]]
    room = max(1, WORDS - _words(before))
    numbers = itertools.count()
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
    """Runs of units that are at most `room` words together; a longer one stands alone."""
    start, total = 0, 0
    for i, length in enumerate(lengths):
        if i > start and total + length > room:
            yield range(start, i)
            start, total = i, 0
        total += length
    if start < len(lengths):
        yield range(start, len(lengths))


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """The text in pieces of at most `WORDS` words, about equally long, with the characters before each."""
    words = text.split(" ")
    count = -(-len(words) // WORDS)
    size, skipped = -(-len(words) // count), 0
    for start in range(0, len(words), size):
        piece = " ".join(words[start : start + size])
        yield piece, skipped
        skipped += len(piece) + 1


def _words(text: str) -> int:
    return len(text.split())
