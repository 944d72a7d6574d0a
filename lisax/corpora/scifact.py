"""SciFact: claims about abstracts of papers.

    claims_{train,dev,test}.jsonl   {"id", "claim", "evidence": {doc_id: [{"sentences": [i, …], "label"}]}, …}
    corpus.jsonl                    {"doc_id", "title", "abstract": [sentence, …], "structured"}

SUPPORT is SUPPORTS, CONTRADICT is REFUTES, and a claim with empty `evidence` is NOT ENOUGH INFO; the test split has
no `evidence` and no labels. Each annotation is a complete evidence set, a sentence is `{doc_id}_{i}`, and sentences of
the `cited_doc_ids` are not candidates: retrieval finds them. A claim whose abstracts disagree is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lisax.corpora.dataset import SPLITS, Dataset
from lisax.corpora.reading import LeftOut, Row, Watch, label_of, read_records, told, unique_documents
from lisax.records import Claim, Document, Label, Sentence, sentence_id
from lisax.text import titles

LABELS = {"SUPPORT": Label.SUPPORTS, "CONTRADICT": Label.REFUTES}


class SciFact(Dataset):
    layout = "scifact"

    def __init__(self, folder: Path):
        super().__init__(folder, claim_files(folder))

    def claims(self, split, watch=None):
        return read_claims(self.claim_file(split), watch)

    def documents(self, watch=None):
        corpus = self.folder / "corpus.jsonl"
        return told(lambda w: unique_documents(lambda v: read_records(corpus, parse_page, v), w), watch)


def claim_files(folder: Path) -> dict[str, Path]:
    return {split: path for split in SPLITS if (path := folder / f"claims_{split}.jsonl").is_file()}


def read_claims(path: Path, watch: Watch | None = None) -> Iterator[Claim]:
    return told(lambda w: read_records(path, parse_claim, w, unique=lambda claim: claim.id), watch)


def parse_claim(row: Row) -> Claim:
    name, original = row.id()
    if "evidence" not in row.value:
        return Claim(name, row.text("claim"), original_id=original)
    labels, sets = set(), []
    for document, found in row.get("evidence", dict).items():
        if not isinstance(found, list):
            raise row.error(f"evidence.{document}", f"expected a list, found {found!r:.80}")
        for value in row.each(f"evidence.{document}", found, dict):
            one = Row(value, row.path, row.line, row.watch)
            where = {"path": row.path, "line": row.line, "field": f"evidence.{document}.label"}
            labels.add(label_of(one.get("label", str), LABELS, row.watch, **where))
            numbers = one.each("sentences", one.get("sentences", list), int)
            sets.append(tuple(sentence_id(document, number) for number in numbers))
    if len(labels) > 1:
        raise LeftOut("claims whose abstracts disagree (left out)")
    label = labels.pop() if labels else Label.NOT_ENOUGH_INFO
    return Claim(name, row.text("claim"), label, tuple(dict.fromkeys(sets)), original_id=original)


def parse_page(row: Row) -> Document:
    name, original = row.id("doc_id")
    texts = map(titles.one_line, row.strings("abstract"))
    sentences = tuple(Sentence(name, number, text) for number, text in enumerate(texts))
    return Document(name, row.text("title"), sentences, original_id=None if original == name else str(original))
