"""Reads model cards for the page: the role, purpose, figures and limits of each loaded model."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from lisax import shipped
from lisax.serve.models import COLUMNS, LABELLER, PARTS, RANKER, READER, RETRIEVER, TABLE_VERIFIER, Models
from lisax.weights.pretrained import MODELS

TOLD = ("What it is for", "What it is not for", "Figures", "Limits")  # of a model's card
SHORT = "In short"
DOES = {
    PARTS: "Answers questions from the cells of tables",
    COLUMNS: "Finds the columns of tables that answer questions",
    RANKER: "Orders the evidence found by its relevance to the claim",
    LABELLER: "Decides whether the evidence found supports or refutes a claim",
    TABLE_VERIFIER: "Decides whether a table supports or refutes a claim",
    READER: "Answers questions from passages of text",
    RETRIEVER: "Finds passages by their meaning",
}


@dataclasses.dataclass(frozen=True, slots=True)
class ModelShown:
    """A model: its role, its name, its purpose, and the content of its card, in short and in full."""

    role: str
    name: str
    does: str
    short: str
    card: list[tuple[str, str]]


def about(models: Models) -> list[ModelShown]:
    """The loaded models, each with its use, figures and limits from its card."""
    shown = []
    for role in models:
        path = models.paths.get(role, Path(role))
        name = f"LisaX's own ({path.name})" if path.is_relative_to(shipped.FOLDER) else path.name
        said = shipped.card(path)
        short = f"As published: {MODELS[name].title}." if name in MODELS else said.get(SHORT, "")
        shown.append(ModelShown(role, name, DOES[role], short, [(one, said[one]) for one in TOLD if one in said]))
    if LABELLER in models and RANKER not in models:
        shown.append(
            ModelShown(RANKER, "BM25", DOES[RANKER], "By the words that it shares with the claim, no model.", [])
        )
    return shown
