"""Questions with answers and nothing else: NQ-open and WebQuestions, in the owners' layouts.

    NQ-open.{train,dev,test}.jsonl              {"question", "answer": ["…"]}
    webquestions-{train,val,test}.json          [{"qId", "qText", "answers": ["…"]}]
    webquestions.examples.{train,test}.json     [{"utterance", "targetValue": "(list (description …) …)"}]

A folder with both sets has the splits `nq_train`, …, `webquestions_train`, …; one with a single set has `train`, `dev`,
`test`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora.dataset import StructureDataset
from lisax.corpora.reading import Row, Watch, one_file, read_entries, read_records
from lisax.records import Question
from lisax.text import titles

_FILE = re.compile(r"(nq-open|webquestions)(?:\.examples)?[.-](train|dev|val|test)\.(jsonl?)", re.IGNORECASE)
_DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^()"]*))\)')
NAMES = {"train": "train", "dev": "dev", "val": "dev", "test": "test"}
SETS = {"nq-open": "nq", "webquestions": "webquestions"}


class OpenQuestions(StructureDataset):
    layout = "open questions"

    def __init__(self, folder: Path):
        super().__init__(folder, question_files=question_files(folder))

    def _questions(self, split, watch):
        return read_questions(self.question_files[split], split, watch)


def question_files(folder: Path) -> dict[str, Path]:
    """Split -> its file; the set's name is prefixed if there are both."""
    order = list(NAMES)
    found = [
        (SETS[match[1].lower()], order.index(match[2].lower()), path)
        for path in folder.iterdir()
        if (match := _FILE.fullmatch(path.name))
    ]
    both = len({name for name, _, _ in found}) > 1
    files: dict[str, Path] = {}
    for name, i, path in sorted(found):
        one_file(files, f"{name}_{NAMES[order[i]]}" if both else NAMES[order[i]], path)
    return files


def split_of(path: Path) -> str | None:
    """The split that a file of either set is in a folder of its own; None for any other file."""
    match = _FILE.fullmatch(path.name)
    return match and NAMES[match[2].lower()]


def read_questions(path: Path, split: str, watch: Watch) -> Iterator[Question]:
    """The questions of one file; without an id from the owner it is `{split}:{n}`, n counted from 1."""
    read = read_records if path.suffix == ".jsonl" else read_entries
    return read(path, lambda row: parse_question(row, split), watch)


def parse_question(row: Row, split: str) -> Question:
    if "utterance" in row.value:
        text, answers = row.text("utterance"), descriptions(row.get("targetValue", str))
    elif "qText" in row.value:
        text, answers = row.text("qText"), row.strings("answers")
    else:
        text, answers = row.text("question"), row.strings("answer")
    key = row.id("qId")[0] if "qId" in row.value else f"{split}:{row.line}"
    answers = tuple(dict.fromkeys(filter(None, map(titles.one_line, answers))))
    if not answers:
        row.warn("questions without an answer")
    return Question(key, text, answers)


def descriptions(target: str) -> tuple[str, ...]:
    """The answers in `(list (description "Jazmyn Bieber") (description Rome))`."""
    return tuple((quoted or bare).replace('\\"', '"') for quoted, bare in _DESCRIPTION.findall(target))
