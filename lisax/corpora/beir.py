"""BEIR folders: `corpus.jsonl`, `queries.jsonl`, `qrels/{split}.tsv`.

A document is a page of one sentence, so its text is the unit `{document}_0`. A query is a claim without a label, and
each relevant document (score above 0) is an evidence set of its own. A split has the queries of its qrels.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lisax.corpora.reading import Row, Watch, read_records, told, unique_documents
from lisax.errors import DataError
from lisax.files.reading import read_lines
from lisax.records import Claim, Document, Sentence, check_id, sentence_id
from lisax.text import titles


def read_corpus(path, watch: Watch | None = None) -> Iterator[Document]:
    """Yields documents; duplicate ids are reported at the end."""
    return told(lambda w: unique_documents(lambda v: read_records(path, parse_document, v), w), watch)


def parse_document(row: Row) -> Document:
    document, original = _id(row)
    text = titles.one_line(row.get("text", str))
    return Document(
        document, titles.one_line(row.get("title", str, "")), (Sentence(document, 0, text),), original_id=str(original)
    )


def read_queries(path, watch: Watch | None = None) -> Iterator[Claim]:
    """All queries, without judgements."""
    return told(lambda w: read_records(path, parse_query, w, unique=lambda query: query.id), watch)


def parse_query(row: Row) -> Claim:
    query, original = _id(row)
    return Claim(query, row.text("text"), original_id=original)


def _id(row: Row) -> tuple[str, str | int]:
    """(our id, the owner's id), a string or an integer."""
    original = row.get("_id", (str, int))
    return check_id(titles.page_id(str(original)), path=row.path, line=row.line, field="_id"), original


def read_qrels(path) -> dict[str, dict[str, int]]:
    """Query id -> document id -> score, from `query-id TAB corpus-id TAB score` under one heading line."""
    path = Path(path)
    qrels: dict[str, dict[str, int]] = {}
    for line, text in read_lines(path):
        columns = text.split("\t")
        if len(columns) != 3:
            raise DataError(
                f"expected query-id, corpus-id and score between tabs, found {len(columns)} columns",
                path=path,
                line=line,
            )
        try:
            score = int(columns[2])
        except ValueError:
            if line == 1:
                continue
            raise DataError(f"expected an integer, found {columns[2]!r}", path=path, line=line, field="score") from None
        query, document = (
            check_id(titles.page_id(column), path=path, line=line, field=field)
            for column, field in zip(columns, ("query-id", "corpus-id"))
        )
        judged = qrels.setdefault(query, {})
        if judged.setdefault(document, score) != score:
            raise DataError(
                f"query {query!r} judges document {document!r} twice, as {judged[document]} and {score}",
                path=path,
                line=line,
                field="score",
            )
    return qrels


def read_claims(folder, split: str, watch: Watch | None = None) -> Iterator[Claim]:
    """The queries that `qrels/{split}.tsv` judges. A judged query that is missing in queries.jsonl is a problem."""

    def stream(w: Watch) -> Iterator[Claim]:
        path = Path(folder) / "qrels" / f"{split}.tsv"
        try:
            qrels = read_qrels(path)
        except DataError as error:
            w.problem(error)
            return
        for query in read_queries(Path(folder) / "queries.jsonl", w):
            judged = qrels.pop(query.id, None)
            if judged is not None:
                sets = tuple((sentence_id(document, 0),) for document, score in judged.items() if score > 0)
                yield Claim(query.id, query.text, None, sets, original_id=query.original_id)
        for query_id in qrels:
            w.problem(DataError(f"query {query_id!r} is not in queries.jsonl", path=path, field="query-id"))

    return told(stream, watch)
