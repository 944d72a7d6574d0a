"""What LisaX ships: small adapters of all-MiniLM-L6-v2 that are used where no model is named, each with its model card.

Sentences are ranked by BM25 and the vectors of the encoder (`RANKER`) and labelled by an adapter (`labeller`). Another one
labels claims from tables, and a third finds the rows and columns of tables that answer questions (`parts`), where they
are among what is shipped. These began from a warm-up on tables (`minilm-warmup` where models are named). The encoder
itself is fetched once, see `lisax models get`.
"""

from __future__ import annotations

from pathlib import Path

RANKER, FOLDER = "minilm", Path(__file__).parent


def labeller(reads: str = "sentences") -> Path:
    """The bundle of the labeller that reads sentences, trained on FEVER's claims, or `tables`, on TabFact's and
    InfoTabs'."""
    return FOLDER / ("tables" if reads == "tables" else "text")


def parts() -> Path:
    """The bundle of the model of rows and columns, trained on WikiTableQuestions' questions."""
    return FOLDER / "parts"
