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
        self._asked: dict[str, list[Question]] = defaultdict(list)  # questions by a table with cells of their evidence
        self._places: dict[str, tuple[Path, int | None]] = {}  # of those whose answers no cell had so far

    def files(self) -> None:
        """Warns of files of JSON Lines that lie in the folder and are not read."""
        for file in sorted(self._dataset.folder.glob("[!.]*.jsonl*")) if self._on else ():
            if not self._dataset.may_read(file):
                self._watch.warn(f"{file.name} is not read; files are named {NAMES}", file)

    def claim(self, claim: Claim, split: str) -> None:
        if not self._on or claim.label is None:
            return
        evidence = tuple(sorted(tuple(sorted(units)) for units in (*claim.evidence_sets, *claim.mixed_sets)))
        label, first = self._labels.setdefault(hash((claim.text, evidence)), (str(claim.label), claim.id))
        if evidence and label != claim.label:
            path, line = self._watch.where
            error = f"claim {claim.id!r} has the text and the evidence of claim {first!r}, which is {label}"
            self._watch.problem(DataError(error, path=path, line=line, field="label"))
        # Claims about two tables may have the same text.
        self._once("claim", claim.text, split, evidence if split in self._dataset.table_claim_splits else ())

    def question(self, question: Question, split: str) -> None:
        if not self._on:
            return
        self._once("question", question.text, split, question.evidence)
        if not question.answers:
            self._watch.warn("questions without answers", *self._watch.where)
        elif question.operation in (None, Operation.NONE):
            for table in dict.fromkeys(split_cell_id(unit)[0] for unit in filter(is_cell, question.evidence)):
                self._asked[table].append(question)
                self._places[question.id] = self._watch.where

    def _once(self, kind: str, text: str, split: str, evidence: tuple) -> None:
        if (other := self._splits.setdefault(hash((kind, _plain(text), evidence)), split)) != split:
            self._watch.warn(f"{kind}s of {split} with the text of a {kind} of {other}", *self._watch.where)

    def table(self, table: Table) -> None:
        """Looks for the answers of questions in the cells of this table that they name."""
        for question in self._asked.get(table.id, ()):
            answers = list(filter(None, map(_plain, question.answers)))
            for owner, row, column in map(split_cell_id, filter(is_cell, question.evidence)):
                if owner == table.id and row < len(table.rows) and column < len(table.header):
                    cell = _plain(table.rows[row][column])
                    if any(answer in cell or (cell and cell in answer) for answer in answers):
                        self._places.pop(question.id, None)

    def end(self) -> None:
        """Warns of questions of which no named cell holds an answer."""
        for place in self._places.values():
            self._watch.warn("questions with an answer that the cells of their evidence do not hold", *place)


def _plain(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    return _NO_WORD.sub("", text.casefold())
