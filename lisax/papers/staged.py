"""A run as a graph of stages, declared once, from which order, digests, `--until` and the printed plan derive."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import itertools
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.corpora import Dataset
from lisax.devices.workers import Opens, Workers, grouped
from lisax.errors import LisaxError
from lisax.files.resumable import content_print
from lisax.papers.settings import View, fact, value_of
from lisax.papers.stages import Stage, StageRunner

WIDTH = 100  # of a printed plan
LONGEST = 40  # longest value shown, in characters


@dataclasses.dataclass(frozen=True)
class Planned:
    """A stage with its state (`done`, `to do`, `begun`, or `again: …` with the changes) and the settings read."""

    stage: Stage
    state: str
    settings: Mapping[str, Any]

    def __str__(self) -> str:
        lines = [f"{self.stage.name}: {self.state}"]
        for verb, names in (("after", self.stage.after), ("reads", itertools.starmap(_shown, self.settings.items()))):
            indents = {"initial_indent": f"    {verb} ", "subsequent_indent": " " * 10}
            lines += textwrap.wrap(", ".join(names), WIDTH, break_on_hyphens=False, **indents)
        return "\n".join(lines)


def _shown(name: str, value: Any) -> str:
    """A setting with its value, or only its name where the value is a file's content."""
    short = value is None or (isinstance(value, (bool, int, float, str, list)) and len(repr(value)) <= LONGEST)
    return f"{name} = {value!r}" if short else name


class Staged(ABC):
    """A run of a recipe over data in the folder `out`. `workers`: for blocks of claims, questions or tables in its
    stages; no setting, because the results are the same."""

    workers: Workers | None = None

    def __init__(self, data: Dataset, out: Path, recipe: Any, *, until: str | None = None):
        self._data, self.out, self._recipe = data, Path(out), recipe
        self._seen: Callable[[str], Any] | None = None
        self._view = View(recipe, self.see)
        self.runner = StageRunner(self.out, until, self.value)

    @abstractmethod
    def stages(self) -> Sequence[Stage]:
        """The stages in running order."""

    @functools.cached_property
    def graph(self) -> Mapping[str, Stage]:
        """The stages by name, in running order.

        Raises LisaxError if a stage precedes one of its dependencies, as a recipe may ask for, and ValueError if it
        writes an output of another stage."""
        graph: dict[str, Stage] = {}
        written: dict[Path, str] = {}
        for stage in self.stages():
            if stage.name in graph:
                raise ValueError(f"two stages are named {stage.name}")
            if missing := [name for name in stage.after if name not in graph]:
                raise LisaxError(
                    f"the stage {stage.name} waits for {', '.join(missing)}, which does not come before it: `initial` of a "
                    "recipe names models that are trained earlier"
                )
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

    def run(self) -> None:
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
            planned.append(Planned(stage, self.runner.state(stage), self.runner.settings(stage.name)))
            if stage.name == self.runner.until:
                break
        return planned

    def plan_text(self) -> str:
        """A paragraph per stage, in running order, up to the one named by `--until`."""
        planned = self.plan()
        left = sum(one.state != "done" for one in planned)
        return "\n".join([*map(str, planned), f"{len(planned)} stages, {left} of them to do, in {self.out}"])

    def _run(self, stage: Stage) -> None:
        def work() -> None:
            with self.seen_by(self.runner.read):
                stage.work()

        self.runner.run(dataclasses.replace(stage, work=work))

    def at_workers(self, opens: Opens, items: Iterable[Any], at_a_time: int, what: str = "claims") -> Iterator[Any]:
        """The results of groups of `at_a_time` items one after the other (`devices.workers.mapped`)."""
        return itertools.chain.from_iterable(grouped(opens, list(items), at_a_time, self.workers, what))

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
        """The recipe; within a stage's work, a view of it that records what is read."""
        return self._recipe if self._seen is None else self._view

    @fact
    def data_files(self) -> list:
        return self.files_of(self._data)

    def files_of(self, data: Dataset) -> list:
        """Names, sizes and digests of the files that the data's reader reads."""
        return content_print(data.folder, self.out / "stages" / ".digests.json", self.out, data.may_read)

    @property
    def data(self) -> Dataset:
        self.see("data_files")
        return self._data

    def see(self, setting: str) -> None:
        """Records that a setting is read."""
        if self._seen is not None:
            self._seen(setting)

    @contextlib.contextmanager
    def seen_by(self, see: Callable[[str], Any] | None) -> Iterator[None]:
        """Within the context, `see` alone is called with each setting that is read; None: nothing is recorded."""
        outer, self._seen = self._seen, see
        try:
            yield
        finally:
            self._seen = outer

    def value(self, setting: str) -> Any:
        """The present value of a setting of the recipe or the run."""
        if not isinstance(inspect.getattr_static(type(self), setting, None), fact):
            return value_of(self._recipe, setting)
        with self.seen_by(None):
            return getattr(self, setting)
