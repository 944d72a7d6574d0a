"""Serves folders of documents, and indexes, as they are now: changes count within seconds.

A folder is indexed when the server starts, and again after changes, in a thread of its own. Files that did not change
are not read again. An index that was built again is opened next to the old one. In both cases answers come from the old
index until the new one is complete, and questions that were asked before are answered from the old one.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from lisax.corpora import open_folder
from lisax.corpora.files import FileFolder
from lisax.errors import DataError, LisaxError
from lisax.files.resumable import fingerprint
from lisax.retrieval.cluster_client import Unreachable
from lisax.serve.library import Library, ServedCorpus
from lisax.serve.uploads import Upload, content_of

log = logging.getLogger(__name__)
QUIET_MS = 1_000  # without a change, before a folder is read again
POLL_SECONDS = 1.0  # between looks at an index
CLUSTER_POLLS = 5  # between looks at one in a cluster
QUIET_SECONDS = 1.0  # without a change, before an index is opened: its components may be built one after the other
RETRY_SECONDS = 60.0  # between tries of a folder whose update fails, at most
LACKING_SECONDS = 60.0  # the same for an index without a component that it had, such as its vectors


class Followed:
    """A folder that is served. `forget` is called with the corpus of an index that was replaced."""

    def __init__(self, folder: Path, library: Library, forget: Callable[[ServedCorpus], None]):
        if not folder.is_dir():
            raise DataError("expected a folder, found a file" if folder.exists() else "no such folder", path=folder)
        if (layout := _layout(folder)) != FileFolder.layout:
            raise DataError(f"this is a dataset ({layout}): serve an index of it with --index", path=folder)
        self.folder, self.library, self.forget = folder, library, forget
        self._stop = threading.Event()
        self._problem, self._wait, self._again = "", 0.0, 0.0  # of the last update: why it failed, when to try again
        self._files, found = self._read()
        self.corpus = self.library.put(self.folder.resolve().name, found)

    def _read(self) -> tuple[list, Upload]:
        return fingerprint(self.folder), content_of(FileFolder(self.folder, self.library.limits.table))

    def start(self) -> None:
        """Watches the folder until `close`."""
        threading.Thread(target=self._follow, name=f"follows {self.folder}", daemon=True).start()

    def close(self) -> None:
        self._stop.set()

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self._watch()
            except Exception as error:  # such as: the folder is away, or the system watches no more of them
                self._warn(error)
                self._stop.wait(POLL_SECONDS)

    def _watch(self) -> None:
        """Updates the index after changes; returns when the folder was replaced."""
        from watchfiles import Change, watch

        watched, own, before = self.folder.resolve(), self.folder.stat(), True
        for changes in watch(
            watched,
            stop_event=self._stop,
            debounce=QUIET_MS,
            step=100,
            rust_timeout=int(POLL_SECONDS * 1_000),
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            if (Change.deleted, str(watched)) in changes or not os.path.samestat(self.folder.stat(), own):
                return
            if changes or before or (self._problem and time.monotonic() >= self._again):
                before = False  # files may have changed before the watch began
                self.update()

    def update(self) -> None:
        """Reads the folder if its files have changed, and replaces its index. A folder without text, and one whose
        index cannot be written, keeps the index that it had, and is tried again."""
        try:
            if fingerprint(self.folder) == self._files:
                self._problem = ""
                return
            files, found = self._read()
            before, self.corpus = self.corpus, self.library.put(self.corpus.name, found, replaces=self.corpus)
        except Exception as error:  # such as: no text, the disk is full, the state folder is away
            self._wait = min(max(2 * self._wait, POLL_SECONDS), RETRY_SECONDS)
            self._again = time.monotonic() + self._wait
            self._warn(error)
            return
        self._files, self._problem, self._wait = files, "", 0.0
        self.forget(before)
        log.warning("%s: %s", self.folder, found.account)
        found.account.tell()

    def _warn(self, error: Exception) -> None:
        """Logs a problem, once while it stays the same."""
        # Without the file of an OSError: names of scratch folders differ each time.
        if (problem := getattr(error, "strerror", None) or str(error) or repr(error)) != self._problem:
            log.warning("%s is served as it was: %s", self.folder, error)
        self._problem = problem


def _layout(folder: Path) -> str:
    """The layout of a folder; that of documents if it has nothing that is read."""
    try:
        return open_folder(folder).layout
    except LisaxError:
        return FileFolder.layout


def later(forget: Callable[[ServedCorpus], None], seconds: float) -> Callable[[ServedCorpus], None]:
    """`forget`, called after these seconds: questions that were asked before may need the old index until then."""

    def wait(corpus: ServedCorpus) -> None:
        timer = threading.Timer(seconds, forget, [corpus])
        timer.daemon = True
        timer.start()

    return wait


class Renewal:
    """Opens given indexes again after they were built again. `forget` is called with each old edition."""

    def __init__(self, library: Library, forget: Callable[[ServedCorpus], None]):
        self.library, self.forget = library, forget
        self._problems: dict[str, str] = {}  # of the last look, by the id of a corpus
        self._looks = 0

    def start(self) -> None:
        """Looks for changes until the server ends."""
        threading.Thread(target=self._watch, name="renews indexes", daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            self.look()

    def look(self) -> None:
        """Calls `update`, and notes in the library why it fails; a problem is logged once while it stays the same."""
        problem = ""
        try:
            self.update()
        except Exception as error:  # such as: the state folder is away
            problem = str(error) or repr(error)
        if problem and problem != self.library.problem:
            log.warning("indexes and uploads cannot be looked at: %s", problem)
        self.library.problem = problem

    def update(self) -> None:
        """Looks at each index once; at those in clusters at each `CLUSTER_POLLS`th call."""
        for corpus in self.library:
            if corpus.is_remote and self._looks % CLUSTER_POLLS:
                continue
            away = self.library.away - {corpus.id}
            try:
                problem = self._update(corpus)
            except Unreachable as error:
                problem, away = str(error), away | {corpus.id}
            except (LisaxError, OSError) as error:  # it is being replaced, or damaged
                problem = str(error)
            if problem and problem != self._problems.get(corpus.id):
                log.warning("%s is served as it was: %s", corpus.index, problem)
            if not problem and corpus.id in self.library.away:
                log.warning("%s answers again", corpus.index)
            self._problems[corpus.id], self.library.away = problem, away
        self._looks += 1
        self.library.remove_old()

    def _update(self, corpus: ServedCorpus) -> str:
        """Replaces a corpus that was built again. Returns why it waits, or an empty text."""
        found = self.library.renewed(corpus)
        if found is None:
            return ""
        lacking = corpus.components - found.components
        if time.time() - found.made < (LACKING_SECONDS if lacking else QUIET_SECONDS):
            return f"it was built again without {', '.join(sorted(lacking))}" if lacking else ""
        self.library.replace(found)
        self.forget(corpus)
        log.warning("%s: version %s is open, built after %s", corpus.index, found.version, corpus.version)
        return ""
