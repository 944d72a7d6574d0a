"""A run as a graph of stages that is declared once; their order, digests, `--until` and the printed plan derive from
it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.corpora import Dataset
from lisax.errors import LisaxError
from lisax.files.resumable import fingerprint
from lisax.papers.settings import View, fact
from lisax.papers.stages import Stage, StageRunner


@dataclasses.dataclass(frozen=True)
class Planned:
    """A stage with its state (`done`, `to do`, `begun`, or `again: …` with the changes) and the settings it reads."""

    stage: Stage
    state: str
    settings: Mapping[str, Any]


class Staged(ABC):
    """A run of a recipe over data in the folder `out`."""

    def __init__(self, data: Dataset, out: str | os.PathLike, recipe: Any, *, until: str | None = None):
        self._data, self.out, self._recipe = data, Path(out), recipe
        self._view: View | None = None
        self.runner = StageRunner(self.out, until)

    @abstractmethod
    def stages(self) -> Sequence[Stage]:
        """The stages in running order."""

    @property
    def stage_names(self) -> list[str]:
        return list(self.graph)

    @functools.cached_property
    def graph(self) -> Mapping[str, Stage]:
        """The stages by name, in running order.

        Raises `ValueError` where a stage precedes one of its dependencies, reads a setting that does not exist, or
        writes an output of another stage."""
        graph: dict[str, Stage] = {}
        written: dict[Path, str] = {}
        for stage in self.stages():
            if stage.name in graph:
                raise ValueError(f"two stages are named {stage.name}")
            if missing := [name for name in stage.after if name not in graph]:
                raise ValueError(f"stage {stage.name} waits for {', '.join(missing)}, not before it in the list")
            if unknown := [name for name in stage.reads if not self._is_setting(name)]:
                raise ValueError(f"stage {stage.name} reads {', '.join(unknown)}: no settings of its recipe or run")
            for path in stage.outputs:
                if written.setdefault(path, stage.name) != stage.name:
                    raise ValueError(f"stages {written[path]} and {stage.name} both write {path}")
            graph[stage.name] = stage
        return graph

    def check_until(self) -> None:
        """Raises an error for an unknown `--until` before any work is done."""
        until = self.runner.until
        if until is not None and until not in self.graph:
            raise LisaxError(f"this recipe has no stage '{until}'; its stages are {', '.join(self.graph)}")

    # --- Running ----------------------------------------------------------------------------

    def run(self) -> Any:
        """Runs all stages in order. Raises `Stopped` after the one named by `until`."""
        for stage in self.graph.values():
            self._run(stage)

    def make(self, *names: str) -> None:
        """Runs the named stages and their dependencies."""
        needed = self.before(*names)
        for stage in self.graph.values():
            if stage.name in needed:
                self._run(stage)

    def plan(self) -> list[Planned]:
        """The steps that `run` would take. Writes nothing."""
        planned = []
        for stage in self.graph.values():
            settings = self._values_read(stage)
            planned.append(Planned(stage, self.runner.state(stage, settings), settings))
            if stage.name == self.runner.until:
                break
        return planned

    def _run(self, stage: Stage) -> None:
        def work() -> None:
            with self.working_on(stage):
                stage.work()

        self.runner.run(dataclasses.replace(stage, work=work), self._values_read(stage))

    def before(self, *names: str) -> set[str]:
        """The named stages and all their dependencies, direct or not."""
        found, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.graph[name].after
        return found

    # --- Settings ---------------------------------------------------------------------------

    @property
    def recipe(self) -> Any:
        """The recipe; within a stage's work, a view restricted to the settings that the stage declares."""
        return self._recipe if self._view is None else self._view

    @fact
    def data_files(self) -> list:
        """Names, sizes and modification times of the data's files."""
        return fingerprint(self._data.folder, besides=self.out)

    @property
    def data(self) -> Dataset:
        self.see("data_files")
        return self._data

    def see(self, setting: str) -> None:
        """Records that a setting is read. Raises an error in the work of a stage that does not declare it."""
        if self._view is not None:
            self._view.see(setting)

    @contextlib.contextmanager
    def seeing(self, all_settings: bool = False) -> Iterator[View]:
        """Records separately which settings are read within the context; `all_settings` allows all of them."""
        outer = self._view
        if outer is None or all_settings:
            view = View(self._recipe)
        else:
            view = outer.inner()
        with self._seen_by(view):
            yield view

    @contextlib.contextmanager
    def _seen_by(self, view: View) -> Iterator[None]:
        outer, self._view = self._view, view
        try:
            yield
        finally:
            self._view = outer

    def working_on(self, stage: Stage) -> contextlib.AbstractContextManager[None]:
        """Within the context, refuses settings that neither the stage nor one before it declares."""
        declared = {name for one in self.before(stage.name) for name in self.graph[one].reads}
        return self._seen_by(View(self._recipe, declared, stage.name))

    def _values_read(self, stage: Stage) -> dict[str, Any]:
        return {name: self._value(name) for name in stage.reads}

    def _value(self, setting: str) -> Any:
        return getattr(self, setting) if self._is_fact(setting) else self._recipe.value(setting)

    def _is_fact(self, setting: str) -> bool:
        return isinstance(inspect.getattr_static(type(self), setting, None), fact)

    def _is_setting(self, setting: str) -> bool:
        return self._is_fact(setting) or hasattr(self._recipe, setting.partition(".")[0])
