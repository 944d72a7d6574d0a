"""Builds an index from a corpus (`Index.build`), and keeps the cache of indexes built without a folder."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import logging
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lisax import __version__
from lisax.corpora import Dataset, fever, open_folder, plain
from lisax.corpora.files import NOT_EVIDENCE, Account, FileFolder, only_file
from lisax.corpora.reading import Row, Watch
from lisax.documents import VERSION as READING
from lisax.errors import DataError, LisaxError
from lisax.files.places import cache_folder
from lisax.files.reading import read_json_lines
from lisax.files.writing import write_json
from lisax.progress import counted, say
from lisax.records import Document, Graph, Sentence, Table
from lisax.retrieval import documents, mixed, table_store, table_text, tables
from lisax.retrieval.cluster_passages import ClusterTables
from lisax.retrieval.corpus_passages import passages_of
from lisax.retrieval.dense import DenseIndex, source_of_vectors
from lisax.retrieval.folder import VERSION, open_component, read_components
from lisax.text import titles
from lisax.text.languages import AUTO, ENGLISH, check_language, detect
from lisax.text.sentences import split_sentences

log = logging.getLogger(__name__)
KINDS = ("documents", "whole", "mixed", "cells", "tables")
FILES = "files.json"  # in the folder of an index of files: the account of them, and the files
RECORDS = Path("records")  # the file name in errors about records


class Built(NamedTuple):
    """The folder of an index, and whether it already existed."""

    folder: Path
    kind: str
    reused: bool


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The input of an index: streams of records, which can be read repeatedly, and a digest of their content."""

    name: str
    documents: Callable[[], Iterable[Document]]
    tables: Callable[[], Iterable[Table]]
    graphs: Callable[[], Iterable[Graph]]
    digest: Callable[[], str]
    files: FileFolder | None = None

    @property
    def default_kind(self) -> str:
        """`documents` for only text, `whole` with tables, `mixed` with graphs."""
        if _any(self.tables()):
            return "whole"
        return "mixed" if _any(self.graphs()) else "documents"


def build_index(
    source: Any,
    out: str | os.PathLike | None = None,
    kind: str | None = None,
    vectors: str | os.PathLike | None = None,
    *,
    language: str = ENGLISH,
    strict: bool = False,
) -> Built:
    """See `Index.build`. Raises LisaxError where the corpus is empty, or has nothing that the kind indexes."""
    if kind is not None and kind not in KINDS:
        raise LisaxError(f"expected an index kind of {', '.join(KINDS)}; found '{kind}'")
    if language != AUTO:
        check_language(language)
    if vectors is not None and kind == "cells":
        raise LisaxError("an index of cells has no vectors: leave them out, or choose another kind")
    corpus, added = open_corpus(source), () if vectors is None else (os.fspath(vectors),)
    if corpus.files is not None:
        corpus.files.strict = corpus.files.strict or strict
    built = _built(corpus, kind, out, language, *added)
    if vectors is not None and (out is not None or not _has_vectors(built.folder)):
        _add_vectors(built.folder, vectors)
    account = account_of(built.folder)
    if account is not None and account.skipped:
        if strict and any(one.why != NOT_EVIDENCE for one in account.skipped):
            raise DataError("\n  ".join(account.lines()), path=corpus.name)
        log.warning("%s", account)
    if account is not None:
        account.tell()
    return built


def _add_vectors(index: Path, model: str | os.PathLike) -> None:
    from lisax.predict.retriever import add_vectors, open_encoder

    add_vectors(index, open_encoder(model))


def _has_vectors(folder: Path) -> bool:
    try:
        DenseIndex.open(folder)
    except DataError:
        return False
    return True


def _built(corpus: Corpus, asked: str | None, out: str | os.PathLike | None, language: str, *vectors: str) -> Built:
    """The index of a corpus, without vectors if it is new. In the cache, indexes with other `vectors` are separate, and
    those whose kind was not given: of an unchanged corpus nothing is read, not even to choose the kind."""
    if out is not None:
        kind = asked or corpus.default_kind
        _build(corpus, kind, Path(out), language, *vectors)
        return Built(Path(out), kind, False)
    settings = [asked or "any", *(() if language == ENGLISH else (f"language {language}",)), *vectors]
    digest = hashlib.sha256(f"{json.dumps([__version__, VERSION, READING, *settings])}{corpus.digest()}".encode())
    folder = cache_folder() / "indexes" / f"{settings[0]}-{digest.hexdigest()[:20]}"
    if _is_whole(folder):
        components = read_components(folder)
        kind = "documents" if "pages" in components else "whole" if "tables" in components else "mixed"
        return Built(folder, asked or kind, True)
    kind = asked or corpus.default_kind
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=folder.parent) as scratch:
        _build(corpus, kind, Path(scratch) / "index", language, *vectors)
        shutil.rmtree(folder, ignore_errors=True)  # a damaged index
        try:
            (Path(scratch) / "index").rename(folder)
        except OSError:  # another process was faster and wrote the same content
            if not _is_whole(folder):
                raise
    return Built(folder, kind, False)


def change_files(
    index: str | os.PathLike,
    add: Iterable[str | os.PathLike] = (),
    remove: Iterable[str] = (),
    *,
    strict: bool = False,
) -> Built:
    """Builds an index of files again, with files or folders added, and without those whose paths, or paths within their
    folder, are in `remove`. Raises LisaxError for an index of another corpus, for a file that it does not have, and if no
    file to add can be read; the index stays as it was."""
    index = Path(index)
    if account_of(index) is None:
        raise LisaxError(f"{index} was not built of files: build one with `lisax index build DIR --out INDEX`")
    held = {os.path.abspath(path): name for path, name in json.loads((index / FILES).read_bytes())["paths"]}
    added: dict[str, str] = {}
    for given in (adding := list(map(Path, add))):
        if not given.exists():
            raise DataError("no such file or folder", path=given)
        added |= {os.path.abspath(path): name for path, name in FileFolder(given).files_below}
    if adding:
        account = FileFolder(index, files=[(Path(path), name) for path, name in added.items()]).account()
        if not account.read:
            raise LisaxError("nothing was added: " + "\n  ".join(account.lines()))
    held |= added
    for given in remove:
        gone = {path for path, name in held.items() if name == given or path == os.path.abspath(given)}
        if not gone:
            raise LisaxError(
                f"{index} has no file '{given}'; `lisax index check {shlex.quote(str(index))}` names the unread ones"
            )
        held = {path: name for path, name in held.items() if path not in gone}
    files = [(Path(path), name) for path, name in sorted(held.items(), key=lambda one: one[1])]
    data = FileFolder(index, files=files, strict=strict)
    encoder = source_of_vectors(index)
    settings = (manifest["settings"] for manifest in read_components(index).values())
    language = next((one["language"] for one in settings if "language" in one), ENGLISH)
    built = _built(_of_data(data, index), None, index, language, *([encoder] if encoder else []))
    if encoder:
        _add_vectors(built.folder, encoder)
    if (account := account_of(index)) is not None:
        account.tell()
    return built


def cells_of(tables: ClusterTables) -> Path:
    """The folder in the cache of an index of the cells of a cluster's tables, which is built if it is not there, from
    the tables of the cluster."""
    # By its own name: an alias may come to mean another index meanwhile.
    held = ClusterTables(tables.bm25.named(tables.bm25.behind))
    name = f"the tables of the cluster's index '{held.bm25.name}'"
    corpus = Corpus(name, tuple, lambda: counted(held.store, "tables"), tuple, lambda: held.digest)
    built = _built(corpus, "cells", None, ENGLISH)
    if not built.reused:
        say(f"built the index of cells of {name}: {built.folder}")
    return built.folder


def account_of(index: str | os.PathLike) -> Account | None:
    """The files that an index was built from; None for an index of other corpora."""
    path = Path(index) / FILES
    return Account.of(json.loads(path.read_bytes())) if path.is_file() else None


def _is_whole(folder: Path) -> bool:
    try:
        for name in read_components(folder):
            open_component(folder, name)
    except LisaxError:
        return False
    return True


def _build(corpus: Corpus, kind: str, out: Path, language: str, *vectors: str) -> None:
    what = {"documents": "page", "cells": "table", "tables": "table"}.get(kind, "page, table or graph")
    every = [corpus.documents, corpus.tables, corpus.graphs]
    streams = {"documents": [corpus.documents], "mixed": every, "whole": every}
    if not any(_any(read()) for read in streams.get(kind, [corpus.tables])):
        account = corpus.files.account() if corpus.files else None
        why = f": {account.report()}" if account else ""
        raise LisaxError(f"there is nothing to index: {corpus.name} has no {what}{why}")
    if language == AUTO:
        of_tables = map(table_store.indexed_text, corpus.tables())
        language = detect(itertools.chain(map(documents.indexed_text, corpus.documents()), of_tables))
    beside = {"language": language} | (table_text.BESIDE_VECTORS if vectors else {})
    if kind == "documents":
        documents.build_index(corpus.documents(), out, language=language)
    elif kind == "cells":
        tables.build_index(corpus.tables(), out, tables.Strategy.ENTITY_CHAR_23)
    elif kind == "tables":
        table_text.build_index(corpus.tables(), out, **beside)
    else:
        mixed.build_index(passages_of(corpus), out, language=language)
        if kind == "whole":  # whole tables as well, for questions and for rows that lead verdicts
            table_text.build_index(corpus.tables(), out, **beside, with_cells=True)
    if corpus.files is not None:
        account = corpus.files.account()
        write_json(out / FILES, account.to_dict() | {"paths": corpus.files.paths()})


def _any(records: Iterable[Any]) -> bool:
    return any(True for _ in records)


# --- Sources ---------------------------------------------------------------------------------


def open_corpus(source: Any) -> Corpus:
    """Opens the corpus in a folder or a file, or wraps records."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_file():
            return _of_file(path)
        if not path.is_dir():
            raise DataError("no such file or folder", path=path)
        if not any(path.iterdir()):
            raise DataError("the folder is empty", path=path)
        return _of_data(open_folder(path), path)
    if isinstance(source, (Mapping, Document, Table, Graph)) or not isinstance(source, Iterable):
        raise LisaxError(f"expected a folder, a file or a list of records, found {source!r:.80}")
    return _of_records(list(source))


def _of_data(data: Dataset, folder: Path) -> Corpus:
    digest = functools.cache(lambda: _digest_of_files(folder))
    if not isinstance(data, FileFolder):
        return Corpus(str(folder), data.documents, data.tables, data.graphs, digest)
    # The account has the warnings: a watch that is never asked keeps the streams from logging them too.
    return Corpus(
        str(folder),
        lambda: data.documents(Watch()),
        lambda: (table for table in data.tables(Watch()) if table.rows),
        data.graphs,
        digest,
        data,
    )


def _of_file(path: Path) -> Corpus:
    name, read = _records_of(path)
    if name is None:
        return _of_data(only_file(path), path)
    found: dict[str, Callable[[], Iterable]] = dict.fromkeys(("documents", "tables", "graphs"), tuple)
    found[name] = lambda: read(path)
    return Corpus(str(path), **found, digest=lambda: _digest_of_files(path))


def _records_of(path: Path) -> tuple[str | None, Callable | None]:
    """The kind of records in a JSON Lines file of pages, tables or graphs, and their reader; None for other files."""
    if path.suffix.lower() != ".jsonl":
        return None, None
    _, first = next(read_json_lines(path))
    readers = {
        "sentences": ("documents", plain.read_pages),
        "lines": ("documents", fever.read_pages),
        "rows": ("tables", plain.read_tables),
        "edges": ("graphs", plain.read_graphs),
    }
    return next((reader for field, reader in readers.items() if field in first), (None, None))


def _digest_of_files(path: Path) -> str:
    """SHA-256 of the names and contents of a file, or of all files below a folder."""
    whole = hashlib.sha256()
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        name = file.name if file == path else file.relative_to(path).as_posix()
        try:
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:  # it is read later, and named as unread
            digest = error.strerror
        whole.update(json.dumps([name, digest]).encode())
    return whole.hexdigest()


def _of_records(records: list[Any]) -> Corpus:
    made = [_record(record, number) for number, record in enumerate(records, start=1)]
    of_kind = {kind: [record for record in made if isinstance(record, kind)] for kind in (Document, Table, Graph)}
    for kind, members in of_kind.items():
        ids = [record.id for record in members]
        if len(set(ids)) < len(ids):
            twice = next(one for one in ids if ids.count(one) > 1)
            raise LisaxError(f"two records of the kind {kind.__name__} have the id '{twice}'; ids must be distinct")
    content = [[type(record).__name__, dataclasses.asdict(record)] for record in made]
    return Corpus(
        "the list of records",
        lambda: of_kind[Document],
        lambda: of_kind[Table],
        lambda: of_kind[Graph],
        lambda: hashlib.sha256(json.dumps(content).encode()).hexdigest(),
    )


def _record(record: Any, number: int) -> Document | Table | Graph:
    """The record that a dict describes (`sentences` or `text`: a page, `rows`: a table, `edges`: a graph); records are
    returned as they are. A dict without an id gets its title as id, or else its number."""
    if isinstance(record, (Document, Table, Graph)):
        return record
    if not isinstance(record, Mapping):
        raise LisaxError(f"record {number}: expected a Document, Table, Graph or dict, found {type(record).__name__}")
    row = dict(record)
    named = row.get("title") or row.get("subject")
    row.setdefault("id", titles.title_to_id(named) if isinstance(named, str) and named.strip() else str(number))
    read = Row(row, RECORDS, number, Watch())
    if "rows" in row:
        return plain.parse_table(Row({"title": "", **row}, RECORDS, number, read.watch))
    if "edges" in row:
        return plain.parse_graph(read)
    if "sentences" in row:
        return plain.parse_page(Row({"title": titles.id_to_title(str(row["id"])), **row}, RECORDS, number, read.watch))
    if "text" not in row:
        raise read.error("text", "expected `text` or `sentences` (a page), `rows` (a table) or `edges` (a graph)")
    page, original = read.id()
    sentences = split_sentences(titles.one_line(read.get("text", str)))
    title = titles.one_line(read.get("title", str, "")) or titles.id_to_title(page)
    made = tuple(Sentence(page, place, text) for place, text in enumerate(sentences))
    return Document(page, title, made, original_id=None if original == page else str(original))
