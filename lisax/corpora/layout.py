"""Opens any layout: `open_folder` for a folder of claims and pages, `read_claims` for one file."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from lisax.corpora import (
    beir,
    claim_texts,
    fever,
    files,
    fm2,
    infotabs,
    nq_tables,
    open_questions,
    ottqa,
    plain,
    scifact,
    scitab,
    tabfact,
    tabmcq,
    triple_sets,
    wice,
    wikisql,
    wtq,
)
from lisax.corpora.dataset import SPLITS, Dataset
from lisax.corpora.reading import Watch, json_rows, read_entries, read_records, skipping, told
from lisax.documents.reading import SUFFIXES
from lisax.errors import DataError
from lisax.files.reading import read_json_lines, read_lines
from lisax.records import Claim, Question

# How each layout is recognised, in this order.
LAYOUTS = (
    (plain.is_plain, plain.Plain),
    (wtq.question_files, wtq.WikiTableQuestions),
    (wikisql.question_files, wikisql.WikiSql),
    (tabmcq.is_tabmcq, tabmcq.TabMcq),
    (nq_tables.is_nq_tables, nq_tables.NqTables),
    (infotabs.claim_files, infotabs.InfoTabs),
    (lambda folder: any((folder / place).exists() for place in fever.PAGE_PLACES), fever.Fever),
    (beir.is_beir, beir.Beir),
    (scifact.is_scifact, scifact.SciFact),
    (triple_sets.dart_files, triple_sets.Dart),
    (triple_sets.webnlg_files, triple_sets.WebNlg),
    (ottqa.tables_path, ottqa.OttQa),
    (open_questions.question_files, open_questions.OpenQuestions),
)


def open_folder(folder, *, wording: str = "lemmatised", skip_bad: bool = False) -> Dataset:
    """Opens the dataset in a folder, recognising its layout by file names and the fields of first lines.

    `wording` chooses the wording of TabFact's claims, see `tabfact.TabFact`; other layouts have only one.
    `skip_bad`: claims on bad lines are skipped, see `Dataset.skip_bad`.
    """
    dataset = _open(Path(folder), wording)
    if skip_bad:
        dataset.skip_bad()
    return dataset


def _open(folder: Path, wording: str) -> Dataset:
    if not folder.is_dir():
        raise DataError("is a file; expected a folder" if folder.is_file() else "no such folder", path=folder)
    if tabfact.is_tabfact(folder):
        return tabfact.TabFact(folder, wording)
    for is_there, layout in LAYOUTS:
        if is_there(folder):
            return layout(folder)
    if (found := scitab.find(folder) or claim_texts.find(folder)) is not None:
        return found
    splits = _split_files(folder)
    for path in splits.values():
        first = next(json_rows(path), {})
        if "retrieved_evidence" in first:
            return fm2.FoolMeTwice(folder, splits)
        if "supporting_sentences" in first:
            return wice.Wice(folder, splits)
        if "claim" in first:
            return fever.Fever(folder)  # which reports that its pages are missing
    if any((folder / name).is_file() for name in ("tables.jsonl", "graphs.jsonl")):
        return plain.Plain(folder)
    if any(folder.glob("wiki-*.jsonl")):
        return fever.Fever(folder)
    if files.has_files(folder):
        return files.FileFolder(folder)
    raise DataError(
        "expected one of: FEVER (train.jsonl, shared_task_dev.jsonl, wiki-pages/), LisaX's own layout "
        "(claims.train.jsonl, pages.jsonl, questions.train.jsonl, tables.jsonl, graphs.jsonl), BEIR "
        "(corpus.jsonl, queries.jsonl, qrels/), FoolMeTwice or WiCE (train.jsonl, dev.jsonl, test.jsonl), "
        "TabFact (data/all_csv/, tokenized_data/), InfoTabs (infotabs_train.tsv, tables.tar.gz), "
        "WikiTableQuestions (data/training.tsv, csv/), WikiSQL (train.jsonl, train.tables.jsonl), TabMCQ (MCQs.tsv, Tables/), "
        "NQ-tables (interactions/, tables/tables.jsonl), FEVER Symmetric, Climate-FEVER or LLM-AggreFact (*.jsonl), "
        "AVeriTeC (train.json), PUBHEALTH (train.tsv), SciFact (claims_train.jsonl, corpus.jsonl), SciTab (sci_tab.json), "
        "DART, WebNLG, OTT-QA, NQ-open or WebQuestions (`lisax data list`), or files of any type that is read: "
        f"{', '.join(sorted(SUFFIXES))}",
        path=folder,
    )


def read_claims(path, watch: Watch | None = None, *, skip_bad: bool = False) -> Iterator[Claim]:
    """Reads the claims of one file in any layout of `open_folder`, recognised by its name and the fields of its lines,
    or of a `.txt` file with one claim per line. In these and in LisaX's own layout a claim without an id has its line's
    number.

    For BEIR this is queries.jsonl, or the queries that a qrels/*.tsv judges. FoolMeTwice numbers sentences over all of
    its files, so the files next to this one are read too. `skip_bad`: see `reading.skipping`.
    """
    read = _reader(Path(path))
    return skipping(read, True) if skip_bad else told(read, watch)


def _reader(path: Path) -> Callable[[Watch], Iterator[Claim]]:
    """The function that reads the claims of a file, recognised by its name or by its lines."""
    if path.suffix == ".txt" and not _first_line(path)[1].startswith("{"):
        return functools.partial(plain.read_claim_lines, path)
    if path.name.startswith("infotabs_"):
        return functools.partial(infotabs.read_claims, path)
    if path.suffix in (".json", ".tsv") and (kind := claim_texts.kind_of_file(path)):
        return functools.partial(claim_texts.read_claims, path, kind)
    if path.suffix == ".tsv":
        return functools.partial(beir.read_claims, path)
    if path.suffix == ".json" and scitab.is_scitab(path):
        return functools.partial(read_entries, path, scitab.parse_claim, unique="id")
    if path.suffix == ".json":
        return functools.partial(tabfact.read_claims, path)
    return _reader_of_lines(path)


def _reader_of_lines(path: Path) -> Callable[[Watch], Iterator[Claim]]:
    """The function that reads a JSON Lines file of claims, recognised by the first line with a known field."""
    read, row = functools.partial(read_records, path, unique="id"), None
    for row in json_rows(path):
        if kind := claim_texts.kind_of(row):
            return functools.partial(claim_texts.read_claims, path, kind)
        if "cited_doc_ids" in row:
            return functools.partial(read, scifact.parse_claim)
        if "_id" in row:
            return functools.partial(read, beir.parse_query)
        if "retrieved_evidence" in row:
            files = _split_files(path.parent)
            split = next((split for split, file in files.items() if file.samefile(path)), None)
            return functools.partial(fm2.read_claims, *((files, split) if split else ({"": path}, "")))
        if "supporting_sentences" in row:
            return functools.partial(read, wice.parse_claim)
        if "table" in row and "subset" in row:
            return functools.partial(read, tabfact.parse_core_claim)
        sets = row.get("evidence")
        sets = sets if isinstance(sets, list) else []
        if "verifiable" in row or any(isinstance(unit, list) for s in sets if isinstance(s, list) for unit in s):
            return functools.partial(read, fever.parse_claim)
        if sets:
            break
    if row is None and not _first_line(path)[1].startswith(("{", "[")):
        known = 'expected JSON objects, such as {"claim": "…"}; a file with one claim per line is named .txt'
        raise DataError(known, path=path, line=_first_line(path)[0])
    return functools.partial(read, plain.parse_numbered)


def _first_line(path: Path) -> tuple[int, str]:
    """The number and text of the first line that is not blank."""
    line, text = next(read_lines(path))
    return line, text.lstrip()


def read_questions(path, watch: Watch | None = None) -> Iterator[Question]:
    """Reads the questions of one file, in our own layout or in that of NQ-open or WebQuestions, recognised by its name
    or else by the fields of its first line."""
    path = Path(path)
    split = open_questions.split_of(path)
    if split is None and (
        path.suffix == ".json"
        or any("id" not in row and "answer" in row for _, row in itertools.islice(read_json_lines(path), 1))
    ):
        split = path.stem
    if split is None:
        return plain.read_questions(path, watch)
    return told(lambda w: open_questions.read_questions(path, split, w), watch)


def read_question_split(path, split: str | None = None) -> list[Question]:
    """The questions of a plain file, or of a split (default: dev) of a folder in any layout."""
    path = Path(path)
    if (split := split_of(path, split)) is None:
        return list(plain.read_questions(path))
    data = open_folder(path)
    if split not in data.question_splits:
        raise DataError(
            f"no questions for split '{split}'; there are {', '.join(data.question_splits) or 'none'}", path=path
        )
    return list(data.questions(split))


def split_of(path: Path, split: str | None) -> str | None:
    """The split of a folder (default: dev); None for a file, which is one split. Raises DataError if one is named."""
    if path.is_dir():
        return split or "dev"
    if split is not None:
        raise DataError(f"a file is one split: leave '{split}' out, or give the folder", path=path)
    return None


def _split_files(folder: Path) -> dict[str, Path]:
    return {split: folder / f"{split}.jsonl" for split in SPLITS if (folder / f"{split}.jsonl").is_file()}
