"""The inputs of a format that has several for an example, by training and inference alike: as one text each, or, for an
encoder of two segments, as pairs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lisax.formats.format import Format
from lisax.formats.presets import Preset
from lisax.formats.vocabulary import Vocabulary


class Encoded(NamedTuple):
    """`dropped_rows`: of a table, those for which there was no room; of a pair, which is cut at its end, 0."""

    ids: Sequence[int]
    text: str
    dropped_rows: int = 0


def encode_texts(
    text_format: Format, example: Any, preset: Preset, max_tokens: int, ids_of: Callable[[str], list[int]]
) -> list[Encoded]:
    """`ids_of` gives the ids of a text with its special tokens."""
    ids_of = functools.lru_cache(maxsize=1)(ids_of)  # the text counted last is nearly always kept
    texts = text_format.encode_each(
        example, preset=preset, max_tokens=max_tokens, count_tokens=lambda text: len(ids_of(text))
    )
    return [Encoded(ids_of(text.inputs), text.inputs, sum(getattr(text, "dropped", ()))) for text in texts]


def encode_pairs(
    text_format: Format, example: Any, preset: Preset, max_tokens: int, vocabulary: Vocabulary
) -> list[Encoded]:
    pairs = text_format.pair_of_each(example, preset=preset)
    return [Encoded(vocabulary.encode_pair(*pair, max_tokens).ids, " | ".join(pair)) for pair in pairs]
