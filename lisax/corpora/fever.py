"""FEVER in its owners' layout: claims, the Wikipedia dump, and submissions.

Claims: `{"id", "label", "claim", "evidence": [[[annotation, evidence, page, sentence], ...], ...]}`. A claim without
enough information has null for page and sentence; a blind test claim has neither label nor evidence. Pages: `{"id",
"text", "lines"}`, where `lines` has one sentence per line: `number TAB sentence (TAB link TAB target)*`. The dump is a
folder of `wiki-NNN.jsonl` (about 110 files) or a single file, and is streamed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from lisax.corpora.dataset import Dataset
from lisax.corpora.reading import LABEL_NAMES, Row, Watch, named, read_records, told, unique_documents
from lisax.errors import DataError, shown
from lisax.records import LABELS, Claim, Document, Label, Prediction, Sentence, sentence_id, split_sentence_id
from lisax.text import titles

CLAIM_FILES = {
    "train": ("train.jsonl",),
    "dev": ("dev.jsonl", "shared_task_dev.jsonl", "paper_dev.jsonl"),
    "test": ("test.jsonl", "shared_task_test.jsonl", "paper_test.jsonl"),
}
PAGE_PLACES = ("wiki-pages.jsonl", "wiki-pages", "wiki-pages/wiki-pages")

# A page lacks at most this many sentences: a number further ahead is text that happens to begin with digits.
_MOST_GAPS = 1000


class Fever(Dataset):
    """Claims and pages under the names that the owners and their tools use. A folder of only pages, which may also be in
    the folder itself, has no splits."""

    layout = "fever"

    def __init__(self, folder: Path):
        files = {
            split: path
            for split, names in CLAIM_FILES.items()
            for path in [folder / name for name in names if (folder / name).is_file()][:1]
        }
        super().__init__(folder, files)
        places = (*(folder / name for name in PAGE_PLACES), folder)
        pages = [path for path in places if path.is_file() or any(path.glob("wiki-*.jsonl"))]
        if not pages:
            raise DataError(
                "expected FEVER's pages as wiki-pages.jsonl or wiki-pages/wiki-*.jsonl; "
                "`lisax data get fever` downloads them",
                path=folder,
            )
        self.pages = pages[0]

    def _claims(self, split, watch):
        return read_records(self.files[split], parse_claim, watch, unique="id")

    def _documents(self, watch):
        return _pages(self.pages, watch)


# --- Claims ---------------------------------------------------------------------------------


def parse_claim(row: Row) -> Claim:
    """A claim. Evidence sets have no duplicates; a claim of a blind test has no label."""
    claim_id, original = row.id()
    text = row.text("claim")
    label, evidence_sets = None, ()
    if row.value.get("label") is not None:
        label = row.label(LABEL_NAMES)
        evidence_sets = _evidence_sets(row, label)
    elif row.value.get("evidence"):
        raise row.error("label", "the field is missing, and the claim has evidence")
    return Claim(claim_id, text, label, evidence_sets, kind=row.get("attack", str, None), original_id=original)


def _evidence_sets(row: Row, label: Label) -> tuple[tuple[str, ...], ...]:
    sets: dict[frozenset[str], tuple[str, ...]] = {}
    for i, annotation in enumerate(row.each("evidence", row.get("evidence", list), list)):
        if label is Label.NOT_ENOUGH_INFO:
            # FEVER 2.0 writes sentence -1 if no sentence of the page is meant.
            annotation = [item for item in annotation if not (isinstance(item, list) and item[3:] == [-1])]
        units = [_evidence_unit(row, f"evidence[{i}][{j}]", item) for j, item in enumerate(annotation)]
        if label is Label.NOT_ENOUGH_INFO:
            if any(units):
                row.warn("claims without enough information that point to evidence (the evidence is ignored)")
            continue
        if not units or None in units:
            row.warn("evidence sets of a verifiable claim without a page (the set is left out)")
            continue
        sets.setdefault(frozenset(units), tuple(dict.fromkeys(units)))
    if label is not Label.NOT_ENOUGH_INFO and not sets:
        row.warn("verifiable claims without any evidence")
    return tuple(sets.values())


def _evidence_unit(row: Row, field: str, item) -> str | None:
    """The sentence id of `[annotation, evidence, page, sentence]`; None if page and sentence are null."""
    if not isinstance(item, list) or len(item) != 4:
        raise row.error(field, f"expected [annotation, evidence, page, sentence], found {item!r:.80}")
    page, number = item[2:]
    if page is None and number is None:
        return None
    if not isinstance(page, str) or not page.strip():
        raise row.error(field, f"expected a page title third, found {page!r:.80}")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 10**9:
        raise row.error(field, f"expected a sentence number fourth, found {number!r:.80}")
    return sentence_id(titles.page_id(page), number)


# --- Pages ----------------------------------------------------------------------------------


def read_pages(path, watch: Watch | None = None) -> Iterator[Document]:
    """The pages of a dump (a folder or one file), streaming; duplicate ids are reported at the end."""
    return told(lambda w: unique_documents(lambda v: _pages(Path(path), v), w), watch)


def _pages(path: Path, watch: Watch) -> Iterator[Document]:
    files = sorted(path.glob("wiki-*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise DataError("expected a folder of wiki-*.jsonl files", path=path)
    for file in files:
        yield from read_records(file, parse_page, watch)


def parse_page(row: Row) -> Document | None:
    original = row.get("id", str)
    lines = row.get("lines", str)
    if not original.strip():
        row.warn("pages without an id (left out)")
        return None
    page = titles.page_id(original)
    sentences = tuple(Sentence(page, number, text) for number, text in enumerate(_sentence_texts(row, lines)))
    return Document(page, titles.id_to_title(page), sentences, original_id=original)


def _sentence_texts(row: Row, lines: str) -> list[str]:
    """Sentence texts by number, gaps empty. A line without a number continues the sentence before it."""
    texts: list[str] = []
    continued: dict[int, list[str]] = {}  # sentences that continue over several lines
    gaps = 0
    for line in lines.split("\n"):
        number, separator, rest = line.partition("\t")
        is_number = separator and number.isascii() and number.isdigit() and len(number) < 10
        if is_number and 0 <= (ahead := int(number) - len(texts)) <= _MOST_GAPS - gaps:
            gaps += ahead
            texts.extend([""] * ahead)
            texts.append(rest.partition("\t")[0])
        elif line.strip():
            number = rest.partition("\t")[0] if number.isdigit() else number
            row.warn("lines of a page without a sentence number in order (joined to the sentence before)")
            if texts:
                continued.setdefault(len(texts) - 1, [texts[-1]]).append(number)
            else:
                texts.append(number)
    for number, parts in continued.items():
        texts[number] = " ".join(parts)
    return [titles.one_line(titles.unescape(text)) for text in texts]


# --- Submissions ----------------------------------------------------------------------------


def prediction_row(verdict: Prediction, original_page: Callable[[str], str]) -> dict:
    """A line of a FEVER submission with our additional fields, without the claim's id; page ids are the corpus's own.

    FEVER has no evidence other than sentences: if there are rows or edges, `evidence_units` has the ids of all
    evidence."""
    units = {unit: place for unit in verdict.evidence if (place := _sentence_of(unit)) is not None}
    row: dict = {
        "predicted_label": str(verdict.label),
        "predicted_evidence": [[original_page(page), number] for page, number in units.values()],
    }
    row |= known_probabilities(verdict)
    row["evidence_scores"] = [score for unit, score in zip(verdict.evidence, verdict.evidence_scores) if unit in units]
    if len(units) < len(verdict.evidence):
        row["evidence_units"] = list(verdict.evidence)
    if verdict.abstained:
        row["abstained"] = True
    return row if verdict.temporal is None else row | {"temporal": verdict.temporal}


def known_probabilities(verdict: Prediction) -> dict:
    """The field `label_probabilities` of a verdict's labels that have a probability, which may be two; or nothing."""
    shares = dict(zip(map(str, LABELS), verdict.probabilities, strict=True))
    known = {label: share for label, share in shares.items() if not math.isnan(share)}
    return {"label_probabilities": known} if known else {}


def _sentence_of(unit: str) -> tuple[str, int] | None:
    try:
        return split_sentence_id(unit)
    except DataError:
        return None


def read_predictions(path, watch: Watch | None = None) -> Iterator[Prediction]:
    """The verdicts of a submission from any system; without our fields, probabilities are NaN and scores are
    missing."""
    return told(lambda w: read_records(path, parse_prediction, w, unique="claim_id"), watch)


def parse_prediction(row: Row) -> Prediction:
    """A verdict. Of one that names all its evidence in `evidence_units` (`Verdict.to_dict`) the sentences count, which
    are all that FEVER knows."""
    claim_id, _ = row.id()
    given, units = row.get("predicted_evidence", list), row.strings("evidence_units", [])
    scores = row.get("evidence_scores", list, [])
    if units and len(units) == len(given):
        sentences = [i for i, unit in enumerate(units) if _sentence_of(unit) and given[i][1:] != [None]]
        given = [given[i] for i in sentences]
        scores = [scores[i] for i in sentences] if len(scores) == len(units) else scores
    evidence = []
    for i, item in enumerate(given):
        if not isinstance(item, list) or len(item) != 2:
            raise row.error(f"predicted_evidence[{i}]", f"expected [page, sentence], found {item!r:.80}")
        evidence.append(_evidence_unit(row, f"predicted_evidence[{i}]", [None, None, *item]))
    if None in evidence:
        raise row.error("predicted_evidence", "expected [page, sentence], found null")
    return predicted_verdict(row, claim_id, tuple(evidence), scores)


def predicted_verdict(row: Row, claim_id: str, evidence: tuple[str, ...], scores: list) -> Prediction:
    """The verdict of a row with `predicted_label` and, if present, our additional fields. Scores with a null among them
    are none."""
    probabilities = (math.nan,) * len(LABELS)
    if "label_probabilities" in row.value:
        by_label = row.get("label_probabilities", dict)
        if others := by_label.keys() - set(map(str, LABELS)):
            raise row.error("label_probabilities", f"expected {', '.join(LABELS)}; found {shown(min(others))}")
        if len(by_label) > 1 and by_label.keys() < set(map(str, LABELS)):  # of a labeller that has two of them
            by_label = dict.fromkeys(map(str, LABELS), math.nan) | by_label
        probabilities = tuple(row.each("label_probabilities", map(by_label.get, map(str, LABELS)), float))
        if not all(math.isnan(one) or 0 <= one <= 1 for one in probabilities):
            raise row.error("label_probabilities", "expected probabilities from 0 to 1")
    scores = () if None in scores else tuple(row.each("evidence_scores", scores, float))
    if scores and len(scores) != len(evidence):
        raise row.error(
            "evidence_scores", f"expected {len(evidence)} scores, one per piece of evidence, found {len(scores)}"
        )
    name = row.get("predicted_label", str)
    if (label := named(name, LABEL_NAMES)) is None:
        raise row.error("predicted_label", f"unknown label {name!r:.80}; expected {', '.join(map(repr, LABEL_NAMES))}")
    return Prediction(
        claim_id,
        label,
        tuple(map(float, probabilities)),
        evidence,
        tuple(map(float, scores)),
        row.get("temporal", dict, None),
        row.get("abstained", bool, False),
    )
