"""BM25 in an Elasticsearch or OpenSearch cluster, whose index is named URL/NAME, like http://localhost:9200/wiki."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.progress import counted
from lisax.retrieval import documents, elastic, table_text
from lisax.retrieval.bm25_builder import K1, B

DOCUMENTS, TABLES = "documents", "tables"


def fill_cluster(
    corpus: Path,
    of: str,
    cluster: str,
    *,
    corpus_print: list,
    k1: float | None = None,
    b: float | None = None,
    add: bool = False,
    replace: bool = False,
    **settings: int,
) -> None:
    """Fills an index of the cluster with a corpus's pages or whole tables, each as one text (`of`: DOCUMENTS or
    TABLES). An interrupted call resumes if `corpus_print`, the fingerprint of the corpus's files, is the same.
    `settings`: those of `elastic.settings`."""
    client, name = _connected(cluster)
    if add:
        elastic.ElasticIndex(client, name).add(_texts(corpus, of))
        return
    usual_k1, usual_b = (table_text.K1, table_text.B) if of == TABLES else (K1, B)
    made_from = json.dumps([of, corpus_print, *sorted(settings.items())])
    fill = elastic.ElasticIndex.replace if replace else elastic.ElasticIndex.build
    fill(
        client,
        name,
        _texts(corpus, of),
        k1=usual_k1 if k1 is None else k1,
        b=usual_b if b is None else b,
        made_from=hashlib.sha256(made_from.encode()).hexdigest(),
        **settings,
    )


def _texts(corpus: Path, of: str) -> Iterator[tuple[str, str]]:
    data = open_folder(corpus)
    if of == TABLES:
        return ((table.id, table_text.indexed_text(table)) for table in counted(data.tables(), "tables"))
    return ((page.id, documents.indexed_text(page)) for page in counted(data.documents(), "documents"))


def open_cluster(cluster: str) -> elastic.ElasticIndex:
    return elastic.ElasticIndex(*_connected(cluster))


def _connected(cluster: str) -> tuple[Any, str]:
    """(client of the cluster, name of the index)."""
    url, _, name = cluster.rstrip("/").rpartition("/")
    if "://" not in url or not name:
        raise LisaxError(
            "--cluster: expected a URL that ends in the index's name, like http://localhost:9200/wiki; "
            f"found '{cluster}'"
        )
    return elastic.connect(url), name
