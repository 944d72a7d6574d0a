"""The corpora of the page: the index folders given at the start, and uploaded files.

An upload is read by `uploads`, indexed in a scratch folder, and moved into place as a whole. Several servers may use one
folder of uploads: each sees the uploads and removals of the others.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.corpora.files import Account
from lisax.errors import DataError, LisaxError
from lisax.files.places import is_cluster
from lisax.files.writing import write_json
from lisax.predict.building import account_of
from lisax.retrieval.cluster import noted, open_records, state_of
from lisax.retrieval.cluster_pages import ClusterDocuments
from lisax.retrieval.cluster_passages import ClusterPassages, ClusterTables
from lisax.retrieval.folder import META, open_component, read_components, unchanged
from lisax.retrieval.passages import Source, has_passages
from lisax.serve import uploads
from lisax.serve.limits import Limits
from lisax.serve.store import alone_in, private_folder
from lisax.serve.uploads import Upload
from lisax.serve.visitors import ANYONE, AUDIENCES, EVERYONE, Visitor
from lisax.text import titles

CARD = "corpus.json"
GIVEN = "indexes.json"  # maps ids of given corpora to their indexes; in addition to the folder of uploads
REMOVED, UPLOAD, LOCK = ".removed-", ".upload-", "lock"
FOLDERS = "folders"  # next to the folder of uploads: indexes of followed folders, of each server its own
CLUSTER_TRIES, CLUSTER_SECONDS = 2, 10.0  # of a request to a cluster
INDEX, PASSAGES = "index", "passages"  # folders of an upload: of its tables, and of all as passages


@dataclasses.dataclass(frozen=True, slots=True)
class ServedCorpus:
    """A corpus of the page, as its indexes were when it was opened. `id` names it in addresses and files, `version` is
    another one for each build, `made` is the time of the build in seconds since 1970; `components` are those of its
    indexes; `notes` are warnings about an upload, and `digest` is that of the upload. `passages`: the index of passages
    of an upload, which is a folder of its own."""

    id: str
    name: str
    index: Path | str  # a folder, or the address of an index of a cluster
    components: frozenset[str]
    version: str
    made: float
    uploaded: bool = False
    notes: tuple[str, ...] = ()
    digest: str | None = None
    passages: Path | None = None
    account: Account | None = None  # the files of a folder, or of an index of files
    audience: str = EVERYONE  # see `visitors`
    owner: str | None = None  # the id of the visitor that uploaded it
    expires: float | None = None  # when it is removed, in seconds since 1970

    @property
    def edition(self) -> str:
        """The corpus and its version."""
        return f"{self.id}@{self.version}"

    @property
    def is_remote(self) -> bool:
        """Whether it is in a cluster."""
        return isinstance(self.index, str)

    @property
    def has_table_vectors(self) -> bool:
        return "dense-tables" in self.components

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
    """`get(id)` is a corpus. Given ones come first, then uploads in the order of their names. `add_vectors`: makes the
    vectors of an index of uploaded tables, where the model of questions finds tables by them."""

    add_vectors: Callable[[Path], Any] | None = None
    opening: Callable[[ServedCorpus], Any] | None = None  # called with a corpus before it takes another's place
    dropped: Callable[[ServedCorpus], Any] | None = None  # called with an upload that is gone

    def __init__(self, indexes: Iterable[Path | str], folder: Path, limits: Limits, keep: float | None = None):
        """`keep`: seconds after which an upload is removed; None: never."""
        self.keep = keep
        self.folder, self.limits, self._lock = folder, limits, threading.Lock()  # of builds: an index at a time
        self._removing = threading.Lock()
        self._corpora: dict[str, ServedCorpus] = {}
        self._changing = threading.Lock()  # of `_corpora`
        self.away = frozenset[str]()  # ids of corpora whose cluster did not answer when it was last looked at
        self.problem = ""  # why the corpora could not be looked at the last time
        self._listed: int | None = None  # the change of the folder of uploads whose content is in `_corpora`
        self._own = contextlib.ExitStack()  # the folder of followed folders' indexes
        with alone_in(folder.parent):
            private_folder(folder)
            self._open_given(indexes, folder.with_name(GIVEN))
            _remove_unfinished(folder)
        for gone in folder.glob(f"{REMOVED}*"):  # the server ended before its files were deleted
            shutil.rmtree(gone, ignore_errors=True)
        for card in sorted(folder.glob(f"[!.]*/{CARD}")):
            self._set(_uploaded(card.parent, keep))
        self.remove_old()

    def _open_given(self, indexes: Iterable[Path | str], record: Path) -> None:
        known = _read_given(record)
        for path in indexes:
            if (address := path if is_cluster(path) else noted(path)) is not None:
                found = _of_cluster(address)
                own = {"path": address, "content": {"cluster": found.version}}
                corpus = dataclasses.replace(found, id=self._given_id(found.name, own, known))
            else:
                content = {name: made["digest"] for name, made in read_components(path).items()}
                own = {"path": str(path.resolve()), "content": content}
                corpus = _given(path, self._given_id(path.resolve().name, own, known))
            self._corpora[corpus.id] = corpus
        write_json(record, known)

    def _list_uploads(self) -> None:
        """Adds and drops uploads as another server has changed the folder."""
        changed = self.folder.stat().st_mtime_ns
        if changed == self._listed:
            return
        there = {card.parent.name for card in self.folder.glob(f"[!.]*/{CARD}")}
        with self._changing:
            known = {corpus.id for corpus in self._corpora.values() if corpus.uploaded}
            gone = [self._corpora.pop(name) for name in known - there]
            for name in sorted(there - known):
                with contextlib.suppress(DataError):  # removed meanwhile
                    self._corpora[name] = _uploaded(self.folder / name, self.keep)
        for corpus in gone if self.dropped is not None else ():
            self.dropped(corpus)
        # Within the resolution of a file system's clock the folder may change again and look the same.
        self._listed = changed if time.time_ns() - changed > 10**9 else None

    def _set(self, corpus: ServedCorpus) -> None:
        with self._changing:
            self._corpora[corpus.id] = corpus

    def _given_id(self, name: str, own: dict[str, Any], known: dict[str, dict]) -> str:
        """The id under which answers and feedback refer to an index, whatever other indexes are given: that of its
        folder or, if the folder was moved, of its content. An index that is not `known` gets a new id, made of its
        `name`, which is added."""
        same = (
            name
            for part in own
            for name, other in known.items()
            if other[part] == own[part] and name not in self._corpora
        )
        found = next(same, None) or _free_id(_slug(name), known)
        known[found] = own
        return found

    def __iter__(self) -> Iterator[ServedCorpus]:
        self._list_uploads()
        with self._changing:
            return iter(list(self._corpora.values()))

    def get(self, corpus_id: str) -> ServedCorpus | None:
        self._list_uploads()
        return self._corpora.get(corpus_id)

    @property
    def given(self) -> list[ServedCorpus]:
        """The corpora that are not uploads, without a look at the folder of uploads."""
        return [corpus for corpus in list(self._corpora.values()) if not corpus.uploaded]

    def add(
        self, name: str, files: Sequence[tuple[str, bytes]], audience: str = EVERYONE, visitor: Visitor = ANYONE
    ) -> ServedCorpus:
        """Adds a corpus of the pages and tables in uploaded files (name, content): all, or none with a `LisaxError`.

        The same files of the same visitor under the same name return the existing corpus: forms are easily sent twice."""
        if audience not in visitor.audiences:
            raise LisaxError(f"An upload of yours can be for: {', '.join(visitor.audiences)}.")
        owner = visitor.owner(audience)
        name = titles.one_line(name)[: self.limits.name_characters] or "Uploaded files"
        with self._lock, _scratch(self.folder) as scratch:
            digest = _digest(f"{audience} {owner} {name}", files)
            if (same := next((corpus for corpus in self if corpus.digest == digest), None)) is not None:
                return same
            if sum(corpus.uploaded for corpus in self) >= self.limits.corpora:
                raise LisaxError(
                    f"There is no room for another upload: at most {self.limits.corpora} are kept, those included that "
                    "you do not see."
                )
            made = scratch / "corpus"
            (made / "files").mkdir(parents=True)
            found = uploads.read(files, made / "files", self.limits)
            self._build(made, name, found, digest=digest, audience=audience, owner=owner, loaded=time.time())
            corpus_id = _free_id(f"{_slug(name)}-{secrets.token_hex(3)}", self._corpora)
            made.rename(self.folder / corpus_id)
            corpus = _uploaded(self.folder / corpus_id, self.keep)
            self._set(corpus)
        return corpus

    def put(self, name: str, found: Upload, replaces: ServedCorpus | None = None) -> ServedCorpus:
        """Adds a corpus of a folder's pages and tables, or replaces its index; the page cannot remove it. The old
        index's files are deleted, which open readers of it do not notice."""
        with self._lock, _scratch(folder := self._followed) as scratch:
            made = scratch / "corpus"
            made.mkdir()
            self._build(made, name, found)
            corpus_id = replaces.id if replaces else _free_id(_slug(name), self._corpora)
            home = folder / f"{corpus_id}-{secrets.token_hex(4)}"
            made.rename(home)
            try:
                corpus = dataclasses.replace(_uploaded(home, None), id=corpus_id, uploaded=False)
                self.replace(corpus)
            except BaseException:
                shutil.rmtree(home, ignore_errors=True)
                raise
        if replaces is not None:
            with contextlib.suppress(OSError):
                shutil.rmtree(replaces.index.parent)
        return corpus

    @functools.cached_property
    def _followed(self) -> Path:
        """The folder of this server's indexes of followed folders, removed when it ends, or by the next one."""
        folder = self.folder.with_name(FOLDERS)
        with alone_in(folder.parent):
            private_folder(folder)
            _remove_unfinished(folder)
            return self._own.enter_context(_scratch(folder))

    def renewed(self, corpus: ServedCorpus) -> ServedCorpus | None:
        """A given corpus as its folder or cluster is now; None if it was not built again. Raises DataError if it is not
        whole, and Unreachable if its cluster does not answer."""
        if corpus.is_remote:
            found = _of_cluster(corpus.index)
            return None if found.version == corpus.version else dataclasses.replace(found, id=corpus.id)
        if corpus.uploaded or (corpus.index / META).stat().st_mtime == corpus.made:
            return None
        found = _given(corpus.index, corpus.id)
        for name in found.components:
            open_component(corpus.index, name)
        return None if found.version == corpus.version else dataclasses.replace(found, name=corpus.name)

    def replace(self, corpus: ServedCorpus) -> None:
        """Puts a corpus in the place of that with the same id."""
        if self.opening is not None:
            self.opening(corpus)
        self._set(corpus)

    def preview(self, files: Sequence[tuple[str, bytes]]) -> Upload:
        """The content of files, without adding it."""
        with _scratch(self.folder) as scratch:
            return uploads.read(files, scratch, self.limits)

    def _build(self, folder: Path, name: str, found: Upload, **card: Any) -> None:
        """Indexes tables as a whole, for questions and models of tables, and all as passages, for models of
        sentences; then writes the card."""
        from lisax.retrieval import mixed, passages, table_text

        if found.tables:
            beside_vectors = {} if self.add_vectors is None else table_text.BESIDE_VECTORS
            table_text.build_index(found.tables, folder / INDEX, **beside_vectors, with_cells=True)
            if self.add_vectors is not None:
                self.add_vectors(folder / INDEX)
        sources = {
            Source.TEXT: (one for page in found.pages for one in passages.of_document(page)),
            Source.TABLE: (one for table in found.tables for one in passages.of_table(table)),
        }
        there = [Source.TEXT] * bool(found.pages) + [Source.TABLE] * bool(found.tables)
        mixed.build_index({source: sources[source] for source in there}, folder / PASSAGES)
        write_json(folder / CARD, {"name": name, "notes": found.notes, "files": found.account.to_dict(), **card})

    def remove(self, corpus_id: str) -> bool:
        """Removes an uploaded corpus and deletes its files; a given one stays. Returns whether it was there. Raises
        OSError if its folder cannot be changed, which keeps it, or if a file cannot be deleted."""
        with self._removing:
            corpus = self.get(corpus_id)
            if corpus is None:
                return False
            if not corpus.uploaded:
                raise LisaxError("Only an uploaded corpus can be removed.")
            # Hidden at once; files that a question still reads are deleted when it is done.
            gone = self.folder / f"{REMOVED}{corpus_id}"
            with contextlib.suppress(FileNotFoundError):  # another server removes it as well
                (self.folder / corpus_id).rename(gone)
            self._listed = None
            try:
                self._list_uploads()
            finally:  # the files go, whatever `dropped` raises
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(gone)
        return True

    def remove_old(self) -> None:
        """Removes the uploads whose time is over."""
        now = time.time()
        for corpus in list(self):
            if corpus.expires is not None and corpus.expires <= now:
                self.remove(corpus.id)


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
            f"it does not record which index is which ({error!r}); remove it, and name the indexes in the "
            "order in which they were given first",
            path=path,
        ) from None
    return known


def _given(path: Path, corpus_id: str) -> ServedCorpus:
    """The corpus of an index folder, all of one build. Raises DataError if nothing can be asked of it."""

    def opened() -> ServedCorpus:
        account = account_of(path)
        return ServedCorpus(
            corpus_id,
            path.resolve().name,
            path,
            frozenset(read_components(path)),
            *_version([path]),
            notes=(*account.lines(), *map(str, account.notes)) if account else (),
            account=account,
        )

    corpus = unchanged(path, opened)
    if not (corpus.has_table_texts or corpus.has_cells or corpus.has_pages or corpus.has_passages):
        raise DataError(
            "no index of pages (`lisax index documents`), of tables (`lisax index tables`), of "
            "cells (`lisax index cells`) or of passages (`lisax index mixed`)",
            path=path,
        )
    return corpus


def open_served(address: str) -> ClusterDocuments | ClusterPassages | ClusterTables:
    """An index of a cluster, which people do not wait long for."""
    return open_records(address, tries=CLUSTER_TRIES, timeout=CLUSTER_SECONDS)


def _of_cluster(address: str) -> ServedCorpus:
    """The corpus of an index of a cluster, without its id."""
    opened = open_served(address)
    digest, made = state_of(opened.bm25)
    return ServedCorpus("", opened.bm25.name, address, opened.components, digest[:12], made)


def _version(indexes: Iterable[Path]) -> tuple[str, float]:
    """The version of a corpus, and when it was built; a build gives its parts names of their own."""
    found = [path / META for path in indexes]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in found))
    return digest.hexdigest()[:12], found[0].stat().st_mtime


def _uploaded(folder: Path, keep: float | None) -> ServedCorpus:
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        own = [*([folder / INDEX] if (folder / INDEX).is_dir() else []), folder / PASSAGES]
        components = frozenset(name for path in own for name in read_components(path))
        version, made = _version(own)
        if (audience := card.get("audience", EVERYONE)) not in AUDIENCES:
            raise ValueError(f"its audience is {audience!r}")
        return ServedCorpus(
            folder.name,
            str(card["name"]),
            own[0],
            components,
            version,
            made,
            uploaded=True,
            notes=tuple(map(str, card["notes"])),
            account=Account.of(card["files"]),
            digest=card.get("digest"),
            passages=folder / PASSAGES,
            audience=audience,
            owner=card.get("owner"),
            expires=None if keep is None else float(card["loaded"]) + keep,
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DataError(f"the uploaded corpus is damaged ({error}); remove its folder", path=folder) from None


def _digest(name: str, files: Iterable[tuple[str, bytes]]) -> str:
    parts = [name, *(f"{file} {hashlib.sha256(content).hexdigest()}" for file, content in files)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "corpus"


def _free_id(wanted: str, taken: Mapping[str, Any]) -> str:
    return next(name for i in range(len(taken) + 1) if (name := f"{wanted}-{i}" if i else wanted) not in taken)
