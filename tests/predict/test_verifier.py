"""Labels of single sentences become a claim's; the facts that a labeller reads are those of its verdict."""

import types

import numpy as np
import pytest

from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.presets import PAPER
from lisax.predict.verifier import AGGREGATES, Labeller


def test_aggregates_of_single_sentences():
    shares = np.array([[0.7, 0.1, 0.2], [0.02, 0.08, 0.9], [0.0, 0.9, 0.1]])
    relevance = np.array([1.0, 0.5, 0.1])
    np.testing.assert_allclose(AGGREGATES["sum"](shares, relevance), [0.72, 1.08, 1.2])
    np.testing.assert_allclose(AGGREGATES["max"](shares, relevance), [0.7, 0.9, 0.9])
    np.testing.assert_allclose(AGGREGATES["first"](shares, relevance), shares[0])
    # The third sentence refutes, but hardly concerns the claim: 0.1 is left of its 0.9, and of the first one's 0.1.
    np.testing.assert_allclose(AGGREGATES["any"](shares, relevance), [0.7, 0.1, 0.2 * 0.95 * 0.91])
    np.testing.assert_allclose(AGGREGATES["any"](shares, np.ones(3)), [0.7, 0.9, 0.2 * 0.9 * 0.1])


@pytest.mark.parametrize("sentences", [2, None])
@pytest.mark.parametrize("text_format", [LABEL_LISTWISE, LABEL_POINTWISE, CLAIM_ONLY])
def test_the_facts_that_are_read_are_shown(text_format, sentences):
    read = []

    def probabilities(examples):
        read.extend(text_format.pair(example, preset=PAPER).second for example in examples)
        return np.full((len(examples), 3), 1 / 3)

    model = types.SimpleNamespace(
        format=text_format,
        probabilities=probabilities,
        pairs=True,
        calibration=None,
        sentences=sentences,
        leading=0,
    )
    texts = ["63 people came.", "40 people came.", "70 people came."]
    shown = Labeller(model).verify("Over 50 people came.", texts).evidence
    assert [one.text for one in shown] == texts
    inputs = read if text_format is LABEL_POINTWISE else read[-1:]  # the longest list
    for one, text in zip(shown, inputs, strict=False):
        facts = "".join(f"{fact} . " for fact in one.computed)
        assert text.startswith(facts) and text.count(" than ") == len(one.computed)
    found = sum(len(one.computed) for one in shown)
    assert found == {CLAIM_ONLY: 0, LABEL_POINTWISE: 3, LABEL_LISTWISE: 2}[text_format]
    model.pairs = False
    assert not any(one.computed for one in Labeller(model).verify("Over 50 people came.", texts).evidence)
