"""What LisaX ships: small adapters of all-MiniLM-L6-v2 that are used where no model is named, each with its model card.

Sentences are ranked by BM25 and the vectors of the encoder (`RANKER`) and labelled by an adapter (`labeller`); another one
labels claims from tables, and a third finds the rows and columns of tables that answer questions (`parts`). The encoder
itself is fetched once, see `lisax models get`.
"""

from __future__ import annotations

from pathlib import Path

RANKER = "minilm"


def labeller(reads: str = "sentences") -> Path:
    """The bundle of the labeller that reads sentences, trained on FEVER's claims, or `tables`, on TabFact's and
    InfoTabs'."""
    return Path(__file__).parent / ("tables" if reads == "tables" else "text")


def labels_tables() -> bool:
    """Whether a labeller over tables is among what is shipped."""
    return labeller("tables").is_dir()


def parts() -> Path:
    """The bundle of the model of rows and columns, trained on WikiTableQuestions' questions."""
    return Path(__file__).parent / "parts"
