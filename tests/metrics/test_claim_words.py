"""The baseline that reads only the words of a claim."""

import numpy as np
import pytest

from lisax.errors import DataError
from lisax.metrics.claim_words import claim_words_verdicts
from lisax.records import LABELS, Claim, Label

TRAINING = [
    *(Claim(f"s{i}", f"Town {i} has a bridge.", Label.SUPPORTS) for i in range(8)),
    *(Claim(f"r{i}", f"Town {i} has no bridge.", Label.REFUTES) for i in range(8)),
    Claim("open", "Town 9 has a tower."),
]


def test_words_that_give_a_label_away_are_found():
    claims = {"1": Claim("1", "Ostra has no bridge."), "2": Claim("2", "Ostra has a bridge.")}
    found = claim_words_verdicts(TRAINING, claims)
    assert [found[i].label for i in claims] == [Label.REFUTES, Label.SUPPORTS]
    assert found["1"].probabilities[LABELS.index(Label.NOT_ENOUGH_INFO)] == 0 and found["1"].evidence == ()
    np.testing.assert_allclose(sum(found["1"].probabilities), 1)
    assert claim_words_verdicts(TRAINING, claims) == found


def test_one_label_and_none():
    (found,) = claim_words_verdicts(TRAINING[:8], {"1": Claim("1", "Ostra has no bridge.")}).values()
    assert found.label is Label.SUPPORTS and max(found.probabilities) == 1
    with pytest.raises(DataError, match="needs claims that have labels, found none"):
        claim_words_verdicts(TRAINING[-1:], {})
