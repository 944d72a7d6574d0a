"""The indexes of served corpora, which are opened when they are first read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax.errors import LisaxError
from lisax.retrieval.cluster_client import Unreachable
from lisax.serve.library import ServedCorpus, open_served
from lisax.serve.models import RETRIEVER, Models

if TYPE_CHECKING:
    from lisax.predict.dense_search import PassageSearch
    from lisax.predict.page_index import PageIndex
    from lisax.predict.passage_index import PassageIndex
    from lisax.predict.table_index import TableIndex
    from lisax.records import Table
    from lisax.retrieval.cluster_records import ClusterRecords
    from lisax.retrieval.table_store import TableStore

TEXT, TABLES, PASSAGES = "text", "tables", "passages"  # kinds of evidence


class OpenIndexes:
    """Opens each index once for each edition of a corpus; thread-safe."""

    def __init__(self, models: Models):
        self.models = models
        self._opened: dict[tuple[str, str], Any] = {}  # by its name and the edition of the corpus

    def digest(self, corpus: ServedCorpus, source: str, unit: str) -> str | None:
        """Digest of a unit's text: a short SHA-256 prefix. None if the corpus does not have the unit."""
        try:
            if source == TABLES:
                found = self.tables(corpus).get(unit)
                said = found and (found.title, found.caption, found.header, found.rows)
            else:
                found = (self.evidence if source == PASSAGES else self.sentences)(corpus).lookup(unit)
                said = found and (found.title, found.text)
        except Unreachable:
            raise
        except LisaxError:  # the index no longer has it
            return None
        return None if found is None else hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]

    def is_as_it_was(self, corpus: ServedCorpus, source: str, unit: str, result: Mapping[str, Any]) -> bool:
        """Whether a unit of an answer's verdict, or a table of `result["tables"]`, still has the same text: its index
        may have been rebuilt. Answers stored without digests count as unchanged."""
        digests = {row["id"]: row["digest"] for row in result.get("tables", ()) if "digest" in row}
        digests |= zip(result.get("evidence", ()), result.get("digests", ()))
        return unit not in digests or digests[unit] == self.digest(corpus, source, unit)

    def tables(self, corpus: ServedCorpus) -> TableStore | ClusterRecords[Table]:
        return self.table_index(corpus).store

    def table_index(self, corpus: ServedCorpus) -> TableIndex:
        from lisax.predict.table_index import TableIndex

        def opened() -> TableIndex:
            return TableIndex(open_served(corpus.index).tables if corpus.is_remote else corpus.index)

        return self.once("cells", corpus, opened)

    def sentences(self, corpus: ServedCorpus) -> PageIndex:
        from lisax.predict.page_index import PageIndex
        from lisax.retrieval.documents import DocumentIndex

        opened = open_served if corpus.is_remote else DocumentIndex.open
        return self.once("sentences", corpus, lambda: PageIndex(opened(corpus.index)))

    def search(self, corpus: ServedCorpus) -> PassageSearch:
        from lisax.predict.dense_search import PassageSearch

        retriever = None if corpus.uploaded else self.models.get(RETRIEVER)  # uploads have no vectors of passages
        method = "bm25" if retriever is None else "fused"
        index, opened = corpus.passages or corpus.index, open_served if corpus.is_remote else Path
        return self.once("search", corpus, lambda: PassageSearch(opened(index), method=method, retriever=retriever))

    def evidence(self, corpus: ServedCorpus) -> PassageIndex:
        from lisax.predict.passage_index import PassageIndex

        return self.once("evidence", corpus, lambda: PassageIndex(self.search(corpus).index))

    def once(self, what: str, corpus: ServedCorpus, opened: Callable[[], Any]) -> Any:
        """The result of `opened`, kept for this edition of the corpus."""
        # Read once: another thread may drop it from the mapping meanwhile.
        if (found := self._opened.get((what, corpus.edition))) is None:
            found = self._opened[what, corpus.edition] = opened()
        return found

    def forget(self, corpus: ServedCorpus) -> None:
        self._keep(lambda what, edition: edition != corpus.edition)

    def _keep(self, wanted: Callable[[str, str], bool]) -> None:
        # Iterates over a copy, into which no other thread opens anything.
        self._opened = {key: opened for key, opened in self._opened.copy().items() if wanted(*key)}
