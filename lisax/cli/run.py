"""Run a paper's whole pipeline: retrieve, train, predict, report.

Every stage writes its files under --out; the same command resumes an interrupted run.

    lisax run list5 --data DIR --out OUT
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from lisax.cli.gin import GinBindings, GinFiles, GinSearchPaths, split_paths
from lisax.cli.verbalize import Graphs, Tables
from lisax.cli.verbs import AtWorkers, Count, Fetched, Local, Option, Place, SkipBad
from lisax.devices.workers import Workers

if TYPE_CHECKING:
    from lisax.papers.running import RunSettings

Out = Annotated[Place, Option("Folder of the run; its finished stages are not repeated.", "DIR")]
Until = Annotated[
    str | None,
    Option(
        "Stop after this stage, for example retrieve or select.rank_entities.test (the run prints the names of its "
        "stages).",
        "STAGE",
    ),
]
DryRun = Annotated[
    bool,
    Option("Print each stage with its dependencies, its state and the settings it reads; run nothing."),
]
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
Pages = Annotated[Count, Option("Size of the generated world.")]
OUT = Path("out")


def list5(
    *,
    data: Annotated[Fetched, Option("Claims and corpus, in a layout that `lisax data check` reads.", "DIR")],
    out: Out = OUT,
    model: Labeller = None,
    attacks: Annotated[bool, Option("Also verify attacked claims, and report by attack.")] = False,
    skip_bad: SkipBad = False,
    until: Until = None,
    dry_run: DryRun = False,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
    workers: AtWorkers = None,
) -> None:
    """LisT5: verdicts over text by listwise ranking. `lisax demo` runs it on a generated world.

    lisax run list5 --data FEVER --out OUT
    lisax run list5 --data FEVER --out OUT --model minilm-text --attacks
    """
    from lisax.papers.running import labeller_binding

    bindings = (
        *([] if model is None else [labeller_binding(model)]),
        *(["Recipe.attacks = True"] if attacks else []),
        *gin_bindings,
    )
    recipe = None if model is None else "given"
    _run(
        "list5",
        _settings(out, gin_file, bindings, gin_search_paths, until, dry_run, workers),
        data,
        recipe=recipe,
        skip_bad=skip_bad,
    )


def open_tables(
    *,
    data: Data = None,
    pages: Pages = 30_000,
    out: Out = OUT,
    skip_bad: SkipBad = False,
    until: Until = None,
    dry_run: DryRun = False,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
    workers: AtWorkers = None,
) -> None:
    """Verdicts over tables found by open search.

    lisax run open-tables --data TABFACT --out OUT
    """
    settings = _settings(out, gin_file, gin_bindings, gin_search_paths, until, dry_run, workers)
    _run("open-tables", settings, data, pages, skip_bad=skip_bad)


def cltr(
    *,
    data: Data = None,
    pages: Pages = 12_000,
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
    until: Until = None,
    dry_run: DryRun = False,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
    workers: AtWorkers = None,
) -> None:
    """CLTR: answers to questions in the cells of tables.

    lisax run cltr --data WIKISQL --out OUT
    lisax run cltr --data WTQ --model OUT/models/parts --out TRANSFER
    """
    if model is None and (column_model or aggregation_model):
        raise click.UsageError(f"{'--column-model' if column_model else '--aggregation-model'} needs --model DIR")
    if folds is not None and (until is not None or dry_run):
        flag = "--dry-run shows the stages" if dry_run else "--until names a stage"
        raise click.UsageError(f"{flag} of one run: leave it out with --folds")
    recipe = None
    if model is not None:
        from lisax.papers.running import transfer_binding

        recipe, rows = "transfer", "parts" if column_model is None else "rows"
        models = {rows: model, "columns": column_model, "aggregation": aggregation_model}
        gin_bindings = (*gin_bindings, transfer_binding(models))
    settings = _settings(out, gin_file, gin_bindings, gin_search_paths, until, dry_run, workers)
    _run("cltr", settings, data, pages, recipe=recipe, folds=folds)


def deseption(
    *,
    data: Data = None,
    pages: Pages = 12_000,
    out: Out = OUT,
    skip_bad: SkipBad = False,
    until: Until = None,
    dry_run: DryRun = False,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
    workers: AtWorkers = None,
) -> None:
    """DeSePtion: attacked claims, with an evidence pointer and temporal rules.

    lisax run deseption --data FEVER --out OUT
    """
    settings = _settings(out, gin_file, gin_bindings, gin_search_paths, until, dry_run, workers)
    _run("deseption", settings, data, pages, skip_bad=skip_bad)


def udt_qa(
    *,
    data: Data = None,
    pages: Pages = 12_000,
    out: Out = OUT,
    until: Until = None,
    dry_run: DryRun = False,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
    workers: AtWorkers = None,
) -> None:
    """UDT-QA: answers over text and verbalized tables and graphs in one index.

    lisax run udt-qa --data DIR --out OUT
    """
    settings = _settings(out, gin_file, gin_bindings, gin_search_paths, until, dry_run, workers)
    _run("udt-qa", settings, data, pages)


def verbalizer(
    *,
    data: Annotated[Local, Option("Training data with reference texts: DART or WebNLG.", "DIR")],
    report: Annotated[
        Local | None, Option("Further data of this kind, whose dev split is reported too.", "DIR")
    ] = None,
    tables: Tables = None,
    graphs: Graphs = None,
    out: Annotated[Local, Option("Folder of the run; its finished stages are not repeated.", "DIR")],
    until: Until = None,
    dry_run: DryRun = False,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
    workers: AtWorkers = None,
) -> None:
    """UDT-QA's verbalizer: train on filtered pairs, verbalize tables and graphs, select, train again.

    lisax run verbalizer --data WEBNLG --report DART --tables TABLES --out OUT
    """
    from lisax.papers.running import train_verbalizer

    if tables is None and graphs is None:
        raise click.UsageError("nothing to verbalize: give --tables, --graphs, or both")
    settings = _settings(out, gin_file, gin_bindings, gin_search_paths, until, dry_run, workers)
    train_verbalizer(settings, data, report, tables, graphs)


def _settings(
    out: Path,
    gin_files: GinFiles,
    bindings: GinBindings,
    search_paths: str,
    until: str | None,
    dry_run: bool,
    workers: Workers | None,
) -> RunSettings:
    from lisax.papers.running import RunSettings

    return RunSettings(out, gin_files, bindings, split_paths(search_paths), until, dry_run, workers)


def _run(name: str, settings: RunSettings, data: Path | None, pages: int | None = None, **options: Any) -> None:
    """Runs a paper on the data or, without any, on a generated world of this number of pages."""
    from lisax.papers.running import WorldSettings, run_paper

    run_paper(name, settings, data if data is not None else WorldSettings(pages), **options)


VERBS = (list5, open_tables, cltr, deseption, udt_qa, verbalizer)
