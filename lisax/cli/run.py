"""Run a paper's whole pipeline: retrieve, train, predict, report.

Every stage writes its files under --out; the same command resumes an interrupted run.

    lisax run list5 --data DIR --out OUT
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from lisax.cli.gin import GinBindings, GinFiles, GinSearchPaths, split_paths
from lisax.cli.verbalize import Graphs, Tables
from lisax.cli.verbs import AtWorkers, Count, Fetched, Local, Option, Place, SkipBad

if TYPE_CHECKING:
    from lisax.papers.running import RunSettings

Out = Annotated[Place, Option("Folder of the run; its finished stages are not repeated.", "DIR")]
Data = Annotated[
    Fetched | None,
    Option("Claims or questions and corpus, in a layout that `lisax data check` reads.", "DIR", "a generated world"),
]
Labeller = Annotated[
    Place | None,
    Option(
        "The labeller whose verdicts are reported, with nothing trained: a checkpoint, a bundle or a MODEL_DIR, or "
        "minilm-text, which LisaX ships.",
        "DIR",
        "models are trained",
    ),
]
Pages = Annotated[Count | None, Option("Size of the generated world.", default="12,000")]
OUT = Path("out")


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Options of every paper."""

    until: Annotated[
        str | None,
        Option(
            "Stop after this stage, for example retrieve or select.rank_entities.test (the run prints the names of its "
            "stages).",
            "STAGE",
        ),
    ] = None
    dry_run: Annotated[
        bool,
        Option(
            "Print each stage with its dependencies, its state and, if it ran before, the settings that it reads; run nothing."
        ),
    ] = False
    gin_file: GinFiles = ()
    gin_bindings: GinBindings = ()
    gin_search_paths: GinSearchPaths = ""
    workers: AtWorkers = None

    def settings(self, out: Path, *bindings: str) -> RunSettings:
        """The settings of a run in `out`; `bindings` are the verb's own, before the user's."""
        from lisax.papers.running import RunSettings

        bindings, paths = (*bindings, *self.gin_bindings), split_paths(self.gin_search_paths)
        return RunSettings(out, self.gin_file, bindings, paths, self.until, self.dry_run, self.workers)


def list5(
    *,
    data: Annotated[Fetched, Option("Claims and corpus, in a layout that `lisax data check` reads.", "DIR")],
    out: Out = OUT,
    model: Labeller = None,
    attacks: Annotated[bool, Option("Also verify attacked claims, and report by attack.")] = False,
    skip_bad: SkipBad = False,
    run: RunOptions,
) -> None:
    """LisT5: verdicts over text by listwise ranking. `lisax demo` runs it on a generated world.

    lisax run list5 --data FEVER --out OUT
    lisax run list5 --data FEVER --out OUT --model minilm-text --attacks
    """
    from lisax.papers.running import labeller_binding

    bindings = (*([] if model is None else [labeller_binding(model)]), *(["Recipe.attacks = True"] if attacks else []))
    recipe = None if model is None else "given"
    _run("list5", run.settings(out, *bindings), data, recipe=recipe, skip_bad=skip_bad)


def open_tables(
    *,
    data: Data = None,
    pages: Annotated[Count | None, Option("Size of the generated world.", default="30,000")] = None,
    out: Out = OUT,
    skip_bad: SkipBad = False,
    run: RunOptions,
) -> None:
    """Verdicts over tables found by open search.

    lisax run open-tables --data TABFACT --out OUT
    """
    _run("open-tables", run.settings(out), data, pages, of_world=30_000, skip_bad=skip_bad)


def cltr(
    *,
    data: Data = None,
    pages: Pages = None,
    out: Out = OUT,
    model: Annotated[
        Place | None,
        Option(
            "A trained model of rows and columns (checkpoint or bundle) to answer with instead of training one, for "
            "example to measure transfer from other data.",
            "DIR",
        ),
    ] = None,
    column_model: Annotated[Place | None, Option("A model for columns; --model then scores rows only.", "DIR")] = None,
    aggregation_model: Annotated[
        Place | None,
        Option("With --model: a trained model of operations (a count, a sum …); its answers are written too.", "DIR"),
    ] = None,
    folds: Annotated[
        Count | None, Option("Number of folds for cross-validation over the questions of all splits.", "K")
    ] = None,
    run: RunOptions,
) -> None:
    """CLTR: answers to questions in the cells of tables.

    lisax run cltr --data WIKISQL --out OUT
    lisax run cltr --data WTQ --model OUT/models/parts --out TRANSFER
    """
    if model is None and (column_model or aggregation_model):
        raise click.UsageError(f"{'--column-model' if column_model else '--aggregation-model'} needs --model DIR")
    if folds is not None and (run.until is not None or run.dry_run):
        flag = "--dry-run shows the stages" if run.dry_run else "--until names a stage"
        raise click.UsageError(f"{flag} of one run: leave it out with --folds")
    recipe, bindings = None, ()
    if model is not None:
        from lisax.papers.running import transfer_binding

        recipe, rows = "transfer", "parts" if column_model is None else "rows"
        models = {rows: model, "columns": column_model, "aggregation": aggregation_model}
        bindings = (transfer_binding(models),)
    _run("cltr", run.settings(out, *bindings), data, pages, recipe=recipe, folds=folds)


def deseption(
    *, data: Data = None, pages: Pages = None, out: Out = OUT, skip_bad: SkipBad = False, run: RunOptions
) -> None:
    """DeSePtion: attacked claims, with an evidence pointer and temporal rules.

    lisax run deseption --data FEVER --out OUT
    """
    _run("deseption", run.settings(out), data, pages, skip_bad=skip_bad)


def udt_qa(*, data: Data = None, pages: Pages = None, out: Out = OUT, run: RunOptions) -> None:
    """UDT-QA: answers over text and verbalized tables and graphs in one index.

    lisax run udt-qa --data DIR --out OUT
    """
    _run("udt-qa", run.settings(out), data, pages)


def verbalizer(
    *,
    data: Annotated[Local, Option("Training data with reference texts: DART or WebNLG.", "DIR")],
    report: Annotated[
        Local | None, Option("Further data of this kind, whose dev split is reported too.", "DIR")
    ] = None,
    tables: Tables = None,
    graphs: Graphs = None,
    out: Annotated[Local, Option("Folder of the run; its finished stages are not repeated.", "DIR")],
    run: RunOptions,
) -> None:
    """UDT-QA's verbalizer: train on filtered pairs, verbalize tables and graphs, select, train again.

    lisax run verbalizer --data WEBNLG --report DART --tables TABLES --out OUT
    """
    from lisax.papers.running import train_verbalizer

    if tables is None and graphs is None:
        raise click.UsageError("nothing to verbalize: give --tables, --graphs, or both")
    train_verbalizer(run.settings(out), data, report, tables, graphs)


def check_pages(data: Path | None, pages: int | None) -> None:
    if data is not None and pages is not None:
        raise click.UsageError("--pages is the size of a generated world: leave it out with --data")


def _run(
    name: str,
    settings: RunSettings,
    data: Path | None,
    pages: int | None = None,
    of_world: int = 12_000,
    **options: Any,
) -> None:
    """Runs a paper on the data or, without any, on a generated world of `pages` pages, by default `of_world`."""
    from lisax.papers.running import WorldSettings, run_paper

    check_pages(data, pages)
    run_paper(name, settings, data if data is not None else WorldSettings(pages or of_world), **options)


VERBS = (list5, open_tables, cltr, deseption, udt_qa, verbalizer)
