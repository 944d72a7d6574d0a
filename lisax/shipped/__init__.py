"""What LisaX ships: small adapters of all-MiniLM-L6-v2 that are used where no model is named, each with its model card.

Sentences are ranked by BM25 and the vectors of the encoder (`RANKER`) and labelled by an adapter (`labeller`). Another one
labels claims from tables, and a third finds the rows and columns of tables that answer questions (`parts`), where they
are among what is shipped. The encoder itself is fetched once, see `lisax models get`.
"""

from __future__ import annotations

from pathlib import Path

from lisax.errors import LisaxError

RANKER, FOLDER = "minilm", Path(__file__).parent


def labeller(reads: str = "sentences") -> Path:
    """The bundle of the labeller that reads sentences, trained on FEVER's claims, or `tables`, on TabFact's and InfoTabs'.
    LisaxError where there is none."""
    if reads == "sentences":
        return FOLDER / "text"
    return _there(
        "tables",
        "no labeller over tables comes with LisaX: name a model, or index the tables with `lisax index mixed`, whose rows "
        "the labeller over text reads",
    )


def labels_tables() -> bool:
    """Whether a labeller over tables is among what is shipped."""
    return (FOLDER / "tables").is_dir()


def parts() -> Path:
    """The bundle of the model of rows and columns, trained on WikiTableQuestions' questions. LisaxError where there is
    none."""
    return _there("parts", "no model of table rows and columns comes with LisaX: name one, or a reader of passages")


def _there(name: str, otherwise: str) -> Path:
    if not (FOLDER / name).is_dir():
        raise LisaxError(otherwise)
    return FOLDER / name
