"""Corpora in an Elasticsearch or OpenSearch cluster, whose index is named URL/NAME, like http://localhost:9200/wiki.

The documents hold whole records: pages with their titles and sentences, passages, or tables. So a cluster that was
filled answers all that an index folder does, and no other index of the same corpus is needed. Text and tables at one
address are two indexes, NAME with passages and `NAME-tables` with whole tables.

A cluster does not search cells. A table's score is, summed over the entities of a claim, the largest cosine of its
cells, whose norms change with each table that is added. A cluster sums over the words of a document instead, and keeps
lengths in one byte. So the index of cells is built from the cluster's tables where claims are checked
(`predict.building.cells_of`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lisax.corpora import Dataset
from lisax.errors import DataError, LisaxError
from lisax.files.places import is_cluster
from lisax.files.resumable import fingerprint
from lisax.files.writing import write_json
from lisax.progress import counted
from lisax.records import Table
from lisax.retrieval import cluster_client, cluster_pages, cluster_passages, table_text
from lisax.retrieval.bm25_builder import K1, B
from lisax.retrieval.cluster_client import TIMEOUT
from lisax.retrieval.cluster_pages import ClusterDocuments
from lisax.retrieval.cluster_passages import ClusterPassages, ClusterTables
from lisax.retrieval.cluster_records import ClusterRecords
from lisax.retrieval.cluster_vectors import BESIDE, ClusterContent, encode_cluster
from lisax.retrieval.corpus_passages import passages_of
from lisax.retrieval.dense import Encodes
from lisax.retrieval.dense_texts import Text, text_of_passage, text_of_table
from lisax.retrieval.documents import DocumentIndex
from lisax.retrieval.elastic import TEXT, TRIES, ElasticIndex, Fields, scored
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.table_store import TABLES as STORED_TABLES
from lisax.retrieval.table_store import TableStore

DOCUMENTS, PASSAGES, TABLES, WHOLE = "documents", "passages", "tables", "whole"
KINDS = {DOCUMENTS: ClusterDocuments, PASSAGES: ClusterPassages, TABLES: ClusterTables, WHOLE: ClusterPassages}
TABLES_OF = "-tables"  # the end of the name of the index with the tables of WHOLE
VERBS = {DOCUMENTS: "documents", PASSAGES: "mixed", TABLES: "tables"}  # of `lisax retrieve`
NOTE = "cluster.json"  # in a folder with the address of a cluster's index, and no index of its own


def fill_cluster(
    data: Dataset,
    of: str,
    cluster: str,
    *,
    corpus_print: list,
    k1: float | None = None,
    b: float | None = None,
    add: bool = False,
    replace: bool = False,
    encoder: Encodes | None = None,
    **settings: int,
) -> None:
    """Fills an index of the cluster with a corpus's pages (`of` DOCUMENTS), passages (PASSAGES), whole tables (TABLES),
    or passages and whole tables (WHOLE), each with its text, and with vectors where an `encoder` is given. An
    interrupted call resumes if `corpus_print`, the fingerprint of the corpus's files, is the same. `settings`:
    `number_of_shards` and `number_of_replicas`. Raises LisaxError for a corpus that has none of the records, and, with
    `add`, for an index of another kind."""
    index, records = open_cluster(cluster), _records(data, of)

    def encode(index: ElasticIndex) -> None:
        if encoder is not None:
            add_vectors(index, encoder, **settings)

    if add:
        held, kept = records_of(index), index.described()["of"]
        if kept != of:
            raise LisaxError(f"{cluster} was filled with --of {kept}: add to it with --of {kept}")
        if of == WHOLE:
            held.tables.bm25.add(_every(data, TABLES))
        index.add(records)
        encode(index)
        return
    given = {"k1": k1, "b": b, "beside_vectors": encoder is not None, "settings": settings}
    if of == WHOLE:
        tables, own = _records(data, TABLES), _options(TABLES, [corpus_print, WHOLE], **given)
        options = _options(of, [corpus_print, made := own["meta"]["made_from"]], **given)
        options["meta"][TABLES] = made
        options["first"] = lambda text: text.named(f"{text.name}{TABLES_OF}").build(tables, **own)
    else:
        options = _options(of, [corpus_print], **given)
    if replace:
        index.replace(records, ready=encode, suffixes=[BESIDE, TABLES_OF, f"{TABLES_OF}{BESIDE}"], **options)
    else:
        index.build(records, **options)
        encode(index)


def _options(
    of: str, made_from: list, *, k1: float | None, b: float | None, beside_vectors: bool, settings: Mapping[str, int]
) -> dict[str, Any]:
    """The arguments of `ElasticIndex.build` for records of a kind."""
    usual = {"k1": K1, "b": B}
    if of == TABLES:
        usual = table_text.BESIDE_VECTORS if beside_vectors else {"k1": table_text.K1, "b": table_text.B}
    k1, b = usual["k1"] if k1 is None else k1, usual["b"] if b is None else b
    inputs = json.dumps([of, *made_from, k1, b, *sorted(settings.items())])
    text_settings, text = scored(k1, b)
    more_settings, properties = _MAPPED[of]()
    return {
        "properties": {TEXT: text, **properties},
        "meta": {"k1": k1, "b": b, "of": of, "made_from": hashlib.sha256(inputs.encode()).hexdigest()},
        "settings": _merged(text_settings, more_settings) | settings,
    }


def _merged(one: Mapping[str, dict], other: Mapping[str, dict]) -> dict[str, Any]:
    return {name: {**one.get(name, {}), **other.get(name, {})} for name in {**one, **other}}


_MAPPED: Mapping[str, Callable[[], tuple[dict, dict]]] = {
    DOCUMENTS: cluster_pages.mapped,
    **dict.fromkeys((PASSAGES, WHOLE), lambda: ({}, cluster_passages.PROPERTIES)),
    TABLES: lambda: ({}, {}),
}


def _records(data: Dataset, of: str) -> Iterator[tuple[str, Fields]]:
    """(id, fields) of a corpus's records. Raises LisaxError if it has none."""
    found = _every(data, of)
    if (first := next(found, None)) is None:
        needed = {DOCUMENTS: "page", TABLES: "table"}.get(of, "page, table or graph")
        raise LisaxError(f"there is nothing to index: {data.folder} has no {needed}")
    return itertools.chain([first], found)


def _every(data: Dataset, of: str) -> Iterator[tuple[str, Fields]]:
    if of == DOCUMENTS:
        return ((page.id, cluster_pages.fields_of(page)) for page in counted(data.documents(), "documents"))
    if of in (PASSAGES, WHOLE):
        sources = passages_of(data).values()
        return ((one.id, cluster_passages.fields_of(one)) for passages in sources for one in passages)
    return (
        (table.id, ClusterRecords.fields(table, STORED_TABLES, table_text.indexed_text(table)))
        for table in counted(data.tables(), "tables")
    )


def add_vectors(index: ElasticIndex, encoder: Encodes, **settings: int) -> int:
    """Encodes the sentences of an index's pages, or its passages, and its tables; returns the number of vectors."""
    opened = records_of(index)
    # Those of the tables first: a server opens the index again when the others are complete.
    parts = dict.fromkeys(part for part in (opened.tables, opened) if part is not None)
    return sum(encode_cluster(one.bm25, counted(_texts(one), "texts"), encoder, **settings) for one in parts)


def _texts(opened: ClusterContent) -> Iterable[tuple[str, Text]]:
    """(record id, text) of all texts that are encoded, as `dense_texts` has them."""
    if isinstance(opened, ClusterTables):
        yield from ((table.id, text_of_table(table)) for table in opened.store)
        return
    if isinstance(opened, ClusterPassages):
        yield from ((passage.id, text_of_passage(passage)) for passage in opened)
        return
    for page in map(opened.pages.page, opened.pages):
        yield from ((page.id, Text(page.source(one), one.text)) for one in page.sentences if one.text)


def write_note(folder: Path, cluster: str) -> None:
    """Writes the address of a cluster's index, and the digest of its content, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / NOTE, {"cluster": cluster, "content": open_cluster(cluster).digest})


def noted(folder: Path) -> str | None:
    """The address that `write_note` wrote into a folder; None for an index folder."""
    path = folder / NOTE
    return str(json.loads(path.read_bytes())["cluster"]) if path.is_file() else None


def open_documents(index: Path | str) -> DocumentIndex | ClusterDocuments:
    """The pages of an index folder, or of a cluster's index at an address, or at the address `noted` in a folder."""
    if (cluster := index if is_cluster(index) else noted(Path(index))) is None:
        return DocumentIndex.open(index)
    return _opened(cluster, DOCUMENTS)


def open_passages(index: Path | str) -> MixedIndex | ClusterPassages:
    """The passages of an index folder, or of a cluster's index at an address."""
    if not is_cluster(index):
        return MixedIndex.open(index)
    return _opened(index, PASSAGES)


def open_tables(index: Path | str) -> TableStore | ClusterRecords[Table]:
    """The whole tables of an index folder, or of a cluster's index at an address."""
    return tables_at(index).store if is_cluster(index) else TableStore.open(index)


def tables_at(cluster: str) -> ClusterTables:
    """The whole tables of a cluster's index. Raises LisaxError if it has none."""
    return _opened(cluster, TABLES)


def _opened(cluster: str, of: str) -> Any:
    opened = open_records(cluster)
    if of == TABLES and opened.tables is not None:
        return opened.tables
    if not isinstance(opened, KINDS[of]):
        held = next(name for name, kind in KINDS.items() if isinstance(opened, kind))
        raise LisaxError(f"{cluster} holds {held}, and not {of}: search it with `lisax retrieve {VERBS[held]}`")
    return opened


def print_of(place: Path | str) -> list:
    """A fingerprint that changes with the content of a file, of a folder, or of the index at a cluster's address."""
    return [place, open_cluster(place).digest] if is_cluster(place) else fingerprint(Path(place))


def state_of(index: ElasticIndex) -> tuple[str, float]:
    """(digest of the content of an index and its vectors, as far as these record it; seconds since 1970 when it was filled)."""
    vectors = index.named(index.behind + BESIDE)
    described = vectors.described() if vectors.exists() else None
    digest = hashlib.sha256(json.dumps([index.digest, described], sort_keys=True).encode()).hexdigest()
    return digest, float((index.described() or {}).get("made", 0.0))


def open_records(cluster: str, **options: Any) -> ClusterDocuments | ClusterPassages | ClusterTables:
    """The pages, passages or tables of a cluster's index; `options` as of `open_cluster`."""
    return records_of(open_cluster(cluster, **options))


def records_of(index: ElasticIndex) -> ClusterDocuments | ClusterPassages | ClusterTables:
    """The pages, passages or tables of an index. Raises DataError for one that has none of them or has lost its whole
    tables, and an error for one that is not filled to its end."""
    index.check()
    where, described = f"the cluster's index '{index.name}'", index.described() or {}
    if (of := described.get("of")) not in KINDS:
        raise DataError(
            "it holds no pages, passages or tables: fill one by `lisax index cluster URL/NAME --corpus DIR`",
            path=where,
        )
    if of != WHOLE:
        return KINDS[of](index)
    tables = index.named(f"{index.behind}{TABLES_OF}")
    if not tables.exists() or (tables.described() or {}).get("made_from") != described.get(TABLES):
        raise DataError(
            f"'{tables.name}', the index of its tables, is gone or is another: remove '{index.behind}' and fill both again "
            f"by `lisax index cluster URL/{index.name} --of {WHOLE} --corpus DIR`",
            path=where,
        )
    tables.check()
    return ClusterPassages(index, ClusterTables(tables, searches_cells=True))


def open_cluster(cluster: str, *, tries: int = TRIES, timeout: float = TIMEOUT) -> ElasticIndex:
    """The index at an address. `tries`: of each request; `timeout`: seconds for an answer to begin."""
    url, _, name = cluster.rstrip("/").rpartition("/")
    if not is_cluster(f"{url}/") or url.endswith("/") or not name:
        raise LisaxError(
            f"expected a URL that ends in the index's name, like http://localhost:9200/wiki; found '{cluster}'"
        )
    return ElasticIndex(cluster_client.connect(url, timeout=timeout), name, tries=tries, timeout=timeout)
