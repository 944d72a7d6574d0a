"""`lisax verbalize`."""

from __future__ import annotations

from typing import Annotated

import click

from lisax.cli.verbs import AtWorkers, Count, Local, Option, Target

Tables = Annotated[Local | None, Option("tables.jsonl, or a folder in a layout that `lisax data check` reads.", "PATH")]
Graphs = Annotated[Local | None, Option("graphs.jsonl, or a folder in such a layout.", "PATH")]


def verbalize(
    *,
    model: Annotated[
        Local | None,
        Option(
            "A verbalizer: a MODEL_DIR, one of its checkpoints, or a bundle.", "DIR", default="plain sentences by rule"
        ),
    ] = None,
    tables: Tables = None,
    graphs: Graphs = None,
    out: Annotated[
        Target,
        Option(
            'File to write: JSON Lines {"id", "title", "text", "beam", "rejected", "fallback", "parts", "digest"}, '
            "one per row or sub-graph.",
            "FILE",
        ),
    ],
    beams: Annotated[Count | None, Option("Hypotheses of the model per input.", default="10")] = None,
    pairs: Annotated[
        Count | None,
        Option("Maximum number of cells or edges per input of the model.", default="as fits the model's inputs"),
    ] = None,
    no_check: Annotated[bool, Option("Keep the model's first hypothesis, faithful or not.")] = False,
    workers: AtWorkers = None,
) -> None:
    """Write table rows and sub-graphs as sentences with the same content: by a model, or without one by rule.

    lisax verbalize --tables tables.jsonl --out sentences.jsonl
    """
    from lisax.predict.file_steps import verbalize_file

    if tables is None and graphs is None:
        raise click.UsageError("nothing to verbalize: give --tables, --graphs, or both")
    if model is None and (beams is not None or pairs is not None or no_check):
        raise click.UsageError("--beams, --pairs and --no-check are settings of a model: give --model")
    choices = {"beams": beams or 10, "pairs": pairs, "check": not no_check}
    found = verbalize_file(model, tables, graphs, out, **choices, workers=workers)
    if model is None:
        print(f"{out}: {found['units']:,} texts, by rule")
        return
    print(
        f"{out}: {found['units']:,} texts; faithful at once {found['first_choice']:.1%}, by a later hypothesis "
        f"{found['later_hypothesis']:.1%}, by the rule {found['fallback']:.1%}"
    )
