"""`model.json` of a checkpoint or bundle, read and checked in one place, because a bundle may come from anyone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from lisax.formats.families import Family
from lisax.formats.presets import PRESETS
from lisax.formats.verbalizing import MARKERS
from lisax.models.fields import (
    FINITE,
    REAL,
    FieldError,
    Items,
    Kinds,
    Maybe,
    Number,
    OneOf,
    Text,
    Truth,
    Whole,
    check,
    check_architecture,
    shown,
)
from lisax.records import DataError, LisaxError
from lisax.runtime.interop.kinds import MODEL_JSON
from lisax.runtime.json_file import read_object

# In a MODEL_DIR: what was fitted on held-out data for one of its checkpoints, {"checkpoint": name, "decision" or "fusion"}.
FITTED = "fitted.json"
TOKENS, STEP = Whole(1, 1 << 16), Whole(0, 1 << 40)
# What is read of it, where it is there. Other fields are kept, and nothing is done with them.
CARD: Kinds = {
    "text": {
        "family": Text(100),
        "preset": OneOf(tuple(PRESETS)),
        "max_tokens": TOKENS,
        "question_tokens": TOKENS,
        "target_tokens": TOKENS,
        "answer_tokens": Whole(0, 1 << 12),
        "tables": Whole(0, 1000),
        "candidates": Whole(1, 1000),
        "passages": Whole(1, 10_000),
        "words": Items(Text(100), 1, 100),
        "markers": {marker: Whole(0, 1 << 24) for marker in MARKERS},
    },
    "vocabulary": {
        "kind": Text(100),
        "pieces": Whole(1, 1 << 24),
        "extra_ids": Whole(0, 1 << 16),
        "file": Text(255),
        "sha256": Text(64),
    },
    # Slots of a checkpoint whose step was not taken over are older than the run.
    "training": {"first_step": STEP, "slots_first_step": Whole(-(1 << 40), 1 << 40)},
    "decision": {"threshold": REAL, "in_data": Truth(), "precision": Maybe(Number(0, math.nextafter(1, 2)))},
    "fusion": Maybe(Items(FINITE, 3, 3)),
    "files": Items(Text(255), 0, 100),
    "step": STEP,
}


def read_card(folder: Path) -> dict[str, Any]:
    """`model.json` of a checkpoint folder or a bundle, with what was fitted for the checkpoint (`FITTED`). What is there
    is what it may be; nothing but that is promised: see `needed`."""
    path = folder / MODEL_JSON
    if not path.exists():
        raise LisaxError(f"{folder} has no {MODEL_JSON}, so its architecture is not known")
    card, fitted = _checked(path), folder.parent / FITTED
    if fitted.is_file() and (found := _checked(fitted)).pop("checkpoint", None) == folder.name:
        card |= found
    return card


def _checked(path: Path) -> dict[str, Any]:
    card = read_object(path)
    try:
        if card.get("architecture") is not None:
            check_architecture(card["architecture"])
    except FieldError as error:
        raise DataError(error.complaint, path=path, field=f"architecture.{error.field}") from None
    try:
        check({name: value for name, value in card.items() if value is not None}, CARD, others=True)
    except FieldError as error:
        raise DataError(error.complaint, path=path, field=error.field) from None
    return card


def needed(card: dict[str, Any], folder: Path, *fields: str) -> list[Any]:
    """The values of fields, `text.max_tokens`; a DataError that names the first that is missing."""
    values = []
    for field in fields:
        value: Any = card
        for name in field.split("."):
            value = value.get(name) if isinstance(value, dict) else None
            if value is None:
                raise DataError(
                    "it is missing, so that the model cannot be used; export or import it again",
                    path=folder / MODEL_JSON,
                    field=field,
                )
        values.append(value)
    return values


def known_family(name: str, folder: Path) -> Family:
    try:
        return Family(name)
    except ValueError:
        raise DataError(
            f"there is no format {shown(name)}; there are {', '.join(Family)}",
            path=folder / MODEL_JSON,
            field="text.family",
        ) from None


def check_vocabulary(card: dict[str, Any], size: int, folder: Path) -> None:
    """DataError where a vocabulary has more entries than the model that `card` describes has rows for."""
    (described,) = needed(card, folder, "architecture")
    rows = described.get("t5", described).get("vocab_size", size)  # of a T5 of another size than the default it is said
    if size > rows:
        raise DataError(
            f"the vocabulary beside it has {size:,} entries, the model {rows:,}: they do not belong together",
            path=folder / MODEL_JSON,
            field="architecture.vocab_size",
        )
