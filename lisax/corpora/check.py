"""`lisax data check`: reads every line of a dataset and collects its problems, in bounded memory.

Memory grows with the claims (their evidence ids) and by eight bytes per page, not with the text: FEVER's 5.4 million
pages and 185,000 claims take a few hundred MB.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from pathlib import Path

from lisax.corpora.check_own import OwnChecks
from lisax.corpora.dataset import StructureDataset, TableDataset
from lisax.corpora.files import NOT_EVIDENCE, FileFolder
from lisax.corpora.layout import Dataset, open_folder
from lisax.corpora.reading import Watch
from lisax.documents.reading import kind_of
from lisax.errors import DataError, printable
from lisax.records import Label, edge_id, is_cell


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """The result of a check. `problems` are sentences with file and line; of similar ones in a file only the first."""

    folder: str
    layout: str
    counts: dict[str, int]
    labels: dict[str, dict[str, int]]
    warnings: tuple[str, ...]
    problems: tuple[str, ...]
    problem_count: int
    files: str = ""  # of a folder of files: how many were read, and why others were not

    @property
    def sound(self) -> bool:
        return self.problem_count == 0

    def lines(self) -> list[str]:
        """The summary as text lines."""
        lines = [f"{self.folder}: {self.layout} layout"]
        lines += [f"  {name}: {count:,}" for name, count in self.counts.items()]
        lines += [
            f"  {name}: " + ", ".join(f"{label} {count:,}" for label, count in labels.items())
            for name, labels in self.labels.items()
        ]
        lines += [f"  {self.files}"] * bool(self.files)
        lines += [f"  warning: {warning}" for warning in self.warnings]
        lines += [f"  problem: {problem}" for problem in self.problems]
        plural = "" if self.problem_count == 1 else "s"
        lines.append("  sound" if self.sound else f"  {self.problem_count:,} problem{plural}")
        return lines


def check(folder) -> Summary:
    """Reads a whole dataset once: checks every line, that ids are unique, and that the corpus has every evidence id.

    Raises `DataError` only where the folder is not recognised at all.
    """
    dataset = open_folder(folder)
    watch = Watch(keep_going=True)
    own = OwnChecks(dataset, watch)
    own.files()
    counts, labels, wanted = _claims(dataset, watch, own)
    counts |= _corpus(dataset, watch, wanted, own)
    own.end()
    account = dataset.account() if isinstance(dataset, FileFolder) else None
    for skipped in account.skipped if account else ():
        if kind_of(Path(skipped.file)) and skipped.why != NOT_EVIDENCE:  # of a type that is read
            watch.problem(DataError(skipped.reason, path=dataset.folder / skipped.file))
    for unit, (path, line, owner, field) in wanted.items():
        watch.problem(DataError(f"{field} {unit!r} of {owner} is not in the corpus", path=path, line=line, field=field))
    return Summary(
        printable(str(folder)),
        dataset.layout,
        counts,
        labels,
        tuple(watch.warnings),
        tuple(watch.problems),
        watch.problem_count,
        str(account or ""),
    )


Wanted = dict[str, tuple[Path, int, str, str]]


def _claims(dataset: Dataset, watch: Watch, own: OwnChecks) -> tuple[dict[str, int], dict[str, dict[str, int]], Wanted]:
    """Counts, labels by split, and each id in evidence or operands with the place and field that named it first."""
    counts: dict[str, int] = {}
    labels: dict[str, dict[str, int]] = {}
    wanted: Wanted = {}
    stream_of: dict[str, str] = {}
    asked = dataset.splits or dataset.question_splits or dataset.table_claim_splits or dataset.data_text_splits
    if not asked and dataset.layout != "files" and getattr(dataset, "has_pages", True):
        watch.problem(DataError("no claims and no questions", path=dataset.folder))
    streams = [(f"claims in {split}", split, dataset.claims) for split in dataset.splits]
    if dataset.has_own_table_claims:
        streams += [(f"table claims in {split}", split, dataset.table_claims) for split in dataset.table_claim_splits]
    for name, split, read in streams:
        tally: Counter[str] = Counter()
        for claim in read(split, watch):
            path, line = watch.where
            own.claim(claim, split)
            tally["no label" if claim.label is None else str(claim.label)] += 1
            if claim.label in (Label.SUPPORTS, Label.REFUTES) and not (claim.evidence_sets or claim.mixed_sets):
                watch.warn("claims labelled SUPPORTS or REFUTES without evidence (`register` refuses them)", path, line)
            for field, units in (
                ("evidence", (*claim.gold_ids, *claim.candidates)),
                ("mixed_evidence", itertools.chain(*claim.mixed_sets)),
            ):
                for unit in units:
                    wanted.setdefault(unit, (path, line, f"claim {claim.id!r}", field))
            # BEIR has queries with judgements in several splits; elsewhere this would leak from the training split.
            if stream_of.setdefault(claim.id, name) != name and dataset.layout != "beir":
                watch.problem(
                    DataError(
                        f"claim {claim.id!r} is among the {stream_of[claim.id]} too", path=path, line=line, field="id"
                    )
                )
        counts[name] = tally.total()
        labels[name.replace("claims in ", "labels in ")] = dict(sorted(tally.items()))
    split_of = {}
    for split in dataset.question_splits:
        counts[f"questions in {split}"] = with_cells = 0
        for question in dataset.questions(split, watch):
            counts[f"questions in {split}"] += 1
            own.question(question, split)
            with_cells += any(is_cell(unit) for unit in question.evidence)
            # WikiTableQuestions has retrieval sets with questions from its splits.
            if split_of.setdefault(question.id, split) != split and dataset.layout != "wikitablequestions":
                path, line = watch.where
                watch.problem(
                    DataError(
                        f"question {question.id!r} is in split {split_of[question.id]} too",
                        path=path,
                        line=line,
                        field="id",
                    )
                )
            for field in ("evidence", "operands"):
                for unit in getattr(question, field):
                    wanted.setdefault(unit, (*watch.where, f"question {question.id!r}", field))
        if with_cells:
            counts[f"questions in {split} answered by cells"] = with_cells
    for split in dataset.data_text_splits:
        records = [len(record.texts) for record in dataset.data_texts(split, watch)]
        counts |= {f"records in {split}": len(records), f"texts in {split}": sum(records)}
    return counts, labels, wanted


def _corpus(dataset: Dataset, watch: Watch, wanted: Wanted, own: OwnChecks) -> dict[str, int]:
    """Counts of the corpus; removes every unit of the corpus from `wanted`."""
    counts: Counter[str] = Counter({"pages": 0, "sentences with text": 0})
    before = watch.problem_count
    for document in dataset.documents(watch):
        counts["pages"] += 1
        for sentence in document.sentences:
            counts["sentences with text"] += bool(sentence.text)
            wanted.pop(sentence.id, None)
    owners = {unit.rpartition("#")[0] for unit in wanted} | wanted.keys()
    for table in dataset.tables(watch):
        counts["tables"] += 1
        own.table(table)
        for unit in _table_units(table) if table.id in owners else ():
            wanted.pop(unit, None)
    for graph in dataset.graphs(watch):
        counts["graphs"] += 1
        for unit in (graph.id, *(edge_id(graph.id, i) for i in range(len(graph.edges)))):
            wanted.pop(unit, None)
    if not counts["pages"] and (counts["tables"] or counts["graphs"] or isinstance(dataset, StructureDataset)):
        del counts["pages"], counts["sentences with text"]
    elif not counts["pages"] and watch.problem_count == before:  # a problem of its files may be why
        watch.problem(DataError("no tables" if isinstance(dataset, TableDataset) else "no pages", path=dataset.folder))
    return dict(counts)


def _table_units(table) -> list[str]:
    """The ids of a table, its rows, its columns and its cells."""
    rows, columns = range(len(table.rows)), range(len(table.header))
    return [
        table.id,
        *(f"{table.id}#r{i}" for i in rows),
        *(f"{table.id}#c{j}" for j in columns),
        *(f"{table.id}#r{i}c{j}" for i in rows for j in columns),
    ]
