"""`--cluster URL/NAME` of `lisax index` and `lisax retrieve`: BM25 in an Elasticsearch or OpenSearch cluster."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator

from lisax.cli.retrieval import counted
from lisax.corpora import open_folder
from lisax.records import LisaxError
from lisax.retrieval import elastic
from lisax.retrieval.bm25_builder import K1, B


def fill_cluster(args: argparse.Namespace) -> int:
    """Pages or whole tables as documents of one text; an interrupted build goes on where it stopped."""
    from lisax.retrieval import table_text
    from lisax.runtime.resumable import fingerprint

    if args.kind not in ("bm25", "tables") or args.corpus is None:
        raise LisaxError("a cluster holds BM25 only: `lisax index bm25|tables --corpus DIR --cluster URL/NAME`")
    if args.add and (args.k1 is not None or args.b is not None):
        raise LisaxError("an index keeps the k1 and b that it was built with: leave --k1 and --b out with --add")
    k1, b = (table_text.K1, table_text.B) if args.kind == "tables" else (K1, B)
    client, name = _connected(args.cluster)
    if args.add:
        elastic.ElasticIndex(client, name).add(_texts(args))
    else:
        made_from = json.dumps([args.kind, fingerprint(args.corpus)])
        elastic.ElasticIndex.build(
            client,
            name,
            _texts(args),
            k1=k1 if args.k1 is None else args.k1,
            b=b if args.b is None else args.b,
            made_from=hashlib.sha256(made_from.encode()).hexdigest(),
        )
    print(f"{args.cluster}: filled")
    return 0


def _texts(args: argparse.Namespace) -> Iterator[tuple[str, str]]:
    from lisax.retrieval import documents, table_text

    data = open_folder(args.corpus)
    if args.kind == "tables":
        return ((table.id, table_text.indexed_text(table)) for table in counted(data.tables(), "tables"))
    return ((page.id, documents.indexed_text(page)) for page in counted(data.documents(), "documents"))


def open_cluster(given: str) -> elastic.ElasticIndex:
    return elastic.ElasticIndex(*_connected(given))


def _connected(given: str) -> tuple[object, str]:
    """(client of the cluster, name of the index)."""
    url, _, name = given.rstrip("/").rpartition("/")
    if "://" not in url or not name:
        raise LisaxError(
            f"--cluster: expected a URL that ends in the index's name, like http://localhost:9200/wiki; found '{given}'"
        )
    return elastic.connect(url), name
