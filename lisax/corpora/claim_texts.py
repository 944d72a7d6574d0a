"""Claims that bring their own evidence, as JSON Lines (FEVER Symmetric, Climate-FEVER, LLM-AggreFact), as a JSON list
(AVeriTeC, whose answers, each behind its question, are evidence together) or separated by tabs (PUBHEALTH).

Each claim has a page of its own with the claim's id, whose sentences are its evidence texts in order. `SETS` has the
fields and the labels of each set. A label that has no equal here is NOT ENOUGH INFO: a disputed claim of Climate-FEVER,
conflicting evidence of AVeriTeC, an unsupported claim of LLM-AggreFact, which may be false or without evidence, and
mixtures and unproven claims of PUBHEALTH. The owner's label is in `Claim.kind`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lisax.corpora.dataset import SPLITS, Dataset
from lisax.corpora.reading import (
    LABEL_NAMES,
    Record,
    Row,
    Watch,
    json_rows,
    label_of,
    one_file,
    read_entries,
    read_json,
    read_records,
    read_separated,
    silent,
    unique_documents,
)
from lisax.documents.csv_tables import rows_of
from lisax.errors import DataError
from lisax.files.reading import read_lines
from lisax.records import Claim, Document, Label, Sentence
from lisax.text.sentences import split_sentences


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimSet:
    """Fields of a set. Without `id` the line is the id. `texts` is a text, or with `text` a list of objects with it;
    those whose `stance` is the claim's label are complete evidence each; without `stance` all are evidence together,
    or candidates only if not `complete`. `answers` is the list inside each object whose `answer` follows the text.
    `split`: the text has several sentences."""

    label: str
    texts: str
    labels: Mapping[str, Label]
    id: str = ""
    text: str = ""
    stance: str = ""
    answers: str = ""
    split: bool = False
    complete: bool = True


SETS = {
    "averitec": ClaimSet(
        "label",
        "questions",
        {
            "Supported": Label.SUPPORTS,
            "Refuted": Label.REFUTES,
            "Not Enough Evidence": Label.NOT_ENOUGH_INFO,
            "Conflicting Evidence/Cherrypicking": Label.NOT_ENOUGH_INFO,
        },
        text="question",
        answers="answers",
    ),
    "fever-symmetric": ClaimSet("gold_label", "evidence", LABEL_NAMES, "id"),
    "climate-fever": ClaimSet(
        "claim_label",
        "evidences",
        {
            "SUPPORTS": Label.SUPPORTS,
            "REFUTES": Label.REFUTES,
            "NOT_ENOUGH_INFO": Label.NOT_ENOUGH_INFO,
            "DISPUTED": Label.NOT_ENOUGH_INFO,
        },
        "claim_id",
        "evidence",
        "evidence_label",
    ),
    "llm-aggrefact": ClaimSet("label", "doc", {"1": Label.SUPPORTS, "0": Label.NOT_ENOUGH_INFO}, split=True),
    "pubhealth": ClaimSet(
        "label",
        "main_text",
        {
            "true": Label.SUPPORTS,
            "false": Label.REFUTES,
            "unproven": Label.NOT_ENOUGH_INFO,
            "mixture": Label.NOT_ENOUGH_INFO,
        },
        "claim_id",
        split=True,
        complete=False,
    ),
}


def kind_of(row: dict) -> str | None:
    """The set that a row has the fields of."""
    return next(
        (
            name
            for name, fields in SETS.items()
            if {"claim", fields.label, fields.texts, fields.id or "claim"} <= {*row}
        ),
        None,
    )


def kind_of_file(path: Path) -> str | None:
    """The set that a file's first entry has the fields of; None also for a file that cannot be read."""
    try:
        if path.suffix == ".json":
            rows = read_json(path, list)
        elif path.suffix == ".tsv":
            rows = [dict.fromkeys(next(_fields(path))[1])]
        else:
            rows = list(itertools.islice(json_rows(path), 1))
    except DataError:
        return None
    return kind_of(rows[0]) if rows and isinstance(rows[0], dict) else None


class ClaimTexts(Dataset):
    def __init__(self, folder: Path, layout: str, files: dict[str, Path]):
        super().__init__(folder, files)
        self.layout = layout

    def _claims(self, split, watch):
        return read_claims(self.files[split], self.layout, watch)

    def documents(self, watch=None):
        # A line's problems, and an id that occurs twice, are reported with its claim.
        return self._read(lambda w: unique_documents(self._documents, silent(w)), watch)

    def _documents(self, watch):
        for path in self.files.values():
            yield from _records(path)(path, lambda row: _page(row, self.layout), watch)


def find(folder: Path) -> ClaimTexts | None:
    """The dataset of a folder's JSON Lines files with these fields; a file's split is in its name, or its name."""
    files: dict[str, Path] = {}
    layout = None
    lists = (folder / f"{split}{suffix}" for split in SPLITS for suffix in (".json", ".tsv"))
    for path in sorted((*folder.glob("*.jsonl"), *filter(Path.is_file, lists))):
        if (kind := kind_of_file(path)) and kind == (layout or kind):
            layout = kind
            one_file(files, next((split for split in SPLITS if split in path.stem), path.stem), path)
    return ClaimTexts(folder, layout, files) if layout else None


def read_claims(path: Path, layout: str, watch: Watch) -> Iterator[Claim]:
    return _records(path)(path, lambda row: _claim(row, layout), watch, unique="id")


def _records(path: Path) -> Callable[..., Iterator[Any]]:
    return {".json": read_entries, ".tsv": _read_rows}.get(path.suffix, read_records)


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of each row of a file separated by tabs; a field in quotes may have several lines."""
    before = 0
    for last, fields in rows_of((f"{line}\n" for _, line in read_lines(path)), path, delimiter="\t"):
        yield before + 1, fields
        before = last


def _read_rows(path: Path, parse: Callable[[Row], Record], watch: Watch, *, unique: str = "") -> Iterator[Record]:
    return read_separated(path, _fields(path), list, lambda fields, _: fields, parse, watch, unique=unique)


def _claim(row: Row, layout: str) -> Claim:
    fields, page = SETS[layout], _page(row, layout)
    name = str(row.get(fields.label, (str, int)))
    label = label_of(name, fields.labels, row.watch, path=row.path, line=row.line, field=fields.label)
    units = tuple(sentence.id for sentence in page.sentences)
    if fields.stance:
        decides = [unit.get(fields.stance, str) == name for unit in row.objects(fields.texts)]
        sets = tuple((unit,) for unit, does in zip(units, decides) if does)
    else:
        sets = (units,) if units and fields.complete else ()
    sets = () if label == Label.NOT_ENOUGH_INFO else sets
    return Claim(page.id, row.text("claim"), label, sets, units, name, page.original_id)


def _page(row: Row, layout: str) -> Document:
    fields = SETS[layout]
    claim, original = row.id(fields.id) if fields.id else (f"{row.path.stem}:{row.line}", None)
    if fields.text:
        texts = [text for unit in row.objects(fields.texts) for text in _texts(unit, fields)]
    else:
        texts = split_sentences(row.text(fields.texts)) if fields.split else [row.text(fields.texts)]
    sentences = tuple(Sentence(claim, i, text) for i, text in enumerate(texts))
    return Document(claim, "", sentences, (), None if original in (None, claim) else str(original))


def _texts(unit: Row, fields: ClaimSet) -> list[str]:
    text = unit.text(fields.text)
    if not fields.answers:
        return [text]
    return [f"{text} {answer.text('answer')}" for answer in unit.objects(fields.answers)]
