"""MS MARCO passage ranking: triples of texts, triples of ids, and the collection that the ids refer to.

`triples.train.small.tsv` (27 GB) has `query TAB relevant passage TAB other passage` as texts; `qidpidtriples.*.tsv` the
same as ids, referring to `queries.*.tsv` and `collection.tsv` (`id TAB text`, 8.8 million lines, 3 GB). Everything is
streamed; texts of ids are read from their place in the file, never all loaded.
"""

from __future__ import annotations

import dataclasses
import itertools
import mmap
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

from lisax.corpora.reading import Watch, told
from lisax.errors import DataError
from lisax.files.reading import read_lines
from lisax.text import titles


@dataclasses.dataclass(frozen=True, slots=True)
class Triple:
    """A query with one relevant and one other passage."""

    query: str
    positive: str
    negative: str


def read_triples(path, watch: Watch | None = None) -> Iterator[Triple]:
    """Triples of texts, streaming; a triple with an empty text is left out and counted."""

    def stream(w: Watch) -> Iterator[Triple]:
        for line, columns in _columns(path, ("query", "positive passage", "negative passage"), w):
            triple = Triple(*map(titles.one_line, columns))
            if triple.query and triple.positive and triple.negative:
                yield triple
            else:
                w.warn("triples with an empty text (left out)", path, line)

    return told(stream, watch)


def read_id_triples(path, queries: Texts, collection: Texts, watch: Watch | None = None) -> Iterator[Triple]:
    """The texts of triples of ids. An id that is not in its file is a problem."""

    def stream(w: Watch) -> Iterator[Triple]:
        fields = ("query id", "positive passage id", "negative passage id")
        for line, columns in _columns(path, fields, w):
            try:
                yield Triple(
                    *(
                        texts.get(column, path=path, line=line, field=field)
                        for texts, column, field in zip((queries, collection, collection), columns, fields)
                    )
                )
            except DataError as error:
                w.problem(error)

    return told(stream, watch)


def _columns(path, names: tuple[str, ...], watch: Watch) -> Iterator[tuple[int, list[str]]]:
    for line, text in read_lines(path):
        columns = text.split("\t")
        if len(columns) == len(names):
            watch.where = (Path(path), line)
            yield line, columns
        else:
            watch.problem(
                DataError(
                    f"expected {', '.join(names)} between tabs, found {len(columns)} columns", path=path, line=line
                )
            )


class Texts:
    """An `id TAB text` file by id, memory-mapped: 16 bytes per entry in memory, integer ids in any order."""

    def __init__(self, path):
        import numpy as np

        self.path = Path(path)
        ids, starts = array("q"), array("q")
        if not self.path.is_file():
            raise DataError("no such file", path=path)
        with self.path.open("rb") as file:
            if self.path.stat().st_size == 0:
                raise DataError("the file is empty", path=path)
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            position = 0
            for line, raw in enumerate(file, start=1):
                head, separator, _ = raw.partition(b"\t")
                if not separator or not head.isdigit() or len(head) > 18:
                    raise DataError(
                        f"expected an integer id, a tab and a text, found {raw[:40]!r}",
                        path=path,
                        line=line,
                        field="id",
                    )
                ids.append(int(head))
                starts.append(position + len(head) + 1)
                position += len(raw)
        order = np.argsort(np.frombuffer(ids, np.int64), kind="stable")
        self._ids = np.frombuffer(ids, np.int64)[order]
        self._starts = np.frombuffer(starts, np.int64)[order]
        repeated = np.flatnonzero(self._ids[1:] == self._ids[:-1])
        if len(repeated):
            raise DataError(
                f"duplicate id {self._ids[repeated[0]]}", path=path, line=int(order[repeated[0] + 1]) + 1, field="id"
            )

    def __len__(self) -> int:
        return len(self._ids)

    def get(self, text_id: str | int, *, path=None, line=None, field="id") -> str:
        """The text with this id. `path`, `line` and `field` are the place of the request, for errors."""
        import numpy as np

        try:
            number = int(text_id)
        except ValueError:
            raise DataError(f"expected an integer, found {text_id!r:.80}", path=path, line=line, field=field) from None
        at = int(np.searchsorted(self._ids, number)) if abs(number) < 2**63 else len(self._ids)
        if at == len(self._ids) or self._ids[at] != number:
            raise DataError(f"id {number} is not in {self.path}", path=path, line=line, field=field)
        start = int(self._starts[at])
        end = self._bytes.find(b"\n", start)
        raw = self._bytes[start : end if end >= 0 else len(self._bytes)]
        try:
            return titles.one_line(raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise DataError(f"the text with id {number} is not UTF-8", path=self.path) from None


def write_triples(path, triples: Iterable[Triple]) -> int:
    """Writes triples of texts in the owners' layout, atomically. Returns their number."""
    from lisax.files.writing import atomic_write

    count = 0
    with atomic_write(path) as file:
        for triple in triples:
            file.write("\t".join(map(titles.one_line, (triple.query, triple.positive, triple.negative))) + "\n")
            count += 1
    return count


def write_splits(
    path: Path, out: Path, held_out: int, tables: tuple[Path, Path] | None = None
) -> Iterator[tuple[Path, int]]:
    """Writes `out/msmarco/triples.{dev,train}.tsv`, dev being the first `held_out` triples; yields each file and its
    count.

    `tables`: the files of queries and passages, for triples of ids."""
    triples = read_triples(path) if tables is None else read_id_triples(path, *map(Texts, tables))
    for split, part in (("dev", itertools.islice(triples, held_out)), ("train", triples)):
        file = out / "msmarco" / f"triples.{split}.tsv"
        file.parent.mkdir(parents=True, exist_ok=True)
        yield file, write_triples(file, part)
