"""`lisax demo`."""

from __future__ import annotations

from typing import Annotated

from lisax.cli.gin import GinBindings, GinFiles, GinSearchPaths, split_paths
from lisax.cli.run import OUT, Data, DryRun, Out, Until
from lisax.cli.verbs import Count, Option


def demo(
    *,
    data: Data = None,
    from_nothing: Annotated[
        bool, Option("Train T5 models from random weights, not adapters of the pretrained MiniLM.")
    ] = False,
    pages: Annotated[
        Count | None, Option("Size of the generated world; by default 2,000, and 12,000 with --from-nothing.")
    ] = None,
    seed: Annotated[int, Option("Seed of the generated world and of training.")] = 0,
    out: Out = OUT,
    until: Until = None,
    dry_run: DryRun = False,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
) -> None:
    """Check claims of a generated world, or of --data, with the shipped checker; then run LisT5 there: a report.

    lisax demo --out out
    """
    from lisax.papers.first_verdicts import first_verdicts
    from lisax.papers.running import RunSettings, WorldSettings, run_paper
    from lisax.progress import say
    from lisax.records import LisaxError
    from lisax.runtime import pretrained

    if not (from_nothing or dry_run):
        try:
            pretrained.get("minilm", say=say)
        except LisaxError as error:
            say(f"training starts from nothing: {error}")
            from_nothing = True
    settings = RunSettings(
        out, gin_file, (f"Recipe.seed = {seed}", *gin_bindings), split_paths(gin_search_paths), until, dry_run
    )
    if data is None:
        world = WorldSettings(pages or (12_000 if from_nothing else 2_000), seed)
        run_paper("list5", settings, world, "demo" if from_nothing else "minilm_demo", first=first_verdicts)
    else:
        run_paper("list5", settings, data, None if from_nothing else "minilm", first=first_verdicts)
