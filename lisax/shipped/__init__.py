"""The shipped models: small adapters of all-MiniLM-L6-v2 that are used if no model is named, each with its model card.

Sentences are found by BM25 and the vectors of the encoder (`ENCODER`), the best of them ordered again by an adapter
(`ranker`), and labelled by another one (`labeller`). A third labels claims from tables, and a fourth finds the rows and
columns of tables that answer questions (`parts`). They began from a warm-up on tables (`minilm-warmup` where models are
named). The encoder itself is fetched once, see `lisax models get`.
"""

from __future__ import annotations

from pathlib import Path

ENCODER, FOLDER = "minilm", Path(__file__).parent


def ranker() -> Path:
    """The bundle of the model that orders sentences again, trained on FEVER's claims."""
    return FOLDER / "ranker"


def labeller(reads: str = "sentences") -> Path:
    """The bundle of the labeller that reads sentences, trained on FEVER's claims, or `tables`, on TabFact's and
    InfoTabs'."""
    return FOLDER / ("tables" if reads == "tables" else "text")


def answers() -> Path:
    """The bundle of the model that finds sentences that answer questions: the ranker, which has a probability fitted on
    questions."""
    return ranker()


def parts() -> Path:
    """The bundle of the model of rows and columns, trained on WikiTableQuestions' questions."""
    return FOLDER / "parts"
