"""What inference must know of the texts that a model was trained on: `text` of a checkpoint's `model.json`."""

from __future__ import annotations

from typing import Any

from lisax.formats.families import Family
from lisax.formats.presets import Preset


def text_card(family: Family, preset: Preset, max_tokens: int, tables: int = 0) -> dict[str, Any]:
    """{"text": {family, preset, max_tokens, words of the answer, tables}}.

    `max_tokens`: of an input, with its EOS; of table fusion, of the claim with one table. `tables`: how many are read
    for a claim. Table fusion answers in classes and has no words.
    """
    card: dict[str, Any] = {"family": str(family), "preset": preset.name, "max_tokens": max_tokens}
    if family is not Family.TABLE_FUSION:
        card["words"] = list(preset.ranking_words if family.ranks else preset.label_words)
    return {"text": card | ({"tables": tables} if tables else {})}
