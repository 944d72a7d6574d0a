"""`lisax verify`."""

from __future__ import annotations

from typing import Annotated

from lisax.cli.check import Aggregate, Calibrate, LabelWords, MinConfidence, Prompt, words_of
from lisax.cli.verbs import AtWorkers, Count, Fetched, IndexRead, Option, Place, SkipBad, TargetPlace


def verify(
    *,
    model: Annotated[
        Place, Option("A verifier: a MODEL_DIR, one of its checkpoints, a bundle, or hf:OWNER/NAME.", "DIR")
    ],
    claims: Annotated[Fetched, Option("Claims as JSON Lines.", "FILE")],
    skip_bad: SkipBad = False,
    run: Annotated[
        Fetched,
        Option(
            "Run of sentences, best first, as `lisax rerank` writes it, or of tables, as `lisax retrieve cells` does.",
            "RUN",
        ),
    ],
    index: Annotated[
        IndexRead,
        Option(
            "An index of `lisax index documents`, `mixed` or `cells`, or the address of one of `lisax index cluster`.",
            "INDEX",
        ),
    ],
    out: Annotated[TargetPlace, Option("FEVER submission to write.", "FILE")],
    aggregate: Aggregate = None,
    temporal: Annotated[
        bool,
        Option(
            "Let the dates of claim and evidence decide if they can. Predictions decided so have the rule, words "
            "and dates in their field `temporal`."
        ),
    ] = False,
    threshold: Annotated[
        float | None,
        Option(
            "For table fusion: claims with at most this sufficiency have not enough information; -inf decides every "
            "claim that has a table. With a threshold that was not chosen on validation data the label has no "
            "probability.",
            default="the one that `lisax run open-tables` chose on dev, if its data has such claims",
        ),
    ] = None,
    min_confidence: MinConfidence = None,
    calibrate: Calibrate = False,
    columns: Annotated[
        Count | None, Option("Columns kept per table; the default is the number that the model was trained on, or 3.")
    ] = None,
    workers: AtWorkers = None,
    prompt: Prompt = None,
    label_words: LabelWords = None,
) -> None:
    """Label claims from ranked sentences or tables.

    lisax verify --model verifier --index INDEX --claims claims.jsonl --run sentences.trec --out predictions.jsonl
    """
    from lisax.predict.file_steps import verify_file
    from lisax.weights.public_models import given_use

    verify_file(
        model,
        claims,
        run,
        index,
        out,
        aggregate=aggregate,
        temporal=temporal,
        threshold=threshold,
        min_confidence=min_confidence,
        columns=columns,
        calibrate=calibrate,
        skip_bad=skip_bad,
        use=given_use(prompt, words_of(label_words), ranks=False),
        workers=workers,
    )
