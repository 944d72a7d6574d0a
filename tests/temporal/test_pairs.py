"""Two hundred claims with their evidence, written by hand before the rules that decide them: how many are decided, and
that none is decided wrongly.

`pairs.jsonl`: `label` is null where the dates leave a claim open. The rules were written looking at the half
`development`; of the half `held out` only totals were looked at.
"""

import json
from pathlib import Path

import pytest

from lisax.formats.examples import Passage
from lisax.temporal import judge

PAIRS = [json.loads(line) for line in (Path(__file__).parent / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]


def ruled(pair):
    """The label that the dates give the claim of a pair, or None."""
    passages = [
        Passage(unit, unit.rpartition("_")[0].replace("_", " "), text) for unit, text in pair["evidence"].items()
    ]
    ruling = judge(pair["claim"], passages)
    return ruling and str(ruling.label)


@pytest.mark.parametrize(("half", "share"), [("development", 0.90), ("held out", 0.85)])
def test_most_decidable_pairs_are_decided_and_none_wrongly(half, share):
    pairs = [pair for pair in PAIRS if pair["half"] == half]
    found = [(pair["label"], ruled(pair)) for pair in pairs]
    decidable = sum(label is not None for label, _ in found)
    assert len(pairs) == 100 and decidable == 80
    assert all(label in (None, expected) for expected, label in found)
    assert sum(label is not None for _, label in found) / decidable >= share


def test_every_kind_of_pair_is_in_both_halves():
    halves = ("development", "held out")
    kinds = {half: sorted(pair["kind"] for pair in PAIRS if pair["half"] == half) for half in halves}
    assert kinds["development"] == kinds["held out"] and len(set(kinds["held out"])) == 20
