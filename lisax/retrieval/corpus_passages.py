"""The passages of a corpus, by source, for `mixed.build_index`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lisax.corpora import Dataset
from lisax.files.reading import read_json_lines
from lisax.progress import counted
from lisax.records import Document
from lisax.retrieval import passages
from lisax.retrieval.passages import Passage, Source

SOURCES = {"text": Source.TEXT, "tables": Source.TABLE, "graphs": Source.GRAPH}  # keys: the corpus's own names


def passages_of(
    corpus: Dataset,
    asked: Iterable[str] | None = None,
    verbalized: Path | None = None,
    keep: Callable[[Document], bool] = lambda page: True,
    if_there: bool = False,
) -> Mapping[Source, Iterator[Passage]]:
    """The corpus's passages by source, streaming. `asked`: keys of `SOURCES`; with None or `if_there`, only the sources
    that the corpus has. `keep` selects the pages whose text is included."""

    def told(
        of_raw: Callable[[Any], Iterator[Passage]], of_verbalized: Callable[[Any, Any], Iterator[Passage]]
    ) -> Callable[[Any], Iterator[Passage]]:
        if verbalized is None:
            return of_raw
        texts = passages.texts_in_order(read_json_lines(verbalized), verbalized)
        return lambda record: of_verbalized(record, texts)

    made = {
        "text": (corpus.documents, lambda: lambda page: passages.of_document(page) if keep(page) else ()),
        "tables": (corpus.tables, lambda: told(passages.of_table, passages.of_verbalized_table)),
        "graphs": (corpus.graphs, lambda: told(passages.of_graph, passages.of_verbalized_graph)),
    }
    found = {}
    for name in SOURCES if asked is None else asked:
        read, written = made[name]
        records = iter(read())
        if asked is None or if_there:
            # Continues from the first record: starting again may read a large file again.
            first = list(itertools.islice(records, 1))
            if not first:
                continue
            records = itertools.chain(first, records)
        found[SOURCES[name]] = counted(itertools.chain.from_iterable(map(written(), records)), f"passages of {name}")
    return found
