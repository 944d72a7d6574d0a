"""`lisax reproduce`."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import click

from lisax.cli.gin import GinBindings
from lisax.cli.verbs import Argument, Local, Option


def reproduce(
    name: Annotated[str | None, Argument("A row of --list.", "NAME")] = None,
    *,
    list_: Annotated[bool, Option("Print all rows with recorded figures; run nothing.", names=("--list",))] = False,
    format: Annotated[Literal["text", "markdown"], Option("Of --list.", default="text")] = "text",
    on: Annotated[
        Literal["nothing", "minilm", "larger"] | None,
        Option(
            "The start of the run: random weights, MiniLM, or larger weights, which --gin_bindings name.",
            default="the only one there is",
        ),
    ] = None,
    data: Annotated[
        Local | None, Option("The row's data, in its owner's layout.", "DIR", "none, for a generated world")
    ] = None,
    out: Annotated[
        Local | None,
        Option("Folder of the run, which rows of the same run share; it is resumed.", "DIR", "out/reproduce/RUN"),
    ] = None,
    gin_bindings: GinBindings = (),
) -> int:
    """Run a row of the papers' tables again and compare its figures with the recorded ones.

    Prints one line, OK or the figures found and the recorded ones; then the exit code is 1.

    lisax reproduce --list
    lisax reproduce tabfact-exact --data TABFACT
    """
    from lisax.cli import invoke
    from lisax.papers import reproductions
    from lisax.progress import say

    if (name is None) != list_:
        raise click.UsageError("give one of NAME and --list")
    if list_:
        found = reproductions.sheets()
        print(reproductions.matrix_markdown(found) if format == "markdown" else reproductions.matrix_text(found))
        return 0
    row = reproductions.find(name, on)
    out = out or Path("out", "reproduce", row.found.run)
    words = [*row.words(data, out), *(f"--gin_bindings={binding}" for binding in gin_bindings)]
    say(f"lisax {shlex.join(words)}")
    with contextlib.redirect_stdout(sys.stderr):
        code = invoke(words)
    if code:
        return code
    good, line = row.compare(row.read(out))
    print(line)
    return 0 if good else 1
