"""FoolMeTwice: claims written by players to fool players, each with about ten candidate sentences.

Lines: `{"id", "text", "label", "wikipedia_page", "gold_evidence": [{"text", "section_header"}], "retrieved_evidence":
[...]}`. The owners publish sentences with the claims, not pages. Our pages consist of all sentences that any claim has
for them, without duplicates, numbered by first appearance over train, dev and test; so claims about one page compete
for the same sentences, as in FEVER. The gold sentences of a claim are one evidence set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

from lisax.corpora.reading import Row, Watch, read_records
from lisax.records import Claim, Document, Label, Sentence, sentence_id
from lisax.text import titles

LABEL_NAMES = {"SUPPORTS": Label.SUPPORTS, "REFUTES": Label.REFUTES}


class Pages:
    """Numbers the sentences of each page by first appearance."""

    def __init__(self):
        self._numbers: dict[str, dict[str, int]] = {}
        self._titles: dict[str, str] = {}

    def sentence_id(self, title: str, text: str) -> str:
        page = titles.title_to_id(title)
        self._titles.setdefault(page, title)
        numbers = self._numbers.setdefault(page, {})
        return sentence_id(page, numbers.setdefault(text, len(numbers)))

    def documents(self) -> list[Document]:
        return [
            Document(
                page,
                titles.one_line(self._titles[page]),
                tuple(Sentence(page, number, text) for text, number in numbers.items()),
                original_id=self._titles[page],
            )
            for page, numbers in self._numbers.items()
        ]


@dataclasses.dataclass(frozen=True, slots=True)
class FoolMeTwice:
    """The content of all files: claims by split, and their pages."""

    claims: dict[str, list[Claim]]
    documents: list[Document]


def read(files: Mapping[str, Path], watch: Watch | None = None) -> FoolMeTwice:
    """Reads the files of all splits (a few thousand claims) into memory, in the order of the mapping."""
    own = Watch() if watch is None else watch
    pages = Pages()
    claims = {split: list(read_file(path, pages, own)) for split, path in files.items()}
    if watch is None:
        own.tell()
    return FoolMeTwice(claims, pages.documents())


def read_file(path, pages: Pages, watch: Watch) -> Iterator[Claim]:
    """The claims of one file; their sentences are added to `pages`."""
    return read_records(path, lambda row: parse_claim(row, pages), watch, unique=lambda claim: claim.id)


def parse_claim(row: Row, pages: Pages) -> Claim:
    claim_id, original = row.id()
    text, label, title = row.text("text"), row.label(LABEL_NAMES), row.text("wikipedia_page")
    sentences = {}
    for field in ("retrieved_evidence", "gold_evidence"):
        sentences[field] = []
        for i, item in enumerate(row.each(field, row.get(field, list), dict)):
            sentence = item.get("text")
            if not isinstance(sentence, str) or not sentence.strip():
                raise row.error(f"{field}[{i}].text", f"expected a sentence, found {sentence!r:.80}")
            sentences[field].append(titles.one_line(sentence))
    # Only valid lines add sentences to a page.
    candidates, gold = (
        [pages.sentence_id(title, sentence) for sentence in sentences[field]]
        for field in ("retrieved_evidence", "gold_evidence")
    )
    if not gold:
        row.warn("verifiable claims without any evidence")
    if not set(gold) <= set(candidates):
        row.warn("claims whose gold evidence is not among the candidates")
    evidence_set = tuple(dict.fromkeys(gold))
    return Claim(
        claim_id,
        text,
        label,
        (evidence_set,) if evidence_set else (),
        tuple(dict.fromkeys(candidates)),
        original_id=original,
    )
