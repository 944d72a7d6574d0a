"""Runs that a ranker writes: the order of equal scores, and what an interruption leaves, ids with `#` included."""

import functools
import itertools

import numpy as np
import pytest

from lisax.devices.workers import lines_to_file
from lisax.files.resumable import partial
from lisax.formats.ranking import RANK
from lisax.predict.ranker import SentenceRanker, ranking
from lisax.predict.verdicts import Evidence
from lisax.records import Claim
from lisax.retrieval.runs import read_run

CLAIMS = [Claim(f"#{number}", f"Claim {number}.") for number in range(7)]
UNITS = ["P_0", "T#r0c1", "#group", "G#e2", "Å#0_3"]
CANDIDATES = {claim.id: UNITS[i % 3 :] for i, claim in enumerate(CLAIMS)}


class Model:
    """Says of each unit what `scores` say, and stops before the claim `stop_at`."""

    format = RANK

    def __init__(self, scores=None, stop_at=None):
        self.scores, self.stop_at, self.asked = scores or {}, stop_at, []

    def probabilities(self, rows):
        claims = list(dict.fromkeys(example.claim for example in rows))
        if self.stop_at in claims:
            raise KeyboardInterrupt
        self.asked += claims
        relevant = np.array([self.scores.get(example.unit_ids[0], 0.5) for example in rows])
        return np.stack([relevant, 1 - relevant], axis=1)


def evidence(units):
    return [Evidence(unit, f"Of {unit}.", "Title") for unit in units]


@pytest.mark.parametrize("order", list(itertools.permutations(UNITS[:4])), ids="-".join)
def test_equal_scores_keep_the_order_of_the_candidates(order):
    model = Model({"P_0": 0.75, "T#r0c1": 0.25})
    ((*found,),) = SentenceRanker(model).rank_many(["A claim."], [evidence(order)])
    tied = [unit for unit in order if unit in ("#group", "G#e2")]
    assert [(one.unit, one.score) for one in found] == [
        ("P_0", 0.75),
        *((unit, 0.5) for unit in tied),
        ("T#r0c1", 0.25),
    ]


def test_a_claim_without_candidates_is_not_scored():
    model = Model()
    assert list(SentenceRanker(model).rank_many(["A claim."], [[]])) == [[]] and model.asked == []


def write(model, out):
    opens = functools.partial(
        ranking, SentenceRanker(model), lambda claim: evidence(CANDIDATES[claim.id]), None, "#tag"
    )
    lines_to_file(out, opens, CLAIMS, 2)


def test_an_interrupted_run_goes_on_at_the_first_claims_that_are_not_in_it(tmp_path):
    scores = dict(zip(UNITS, (0.5, 0.5, 1.0, 0.125, 1.0)))
    write(Model(scores), tmp_path / "whole")
    run = read_run(tmp_path / "whole")
    found = {query: {hit.id for hit in hits} for query, hits in run.items()}
    assert found == {claim: set(units) for claim, units in CANDIDATES.items()}
    for hits in run.values():  # of equal scores, too, none is equal to a reader of float32
        assert (np.diff(np.array([hit.score for hit in hits], np.float32)) < 0).all()
    for stop_at in range(len(CLAIMS)):
        out = tmp_path / f"stopped{stop_at}"
        with pytest.raises(KeyboardInterrupt):
            write(Model(scores, stop_at=CLAIMS[stop_at].text), out)
        gathered = partial(out).read_bytes()
        for lost in (0, 1, 15):  # of the last group, its mark or more
            partial(out).write_bytes(gathered[: len(gathered) - lost])
            again = Model(scores)
            write(again, out)
            finished = max(0, stop_at // 2 * 2 - (2 if lost else 0))
            assert again.asked == [claim.text for claim in CLAIMS[finished:]], (stop_at, lost)
            assert out.read_bytes() == (tmp_path / "whole").read_bytes()
