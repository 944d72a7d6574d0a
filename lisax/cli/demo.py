"""`lisax demo`."""

from __future__ import annotations

from typing import Annotated

from lisax.cli.gin import GinBindings, GinFiles, GinSearchPaths, split_paths
from lisax.cli.run import OUT, Data, DryRun, Out, Until
from lisax.cli.verbs import Count, Option


def demo(
    *,
    data: Data = None,
    pages: Annotated[Count, Option("Size of the generated world.")] = 12_000,
    seed: Annotated[int, Option("Seed of the generated world and of training.")] = 0,
    out: Out = OUT,
    until: Until = None,
    dry_run: DryRun = False,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
) -> None:
    """Check claims of a generated world with the shipped checker, then run LisT5 there at small size: a report.

    lisax demo --out out
    """
    from lisax.papers.first_verdicts import first_verdicts
    from lisax.papers.running import RunSettings, WorldSettings, run_paper

    settings = RunSettings(
        out, gin_file, (f"Recipe.seed = {seed}", *gin_bindings), split_paths(gin_search_paths), until, dry_run
    )
    if data is None:
        run_paper("list5", settings, WorldSettings(pages, seed), "demo", first=first_verdicts)
    else:
        run_paper("list5", settings, data, first=first_verdicts)
