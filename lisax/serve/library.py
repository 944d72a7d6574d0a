"""The corpora of the page: the index folders given at the start, and uploaded files.

An upload is written under generated file names, read by the readers of `corpora`, indexed in a scratch folder, and
moved into place as a whole. The client's file name is only used as text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import itertools
import json
import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.corpora import csv_tables, html_tables, titles
from lisax.corpora.grid import Place
from lisax.corpora.reading import Watch
from lisax.corpora.table_files import CSV, HTML
from lisax.records import DataError, LisaxError, Table, write_json
from lisax.retrieval.folder import read_components
from lisax.retrieval.passage_store import has_passages
from lisax.serve.limits import Limits
from lisax.serve.store import private_folder

CARD = "corpus.json"
GIVEN = "indexes.json"  # maps ids of given corpora to their indexes; beside the folder of uploads
REMOVED, UPLOAD, LOCK = ".removed-", ".upload-", "lock"
_UNWANTED = re.compile(r"[^\w .()-]+")


@dataclasses.dataclass(frozen=True, slots=True)
class ServedCorpus:
    """A corpus of the page. `id` names it in addresses and files; `components` are its index's; `notes` are warnings
    about an upload, and `digest` is that of the upload."""

    id: str
    name: str
    index: Path
    components: frozenset[str]
    uploaded: bool = False
    notes: tuple[str, ...] = ()
    digest: str | None = None

    @property
    def has_table_texts(self) -> bool:
        return {"table_text", "tables"} <= self.components

    @property
    def has_cells(self) -> bool:
        return {"cells", "tables"} <= self.components

    @property
    def has_pages(self) -> bool:
        return {"bm25", "titles", "pages"} <= self.components

    @property
    def has_passages(self) -> bool:
        return has_passages(self.components)


class Library:
    """`library[id]` is a corpus. Given ones come first, then uploads in the order of their names."""

    def __init__(self, indexes: Iterable[Path], folder: Path, limits: Limits):
        self.folder, self.limits, self._lock = folder, limits, threading.Lock()
        private_folder(folder)
        self._corpora: dict[str, ServedCorpus] = {}
        known = _read_given(folder.with_name(GIVEN))
        for path in indexes:
            manifests = read_components(path)
            corpus = ServedCorpus(
                self._given_id(path, manifests, known), path.resolve().name, path, frozenset(manifests)
            )
            if not (corpus.has_table_texts or corpus.has_cells or corpus.has_pages or corpus.has_passages):
                raise DataError(
                    "no index of pages (`lisax index documents`), of tables (`lisax index tables`), of "
                    "cells (`lisax index cells`) or of passages (`lisax index mixed`)",
                    path=path,
                )
            self._corpora[corpus.id] = corpus
        write_json(folder.with_name(GIVEN), known)
        _remove_unfinished(folder)
        for card in sorted(folder.glob(f"*/{CARD}")):
            if card.parent.name.startswith(REMOVED):  # the server ended before its files were deleted
                shutil.rmtree(card.parent, ignore_errors=True)
                continue
            corpus = _uploaded(card.parent)
            self._corpora[corpus.id] = corpus

    def _given_id(self, path: Path, manifests: dict[str, dict], known: dict[str, dict]) -> str:
        """The id under which answers and feedback refer to an index, whatever other indexes are given: that of its
        folder or, if the folder was moved, of its content. An index that is not `known` gets a new id, which is added.
        """
        own = {"path": str(path.resolve()), "content": {name: made["digest"] for name, made in manifests.items()}}
        same = (
            name
            for part in own
            for name, other in known.items()
            if other[part] == own[part] and name not in self._corpora
        )
        found = next(same, None) or _free_id(_slug(path.resolve().name), known)
        known[found] = own
        return found

    def __iter__(self) -> Iterator[ServedCorpus]:
        return iter(list(self._corpora.values()))

    def get(self, corpus_id: str) -> ServedCorpus | None:
        return self._corpora.get(corpus_id)

    def add(self, name: str, files: Sequence[tuple[str, bytes]]) -> ServedCorpus:
        """Adds a corpus of the tables in uploaded files (name, content): all of them, or none with a `LisaxError`.

        The same files under the same name return the existing corpus: forms are easily sent twice."""
        from lisax.retrieval import table_text, tables

        name = titles.one_line(name)[: self.limits.name_characters] or "Uploaded tables"
        with self._lock, _scratch(self.folder) as scratch:
            digest = _digest(name, files)
            if (same := next((corpus for corpus in self if corpus.digest == digest), None)) is not None:
                return same
            if sum(corpus.uploaded for corpus in self) >= self.limits.corpora:
                raise LisaxError(f"There are {self.limits.corpora} uploaded corpora already: remove one first.")
            made = scratch / "corpus"
            (made / "files").mkdir(parents=True)
            watch, found, cells, characters = Watch(), [], 0, 0
            names: dict[str, str] = {}  # generated name -> the user's name of a file
            for number, (file, content) in enumerate(files):
                shown = _shown_name(file, self.limits.name_characters)
                names[str(made / "files" / f"{number}{Path(shown).suffix.lower()}")] = shown
                for table in self._read(made / "files", number, shown, content, watch):
                    if not (table.rows and table.header):
                        watch.warn("tables without a row below their header (left out)", shown)
                    else:
                        found.append(table)
                        # Counted while reading: cells that span many others make a small file large.
                        cells += len(table.header) * len(table.rows)
                        characters += sum(map(len, itertools.chain(table.header, *table.rows)))
                        self._check_size("these files", len(found), cells, characters)
            if not found:
                raise LisaxError("There is no table with a row in these files.")
            table_text.build_index(found, made / "index")
            tables.build_index(found, made / "index", tables.Strategy.ENTITY_CHAR_23)
            notes = [_with_names(note, names) for note in watch.warnings]
            write_json(made / CARD, {"name": name, "tables": len(found), "notes": notes, "digest": digest})
            corpus_id = _free_id(f"{_slug(name)}-{secrets.token_hex(3)}", self._corpora)
            made.rename(self.folder / corpus_id)
            corpus = _uploaded(self.folder / corpus_id)
            self._corpora[corpus.id] = corpus
        return corpus

    def _read(self, folder: Path, number: int, shown: str, content: bytes, watch: Watch) -> Iterator[Table]:
        """The tables of one file. Its suffix determines the format; its name becomes part of ids and titles."""
        suffix = Path(shown).suffix.lower()
        if suffix not in CSV | HTML:
            raise LisaxError(
                f"'{shown}' is not a table that can be read here: expected a name that ends in "
                f"{', '.join(sorted(CSV | HTML))}."
            )
        path = folder / f"{number}{suffix}"
        path.write_bytes(content)
        if suffix in HTML:  # counted before parsing, which takes a hundred times their memory
            tags = html_tables.decode(content, Place(path, None, Watch())).lower()
            self._check_size(f"'{shown}'", tags.count("<table"), tags.count("<td") + tags.count("<th"))
        name = f"{number + 1}-{_UNWANTED.sub('_', Path(shown).stem).strip() or 'table'}"
        place = Place(path, None, watch, self.limits.table)
        try:
            if suffix in HTML:
                yield from html_tables.read_tables(name, place)
            else:
                table = csv_tables.read_table(name, place)
                yield dataclasses.replace(table, title=Path(shown).stem.replace("_", " "))
        except DataError as error:
            where = f", line {error.line}" if error.line is not None else ""
            said = str(error).removeprefix(f"{path}:").removeprefix(f"{error.line}:").strip()
            raise LisaxError(f"'{shown}'{where}: {said}.") from None

    def _check_size(self, what: str, tables: int, cells: int, characters: int = 0) -> None:
        limits = self.limits
        if characters > limits.upload_characters:
            raise LisaxError(
                f"The cells of {what}, each as often as it spans others, have more than the "
                f"{limits.upload_characters:,} characters that are taken at once."
            )
        if tables > limits.upload_tables or cells > limits.upload_cells:
            raise LisaxError(
                f"{tables:,} tables with {cells:,} cells in {what}; at most {limits.upload_tables:,} with "
                f"{limits.upload_cells:,} are taken at once."
            )

    def remove(self, corpus_id: str) -> None:
        """Removes an uploaded corpus and deletes its files; a given one stays."""
        with self._lock:
            corpus = self._corpora.get(corpus_id)
            if corpus is None or not corpus.uploaded:
                raise LisaxError("Only an uploaded corpus can be removed.")
            del self._corpora[corpus_id]
            # Hidden at once; files that a question still reads are deleted when it is done.
            gone = self.folder / f"{REMOVED}{corpus_id}"
            (self.folder / corpus_id).rename(gone)
            with contextlib.suppress(OSError):
                shutil.rmtree(gone)


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder for an unfinished upload, locked until it is done; a kill releases the lock."""
    with tempfile.TemporaryDirectory(prefix=UPLOAD, dir=folder) as scratch, open(f"{scratch}/{LOCK}", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(scratch)


def _remove_unfinished(folder: Path) -> None:
    """Removes the unfinished uploads of killed servers, but none in progress."""
    for scratch in folder.glob(f"{UPLOAD}*"):
        with contextlib.suppress(OSError), open(scratch / LOCK, "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(scratch)


def _read_given(path: Path) -> dict[str, dict]:
    """{id: {"path", "content"}}; empty for a state without given indexes."""
    if not path.is_file():
        return {}
    try:
        known = json.loads(path.read_bytes())
        for given in known.values():
            given["path"], given["content"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"it does not say which index is which ({error!r}); remove it, and name the indexes in the "
            "order in which they were given first",
            path=path,
        ) from None
    return known


def _uploaded(folder: Path) -> ServedCorpus:
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        components = frozenset(read_components(folder / "index"))
        return ServedCorpus(
            folder.name,
            str(card["name"]),
            folder / "index",
            components,
            uploaded=True,
            notes=tuple(map(str, card["notes"])),
            digest=card.get("digest"),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the uploaded corpus is damaged ({error}); remove its folder", path=folder) from None


def _digest(name: str, files: Iterable[tuple[str, bytes]]) -> str:
    parts = [name, *(f"{file} {hashlib.sha256(content).hexdigest()}" for file, content in files)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _shown_name(file: str, most: int) -> str:
    """The name of an uploaded file on one line; a long name is shortened in the middle, which keeps the suffix."""
    name = titles.one_line(re.split(r"[/\\]", file)[-1]) or "a file"
    return name if len(name) <= most else f"{name[: most - 13]}…{name[-12:]}"


def _with_names(note: str, names: Mapping[str, str]) -> str:
    """A warning with the user's file names instead of the generated ones; it ends with a path, or a path and a line."""
    said, first, place = note.rpartition(", first at ")
    path = next((path for path in names if place == path or place.startswith(f"{path}:")), "")
    return f"{said}{first}{names.get(path, '')}{place.removeprefix(path)}"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "corpus"


def _free_id(wanted: str, taken: Mapping[str, Any]) -> str:
    return next(name for i in range(len(taken) + 1) if (name := f"{wanted}-{i}" if i else wanted) not in taken)
