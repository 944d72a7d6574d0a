"""The shipped models: small adapters of public sentence encoders that are used if no model is named, each with its model
card.

Sentences are found by BM25 and the vectors of the encoder (`ENCODER`), the best of them ordered again by an adapter
(`ranker`), and labelled by another one (`labeller`); a third adapter labels claims from tables. Of the labellers there
are two tiers: `light`, of all-MiniLM-L6-v2, and `accurate`, of all-mpnet-base-v2, which takes three to five times as long. A
fourth adapter finds the rows and columns of tables that answer questions (`parts`). Those of MiniLM began from a warm-up
on tables (`minilm-warmup` where models are named). An encoder is fetched once, see `lisax models get`.
"""

from __future__ import annotations

import re
from pathlib import Path

LIGHT, ACCURATE = "light", "accurate"
ENCODERS = {LIGHT: "minilm", ACCURATE: "mpnet"}  # of each tier
TIERS = tuple(ENCODERS)
ENCODER, FOLDER = ENCODERS[LIGHT], Path(__file__).parent


_ENTRY = re.compile(r"^- \*\*(.+?)\*\*(.*(?:\n  .*)*)", re.MULTILINE)


def ranker() -> Path:
    """The bundle of the model that orders sentences again, trained on FEVER's claims."""
    return FOLDER / "ranker"


def labeller(reads: str = "sentences", tier: str = LIGHT) -> Path:
    """The bundle of a tier's labeller, which reads sentences and was trained on FEVER's claims, or reads `tables` and was
    trained on TabFact's and InfoTabs'. The folder does not exist if the tier has no such labeller."""
    folder = FOLDER if tier == LIGHT else FOLDER / tier
    return folder / ("tables" if reads == "tables" else "text")


def answers() -> Path:
    """The bundle of the model that finds sentences that answer questions: the ranker, which has a probability fitted on
    questions."""
    return ranker()


def parts() -> Path:
    """The bundle of the model of rows and columns, trained on WikiTableQuestions' questions."""
    return FOLDER / "parts"


def bundles() -> dict[str, Path]:
    """The bundles by name, such as `minilm-text` and `mpnet-text`."""
    return {
        f"{encoder}-{path.parent.name}": path.parent
        for tier, encoder in ENCODERS.items()
        for path in sorted((FOLDER if tier == LIGHT else FOLDER / tier).glob("*/model.json"))
    }


def card(folder: Path) -> dict[str, str]:
    """The entries of a model's MODEL_CARD.md by heading, without links and code marks; none if there is no card."""
    try:
        entries = _ENTRY.findall((folder / "MODEL_CARD.md").read_text(encoding="utf-8"))
    except (OSError, UnicodeError):
        return {}
    texts = {name: " ".join(re.sub(r"\[(.+?)\]\(.*?\)|`", r"\1", text).split()) for name, text in entries}
    return {name: text.removeprefix(":").strip() for name, text in texts.items()}
