"""The example files and tasks of a user's questions over tables, for `lisax.tasks.register`: rows and columns of the
answering tables.

A question's evidence names the cells that answer it, or a table; then its answers, which are text, are looked for in
the table's cells (`lisax.corpora.answer_cells`). A question whose answer is not a cell is left out, and counted. Tables
that `table_judgements.jsonl` of the folder marks as wrong for a question give it further negative parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path

from lisax.corpora import answer_cells
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.files.reading import get_field, read_json_lines
from lisax.formats.parts import TABLE_PARTS, PartKind
from lisax.records import Question, Table, is_cell, split_cell_id
from lisax.sampling import part_examples

from . import example_tasks, pairs, parts
from .claim_dataset import ClaimDataset
from .example_tasks import Options

STEMS = {**{variant: [variant] for variant in parts.KINDS}, parts.PARTS: list(parts.KINDS)}
DEFAULTS = (parts.PARTS, parts.PARTS)
SHIPPED = "minilm-parts"
JUDGEMENTS, JUDGED = "table_judgements.jsonl", (("id", str), ("table", str), ("relevant", bool))
Placed = tuple[Question, Path, int | None]  # a question with its file and line


def read(dataset: ClaimDataset, split: str) -> list[Placed]:
    """The questions of a split with their places; one that names no evidence is an error."""
    watch, placed = Watch(), []
    for question in dataset.read_questions(split, watch):
        path, line = watch.where or (dataset.claim_files[split], None)
        if not question.evidence:
            raise DataError(
                f"question '{question.id}' has no evidence: give the cells that answer it, or its table",
                path=path,
                line=line,
                field="evidence",
            )
        placed.append((question, path, line))
    watch.tell()
    return placed


def build(dataset: ClaimDataset, questions: Mapping[str, list[Placed]], skipped: Counter) -> dict[str, dict[str, int]]:
    """Writes the files of both kinds for every split; returns {split: {"rows" or "columns": examples}}."""
    wanted = {_table_of(unit) for placed in questions.values() for question, *_ in placed for unit in question.evidence}
    wrong = _wrong_tables(dataset)
    wanted.update(table for tables in wrong.values() for table in tables)
    tables = {table.id: table for table in dataset.read_tables() if table.id in wanted}
    missing = wanted - tables.keys()
    pages = dataset.read_pages() if missing and dataset.folder is not None else ()
    sentences = {sentence.id for page in pages for sentence in page.sentences if sentence.id in missing}
    counts: dict[str, dict[str, int]] = {}
    for split, placed in questions.items():
        found = [(_with_cells(*one, tables, sentences), wrong.get(one[0].id, ())) for one in placed]
        every = dict.fromkeys(PartKind, part_examples.WINDOW)
        written = part_examples.write_all(
            dataset.out_folder, split, found, tables.get, negative_tables=every, skipped=skipped
        )
        counts[split] = {f"{kind}s": number for kind, number in written.items()}
    if not any(number for written in counts.values() for number in written.values()):
        raise DataError(
            "none of the questions is answered by a cell: nothing to train on",
            path=next(iter(dataset.claim_files.values())),
        )
    return counts


def _wrong_tables(dataset: ClaimDataset) -> dict[str, list[str]]:
    """Question id -> tables that were judged wrong for it, as the page exports them."""
    path = None if dataset.folder is None else Path(dataset.folder) / JUDGEMENTS
    wrong: dict[str, list[str]] = {}
    for line, row in read_json_lines(path) if path is not None and path.is_file() else ():
        question, table, relevant = (get_field(row, *field, path=path, line=line) for field in JUDGED)
        if not relevant:
            wrong.setdefault(question, []).append(table)
    return wrong


def _table_of(unit: str) -> str:
    return split_cell_id(unit)[0] if is_cell(unit) else unit


def _with_cells(
    question: Question, path: Path, line: int | None, tables: Mapping[str, Table], sentences: Set[str]
) -> Question:
    """The question with the cells of its tables as evidence; none if its answer is not found, or if `sentences` answer
    it. Raises an error for evidence that is no table, and no sentence either."""
    where = {"path": path, "line": line, "field": "evidence"}
    cells: list[str] = []
    for unit in question.evidence:
        table = tables.get(_table_of(unit))
        if table is None:
            continue  # a sentence, in a folder of both
        if is_cell(unit):
            _, i, j = split_cell_id(unit)
            if i >= len(table.rows) or j >= len(table.header):
                raise DataError(
                    f"'{unit}' of question '{question.id}' is beyond the table's {len(table.rows)} rows or "
                    f"{len(table.header)} columns",
                    **where,
                )
            cells.append(unit)
        else:
            # Answers that are not found are counted where the examples are made.
            cells += filter(
                is_cell, answer_cells.evidence_of(question.text, table, question.answers, warn=lambda reason: None)
            )
    if not any(_table_of(unit) in tables or unit in sentences for unit in question.evidence):
        raise DataError(
            f"'{question.evidence[0]}' of question '{question.id}' is not a table of the collection, nor a cell of one",
            **where,
        )
    return Question(question.id, question.text, question.answers, tuple(cells))


def texts(dataset: ClaimDataset, questions: Iterable[Placed]) -> Iterator[str]:
    """The training texts of a vocabulary: the questions, and the tables as the model reads them."""
    yield from (question.text for question, *_ in questions)
    for table in dataset.read_tables():
        for example in part_examples.parts_of("", "", table):
            yield TABLE_PARTS.encode(example, count_tokens=len).inputs


def add(dataset: ClaimDataset, options: Options, on_encoder: bool) -> None:
    register = pairs.add if on_encoder else example_tasks.add
    parts.add_both(dataset.name, lambda kind: dataset.file_of(f"{parts.PARTS}_{kind}s"), options, add=register)
