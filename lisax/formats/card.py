"""What inference must know of the texts that a model was trained on: `text` of a checkpoint's `model.json`."""

from __future__ import annotations

from collections.abc import Mapping
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


def depth_of(text: Mapping[str, Any], units: str) -> int:
    """How many `tables` or `candidates` are read for a claim, of a card's `text`; ValueError where it does not say."""
    depth = text.get(units)
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        raise ValueError(f"`text` must say how many {units} are read for a claim: field '{units}', a whole number from "
                         f"1 on, found {depth!r:.80}")
    return depth
