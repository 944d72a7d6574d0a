"""SciFact: claims about abstracts of papers.

    claims_{train,dev,test}.jsonl   {"id", "claim", "evidence": {doc_id: [{"sentences": [i, …], "label"}]}, …}
    corpus.jsonl                    {"doc_id", "title", "abstract": [sentence, …], "structured"}

SUPPORT is SUPPORTS, CONTRADICT is REFUTES, and a claim with empty `evidence` is NOT ENOUGH INFO; the test split has
no `evidence` and no labels. Each annotation is a complete evidence set, a sentence is `{doc_id}_{i}`, and sentences of
the `cited_doc_ids` are not candidates: retrieval finds them. A claim whose abstracts disagree is left out.
"""

from __future__ import annotations

from pathlib import Path

from lisax.corpora.dataset import SPLITS, Dataset
from lisax.corpora.reading import LeftOut, Row, label_of, read_records
from lisax.records import Claim, Document, Label, Sentence, sentence_id
from lisax.text import titles

LABELS = {"SUPPORT": Label.SUPPORTS, "CONTRADICT": Label.REFUTES}


class SciFact(Dataset):
    layout = "scifact"

    def __init__(self, folder: Path):
        super().__init__(folder, claim_files(folder))

    def _claims(self, split, watch):
        return read_records(self.files[split], parse_claim, watch, unique="id")

    def _documents(self, watch):
        return read_records(self.folder / "corpus.jsonl", parse_page, watch)


def claim_files(folder: Path) -> dict[str, Path]:
    return {split: path for split in SPLITS if (path := folder / f"claims_{split}.jsonl").is_file()}


def is_scifact(folder: Path) -> bool:
    return (folder / "corpus.jsonl").is_file() and bool(claim_files(folder))


def parse_claim(row: Row) -> Claim:
    name, original = row.id()
    if "evidence" not in row.value:
        return Claim(name, row.text("claim"), original_id=original)
    labels, sets = set(), []
    for document, found in row.get("evidence", dict).items():
        if not isinstance(found, list):
            raise row.error(f"evidence.{document}", f"expected a list, found {found!r:.80}")
        for one in map(row.within, row.each(f"evidence.{document}", found, dict)):
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
