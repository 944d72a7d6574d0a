"""The two wordings of LisT5's inputs, as data: the paper's and its authors' released one.

The label words of the paper are not printed there; both presets use the released ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lisax.errors import LisaxError
from lisax.records import LABELS, Label, Operation


@dataclasses.dataclass(frozen=True)
class Preset:
    """The words around claim and evidence.

    `claim_slot` opens a labelling input and `label_closing` ends it (empty: nothing ends it); the
    ranking input is the same in every preset. `label_words` follow `LABELS` (supports, refutes, not
    enough info); `ranking_words` are (relevant, not relevant); `operation_words` follow `Operation`.
    """

    name: str
    claim_slot: str
    label_closing: str
    # The paper specifies only that the title is put before the sentence; the released code joins them so.
    title_separator: str = " . "
    label_words: tuple[str, str, str] = ("true", "false", "weak")
    ranking_words: tuple[str, str] = ("true", "false")
    operation_words: tuple[str, ...] = tuple(map(str, Operation))

    def target(self, label: Label | Operation | bool | None) -> str:
        """The word a model must write: a bool is a ranking target, None (unlabelled) gives no word."""
        if label is None:
            return ""
        if isinstance(label, Operation):
            return self.operation_words[list(Operation).index(label)]
        if isinstance(label, bool):
            return self.ranking_words[0 if label else 1]
        return self.label_words[LABELS.index(label)]

    def with_initials(self) -> Preset:
        """This preset with each target word cut to its first letter that no word before it has: one piece each in a
        byte vocabulary."""
        fields = ("label_words", "ranking_words", "operation_words")
        return dataclasses.replace(self, **{field: _initials(getattr(self, field)) for field in fields})


def _initials(words: Sequence[str]) -> tuple[str, ...]:
    letters: list[str] = []
    for word in words:
        letters.append(next(letter for letter in word if letter not in letters))
    return tuple(letters)


PAPER = Preset("paper", claim_slot="query:", label_closing="relevant:")
RELEASED = Preset("released", claim_slot="hypothesis:", label_closing="")

PRESETS = {preset.name: preset for preset in (PAPER, RELEASED)}


def get(name: str) -> Preset:
    if name not in PRESETS:
        raise LisaxError(f"there is no format preset '{name}'; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
