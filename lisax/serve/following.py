"""Serves folders of documents as they are now: added, changed and removed files count within seconds.

A folder is indexed when the server starts, and again after changes, in a thread of its own; answers come from the old
index until the new one is complete. Files that did not change are not read again.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from lisax.corpora.files import FileFolder
from lisax.errors import DataError, LisaxError
from lisax.serve.library import Library, ServedCorpus
from lisax.serve.uploads import Upload, content_of

log = logging.getLogger(__name__)
QUIET_MS = 1_000  # without a change, before a folder is read again


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
