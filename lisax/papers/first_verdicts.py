"""Verdicts of the shipped checker, or of a given model, on a run's claims, before anything is trained."""

from __future__ import annotations

from pathlib import Path

from lisax.errors import LisaxError
from lisax.papers.base import REPORT
from lisax.papers.list5.run import List5
from lisax.predict.checker import Checker
from lisax.predict.index import Index
from lisax.progress import say
from lisax.records import LABELS

CLAIMS_PER_LABEL = 2


def first_verdicts(run: List5, model: Path | None = None) -> None:
    """Indexes the corpus, and prints the verdicts on the first reported claims of each label, by `model` or, without
    one, by the shipped checker; if its encoder cannot be fetched, prints the reason and does no more."""
    run.make("index")
    claims = [
        claim
        for label in LABELS
        for claim in [claim for claim in run.claims_of(REPORT).values() if claim.label is label][:CLAIMS_PER_LABEL]
    ]
    try:
        checker = Checker(Index.open(run.index_folder), model=model)
    except LisaxError as error:
        if model is not None:
            raise
        say(f"the checker that LisaX ships is left out: {error}")
        return
    name = "the checker that LisaX ships" if model is None else str(model)
    say(f"{name}, which knows only the text that it reads of these pages:")
    right = 0
    for claim, verdict in zip(claims, checker.check_many(claims)):
        right += verdict.label is claim.label
        print(f"{verdict}\n  gold: {claim.label}\n")
    print(f"{right} of these {len(claims)} verdicts are right\n")
