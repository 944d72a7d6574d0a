"""Serves folders of documents, and indexes, as they are now: changes count within seconds.

A folder is indexed when the server starts, and again after changes, in a thread of its own. Files that did not change
are not read again. An index that was built again is opened next to the old one. In both cases answers come from the old
index until the new one is complete, and questions that were asked before are answered from the old one.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from lisax.corpora.files import FileFolder
from lisax.errors import DataError, LisaxError
from lisax.retrieval.cluster_client import Unreachable
from lisax.serve.library import Library, ServedCorpus
from lisax.serve.uploads import Upload, content_of

log = logging.getLogger(__name__)
QUIET_MS = 1_000  # without a change, before a folder is read again
POLL_SECONDS = 1.0  # between looks at an index
CLUSTER_POLLS = 5  # between looks at one in a cluster
QUIET_SECONDS = 1.0  # without a change, before an index is opened: its components may be built one after the other
LACKING_SECONDS = 60.0  # the same for an index without a component that it had, such as its vectors


@dataclasses.dataclass
class Followed:
    """A folder that is served. `forget` is called with the corpus of an index that was replaced."""

    folder: Path
    library: Library
    forget: Callable[[ServedCorpus], None]

    def __post_init__(self):
        if not self.folder.is_dir():
            raise DataError("no such folder", path=self.folder)
        self._stop = threading.Event()
        self.corpus = self.library.put(self.folder.resolve().name, self._read())

    def _read(self) -> Upload:
        return content_of(FileFolder(self.folder, self.library.limits.table))

    def start(self) -> None:
        """Watches the folder until `close`."""
        threading.Thread(target=self._follow, name=f"follows {self.folder}", daemon=True).start()

    def close(self) -> None:
        self._stop.set()

    def _follow(self) -> None:
        from watchfiles import watch

        for _ in watch(self.folder, stop_event=self._stop, debounce=QUIET_MS, step=100, ignore_permission_denied=True):
            self.update()

    def update(self) -> None:
        """Reads the folder and replaces its index. A folder without text keeps the index that it had."""
        try:
            found = self._read()
            before, self.corpus = self.corpus, self.library.put(self.corpus.name, found, replaces=self.corpus)
        except LisaxError as error:
            log.warning("%s is served as it was: %s", self.folder, error)
            return
        self.forget(before)
        log.warning("%s: %s", self.folder, found.account)


def later(forget: Callable[[ServedCorpus], None], seconds: float) -> Callable[[ServedCorpus], None]:
    """`forget`, called after these seconds: questions that were asked before may need the old index until then."""

    def wait(corpus: ServedCorpus) -> None:
        timer = threading.Timer(seconds, forget, [corpus])
        timer.daemon = True
        timer.start()

    return wait


@dataclasses.dataclass
class Renewal:
    """Opens given indexes again after they were built again. `forget` is called with each old edition."""

    library: Library
    forget: Callable[[ServedCorpus], None]

    def __post_init__(self):
        self._problems: dict[str, str] = {}  # of the last look, by the id of a corpus
        self._looks = 0

    def start(self) -> None:
        """Looks for changes until the server ends."""
        threading.Thread(target=self._watch, name="renews indexes", daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            self.update()

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
