"""FoolMeTwice: claims written by players to fool players, each with about ten candidate sentences.

Lines: `{"id", "text", "label", "wikipedia_page", "gold_evidence": [{"text", "section_header"}], "retrieved_evidence":
[...]}`. The owners publish sentences with the claims, not pages. Our pages consist of all sentences that any claim has
for them, without duplicates, numbered by first appearance over train, dev and test; so claims about one page compete
for the same sentences, as in FEVER. The gold sentences of a claim are one evidence set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from lisax.corpora.dataset import Dataset
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


class FoolMeTwice(Dataset):
    layout = "fm2"

    def _claims(self, split, watch):
        return read_claims(self.files, split, watch)

    def _documents(self, watch):
        pages = Pages()
        for path in self.files.values():
            _number(path, pages, watch)
        return pages.documents()


def read_claims(files: Mapping[str, Path], split: str, watch: Watch) -> Iterator[Claim]:
    """The claims of a split, whose sentences are numbered after those of the files before its own."""
    pages = Pages()
    for name, path in files.items():
        if name == split:
            yield from _read_file(path, pages, watch)
            return
        _number(path, pages, watch)


def _number(path: Path, pages: Pages, watch: Watch) -> None:
    """Adds the sentences of a file's claims to `pages`; its warnings are reported when it is read itself."""
    for _ in _read_file(path, pages, Watch(watch.keep_going, watch.labels)):
        pass


def _read_file(path: Path, pages: Pages, watch: Watch) -> Iterator[Claim]:
    return read_records(path, lambda row: parse_claim(row, pages), watch, unique="id")


def parse_claim(row: Row, pages: Pages) -> Claim:
    claim_id, original = row.id()
    text, label, title = row.text("text"), row.label(LABEL_NAMES), row.text("wikipedia_page")
    # Only valid lines add sentences to a page.
    sentences = [_sentences(row, field) for field in ("retrieved_evidence", "gold_evidence")]
    candidates, gold = ([pages.sentence_id(title, sentence) for sentence in some] for some in sentences)
    if not gold:
        row.warn("verifiable claims without any evidence")
    if not set(gold) <= set(candidates):
        row.warn("claims whose gold evidence is not among the candidates")
    sets = (tuple(dict.fromkeys(gold)),) if gold else ()
    return Claim(claim_id, text, label, sets, tuple(dict.fromkeys(candidates)), original_id=original)


def _sentences(row: Row, field: str) -> list[str]:
    found = []
    for i, item in enumerate(row.objects(field)):
        sentence = item.value.get("text")
        if not isinstance(sentence, str) or not sentence.strip():
            raise row.error(f"{field}[{i}].text", f"expected a sentence, found {sentence!r:.80}")
        found.append(titles.one_line(sentence))
    return found
