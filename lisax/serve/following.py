"""Serves folders of documents as they are now: added, changed and removed files count within seconds.

A folder is indexed when the server starts, and again after changes, in a thread of its own; answers come from the old
index until the new one is complete. Files that did not change are not read again.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from lisax.corpora.files import FileFolder
from lisax.corpora.reading import Watch
from lisax.documents.grid import TableLimits
from lisax.errors import DataError, LisaxError
from lisax.serve.library import Library, ServedCorpus
from lisax.serve.uploads import Upload

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
        self.corpus = self.library.put(self.folder.resolve().name, read(self.folder, self.library.limits.table))

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
            found = read(self.folder, self.library.limits.table)
            before, self.corpus = self.corpus, self.library.put(self.corpus.name, found, replaces=self.corpus)
        except LisaxError as error:
            log.warning("%s is served as it was: %s", self.folder, error)
            return
        self.forget(before)
        log.warning("%s: %s", self.folder, found.account)


def read(folder: Path, limits: TableLimits) -> Upload:
    """The pages and tables of a folder. Raises LisaxError if it has neither."""
    watch = Watch()
    data = FileFolder(folder, limits)
    pages, tables = list(data.documents(watch)), list(data.tables(watch))
    account = data.account()
    if not pages and not tables:
        raise LisaxError(f"{folder} has no text and no table: {account}")
    warnings = (note.replace(f"{folder}{os.sep}", "") for note in watch.warnings)  # paths of the server stay here
    return Upload(pages, tables, (*account.lines(), *warnings), account)
