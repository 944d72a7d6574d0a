"""The models trained from the page that answer, for all servers on a state folder."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from lisax.errors import LisaxError
from lisax.files.writing import write_json
from lisax.serve.store import alone_in
from lisax.serve.worker import Busy

log = logging.getLogger(__name__)
IN_USE, POLL_SECONDS = "in_use.json", 1.0


class InUse:
    """The trained models that answer, kept in a state folder: all servers on it use them, after a restart too. A server
    uses one if it began with the model that it replaces: a server that is started with another `--model` uses the given
    one."""

    def __init__(self, folder: Path, begun: Mapping[str, Path]):
        self.folder, self.path = folder, folder / IN_USE
        self._begun = {role: str(path.resolve()) for role, path in begun.items()}

    def put(self, role: str, model: Path) -> None:
        """Notes that the model at this path answers in its role."""
        with alone_in(self.folder):
            write_json(self.path, self._read() | {role: {"model": str(model), "instead_of": self._begun[role]}})

    def _read(self) -> dict[str, dict[str, str]]:
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.is_file() else {}

    def take_up(self, used: Mapping[str, Path], use: Callable[[Path], object]) -> None:
        """Calls `use` with each model that is not `used`. One that cannot be opened is named in the log."""
        for role, noted in self._read().items():
            model = Path(noted["model"])
            if noted["instead_of"] != self._begun.get(role) or used[role] == model:
                continue
            try:
                use(model)
            except (LisaxError, OSError) as error:
                log.warning("the %s in use, %s, cannot be opened: %s", role, model, error)

    def follow(self, used: Mapping[str, Path], use: Callable[[Path], object]) -> None:
        """Takes up the models that other servers put to use, until this one ends."""

        def watch() -> None:
            seen = 0
            while True:
                with contextlib.suppress(Busy, OSError):  # again after a second
                    if (made := self.path.stat().st_mtime_ns) != seen:
                        self.take_up(used, use)
                        seen = made
                time.sleep(POLL_SECONDS)

        threading.Thread(target=watch, name="follows models", daemon=True).start()
