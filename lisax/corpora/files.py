"""A folder of ordinary files, or one file: their texts are pages, their tables are tables.

Every type that `lisax.documents` reads: text, Markdown, HTML, PDF, Word, Excel, OpenDocument, slides, messages, JSON and
others. A page's id is the file's path without the suffix, `towns/Tarn`, with an underscore for each white space; files
that differ only in their suffix keep it. A table's id is the file's path with its number, `budget.xlsx:0`, or the path
of a CSV file.

`account` counts the files and names the unread ones: of other types, damaged, protected or empty. It also has the
warnings about the read ones.
README and LICENSE files are not evidence; hidden files are ignored.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax import __version__
from lisax.corpora.dataset import TableDataset
from lisax.corpora.reading import Watch
from lisax.documents import VERSION, Document, Reader, Unread
from lisax.documents.blocks import TOO_LARGE
from lisax.documents.bounded import from_json, to_json
from lisax.documents.grid import LIMITS, TableLimits
from lisax.documents.reading import SUFFIXES, Notes, is_bounded, kind_of
from lisax.errors import DataError, printable
from lisax.files.places import cache_folder
from lisax.files.writing import write_json
from lisax.records import Document as Page
from lisax.records import Table, is_text
from lisax.text import titles

log = logging.getLogger(__name__)
KEPT_CHARACTERS = 64 << 20  # of documents that are kept for a second reading
NOT_EVIDENCE = "README or LICENSE"
_NOT_EVIDENCE = frozenset({"readme", "license", "licence"})
_IGNORED = (".", "~$")  # beginnings of names: hidden files, and locks of Office programs


@dataclasses.dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not read: `why` is a reason that several files may share, `detail` more of it."""

    file: str
    why: str
    detail: str = ""

    @property
    def reason(self) -> str:
        return f"{self.why}{self.detail and f': {self.detail}'}"

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """A kind of warning about files that were read, such as content that is left out. `file`: the first of them."""

    kind: str
    count: int
    file: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.count}, first at {self.file}"


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    """The number of a folder's files and of the read ones, the other files by path, and a note for each kind of
    warning."""

    files: int
    read: int
    skipped: tuple[Skipped, ...]
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        """`read 23 of 29 files; skipped 3 .zip, 2 scanned PDF without text`."""
        counts = collections.Counter(one.why for one in self.skipped)
        reasons = ", ".join(f"{count:,} {why}" for why, count in counts.most_common())
        return f"read {self.read:,} of {self.files:,} files" + (f"; skipped {reasons}" if reasons else "")

    def lines(self) -> list[str]:
        """The summary, and a line for each file that was not read."""
        return [str(self), *(" ".join(f"not read: {one}".splitlines()) for one in self.skipped)]

    def report(self) -> str:
        """The lines, and one for each note, as one text."""
        return "\n  ".join([*self.lines(), *map(str, self.notes)])

    def tell(self) -> None:
        """Logs the notes."""
        for note in self.notes:
            log.warning("%s", note)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Account:
        skipped, notes = (Skipped(**one) for one in value["skipped"]), (Note(**one) for one in value["notes"])
        return cls(value["files"], value["read"], tuple(skipped), tuple(notes))


class FileFolder(TableDataset):
    """Pages and tables without claims; `folder` may also be a single file. `files`: (path, path below the folder) of
    the files to read, by default all. `reader`: one with other bounds, which leaves nothing in the cache. With `strict`, a file that is not read is a problem."""

    layout = "files"

    def __init__(
        self,
        folder: Path,
        limits: TableLimits = LIMITS,
        *,
        files: Sequence[tuple[Path, str]] | None = None,
        reader: Reader | None = None,
        strict: bool = False,
    ):
        super().__init__(folder)
        self._reader = reader or Reader(limits)
        self.limits, self.strict, self._files = limits, strict, files
        self._kept: dict[Path, Document | Unread] = {}
        self._noted: set[Path] = set()
        self._table_notes: dict[Path, Mapping[str, int]] = {}
        self._room = KEPT_CHARACTERS

    def _documents(self, watch: Watch) -> Iterator[Page]:
        """The pages with text, by path."""
        for path, _, document in self._read_files(watch):
            if (made := document.page(self._ids[path][0])).sentences:
                yield made

    def _tables(self, watch: Watch) -> Iterator[Table]:
        """The tables, by path."""
        for path, name, document in self._read_files(watch):
            yield from self._tables_of(path, document)
            for kind, count in self._table_notes[path].items():
                watch.warn(kind, name, count=count)

    @functools.cached_property
    def _ids(self) -> dict[Path, tuple[str, str]]:
        """The id of each file's page, and the name for the ids of its tables. A page's id has the suffix only if two
        files share the stem."""
        names = [name for _, name in self.files_below]
        stems = [name.removesuffix(path.suffix) for path, name in self.files_below]
        shared = collections.Counter(map(titles.page_id, stems))
        pages = _distinct(name if shared[titles.page_id(stem)] > 1 else stem for stem, name in zip(stems, names))
        return {
            path: (titles.page_id(page), table)
            for (path, _), page, table in zip(self.files_below, pages, _distinct(names))
        }

    @functools.cached_property
    def files_below(self) -> list[tuple[Path, str]]:
        """(path, path below the folder) of every file that may be read, by path."""
        if self._files is not None:
            return list(self._files)
        if self.folder.is_file():
            return [(self.folder, self.folder.name)]
        closed: list[OSError] = []  # folders that cannot be opened
        found = []
        for home, folders, names in os.walk(self.folder, onerror=closed.append):
            folders[:] = [folder for folder in folders if not folder.startswith(_IGNORED)]
            shown = [Path(home, name) for name in names if not name.startswith(_IGNORED)]
            found += [path for path in shown if path.is_file() or not path.exists()]
            found += [path for folder in folders if (path := Path(home, folder)).is_symlink()]
        found += [Path(error.filename) for error in closed]
        every = [(path, path.relative_to(self.folder).as_posix()) for path in found]
        return sorted(every, key=lambda file: file[1].split("/"))

    def paths(self) -> list[tuple[str, str]]:
        """(absolute path, path below the folder) of the files, as plain data."""
        return [(printable(os.path.abspath(path)), printable(name)) for path, name in self.files_below]

    def account(self) -> Account:
        """Counts the read files, names the others and collects the warnings. Reads each file that no stream has read
        yet."""
        counts: collections.Counter[str] = collections.Counter()
        first: dict[str, str] = {}
        for path, name, document in self._read_files(Watch(keep_going=True)):
            if path not in self._table_notes:
                for _ in self._tables_of(path, document):
                    pass
            for kind, count in (*document.notes, *self._table_notes[path].items()):
                counts[kind] += count
                first.setdefault(kind, printable(name))
        files = self.files_below
        skipped = [
            Skipped(printable(name), found.why, found.detail)
            for path, name in files
            if isinstance(found := self._kept.get(path), Unread)
        ]
        notes = (Note(kind, count, first[kind]) for kind, count in counts.items())
        return Account(len(files), len(files) - len(skipped), tuple(skipped), tuple(notes))

    def _tables_of(self, path: Path, document: Document) -> Iterator[Table]:
        """The tables of a document. Keeps their warnings at the end."""
        notes = Notes()
        for table in document.tables(notes, self.limits, self._ids[path][1]):
            if not table.rows:
                notes.warn("tables without a row below their header")
            yield table
        self._table_notes[path] = notes.counts

    def _read_files(self, watch: Watch) -> Iterator[tuple[Path, str, Document]]:
        with self._reader as reader:
            for path, name in self.files_below:
                watch.where = (path, 1)
                found = self._kept.get(path) or self._read_file(reader, path, name)
                if isinstance(found, Unread):
                    if self.strict and found.why != NOT_EVIDENCE:
                        watch.problem(found)
                    continue
                if path not in self._noted:
                    self._noted.add(path)
                    for kind, count in found.notes:
                        watch.warn(kind, name, count=count)
                yield path, name, found

    def _read_file(self, reader: Reader, path: Path, name: str) -> Document | Unread:
        if self.folder != path and path.name.lower().split(".")[0] in _NOT_EVIDENCE:
            found = Unread(NOT_EVIDENCE, path=path)
        elif not is_text(name):
            found = Unread("a name that is not UTF-8", path=path)
        elif path.is_dir():
            found = Unread("linked folder" if path.is_symlink() else "folder that cannot be opened", path=path)
        else:
            found = (_outcome if reader.bounded or not is_bounded(path) else _cached)(reader, path, name)
        size = 0 if isinstance(found, Unread) else sum(
            len(block.text) + sum(len(cell) for row in block.rows for cell in row) for block in found.blocks
        )  # fmt: skip
        if size <= self._room:
            self._room -= size
            self._kept[path] = found
        return found


def _distinct(names: Iterable[str]) -> Iterator[str]:
    """The names, with a number where an earlier one has the same id, as `Report 2023` and `Report_2023` have."""
    given: set[str] = set()
    counts: collections.Counter[str] = collections.Counter()
    for name in names:
        found = made = titles.page_id(name).replace("#", "_")  # as in the ids of tables
        while made in given:
            counts[found] += 1
            made = f"{found}-{counts[found] + 1}"
        given.add(made)
        yield name + made.removeprefix(found)


def _outcome(reader: Reader, path: Path, name: str) -> Document | Unread:
    try:
        return reader.read(path, name)
    except Unread as error:
        return error


def _cached(reader: Reader, path: Path, name: str) -> Document | Unread:
    """Reads a file once for each content: Office files and PDFs take long. The documents are in the cache folder."""
    try:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return _outcome(reader, path, name)
    key = hashlib.sha256(
        json.dumps([__version__, VERSION, path.suffix.lower(), dataclasses.astuple(reader.limits), content]).encode()
    )
    kept = cache_folder() / "documents" / f"{key.hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return from_json(json.loads(kept.read_bytes()), path, name)
    found = _outcome(reader, path, name)
    if isinstance(found, Unread) and found.why == TOO_LARGE:  # of a machine that was busy, perhaps
        return found
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, to_json(found))
    return found


def has_files(folder: Path) -> bool:
    """Whether a folder has a file of a type that is read."""
    return folder.is_dir() and any(path.is_file() and kind_of(path) for path in folder.rglob("*"))


def only_file(path: Path) -> FileFolder:
    """A single file as a corpus. Raises DataError if it cannot be read."""
    folder = FileFolder(path, strict=True)
    if not kind_of(path):
        raise DataError(f"expected a folder, or a file with one of {', '.join(sorted(SUFFIXES))}", path=path)
    return folder
