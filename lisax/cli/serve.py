"""`lisax serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from lisax.cli.verbs import Count, Local, Option, Port, Probability

Indexes = Annotated[
    tuple[Local, ...],
    Option(
        "An index of `lisax index tables` (questions), `cells` (claims over tables), `documents` (claims over text) or "
        "`mixed` (both, over text, tables and graphs).",
        "INDEX",
    ),
]
State = Annotated[Local, Option("Folder for feedback, uploaded tables and models trained from the page.", "DIR")]
STATE = Path("lisax-page")


def serve(
    *,
    model: Annotated[
        tuple[Local, ...],
        Option(
            "A bundle or a MODEL_DIR, used as its format allows: scorers of rows and columns (one model or two), a "
            "ranker (also minilm), a labeller, a model of tables; for an index of passages a reader, and the retriever "
            "given to `lisax index vectors`.",
            "DIR",
            default="the checker that ships, for claims over text",
        ),
    ] = (),
    index: Indexes = (),
    state: State = STATE,
    host: Annotated[
        str,
        Option(
            "Address to listen on. Any but a loopback address requires a token: LISAX_TOKEN, or else a printed one.",
            "ADDRESS",
        ),
    ] = "127.0.0.1",
    port: Annotated[Port, Option("Port; 0 picks a free one.")] = 8765,
    name: Annotated[
        tuple[str, ...], Option("A further host name of the page, as it appears in a browser's address bar.", "NAME")
    ] = (),
    pool: Annotated[Count, Option("Tables scored per question.")] = 20,
    keep: Annotated[Count, Option("Tables or answers to show.")] = 5,
    aggregate: Annotated[
        Literal["max", "sum", "first", "any"],
        Option("How to combine a pointwise labeller's labels of single sentences."),
    ] = "any",
    temporal: Annotated[
        bool,
        Option(
            "Let the dates of claim and evidence decide where they can, as `lisax verify --temporal` does; the page "
            "shows which dates decided."
        ),
    ] = False,
    min_confidence: Annotated[
        Probability | None,
        Option(
            "Label a claim NOT ENOUGH INFO, and say that a question has no answer here, where the likeliest label or "
            "answer has a lower probability; the page says so.",
            default="none for claims; for questions over tables as fitted by `lisax run cltr`",
        ),
    ] = None,
) -> None:
    """Serve a web page that answers questions over tables and checks claims.

    lisax serve --index INDEX
    """
    from lisax.serve.start import ServeSettings, serve

    serve(ServeSettings(model, index, state, host, port, name, pool, keep, aggregate, temporal, min_confidence))
