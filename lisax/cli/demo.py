"""`lisax demo`."""

from __future__ import annotations

import functools
from typing import Annotated

import click

from lisax.cli.run import OUT, Data, Labeller, Out, RunOptions, check_pages
from lisax.cli.verbs import Count, Option, Port


def demo(
    *,
    data: Data = None,
    model: Labeller = None,
    from_nothing: Annotated[
        bool, Option("Train T5 models from random weights, not adapters of the pretrained MiniLM.")
    ] = False,
    pages: Annotated[
        Count | None, Option("Size of the generated world; by default 2,000, and 12,000 with --from-nothing.")
    ] = None,
    seed: Annotated[int, Option("Seed of the generated world and of training.")] = 0,
    out: Out = OUT,
    run: RunOptions,
    serve: Annotated[
        bool,
        Option(
            "Instead of training: open the page over the world (200 pages, unless --pages is given) or --data, with the "
            "models that ship."
        ),
    ] = False,
    port: Annotated[Port, Option("With --serve: the port of the page; 0 picks a free one.")] = 8765,
) -> None:
    """Check claims of a generated world, or of --data, with the shipped checker; then run LisT5 there: a report.

    lisax demo --out out
    lisax demo --out out --model RUN/models/label_pointwise
    lisax demo --serve
    """
    check_pages(data, pages)
    if serve:
        from lisax.serve import demo as page

        page.serve_demo(data, pages or page.PAGES, seed, out, port)
        return
    if from_nothing and model is not None:
        raise click.UsageError("--from-nothing trains models: leave --model out")
    from lisax.errors import LisaxError
    from lisax.papers.first_verdicts import first_verdicts
    from lisax.papers.running import WorldSettings, labeller_binding, run_paper
    from lisax.progress import say
    from lisax.weights import pretrained

    given = () if model is None else (labeller_binding(model),)
    if not (from_nothing or run.dry_run or given):
        try:
            pretrained.get("minilm", say=say)
        except LisaxError as error:
            say(f"training starts from nothing: {error}")
            from_nothing = True
    settings = run.settings(out, f"Recipe.seed = {seed}", *given)
    first = functools.partial(first_verdicts, model=model)
    if data is None:
        world = WorldSettings(pages or (12_000 if from_nothing else 2_000), seed)
        recipe = "given" if given else "demo" if from_nothing else "minilm_demo"
        run_paper("list5", settings, world, recipe, first=first)
    else:
        recipe = "given" if given else None if from_nothing else "minilm"
        run_paper("list5", settings, data, recipe, first=first)
