"""TabFact: claims about the tables of Wikipedia, true or false, in the owners' layout.

    data/all_csv/*.csv                   one table a file, cells separated by `#`, the first line is the header
    data/{train,val,test}_id.json        the tables of each split; also small_test, simple_test and complex_test
    data/table_to_page.json              table -> [page title, address]
    tokenized_data/{split}_examples.json table -> [claims, labels, caption], lemmatised: what models were trained on
    collected_data/r{1,2}_training_all.json  the same as the annotators wrote it; r1 simple claims, r2 complex ones

All files may also be in the folder itself, and `all_csv` may be `all_csv.tar.gz`. Two more files are read:
`{split}_examples_raw.json` (table -> [claims, columns, labels, caption], verbs as written) and `train_core.jsonl`
(`{"id", "table", "claim", "label", "subset"}`, as written). A table is either simple or complex, and so are all its
claims. The owners' `val` is our `dev`. A claim's id is `{table}:{n}`, n counting from 0 in its file (lines of
`train_core.jsonl` have their own ids). Titles come from `table_to_page.json`, captions from the files of claims; a
table without a caption there gets its title, as the owners' captions are titles.
"""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lisax.corpora import archives
from lisax.corpora.dataset import TableDataset
from lisax.corpora.reading import (
    LeftOut,
    Row,
    Watch,
    label_hint,
    label_of,
    parsed_files,
    read_json,
    read_records,
)
from lisax.documents.grid import LIMITS
from lisax.errors import DataError, LisaxError
from lisax.files.reading import decoded
from lisax.records import Claim, Label, Table, check_id
from lisax.text import titles

WORDINGS = ("lemmatised", "written")
OWNERS_NAMES = {"train": "train", "dev": "val", "test": "test"}
SUBSETS = ("small_test", "simple_test", "complex_test")
PLACES = ("", "data", "tokenized_data", "collected_data")
KINDS = {"r1_training_all.json": "simple", "r2_training_all.json": "complex"}
NAMES = {"1": Label.SUPPORTS, "0": Label.REFUTES}


class TabFact(TableDataset):
    """`wording`: claims "lemmatised", as published models read them, or as "written".

    A split that exists only in the other wording is read in that one, with a warning. Besides `splits`, `claims`
    accepts the subsets of the test tables that have an id file: `small_test`, `simple_test`, `complex_test`.
    """

    layout = "tabfact"

    def __init__(self, folder: Path, wording: str = "lemmatised"):
        if wording not in WORDINGS:
            raise LisaxError(f"TabFact's wording is one of {', '.join(WORDINGS)}, found {wording!r}")
        self.wording = wording
        self.tables_path = tables_path(folder)
        self._found = functools.partial(find, folder)
        super().__init__(folder, {split: files[0] for split in OWNERS_NAMES if (files := self._claim_files(split))})

    @property
    def subsets(self) -> tuple[str, ...]:
        """The subsets of the test split that `claims` accepts."""
        return tuple(name for name in SUBSETS if "test" in self.files and self._found(f"{name}_id.json"))

    def claims(self, split, watch=None):
        if split not in self.subsets:
            return super().claims(split, watch)
        part = self._ids(split)
        return (claim for claim in super().claims("test", watch) if claim.gold_ids[0] in part)

    def _tables(self, watch: Watch) -> Iterator[Table]:
        try:
            captions, pages = self._captions, self._pages
        except DataError as error:
            watch.problem(error)
            captions, pages = {}, {}
        yield from read_tables(self.tables_path, captions, pages, watch)

    def _claim_files(self, split: str) -> list[Path]:
        """The files with a split's claims, those of the chosen wording first."""
        name = OWNERS_NAMES[split]
        lemmatised = [f"{name}_examples.json"]
        written = [f"{name}_examples_raw.json", *(["train_core.jsonl"] if split == "train" else [])]
        if self._found(f"{name}_id.json"):
            written = [*KINDS, *written]
        names = lemmatised + written if self.wording == "lemmatised" else written + lemmatised
        return [path for name in names if (path := self._found(name))]

    def _claims(self, split: str, watch: Watch) -> Iterator[Claim]:
        found: set[str] = set()
        for claim in self._worded_claims(split, watch):
            found.update(claim.gold_ids)
            yield claim
        owners = OWNERS_NAMES[split]
        for name in (owners, f"small_{owners}", f"simple_{owners}", f"complex_{owners}"):
            if found and (path := self._found(f"{name}_id.json")):
                try:
                    absent = set(map(titles.normal_form, self._ids(name))) - found
                except DataError as error:
                    watch.problem(error)
                    continue
                if absent:
                    watch.warn("tables of an id file that no claim of its split is about", path, count=len(absent))

    def _worded_claims(self, split: str, watch: Watch) -> Iterator[Claim]:
        path = self.files[split]
        if (self.wording == "lemmatised") != (path.name == f"{OWNERS_NAMES[split]}_examples.json"):
            watch.warn(f"splits that are not there as {self.wording} (the other wording is read)", path)
        if path.suffix == ".jsonl":
            yield from read_records(path, parse_core_claim, watch, unique="id")
            return
        try:
            if path.name in KINDS:
                wanted = self._ids(OWNERS_NAMES[split])
                entries = {table: entry for table, entry in self._collected.items() if table in wanted}
            else:
                entries = read_json(path, dict)
            kinds = self._kinds
        except DataError as error:
            watch.problem(error)
            return
        for table, entry in entries.items():
            yield from _told_claims(path, table, entry, kinds.get(table), watch)

    @functools.cached_property
    def _collected(self) -> dict[str, Any]:
        """The claims of both rounds. For a table with both, the owners keep those of the first."""
        second, first = (read_json(path, dict) if (path := self._found(name)) else {} for name in reversed(KINDS))
        return first | {table: entry for table, entry in second.items() if table not in first}

    @functools.cached_property
    def _kinds(self) -> dict[str, str]:
        """Table -> simple or complex, from the two rounds and from the id files of a split's kinds."""
        kinds: dict[str, str] = {}
        for name in OWNERS_NAMES.values():
            for kind in ("simple", "complex"):
                if self._found(f"{kind}_{name}_id.json"):
                    kinds |= dict.fromkeys(self._ids(f"{kind}_{name}"), kind)
        for name, kind in reversed(KINDS.items()):
            if path := self._found(name):
                kinds |= dict.fromkeys(read_json(path, dict), kind)
        return kinds

    def _ids(self, name: str) -> frozenset[str]:
        path = self._found(f"{name}_id.json")
        ids = read_json(path, list)
        if not all(isinstance(table, str) for table in ids):
            raise DataError("expected a list of table names", path=path)
        return frozenset(ids)

    @functools.cached_property
    def _pages(self) -> dict[str, Any]:
        path = self._found("table_to_page.json")
        return read_json(path, dict) if path else {}

    @functools.cached_property
    def _captions(self) -> dict[str, str]:
        """Table -> caption, the last member of its entry in any file of claims; the owners write `none` for no
        caption."""
        names = [*KINDS, *(f"{name}_examples{raw}.json" for raw in ("_raw", "") for name in OWNERS_NAMES.values())]
        captions: dict[str, str] = {}
        for path in filter(None, map(self._found, names)):
            for table, entry in read_json(path, dict).items():
                caption = entry[-1] if isinstance(entry, list) and entry else None
                if isinstance(caption, str) and caption.strip() not in ("", "none"):
                    captions[table] = titles.one_line(caption)
        return captions


def is_tabfact(folder: Path) -> bool:
    return any(find(folder, name) for name in ("all_csv", "all_csv.tar.gz"))


def find(folder: Path, name: str) -> Path | None:
    """A file of the layout, in the folder itself or in the owners' subfolder."""
    return next((path for place in PLACES if (path := folder / place / name).exists()), None)


def tables_path(folder: Path) -> Path:
    path = find(folder, "all_csv") or find(folder, "all_csv.tar.gz")
    if path is None:
        raise DataError("expected TabFact's tables as data/all_csv/ or all_csv.tar.gz", path=folder)
    return path


# --- Claims ---------------------------------------------------------------------------------


def parse_core_claim(row: Row) -> Claim:
    """A line of `train_core.jsonl`."""
    claim_id, original = row.id()
    label = _label(row.get("label", int), row.watch, row.path, row.line, "label")
    return Claim(
        claim_id,
        row.text("claim"),
        label,
        ((row.id("table")[0],),),
        kind=row.get("subset", str, None),
        original_id=original,
    )


def _label(label: Any, watch: Watch, path: Path, line: int | None, field: str) -> Label:
    name = str(label) if type(label) is int else ""
    if name not in NAMES and name not in watch.labels:
        raise DataError(
            f"expected a label 0 or 1, found {label!r:.80}{label_hint(name) if name else ''}",
            path=path,
            line=line,
            field=field,
        )
    return label_of(name, NAMES, watch)


def parse_entry(path: Path, table: str, entry: Any, watch: Watch) -> tuple[list[str], list[Label | None]]:
    """(claims, labels) of `[claims, labels, caption]`, or of `[claims, columns, labels, caption]`; the label of claims
    to leave out is None."""
    if not isinstance(entry, list) or len(entry) not in (3, 4):
        raise DataError("expected [claims, labels, caption]", path=path, field=table)
    texts, labels = entry[0], entry[-2]
    if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
        raise DataError("expected one label per claim", path=path, field=table)
    found: list[Label | None] = []
    for text, label in zip(texts, labels):
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"expected a claim, found {text!r:.80}", path=path, field=table)
        try:
            found.append(_label(label, watch, path, None, table))
        except LeftOut as reason:
            watch.warn(str(reason), path)
            found.append(None)
    return texts, found


def read_claims(path: Path, watch: Watch) -> Iterator[Claim]:
    """The claims of all tables in one JSON file, of unknown kind."""
    try:
        entries = read_json(path, dict)
    except DataError as error:
        watch.problem(error)
        return
    for table, entry in entries.items():
        yield from _told_claims(path, table, entry, None, watch)


def _told_claims(path: Path, table: str, entry: Any, kind: str | None, watch: Watch) -> Iterator[Claim]:
    try:
        table_id = check_id(titles.normal_form(table), path=path, field="table")
        texts, labels = parse_entry(path, table, entry, watch)
    except DataError as error:
        watch.problem(error)
        return
    for n, (text, label) in enumerate(zip(texts, labels)):
        if label is not None:
            watch.where = (path, None)
            yield Claim(f"{table_id}:{n}", titles.one_line(text), label, ((table_id,),), kind=kind)


# --- Tables ---------------------------------------------------------------------------------


def read_tables(path: Path, captions: dict[str, str], pages: dict[str, Any], watch: Watch) -> Iterator[Table]:
    """The tables of `all_csv/` by name, or of `all_csv.tar.gz` in its order, one in memory at a time."""
    members = (
        (file, functools.partial(parse_table, file, content, captions.get(file.name, ""), pages.get(file.name), watch))
        for file, content in archives.read_folder(path, ".csv")
    )
    return parsed_files(members, watch, nothing=DataError("no table: expected files *.csv", path=path))


def parse_table(file: Path, content: bytes, caption: str, page: Any, watch: Watch) -> Table:
    """The table of a `#`-separated file. Rows of another width than the header are padded or cut, and counted."""
    table_id = check_id(titles.normal_form(file.name), path=file, field="file name")
    text = decoded(content, file).removeprefix("\ufeff").replace("\r\n", "\n").rstrip("\n")
    if not text:
        raise DataError("the file is empty", path=file)
    lines = io.StringIO(text, newline="\n")
    header, rows = _cells(next(lines), LIMITS.columns), []
    if len(header) > LIMITS.columns:
        watch.warn(f"headers of more than {LIMITS.columns:,} columns (cut)", file)
        del header[LIMITS.columns :]
    for number, line in enumerate(itertools.islice(lines, min(LIMITS.rows, LIMITS.cells // len(header))), start=2):
        row = _cells(line, len(header))
        if len(row) < len(header):
            watch.warn("rows with fewer cells than the header (padded)", file, number)
            row += [""] * (len(header) - len(row))
        elif len(row) > len(header):
            watch.warn("rows with more cells than the header (cut)", file, number)
            del row[len(header) :]
        rows.append(row)
    if left_out := sum(1 for _ in lines):
        watch.warn(
            f"rows beyond the {LIMITS.rows:,} or the {LIMITS.cells:,} cells of a table (left out)", file, count=left_out
        )
    title, address = page if isinstance(page, list) and len(page) == 2 else ("", "")
    title = titles.one_line(str(title))
    return Table(
        table_id,
        title,
        tuple(header),
        tuple(map(tuple, rows)),
        caption or title,
        _page(address),
        None if file.name == table_id else file.name,
    )


def _cells(line: str, most: int) -> list[str]:
    """The cells of a line: at most `most`, then the rest as one."""
    return [cell.strip() for cell in line.split("#", most)]


def _page(address: Any) -> str | None:
    """`https://en.wikipedia.org/wiki/Turkish_Cup` -> `Turkish_Cup`."""
    page = unquote(str(address)).partition("/wiki/")[2]
    return titles.page_id(page) or None
