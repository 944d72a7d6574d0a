"""What inference must know of the texts that a model was trained on: `text` of a checkpoint's `model.json`."""

from __future__ import annotations

from typing import Any

from lisax.formats.families import Family
from lisax.formats.presets import Preset


def text_card(family: Family, preset: Preset, max_tokens: int, depth: int = 0) -> dict[str, Any]:
    """{"text": {family, preset, max_tokens, words of the answer, tables or candidates}}.

    `max_tokens`: of an input, with its EOS; of table fusion, of the claim with one table, and of a pointer with one
    candidate. `depth`: how many tables or candidates are read for a claim. Neither of the two answers in words.
    """
    card: dict[str, Any] = {"family": str(family), "preset": preset.name, "max_tokens": max_tokens}
    if family.answers_in_words:
        card["words"] = list(family.words(preset))
    return {"text": card | ({"candidates" if family.points else "tables": depth} if depth else {})}
