"""`lisax rerank`."""

from __future__ import annotations

from typing import Annotated

from lisax.cli.check import Prompt, words_of
from lisax.cli.verbs import AtWorkers, Count, Fetched, IndexRead, Option, Place, SkipBad, TargetPlace


def rerank(
    *,
    model: Annotated[
        Place, Option("A ranker: a MODEL_DIR, one of its checkpoints, a bundle, or hf:OWNER/NAME.", "DIR")
    ],
    claims: Annotated[Fetched, Option("Claims as JSON Lines.", "FILE")],
    skip_bad: SkipBad = False,
    run: Annotated[Fetched, Option("Run of documents or sentences to rank.", "RUN")],
    index: Annotated[
        IndexRead,
        Option(
            "An index of `lisax index documents` or `mixed`, or the address of one of `lisax index cluster`.", "INDEX"
        ),
    ],
    out: Annotated[TargetPlace, Option("TREC run to write.", "RUN")],
    depth: Annotated[Count, Option("Sentences ranked per claim.")] = 200,
    workers: AtWorkers = None,
    prompt: Prompt = None,
    label_words: Annotated[str | None, Option("With --prompt, the answers: RELEVANT,NOT-RELEVANT.", "W,W")] = None,
) -> None:
    """Rank the sentences of retrieved documents for each claim.

    lisax rerank --model ranker --index INDEX --claims claims.jsonl --run documents.trec --out sentences.trec
    """
    from lisax.predict.file_steps import rerank_file
    from lisax.weights.public_models import given_use

    use = given_use(prompt, words_of(label_words), ranks=True)
    rerank_file(model, claims, run, index, out, depth=depth, use=use, skip_bad=skip_bad, workers=workers)
