"""Copies of a verbalizer's training pairs with other names, numbers and column names (ours).

WebNLG is about a few hundred things. A model without pretraining learns them by heart and writes them for any table,
where a pretrained one copies its input. If a text contains the title and every value verbatim, copies of it replace
them by others, from tables too, so that only copying helps.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

from lisax.formats.triples import Triples
from lisax.formats.verbalizing import VerbalExample

LONGEST = 6  # longest replacement, in words
_NUMBER = re.compile(r"[.,:%+-]*+\d[\d.,:%+-]*+")
NUMBER, WITH_DIGITS, NAME, COLUMN = "number", "with digits", "name", "column"


class Swapper:
    """Replaces the values, titles and column names of examples by those of `units`."""

    def __init__(self, units: Iterable[Triples]):
        pools: dict[str, dict[str, None]] = {kind: {} for kind in (NUMBER, WITH_DIGITS, NAME, COLUMN)}
        for unit in units:
            for value in (unit.title, *(value for _, value in unit.pairs)):
                pools[_kind(value)][value] = None
            pools[COLUMN].update(dict.fromkeys(name for name, _ in unit.pairs))
        self._pools = {
            kind: [text for text in pool if 0 < len(text.split()) <= LONGEST] for kind, pool in pools.items()
        }

    def copies(self, example: VerbalExample, count: int, seed: int) -> list[VerbalExample]:
        """`count` copies, deterministic for a seed; none if the text lacks the title or a value."""
        unit = example.triples
        said = dict.fromkeys(filter(None, (unit.title, *(value for _, value in unit.pairs))))
        if not count or not all(_places([text]).search(example.text) for text in said):
            return []
        kinds = {text: _kind(text) for text in said}
        kinds |= {name: COLUMN for name, _ in unit.pairs if name not in said and _places([name]).search(example.text)}
        kinds = {text: kind for text, kind in kinds.items() if self._pools[kind]}
        return [
            self._copy(example, kinds, i, random.Random(f"{seed} {i} {unit.id} {example.text}")) for i in range(count)
        ]

    def _copy(self, example: VerbalExample, kinds: dict[str, str], number: int, drawn: random.Random) -> VerbalExample:
        put = {text.lower(): drawn.choice(self._pools[kind]) for text, kind in kinds.items()}

        def of(text: str) -> str:
            return put.get(text.lower(), text)

        # In one pass: replacements are not replaced again, and of two overlapping texts the longer is replaced.
        text = _places(sorted(put, key=len, reverse=True)).sub(lambda found: of(found[0]), example.text)
        unit = example.triples
        pairs = tuple((of(name), of(value)) for name, value in unit.pairs)
        return VerbalExample(Triples(f"{unit.id}~{number}", of(unit.title), pairs), text, (text,))


def _kind(text: str) -> str:
    if _NUMBER.fullmatch(text):
        return NUMBER
    return WITH_DIGITS if any(map(str.isdigit, text)) else NAME


def _places(texts: Iterable[str]) -> re.Pattern:
    """Matches any of `texts` as whole words, not within a word or a number."""
    return re.compile(rf"(?<![\w.,])(?:{'|'.join(map(re.escape, texts))})(?!\w|[.,]\d)", re.IGNORECASE)
