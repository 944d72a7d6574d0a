"""Keeps the trained models that answer in the state folder: all servers on it use them, after a restart too."""

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
NAME = "in_use.json"
POLL_SECONDS = 1.0


class InUse:
    """The trained models of a state folder. A server uses one if it began with the model that it replaces: a server that
    is started with another `--model` uses the given one."""

    def __init__(self, folder: Path, begun: Mapping[str, Path]):
        self.folder, self.path = folder, folder / NAME
        self._begun = {role: str(path.resolve()) for role, path in begun.items()}

    def put(self, role: str, model: Path) -> None:
        """Notes that the model at this path answers in its role."""
        with alone_in(self.folder):
            write_json(self.path, self._read() | {role: {"model": str(model), "instead_of": self._begun[role]}})

    def models(self) -> dict[str, Path]:
        """Returns the path of each role that has a trained model, or had one and has the first model again."""
        noted = {role: one for role, one in self._read().items() if one["instead_of"] == self._begun.get(role)}
        return {role: Path(one["model"]) for role, one in noted.items()}

    def _read(self) -> dict[str, dict[str, str]]:
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.is_file() else {}

    def take_up(self, used: Mapping[str, Path], use: Callable[[Path], object]) -> None:
        """Calls `use` with each model that is not `used`. One that cannot be opened is named in the log."""
        for role, model in self.models().items():
            if used[role] == model:
                continue
            try:
                use(model)
            except (LisaxError, OSError) as error:
                log.warning("the %s in use, %s, cannot be opened: %s", role, model, error)

    def follow(self, used: Mapping[str, Path], use: Callable[[Path], object]) -> None:
        """Takes up the models that other servers put to use, until this one ends."""
        threading.Thread(target=self._follow, args=(used, use), name="follows models", daemon=True).start()

    def _follow(self, used: Mapping[str, Path], use: Callable[[Path], object]) -> None:
        seen = 0
        while True:
            with contextlib.suppress(Busy, OSError):  # again after a second
                if (made := self._made()) != seen:
                    self.take_up(used, use)
                    seen = made
            time.sleep(POLL_SECONDS)

    def _made(self) -> int:
        return self.path.stat().st_mtime_ns if self.path.is_file() else 0
