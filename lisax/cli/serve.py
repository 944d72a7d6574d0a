"""`lisax serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from lisax.cli.verbs import Count, Local, Option, Port

Indexes = Annotated[
    tuple[Local, ...],
    Option(
        "An index of `lisax index tables` (questions), `cells` (claims over tables), `documents` (claims over text) or "
        "`mixed` (both, over text, tables and graphs).",
        "INDEX",
    ),
]
State = Annotated[Local, Option("Folder of feedback, uploaded tables and models trained from the page.", "DIR")]
STATE = Path("lisax-page")


def serve(
    *,
    model: Annotated[
        tuple[Local, ...],
        Option(
            "A bundle or a MODEL_DIR; its format says what it is for: one that scores rows and columns (or one for "
            "each), a ranker, a labeller, one that verifies over tables; for an index of passages a reader, and a "
            "retriever that `lisax index vectors` was given.",
            "DIR",
        ),
    ],
    index: Indexes = (),
    state: State = STATE,
    host: Annotated[
        str,
        Option(
            "Address to listen on; with any that is not loopback a token is needed, LISAX_TOKEN or else one that is "
            "printed.",
            "ADDRESS",
        ),
    ] = "127.0.0.1",
    port: Annotated[Port, Option("0 for any that is free.")] = 8765,
    name: Annotated[
        tuple[str, ...], Option("A name that the page is reached by, as a browser's address has it.", "NAME")
    ] = (),
    pool: Annotated[Count, Option("Tables scored for a question.")] = 20,
    keep: Annotated[Count, Option("Tables or answers shown.")] = 5,
    aggregate: Annotated[
        Literal["max", "sum", "first", "any"],
        Option("How a pointwise labeller's labels of single sentences become one."),
    ] = "any",
    temporal: Annotated[
        bool,
        Option(
            "Let the dates of a claim and its evidence decide where they can, as `lisax verify --temporal` does; the "
            "page says which did."
        ),
    ] = False,
) -> None:
    """Serve a page to ask tables and to check claims.

    lisax serve --model ranker --model verifier --index INDEX
    """
    from lisax.serve.start import ServeSettings, serve

    serve(ServeSettings(model, index, state, host, port, name, pool, keep, aggregate, temporal))
