"""The verbalizer's input (UDT-QA, section 3.1): a row or sub-graph as pairs, the title first, as a pair of its own.

    <H> [title] <T> {title} <H> {name} <T> {value} <H> {name} <T> {value} …

The markers are not text: they are the vocabulary's sentinels, which a pretrained T5 has rows for, noted in the model's
card. In the released wording `translate Graph to English:` comes first. Inputs and targets are folded (small letters,
no accents); `faithful.restoring` brings back case, accents and punctuation from the input. A row that is too long is
read in pieces of whole pairs, each with the title; a value that is too long on its own is cut into several of the same
name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from lisax.errors import DataError, LisaxError
from lisax.files.reading import get_field
from lisax.formats.budget import Budget, longest_start, squeeze
from lisax.formats.format import SENTENCES, Format
from lisax.formats.presets import Preset
from lisax.formats.triples import Triples
from lisax.text.folding import fold

MARKERS = ("<H>", "<T>", "[title]")  # sentinel n stands for MARKERS[n]
PREFIXES = {"paper": "", "released": "translate Graph to English:"}


def marker_ids(vocabulary_size: int) -> dict[str, int]:
    """The ids of the markers in a vocabulary with sentinels, the first of which is the last entry."""
    return {marker: vocabulary_size - 1 - n for n, marker in enumerate(MARKERS)}


@dataclasses.dataclass(frozen=True, slots=True)
class VerbalExample:
    """`text` is learned; `texts` are all references, `text` among them."""

    triples: Triples
    text: str
    texts: tuple[str, ...]

    def to_row(self) -> dict:
        row = self.triples.to_row() | {"text": self.text}
        return row if self.texts == (self.text,) else row | {"texts": list(self.texts)}

    @staticmethod
    def from_row(row: dict) -> VerbalExample:
        text = get_field(row, "text", str, path=None, line=None)
        texts = get_field(row, "texts", list, path=None, line=None, default=[text])
        if not texts or not all(isinstance(other, str) for other in texts):
            raise DataError(f"expected a list of texts, found {texts!r:.80}", field="texts")
        return VerbalExample(Triples.from_row(row), text, tuple(texts))


@dataclasses.dataclass(frozen=True)
class Encoder:
    """The format in the ids of a vocabulary: `to_ids` gives a text's pieces without EOS."""

    to_ids: Callable[[str], list[int]]
    markers: Mapping[str, int]
    preset: str = "paper"

    def inputs(self, triples: Triples) -> list[int]:
        """Ids without EOS; nothing is shortened."""
        ids = self.to_ids(PREFIXES[self.preset]) if PREFIXES[self.preset] else []
        if triples.title:
            ids = [*ids, *self._title(triples.title)]
        for name, value in triples.pairs:
            ids += self._pair(name, value)
        return ids

    def targets(self, text: str) -> list[int]:
        """Ids without EOS."""
        return self.to_ids(fold(squeeze(text)))

    def text(self, triples: Triples) -> str:
        """The inputs as a reader sees them."""
        title = [f"<H> [title] <T> {fold(triples.title)}"] if triples.title else []
        pairs = (f"<H> {fold(name)} <T> {fold(value)}" for name, value in triples.pairs)
        return squeeze(" ".join([PREFIXES[self.preset], *title, *pairs]))

    def split(self, triples: Triples, max_tokens: int, max_pairs: int | None = None) -> list[tuple[int, Triples]]:
        """`triples` in pieces of at most `max_tokens` tokens with EOS and `max_pairs` pairs, in reading order; each
        with the number of the pair, counted from 0, with which it begins or continues.

        The title, which each piece repeats, is cut to half of the room, and a name to half of the rest.
        """
        room = max_tokens - 1 - len(self.to_ids(PREFIXES[self.preset])) * bool(PREFIXES[self.preset])
        if room < 16:
            raise LisaxError(
                f"{max_tokens} tokens are too few for the verbalizer's input; give `inputs` a greater length"
            )
        title = self._start(triples.title, lambda text: len(self._title(text)) <= room // 2)
        room -= len(self._title(title)) if title else 0
        pieces: list[tuple[int, list[tuple[str, str]]]] = [(0, [])]
        left = room
        for number, (name, value) in enumerate(triples.pairs):
            name = self._start(name, lambda text: len(self._pair(text, "")) <= room // 2)
            for part in self._parts(name, value, room):
                cost = len(self._pair(name, part))
                if pieces[-1][1] and (cost > left or len(pieces[-1][1]) == max_pairs):
                    pieces.append((number, []))
                    left = room
                pieces[-1][1].append((name, part))
                left -= cost
        return [(first, Triples(triples.id, title, tuple(pairs))) for first, pairs in pieces]

    def _title(self, title: str) -> list[int]:
        heading, text, named = self.markers["<H>"], self.markers["<T>"], self.markers["[title]"]
        return [heading, named, text, *self.to_ids(fold(title))]

    def _pair(self, name: str, value: str) -> list[int]:
        return [self.markers["<H>"], *self.to_ids(fold(name)), self.markers["<T>"], *self.to_ids(fold(value))]

    def _parts(self, name: str, value: str, room: int) -> list[str]:
        parts = []
        while value:
            # A single character can be more than the room only in a vocabulary without it; it is read all the same.
            start = self._start(value, lambda text: len(self._pair(name, text)) <= room) or value[0]
            parts.append(start)
            value = value[len(start) :].lstrip()
        return parts

    def _start(self, text: str, accepts: Callable[[str], bool]) -> str:
        return longest_start(text, accepts) or ""


def verbalizing_card(preset: str, max_tokens: int, target_tokens: int, vocabulary_size: int) -> dict[str, Any]:
    """`text` of a verbalizer's `model.json`: lengths with EOS, and the ids that stand for the markers."""
    return {
        "text": {
            "family": VERBALIZE.name,
            "preset": preset,
            "max_tokens": max_tokens,
            "target_tokens": target_tokens,
            "markers": marker_ids(vocabulary_size),
        }
    }


def _in_ids(example: VerbalExample, preset: Preset, budget: Budget) -> list[str]:
    raise LisaxError("the format 'verbalize' is written in ids, because its markers are not text: see `Encoder`")


VERBALIZE = Format("verbalize", VerbalExample, _in_ids, SENTENCES)
