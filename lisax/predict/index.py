"""The protocol of indexes: `Index.build` builds one from a corpus, `Index.open` opens any kind."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lisax.errors import DataError, LisaxError
from lisax.files.places import is_cluster
from lisax.predict.verdicts import Evidence
from lisax.records import Hit
from lisax.retrieval import cluster
from lisax.retrieval.cluster_pages import ClusterDocuments
from lisax.retrieval.cluster_passages import ClusterTables
from lisax.retrieval.folder import read_components
from lisax.retrieval.passages import has_passages
from lisax.sampling.examples import Lookup, first_found

if TYPE_CHECKING:
    from lisax.corpora.files import Account

Reads = Literal["sentences", "tables"]  # the evidence that a model reads
TABLE_COMPONENTS = {"cells", "tables"}  # of an index folder: whole tables, for models that read them
DOCUMENTS = 20  # retrieved pages or passages, whose sentences, rows and edges are candidates
CANDIDATES = 100  # units of evidence ranked per claim
WHOLE = 1000  # all units of an index with at most this number are ranked for each claim


class Index(Protocol):
    """Finds evidence for claims: sentences of pages, together with rows and edges, or whole tables.

    To search your own source (a search engine, a vector store), subclass `Index` and implement `search`; `search_many`
    then calls it in a loop.

    >>> from lisax import Index, example_pages
    >>> index = Index.build(example_pages())
    >>> index.search("Vova Brugard was born in Torimoor.", 2)[0].source
    'Vova Brugard'
    """

    reads: Reads = "sentences"
    titles: Any = None  # titles for spotting a claim's entities, where the index keeps them
    lookup: Lookup | None = None  # unit id -> its sentence with the title, for the temporal rules
    folder: Path | None = None  # of the index; None if it is not one of ours
    weight: float | None = None  # of vectors beside BM25, set before the first search; None: the default, 0: only BM25

    @property
    def components(self) -> Set[str]:
        """The names of its parts, see `lisax.retrieval.folder`."""
        return set() if self.folder is None else set(read_components(self.folder))

    def search(self, query: str, k: int = 10) -> list[Evidence]:
        """Up to `k` units of evidence, in retrieval order: the sentences (rows, edges) of the best page or passage come
        first. A `Ranker` reorders them."""
        return self.search_many([query], k)[0]

    def search_many(
        self, queries: Sequence[str], k: int, *, documents: int = DOCUMENTS, hops: int = 1
    ) -> list[list[Evidence]]:
        """`search` for each query, in order: the first `k` units of the first `documents` pages or passages.

        `hops=2` also searches pages that sentences of the first pages name."""
        return [self.search(query, k) for query in queries]

    def candidates_many(
        self,
        queries: Sequence[str],
        candidates: int | None = None,
        *,
        documents: int | None = None,
        hops: int = 1,
        quick: bool,
    ) -> list[list[Evidence]]:
        """The evidence to rank for each query: `search_many` with these numbers. If neither is given and something is
        found, all other units of an index of at most `WHOLE` follow for a `quick` ranker: the sentence that decides a
        claim may share no word with it."""
        found = self.search_many(queries, candidates or CANDIDATES, documents=documents or DOCUMENTS, hops=hops)
        if not quick or candidates or documents or self._whole is None:
            return found
        units = ({one.unit for one in own} for own in found)
        return [own and own + [one for one in self._whole if one.unit not in there] for own, there in zip(found, units)]

    @functools.cached_property
    def _whole(self) -> list[Evidence] | None:
        """All evidence of an index of at most `WHOLE` units; None for others."""
        units = self._first_units(WHOLE + 1)
        return self.evidence(units) if 0 < len(units) <= WHOLE else None

    def _first_units(self, limit: int) -> list[str]:
        """The ids of the first `limit` units; none if the index cannot be read in order. An index with vectors finds
        paraphrases without them."""
        return []

    def evidence(self, units: Iterable[Hit | str], limit: int | None = None, claim: str = "") -> list[Evidence]:
        """The evidence for unit ids, or for hits of a run with their scores: the first `limit` units that the index has
        text for, without duplicates. `claim` is the claim they are read for; it selects the columns of tables."""
        scores = dict((unit, None) if isinstance(unit, str) else (unit.id, unit.score) for unit in units)
        self.prepare(itertools.islice(scores, limit))
        return first_found(scores, lambda unit: self._read(unit, scores[unit], claim), limit)

    def compared(self, claim: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The evidence with its similarity to a claim, where the index has vectors of single sentences."""
        return list(evidence)

    def prepare(self, units: Iterable[str]) -> None:
        """Reads units that are wanted next. Does nothing for files; a cluster is asked for all in one request."""

    def _read(self, unit: str, score: float | None, claim: str) -> Evidence | None:
        """The unit with this id; None if the index has no text for it."""
        raise LisaxError(f"{type(self).__name__} cannot look up '{unit}': it has no `_read`")

    def in_run(self, run: Mapping[str, Sequence[Hit]]) -> dict[str, list[str]]:
        """Unit ids by query. `run` holds units, or the pages or passages that contain them."""
        return {query: [hit.id for hit in hits] for query, hits in run.items()}

    def reading(self, reads: Reads) -> Index:
        """This index for a model that reads sentences or tables. Raises LisaxError where the index has none of them."""
        if reads == self.reads:
            return self
        kind = "cells" if reads == "tables" else "mixed"
        raise LisaxError(
            f"the model reads {reads}, and this index holds {self.reads}: build one with `lisax index {kind}`, in a cluster "
            f"with `lisax index cluster --of whole`, or in Python with Index.build(corpus, kind='{kind}')"
        )

    @property
    def files(self) -> Account | None:
        """The files that the index was built from: how many, which were not read, and notes about the others; None for
        other corpora."""
        from lisax.predict.building import account_of

        return None if self.folder is None else account_of(self.folder)

    @staticmethod
    def open(folder: str | os.PathLike) -> Index:
        """Opens an index folder that `Index.build` or `lisax index documents|mixed|cells|tables` wrote, or an index of a
        cluster that `lisax index cluster` filled, by its address: http://HOST:9200/NAME, of OpenSearch
        opensearch+http://HOST:9200/NAME. Raises DataError for any other folder, and for a damaged index."""
        return open_index(folder)

    @staticmethod
    def build(
        source: Any,
        out: str | os.PathLike | None = None,
        *,
        kind: str | None = None,
        vectors: str | os.PathLike | None = None,
        language: str = "english",
        strict: bool = False,
    ) -> Index:
        """Builds an index of a corpus and opens it.

        `source`: a folder in any layout that `lisax data check` reads, a folder of files of any type (text, Markdown,
        HTML, PDF, Word, Excel and others), one such file, or records (`Document`, `Table`, `Graph`, or dicts with their fields). `out`: the folder to write the
        index to; by default it is kept in the cache ($LISAX_CACHE, or ~/.cache/lisax), where the same content is built
        once.

        `kind`: `documents` (pages, found by BM25 and titles; the default for only text), `whole` (text, tables and
        graphs as passages, and whole tables, for claims and questions; the default with tables), `mixed` (only
        passages; the default for graphs), `cells` (whole tables, for models that read tables) or `tables` (whole
        tables, for questions).

        `vectors`: a model that encodes the indexed texts, so that they are searched by BM25 and vectors together:
        `minilm`, hf:OWNER/NAME@REVISION, or the folder of an encoder. An interrupted encoding resumes.

        `language`: the language whose words are stemmed, such as `german`; `auto` detects the language of the
        first texts. The index keeps it. An index of cells does not stem.

        `strict`: a file of the folder that cannot be read is an error. By default it is left out; `files` of the index
        is the account of the files, and a warning names their number.

        Raises LisaxError, or DataError with file and line, for an empty or invalid corpus and for one that has nothing
        that the kind indexes."""
        from lisax.predict.building import build_index

        return open_index(build_index(source, out, kind, vectors, language=language, strict=strict).folder)


def open_index(folder: str | os.PathLike) -> Index:
    """See `Index.open`. A folder with both pages and cells opens as pages; `reading('tables')` returns the cells."""
    from lisax.predict.page_index import PageIndex
    from lisax.predict.passage_index import PassageIndex
    from lisax.predict.table_index import TableIndex
    from lisax.retrieval.documents import DocumentIndex
    from lisax.retrieval.mixed import MixedIndex

    if (address := os.fspath(folder) if is_cluster(folder) else cluster.noted(Path(folder))) is not None:
        opened = cluster.open_records(address)
        if isinstance(opened, ClusterTables):
            return TableIndex(opened)
        return PageIndex(opened) if isinstance(opened, ClusterDocuments) else PassageIndex(opened)
    folder = Path(folder)
    components = set(read_components(folder))
    if has_passages(components):
        return PassageIndex(MixedIndex.open(folder))
    if "pages" in components:
        return PageIndex(DocumentIndex.open(folder))
    if "tables" in components:
        return TableIndex(folder)
    raise DataError(
        f"this index has no pages, passages or tables to read (it has {', '.join(sorted(components)) or 'nothing'}); "
        f"build one with `lisax index documents --corpus DIR --out {folder}`",
        path=folder,
    )
