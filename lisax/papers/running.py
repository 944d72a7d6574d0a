"""Runs a paper: finds or generates its data, runs its stages in a folder or a bucket, reports."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax.corpora import open_folder
from lisax.devices.workers import Workers, one_connection
from lisax.errors import DataError, LisaxError
from lisax.files.places import is_remote
from lisax.files.run_lock import alone_in
from lisax.files.writing import atomic_write
from lisax.papers.mirror import Mirror
from lisax.papers.stages import Stopped
from lisax.progress import say
from lisax.training.gin_files import searching

if TYPE_CHECKING:
    from lisax.papers.base import Pipeline
    from lisax.papers.staged import Staged

# Paper -> module and class of its pipeline, and the folder of its recipes.
PAPERS = {
    "list5": ("lisax.papers.list5", "List5", "experiments/list5"),
    "open-tables": ("lisax.papers.open_tables", "OpenTables", "experiments/open_tables"),
    "cltr": ("lisax.papers.cltr", "Cltr", "experiments/cltr"),
    "deseption": ("lisax.papers.deseption", "Deseption", "experiments/deseption"),
    "udt-qa": ("lisax.papers.udt_qa", "UdtQa", "experiments/udt_qa"),
}

PAPER = "paper.txt"  # in a run's folder: the name of its paper
DRY_RUN_PAGES = 60


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """The folder and options of a run. `out`: the run's folder; its finished stages are not repeated. `dry_run`: print
    the plan and do nothing. `workers`: of the stages that find, rank, label and answer."""

    out: Path
    gin_files: Sequence[str] = ()
    bindings: Sequence[str] = ()
    search_paths: Sequence[str] = ()
    until: str | None = None
    dry_run: bool = False
    workers: Workers | None = None


@dataclasses.dataclass(frozen=True)
class WorldSettings:
    """A generated world instead of data. `more`: arguments of `world.write` that override the pipeline's settings."""

    pages: int
    seed: int = 0
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def run_paper(
    name: str,
    settings: RunSettings,
    data: Path | WorldSettings,
    recipe: str | None = None,
    folds: int | None = None,
    skip_bad: bool = False,
    first: Callable[[Any], None] | None = None,
) -> None:
    """Runs the stages of a paper and prints its tables.

    `recipe`: the recipe of the paper's folder to use if the settings name none (default: `scratch`; for a generated
    world `world`). `folds`: of cross-validation (CLTR only). `first` is called with the run before its stages."""
    module, class_name, folder = PAPERS[name]
    recipe = recipe or ("world" if isinstance(data, WorldSettings) else "scratch")
    gin_files = list(settings.gin_files) or [f"{folder}/{recipe}.gin"]
    bindings = list(settings.bindings)
    with searching(settings.search_paths), _work_folder(settings.out) as (out, mirror):
        _check_paper(out, name)
        pipeline = getattr(importlib.import_module(f"{module}.run"), class_name)
        # Errors in the recipe and unknown stages are reported before a world is written.
        read = pipeline.recipe_class.read(gin_files, bindings)
        read.check_inputs()
        if isinstance(data, WorldSettings):
            if getattr(read, "aggregates", False):
                data = dataclasses.replace(data, more={**data.more, "aggregations_per_table": 2})
            if settings.until is not None:
                with _data_folder(pipeline, data, out, dry_run=True) as folder:
                    pipeline(open_folder(folder), out, read, until=settings.until)
        with _data_folder(pipeline, data, out, settings.dry_run) as folder:
            if folds is not None:
                from lisax.papers.cltr.folds import cross_validate

                with _at_work(out, name), one_connection(settings.workers):
                    print(cross_validate(open_folder(folder), out, read, folds, settings.workers))
                return
            if mirror is not None:
                mirror.push()  # the generated world: the run compares its data's modification times
            run = pipeline(open_folder(folder, skip_bad=skip_bad), out, read, until=settings.until)
            if mirror is not None:
                run.runner.known_as, run.runner.after_each = str(mirror.place), mirror.push
            report = importlib.import_module(f"{module}.report")
            _finish(name, run, settings, report.finish, getattr(report, "finish_early", None), first)


def _finish(
    name: str,
    run: Staged,
    settings: RunSettings,
    finish: Callable[[Any], str],
    finish_early: Callable[[Any], str] | None = None,
    first: Callable[[Any], None] | None = None,
) -> None:
    """Runs the stages, or prints their plan. `finish` writes the report and returns the tables for a terminal;
    `finish_early` does so for the results so far when the run stops before its end."""
    run.workers = settings.workers
    if settings.dry_run:
        print(run.plan_text())
        return
    with _at_work(run.out, name), one_connection(settings.workers):
        try:
            if first is not None:
                first(run)
            run.run()
        except Stopped as stage:
            say(f"stopped after {stage}, as asked")
            finish = finish_early
        if finish is not None and (told := finish(run)):
            print(told)


def _check_paper(out: Path, name: str) -> None:
    """Raises an error for the folder of another paper's run, whose stages have the same names."""
    noted = out / PAPER
    if noted.is_file() and (other := noted.read_text(encoding="utf-8").strip()) != name:
        raise LisaxError(f"{out} is the folder of a run of {other}: give another folder for {name}, --out DIR")


@contextlib.contextmanager
def _at_work(out: Path, name: str) -> Iterator[None]:
    """Within the context, the run has its folder to itself. The folder keeps the paper's name."""
    with alone_in(out):
        _check_paper(out, name)
        with atomic_write(out / PAPER) as file:
            file.write(f"{name}\n")
        yield


@contextlib.contextmanager
def _work_folder(out: Path) -> Iterator[tuple[Path, Mirror | None]]:
    """The folder that a run works in; for a run in a bucket, its copy on this machine (`mirror.Mirror`)."""
    if not is_remote(out):
        yield out, None
        return
    with alone_in(out):
        mirror = Mirror(out)
        mirror.pull()
        yield mirror.folder, mirror
        mirror.push()
        print(mirror.place)


@contextlib.contextmanager
def _data_folder(pipeline: type[Pipeline], data: Path | WorldSettings, out: Path, dry_run: bool) -> Iterator[Path]:
    """The folder of a run's data. A dry run takes a world that is there, or a small one, with the same stages."""
    if not isinstance(data, WorldSettings):
        yield data
        return
    folder = out / "world"
    if not dry_run:
        _write_world(pipeline, folder, data)
        yield folder
    elif (folder / "world.json").is_file():
        yield folder
    else:
        with tempfile.TemporaryDirectory() as scratch:
            _write_world(pipeline, Path(scratch), dataclasses.replace(data, pages=DRY_RUN_PAGES))
            yield Path(scratch)


def _write_world(pipeline: type[Pipeline], folder: Path, asked: WorldSettings) -> None:
    """Writes a world unless the folder already has it: newer files would repeat every stage."""
    from lisax.world.writing import VERSION, write

    settings = {**pipeline.world_settings, **asked.more}
    try:
        made = json.loads((folder / "world.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        made = None
    if (
        made is None
        or (made["version"], made["counts"]["pages"], made["seed"]) != (VERSION, asked.pages, asked.seed)
        or not settings.items() <= made.items()
    ):
        write(folder, asked.pages, asked.seed, **settings)


def train_verbalizer(
    settings: RunSettings, data: Path, report: Path | None, tables: Path | None, graphs: Path | None
) -> None:
    """Trains a verbalizer in rounds on the texts of `data`, for the tables and graphs it will verbalize, and prints its
    figures, including those on the dev split of `report`."""
    from lisax.files.resumable import fingerprint
    from lisax.papers.verbalizer.recipe import VerbalizerRecipe
    from lisax.papers.verbalizer.run import VerbalizerTraining
    from lisax.predict.file_steps import unit_sources, units

    sources, out = unit_sources(tables, graphs), settings.out
    _check_paper(out, "verbalizer")
    with searching(settings.search_paths):
        recipe = VerbalizerRecipe.read(
            list(settings.gin_files) or ["experiments/udt_qa/verbalizer_scratch.gin"], list(settings.bindings)
        )
        recipe.check_inputs()
        target_print = [fingerprint(path, besides=out) for path in sources]
        texts, other = open_folder(data), open_folder(report) if report else None
        run = VerbalizerTraining(
            texts, lambda: units(tables, graphs), target_print, out, recipe, other=other, until=settings.until
        )
        _finish("verbalizer", run, settings, lambda run: json.dumps(run.figures["models"], indent=2))


def transfer_binding(models: Mapping[str, Path | None]) -> str:
    """The setting of a CLTR recipe that names given models by their task: parts, or rows and columns, and aggregation.
    None for models that are not given."""
    named = {
        name: str(path if is_remote(path) else path.resolve()) for name, path in models.items() if path is not None
    }
    return f"CltrRecipe.models = {named}"


def labeller_binding(model: Path) -> str:
    """The setting of a LisT5 recipe that names a given labeller. Raises DataError if there is none."""
    from lisax.weights.pretrained import is_named

    kept = is_remote(model) or (is_named(model) and not model.exists())
    if not kept and not model.is_dir():
        raise DataError("no such checkpoint or bundle", path=model)
    return f"Recipe.labeller = {str(model if kept else model.resolve())!r}"
