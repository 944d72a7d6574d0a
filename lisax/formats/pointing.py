"""The evidence pointer's formats: a claim with its candidates, and the targets of each, as numbers.

The texts are those of the pairs that the encoder learns from before: a ranker's of a page's title, a pointwise
labeller's of a sentence. An encoder of two segments reads claim and candidate as a pair.

A candidate has `COLUMNS` numbers: the claim's label (1 unlabelled, or 2 and more in the order of `LABELS`; 0 is a place
without a candidate), its place among the gold pointers (from 1, or 0), and 1 for each evidence set that it belongs to,
of the first `SETS`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from lisax.errors import DataError
from lisax.files.reading import get_field
from lisax.formats.budget import Budget, squeeze
from lisax.formats.examples import Passage, label_of
from lisax.formats.format import POINTERS, Format, PairTexts, Text
from lisax.formats.labelling import encode_pointwise
from lisax.formats.presets import Preset
from lisax.formats.ranking import encode_ranking, titled
from lisax.records import LABELS, Label

SETS = 6
COLUMNS = 2 + SETS
NO_CANDIDATE, UNLABELLED, FIRST_LABEL = 0, 1, 2


@dataclasses.dataclass(frozen=True, slots=True)
class PointerExample:
    """`sets`: places of candidates, each set complete, in the order in which they are to be pointed to; sets with a
    member that is not a candidate are left out."""

    claim_id: str
    claim: str
    candidates: tuple[Passage, ...] = ()
    label: Label | None = None
    sets: tuple[tuple[int, ...], ...] = ()

    @property
    def unit_ids(self) -> list[str]:
        return [candidate.id for candidate in self.candidates]

    @property
    def pointers(self) -> tuple[int, ...]:
        """Places of the gold candidates in the order in which they are to be pointed to."""
        return tuple(dict.fromkeys(place for places in self.sets for place in places))

    def row(self) -> dict:
        """The JSON object of the example."""
        return {
            "claim_id": self.claim_id,
            "claim": self.claim,
            "label": self.label,
            "sets": self.sets,
            "candidates": [dataclasses.asdict(candidate) for candidate in self.candidates],
        }

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> PointerExample:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        candidates = []
        for i, candidate in enumerate(get_field(row, "candidates", list, **where)):
            if not isinstance(candidate, dict) or not all(
                isinstance(candidate.get(name), str) for name in ("id", "title", "text")
            ):
                raise DataError(
                    f"expected an object with id, title and text, found {json.dumps(candidate)[:80]}",
                    field=f"candidates[{i}]",
                    **where,
                )
            candidates.append(Passage(candidate["id"], candidate["title"], candidate["text"]))
        label = label_of(row, Label, **where)
        sets = get_field(row, "sets", list, **where)
        for i, places in enumerate(sets):
            if (
                not isinstance(places, list)
                or not places
                or not all(isinstance(place, int) and 0 <= place < len(candidates) for place in places)
            ):
                raise DataError(
                    f"expected places from 0 to {len(candidates) - 1}, found {json.dumps(places)[:80]}",
                    field=f"sets[{i}]",
                    **where,
                )
        return cls(
            get_field(row, "claim_id", str, **where),
            get_field(row, "claim", str, **where),
            tuple(candidates),
            label,
            tuple(map(tuple, sets)),
        )


def pointer_targets(
    candidates: int, label: Label | None, pointers: Sequence[int], sets: Sequence[Sequence[int]]
) -> list[list[int]]:
    """[candidates][COLUMNS]; `pointers` and `sets` hold places of candidates."""
    kind = UNLABELLED if label is None else FIRST_LABEL + LABELS.index(label)
    rows = [[kind, *[0] * (COLUMNS - 1)] for _ in range(candidates)]
    for step, place in enumerate(pointers, start=1):
        rows[place][1] = step
    for column, places in enumerate(sets[:SETS], start=2):
        for place in places:
            rows[place][column] = 1
    return rows


def _titles(example: PointerExample, preset: Preset, budget: Budget) -> list[Text]:
    titles = (Passage(page.id, "", page.title) for page in example.candidates)
    return [Text(encode_ranking(example.claim, title, preset, budget)) for title in titles]


def _sentences(example: PointerExample, preset: Preset, budget: Budget) -> list[Text]:
    return [Text(encode_pointwise(example.claim, sentence, preset, budget)) for sentence in example.candidates]


def _title_pairs(example: PointerExample, preset: Preset) -> list[PairTexts]:
    return [PairTexts(squeeze(example.claim), squeeze(page.title)) for page in example.candidates]


def _sentence_pairs(example: PointerExample, preset: Preset) -> list[PairTexts]:
    claim = squeeze(example.claim)
    return [PairTexts(claim, titled(one.title, one.text, preset)) for one in example.candidates]


POINT_DOCUMENTS = Format(
    "point_documents", PointerExample, _titles, POINTERS, each="candidate", depth="candidates", pairs=_title_pairs
)
POINT_SENTENCES = Format(
    "point_sentences", PointerExample, _sentences, POINTERS, each="candidate", depth="candidates", pairs=_sentence_pairs
)
