"""Checks of a dataset in LisaX's own layout, which people write by hand: mistakes that break no rule of the layout."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from lisax.corpora.layout import Dataset
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.records import Claim, Operation, Question, Table, is_cell, split_cell_id

NAMES = (
    "claims.SPLIT.jsonl, table_claims.SPLIT.jsonl, questions.SPLIT.jsonl, pages.jsonl, tables.jsonl and graphs.jsonl"
)
_NO_WORD = re.compile(r"\W+")


class OwnChecks:
    """Claims that contradict another, texts in several splits, and answers that are not in their cells. Other layouts
    are published data, of which nothing is checked here. Each claim costs two hashes, and each question its answers."""

    def __init__(self, dataset: Dataset, watch: Watch):
        self._on, self._dataset, self._watch = dataset.layout == "plain", dataset, watch
        self._labels: dict[int, tuple[str, str]] = {}  # hash of text and evidence -> label and id of the first claim
        self._splits: dict[int, str] = {}  # hash of a text -> its first split
        self._asked: dict[str, list[tuple[str, Question, tuple[Path, int | None]]]] = defaultdict(list)

    def files(self) -> None:
        """Warns of files of JSON Lines that lie in the folder and are not read."""
        if not self._on:
            return
        for file in sorted(self._dataset.folder.glob("*.jsonl*")):
            if not self._dataset.may_read(file):
                self._watch.warn(f"{file.name} is not read; files are named {NAMES}", file)

    def claim(self, claim: Claim, split: str) -> None:
        if not self._on or claim.label is None:
            return
        path, line = self._watch.where
        evidence = tuple(sorted((*claim.evidence_sets, *claim.mixed_sets)))
        label, first = self._labels.setdefault(hash((claim.text, evidence)), (str(claim.label), claim.id))
        if evidence and label != claim.label:
            error = f"claim {claim.id!r} has the text and the evidence of claim {first!r}, which is {label}"
            self._watch.problem(DataError(error, path=path, line=line, field="label"))
        # Claims about two tables may have the same text.
        text = (claim.text, evidence if split in self._dataset.table_claim_splits else ())
        if (other := self._splits.setdefault(hash(text), split)) != split:
            self._watch.warn(f"claims of {split} with the text of a claim of {other}", path, line)

    def question(self, question: Question) -> None:
        if not self._on:
            return
        path, line = self._watch.where
        if not question.answers:
            self._watch.warn("questions without answers", path, line)
        elif question.operation in (None, Operation.NONE):
            for unit in filter(is_cell, question.evidence):
                self._asked[unit.rpartition("#")[0]].append((unit, question, (path, line)))

    def table(self, table: Table) -> None:
        """Warns of questions whose answers are not in the cell of this table that they name."""
        for unit, question, (path, line) in self._asked.get(table.id, ()):
            _, row, column = split_cell_id(unit)
            if row >= len(table.rows) or column >= len(table.header):
                continue  # which is a problem anyway
            cell, answers = _plain(table.rows[row][column]), list(map(_plain, question.answers))
            if not any(answer in cell or (cell and cell in answer) for answer in answers):
                self._watch.warn("questions with an answer that the cell of their evidence does not hold", path, line)


def _plain(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    return _NO_WORD.sub("", text.casefold())
