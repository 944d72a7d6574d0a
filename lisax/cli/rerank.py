"""`lisax rerank`."""

from __future__ import annotations

from typing import Annotated

from lisax.cli.verbs import Count, Fetched, Option, Place


def rerank(
    *,
    model: Annotated[Place, Option("A ranker: a MODEL_DIR, one of its checkpoints, or a bundle.", "DIR")],
    claims: Annotated[Fetched, Option("Claims as JSON Lines.", "FILE")],
    run: Annotated[Fetched, Option("Run of documents or sentences to rank.", "RUN")],
    index: Annotated[Fetched, Option("An index of `lisax index documents` or `mixed`.", "INDEX")],
    out: Annotated[Place, Option("TREC run to write.", "RUN")],
    depth: Annotated[Count, Option("Sentences ranked per claim.")] = 200,
) -> None:
    """Rank the sentences of retrieved documents for each claim.

    lisax rerank --model ranker --index INDEX --claims claims.jsonl --run documents.trec --out sentences.trec
    """
    from lisax.predict.file_steps import rerank_file

    rerank_file(model, claims, run, index, out, depth=depth)
