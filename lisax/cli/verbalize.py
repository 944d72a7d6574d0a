"""`lisax verbalize`."""

from __future__ import annotations

from typing import Annotated

import click

from lisax.cli.verbs import Count, Local, Option

Tables = Annotated[Local | None, Option("tables.jsonl, or a folder in a layout that `lisax data check` reads.", "PATH")]
Graphs = Annotated[Local | None, Option("graphs.jsonl, or such a folder.", "PATH")]


def verbalize(
    *,
    model: Annotated[Local, Option("A verbalizer: a MODEL_DIR, one of its checkpoints, or a bundle.", "DIR")],
    tables: Tables = None,
    graphs: Graphs = None,
    out: Annotated[
        Local,
        Option(
            'JSON Lines {"id", "title", "text", "beam", "rejected", "fallback", "parts", "digest"}, one a row or '
            "sub-graph.",
            "FILE",
        ),
    ],
    beams: Annotated[Count, Option("Hypotheses of each input.")] = 10,
    pairs: Annotated[
        Count | None, Option("Cells or edges read at once at most.", default="as many as the model's inputs hold")
    ] = None,
    no_check: Annotated[bool, Option("Keep the first hypothesis, whether it is faithful or not.")] = False,
) -> None:
    """Write rows of tables and sub-graphs as sentences that say what they say.

    lisax verbalize --model verbalizer --tables tables.jsonl --out sentences.jsonl
    """
    from lisax.predict.file_steps import verbalize_file

    if tables is None and graphs is None:
        raise click.UsageError("nothing to verbalize: give --tables, --graphs, or both")
    found = verbalize_file(model, tables, graphs, out, beams=beams, pairs=pairs, check=not no_check)
    print(
        f"{out}: {found['units']:,} texts; faithful at once {found['first_choice']:.1%}, by a later hypothesis "
        f"{found['later_hypothesis']:.1%}, by the rule {found['fallback']:.1%}"
    )
