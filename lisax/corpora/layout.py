"""Opens any layout: `open_folder` for a folder of claims and pages, `read_claims` for one file."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
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
    plain,
    scifact,
    scitab,
    structures,
    tabfact,
    tabmcq,
    wice,
    wikisql,
    wtq,
)
from lisax.corpora.dataset import SPLITS, Dataset, check_splits
from lisax.corpora.reading import Watch, json_rows, skipping, told
from lisax.documents.reading import SUFFIXES
from lisax.errors import DataError
from lisax.files.reading import read_json_lines, read_lines
from lisax.records import Claim, Question


class Fever(Dataset):
    layout = "fever"

    def __init__(self, folder: Path):
        self.places = fever.find_layout(folder)
        super().__init__(folder, {split: path for split in SPLITS if (path := getattr(self.places, split))})

    def claims(self, split, watch=None):
        return fever.read_claims(self.claim_file(split), watch)

    def documents(self, watch=None):
        return fever.read_pages(self.places.pages, watch)


class Plain(Dataset):
    layout = "plain"

    def __init__(self, folder: Path):
        super().__init__(folder, _by_split(folder, "claims"))
        self.question_files = _by_split(folder, "questions")
        self.table_claim_files = _by_split(folder, "table_claims")
        self.has_own_table_claims = bool(self.table_claim_files)
        self.has_pages = (folder / "pages.jsonl").is_file()
        self.has_table_files = not (folder / "tables.jsonl").is_file() and files.has_files(folder / "tables")
        if not self.has_pages and (self.has_table_files or (folder / "tables.jsonl").is_file()):
            self.table_claim_files = self.table_claim_files or self.files

    def may_read(self, file):
        if self.has_table_files and self.folder / "tables" in file.parents:
            return super().may_read(file)
        named = (self.folder / name for name in ("pages.jsonl", "tables.jsonl", "graphs.jsonl", "world.json"))
        return file in {*self.files.values(), *self.question_files.values(), *self.table_claim_files.values(), *named}

    @property
    def table_claim_splits(self):
        return tuple(self.table_claim_files)

    def claims(self, split, watch=None):
        return plain.read_claims(self.claim_file(split), watch)

    def table_claims(self, split, watch=None):
        if split not in self.table_claim_files:
            return super().table_claims(split, watch)
        return plain.read_claims(self.table_claim_files[split], watch)

    def documents(self, watch=None):
        if not self.has_pages and (self.table_claim_files or not self.files):
            return iter(())
        return plain.read_pages(self.folder / "pages.jsonl", watch)

    def tables(self, watch=None):
        if self.has_table_files:
            return files.read_tables(self.folder / "tables", watch)
        return self._if_there("tables.jsonl", plain.read_tables, watch)

    def graphs(self, watch=None):
        return self._if_there("graphs.jsonl", plain.read_graphs, watch)

    def questions(self, split, watch=None):
        path = self.question_files.get(split)
        return iter(()) if path is None else plain.read_questions(path, watch)

    def _if_there(self, name: str, read, watch):
        path = self.folder / name
        return read(path, watch) if path.is_file() else iter(())


class Beir(Dataset):
    layout = "beir"

    def __init__(self, folder: Path):
        super().__init__(folder, _in_order({path.stem: path for path in (folder / "qrels").glob("*.tsv")}))

    def claims(self, split, watch=None):
        self.claim_file(split)
        return beir.read_claims(self.folder, split, watch)

    def documents(self, watch=None):
        return beir.read_corpus(self.folder / "corpus.jsonl", watch)


class FoolMeTwice(Dataset):
    layout = "fm2"

    @functools.cached_property
    def _read(self) -> fm2.FoolMeTwice:
        return fm2.read(self.files)

    def claims(self, split, watch=None):
        self.claim_file(split)
        if watch is None:
            return iter(self._read.claims[split])
        return self._watched(split, watch)

    def _watched(self, split: str, watch: Watch) -> Iterator[Claim]:
        # Sentence numbers depend on the preceding files; their warnings are reported when they are read themselves.
        silent = Watch(keep_going=True, labels=watch.labels)
        pages = fm2.Pages()
        for name, path in self.files.items():
            stream = fm2.read_file(path, pages, watch if name == split else silent)
            if name == split:
                yield from stream
                return
            for _ in stream:
                pass

    def documents(self, watch=None):
        if watch is None:
            return iter(self._read.documents)
        return iter(fm2.read(self.files, Watch(keep_going=True, labels=watch.labels)).documents)


class Wice(Dataset):
    layout = "wice"

    def claims(self, split, watch=None):
        return wice.read_claims(self.claim_file(split), watch)

    def documents(self, watch=None):
        return wice.read_pages(list(self.files.values()), watch)


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
    if (folder / "pages.jsonl").is_file() or any(
        _by_split(folder, stem) for stem in ("claims", "table_claims", "questions")
    ):
        return Plain(folder)
    if wtq.is_wtq(folder):
        return wtq.WikiTableQuestions(folder)
    if wikisql.question_files(folder):
        return wikisql.WikiSql(folder)
    if tabmcq.is_tabmcq(folder):
        return tabmcq.TabMcq(folder)
    if nq_tables.is_nq_tables(folder):
        return nq_tables.NqTables(folder)
    if infotabs.claim_files(folder):
        return infotabs.InfoTabs(folder)
    if any((folder / place).exists() for place in fever.PAGE_PLACES):
        return Fever(folder)
    if (folder / "corpus.jsonl").is_file() and (folder / "queries.jsonl").is_file():
        return Beir(folder)
    if (folder / "corpus.jsonl").is_file() and scifact.claim_files(folder):
        return scifact.SciFact(folder)
    if (found := scitab.find(folder)) is not None:
        return found
    if (found := structures.find(folder)) is not None:
        return found
    if (found := claim_texts.find(folder)) is not None:
        return found
    splits = _split_files(folder)
    for path in splits.values():
        first = next(json_rows(path), {})
        if "retrieved_evidence" in first:
            return FoolMeTwice(folder, splits)
        if "supporting_sentences" in first:
            return Wice(folder, splits)
        if "claim" in first:
            return Fever(folder)  # which reports that its pages are missing
    if any((folder / name).is_file() for name in ("tables.jsonl", "graphs.jsonl")):
        return Plain(folder)
    if any(folder.glob("wiki-*.jsonl")):
        return Fever(folder)
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
    if skip_bad:
        return skipping(functools.partial(read_claims, path), skip_bad)
    path = Path(path)
    if path.suffix == ".json" and (kind := claim_texts.kind_of_file(path)):
        return claim_texts.read_claims(path, kind, watch)
    if path.suffix == ".json" and scitab.is_scitab(path):
        return scitab.read_claims(path, watch)
    if path.suffix == ".json":
        return tabfact.read_claims(path, watch)
    if path.suffix == ".txt" and not _first_line(path)[1].startswith("{"):
        return plain.read_claim_lines(path, watch)
    if path.name.startswith("infotabs_"):
        return infotabs.read_claims(path, watch)
    if path.suffix == ".tsv" and (kind := claim_texts.kind_of_file(path)):
        return claim_texts.read_claims(path, kind, watch)
    if path.suffix == ".tsv":
        return beir.read_claims(path.parent.parent, path.stem, watch)
    row = None
    for row in json_rows(path):
        if kind := claim_texts.kind_of(row):
            return claim_texts.read_claims(path, kind, watch)
        if "cited_doc_ids" in row:
            return scifact.read_claims(path, watch)
        if "_id" in row:
            return beir.read_queries(path, watch)
        if "retrieved_evidence" in row:
            files = _split_files(path.parent)
            split = next((split for split, file in files.items() if file.samefile(path)), None)
            return FoolMeTwice(path.parent, files if split else {"": path}).claims(split or "", watch)
        if "supporting_sentences" in row:
            return wice.read_claims(path, watch)
        if "table" in row and "subset" in row:
            return tabfact.read_core_claims(path, watch)
        sets = row.get("evidence")
        sets = sets if isinstance(sets, list) else []
        if "verifiable" in row or any(isinstance(unit, list) for s in sets if isinstance(s, list) for unit in s):
            return fever.read_claims(path, watch)
        if sets:
            break
    if row is None and not _first_line(path)[1].startswith(("{", "[")):
        known = 'expected JSON objects, such as {"claim": "…"}; a file with one claim per line is named .txt'
        raise DataError(known, path=path, line=_first_line(path)[0])
    return plain.read_claims(path, watch, numbered=True)


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


def _by_split(folder: Path, stem: str) -> dict[str, Path]:
    return _in_order(
        {path.name.split(".")[1]: path for path in folder.glob(f"{stem}.*.jsonl") if path.name.count(".") == 2}
    )


def _in_order(files: dict[str, Path]) -> dict[str, Path]:
    """Train, dev, test, then any other split by name."""
    if files:
        check_splits(next(iter(files.values())).parent, files)
    return {
        split: files[split]
        for split in sorted(files, key=lambda split: (SPLITS.index(split) if split in SPLITS else len(SPLITS), split))
    }
