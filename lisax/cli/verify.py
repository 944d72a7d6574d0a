"""`lisax verify`."""

from __future__ import annotations

from typing import Annotated, Literal

from lisax.cli.verbs import Count, Fetched, Option, Place


def verify(
    *,
    model: Annotated[Place, Option("A verifier: a MODEL_DIR, one of its checkpoints, or a bundle.", "DIR")],
    claims: Annotated[Fetched, Option("Claims as JSON Lines.", "FILE")],
    run: Annotated[
        Fetched,
        Option(
            "Run of sentences, best first, as `lisax rerank` writes it; or of tables, as `lisax retrieve cells` does.",
            "RUN",
        ),
    ],
    index: Annotated[Fetched, Option("An index of `lisax index documents`, `mixed` or `cells`.", "INDEX")],
    out: Annotated[Place, Option("FEVER submission to write.", "FILE")],
    aggregate: Annotated[
        Literal["max", "sum", "first", "any"],
        Option("How a pointwise model's labels of single sentences become one."),
    ] = "max",
    temporal: Annotated[
        bool,
        Option(
            "Let the dates of claim and evidence decide where they can; such predictions have the rule, words and "
            "dates in their field `temporal`."
        ),
    ] = False,
    threshold: Annotated[
        float | None,
        Option(
            "Of table fusion: claims whose sufficiency is at most this have not enough information; -inf decides all "
            "that has a table. By a threshold that was not chosen on dev the label has no probability.",
            default="the one that `lisax run open-tables` chose on dev, where its data has such claims",
        ),
    ] = None,
    columns: Annotated[Count, Option("Columns kept of a table.")] = 3,
) -> None:
    """Label claims by ranked sentences or tables.

    lisax verify --model verifier --index INDEX --claims claims.jsonl --run sentences.trec --out predictions.jsonl
    """
    from lisax.predict.file_steps import verify_file

    verify_file(
        model, claims, run, index, out, aggregate=aggregate, temporal=temporal, threshold=threshold, columns=columns
    )
