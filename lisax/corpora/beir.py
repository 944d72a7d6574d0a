"""BEIR folders: `corpus.jsonl`, `queries.jsonl`, `qrels/{split}.tsv`.

A document is a page of one sentence, so its text is the unit `{document}_0`. A query is a claim without a label, and
each relevant document (score above 0) is an evidence set of its own. A split has the queries of its qrels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora.dataset import Dataset, in_order
from lisax.corpora.reading import Row, Watch, read_records
from lisax.errors import DataError
from lisax.files.reading import read_lines
from lisax.records import Claim, Document, Sentence, check_id, sentence_id
from lisax.text import titles


class Beir(Dataset):
    layout = "beir"

    def __init__(self, folder: Path):
        super().__init__(folder, in_order({path.stem: path for path in (folder / "qrels").glob("*.tsv")}))

    def _claims(self, split, watch):
        return read_claims(self.files[split], watch)

    def _documents(self, watch):
        return read_records(self.folder / "corpus.jsonl", parse_document, watch)


def is_beir(folder: Path) -> bool:
    return (folder / "corpus.jsonl").is_file() and (folder / "queries.jsonl").is_file()


def parse_document(row: Row) -> Document:
    document, original = _id(row)
    text = titles.one_line(row.get("text", str))
    return Document(
        document, titles.one_line(row.get("title", str, "")), (Sentence(document, 0, text),), original_id=str(original)
    )


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


def read_claims(path: Path, watch: Watch) -> Iterator[Claim]:
    """The queries that `qrels/{split}.tsv` judges. A judged query that is missing in queries.jsonl is a problem."""
    try:
        qrels = read_qrels(path)
    except DataError as error:
        watch.problem(error)
        return
    for query in read_records(path.parent.parent / "queries.jsonl", parse_query, watch, unique="id"):
        judged = qrels.pop(query.id, None)
        if judged is not None:
            sets = tuple((sentence_id(document, 0),) for document, score in judged.items() if score > 0)
            yield dataclasses.replace(query, evidence_sets=sets)
    for query_id in qrels:
        watch.problem(DataError(f"query {query_id!r} is not in queries.jsonl", path=path, field="query-id"))
