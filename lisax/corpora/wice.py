"""WiCE: sentences of Wikipedia and the articles they cite; which sentences of the article support the claim?

Lines: `{"claim", "label", "evidence": [sentence, ...], "supporting_sentences": [[index, ...], ...], "meta": {"id",
...}}`. Each claim has an article of its own, so each claim has its own page, with the claim's id. WiCE has no refuted
claims: `supported` is SUPPORTS, the two other labels are NOT ENOUGH INFO, and the owner's label stays in `Claim.kind`.
The evidence sets of a partially supported claim are kept (they support a part of it); those of an unsupported one are
dropped: only one annotator found them.
"""

from __future__ import annotations

from lisax.corpora.dataset import Dataset
from lisax.corpora.reading import Row, read_records
from lisax.records import Claim, Document, Label, Sentence, check_id, sentence_id
from lisax.text import titles

LABEL_NAMES = {
    "supported": Label.SUPPORTS,
    "partially_supported": Label.NOT_ENOUGH_INFO,
    "not_supported": Label.NOT_ENOUGH_INFO,
}
_TITLE = "(meta data) TITLE:"


class Wice(Dataset):
    layout = "wice"

    def _claims(self, split, watch):
        return read_records(self.files[split], parse_claim, watch, unique="id")

    def _documents(self, watch):
        return (page for path in self.files.values() for page in read_records(path, parse_page, watch))


def parse_claim(row: Row) -> Claim:
    """A claim; its candidates are the non-empty sentences of its article."""
    page, original = _id(row)
    label = row.label(LABEL_NAMES)
    texts = row.strings("evidence")
    sets: dict[tuple[str, ...], None] = {}
    for i, indices in enumerate(row.each("supporting_sentences", row.get("supporting_sentences", list), list)):
        for index in row.each(f"supporting_sentences[{i}]", indices, int):
            if not 0 <= index < len(texts):
                raise row.error(
                    f"supporting_sentences[{i}]", f"sentence {index} is not in the article, which has {len(texts)}"
                )
        if indices and row.value["label"] != "not_supported":
            sets[tuple(sentence_id(page, index) for index in dict.fromkeys(indices))] = None
    candidates = tuple(sentence_id(page, number) for number, text in enumerate(texts) if text.strip())
    return Claim(page, row.text("claim"), label, tuple(sets), candidates, kind=row.value["label"], original_id=original)


def parse_page(row: Row) -> Document:
    page, original = _id(row)
    texts = row.strings("evidence")
    # The article's own title is in its first lines, where the crawler found one.
    title = next((text.removeprefix(_TITLE) for text in texts if text.startswith(_TITLE)), "")
    return Document(
        page,
        titles.one_line(title),
        original_id=original,
        sentences=tuple(Sentence(page, number, titles.one_line(text)) for number, text in enumerate(texts)),
    )


def _id(row: Row) -> tuple[str, str]:
    original = row.get("meta", dict).get("id")
    if not isinstance(original, str):
        raise row.error("meta.id", f"expected a string, found {original!r:.80}")
    return check_id(titles.page_id(original.strip()), path=row.path, line=row.line, field="meta.id"), original
