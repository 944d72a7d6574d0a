import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lisax.errors import LisaxError
from lisax.metrics.temperature import HIGHEST, LOWEST, Calibration, fit

LOGITS = arrays.arrays(float, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(-6, 6))
TEMPERATURES = st.floats(LOWEST, HIGHEST)
BIASES = st.sampled_from([(), (0.5, 0.0, -1.0)])


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@given(LOGITS, TEMPERATURES, BIASES)
def test_a_temperature_divides_logits_and_biases_are_added(logits, temperature, biases):
    made = Calibration(temperature, biases=biases).apply(softmax(logits))
    # Probabilities below the least one count as the least.
    expected = softmax(np.log(np.maximum(softmax(logits), 1e-12)) / temperature + np.array(biases or 0.0))
    np.testing.assert_allclose(made, expected, atol=1e-12)
    np.testing.assert_allclose(made.sum(-1), 1)


@given(LOGITS, TEMPERATURES)
def test_the_label_stays_the_same(logits, temperature):
    chosen = Calibration(temperature).apply(softmax(logits)).argmax(-1)
    # But for ties that rounding makes.
    np.testing.assert_allclose(np.take_along_axis(logits, chosen[:, None], 1)[:, 0], logits.max(-1), atol=1e-9)


@given(LOGITS, st.floats(0.5, HIGHEST), BIASES)
def test_it_can_be_undone(logits, temperature, biases):
    shares = softmax(logits)
    calibration = Calibration(temperature, biases=biases)
    np.testing.assert_allclose(calibration.undo(calibration.apply(shares)), shares, atol=1e-9)


def loss(logits, labels, temperature, biases):
    """Mean negative log-likelihood, from logits, so that no probability is rounded to 0."""
    shifted = (logits - logits.max(-1, keepdims=True)) / temperature + np.array(biases or 0.0)
    return (np.log(np.exp(shifted).sum(-1)) - np.take_along_axis(shifted, labels[:, None], 1)[:, 0]).mean()


def test_unknown_probabilities_stay_unknown():
    assert np.isnan(Calibration(2.0).apply(np.full((2, 3), np.nan))).all()


def test_certain_probabilities_stay_finite():
    made = Calibration(2.0).apply(np.array([[1.0, 0.0, 0.0]], np.float32))
    assert made.dtype == np.float64
    np.testing.assert_allclose(made, [[1, 1e-6, 1e-6]], atol=1e-5)


@given(LOGITS, BIASES, st.data())
def test_no_other_temperature_has_a_lower_loss(logits, biases, data):
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(logits), max_size=len(logits))))
    fitted = fit(softmax(logits), labels, biases=biases)
    assert LOWEST <= fitted.temperature <= HIGHEST and fitted.claims == len(labels) and fitted.biases == biases
    least = loss(logits, labels, fitted.temperature, biases)
    for other in (LOWEST, HIGHEST, 1.0, fitted.temperature * 1.01, fitted.temperature * 0.99, data.draw(TEMPERATURES)):
        if LOWEST <= other <= HIGHEST:
            assert least <= loss(logits, labels, other, biases) + 1e-9


def test_the_temperature_that_labels_were_drawn_with_is_found():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200_000, 3)) * 2
    drawn = (rng.random((len(logits), 1)) > softmax(logits).cumsum(1)).sum(1).clip(max=2)
    for temperature in (0.5, 1.0, 3.0):
        # The model is as certain as if its logits had been divided by the temperature's inverse.
        assert fit(softmax(logits * temperature), drawn).temperature == pytest.approx(temperature, rel=0.02)


def test_without_claims_there_is_nothing_to_fit():
    with pytest.raises(LisaxError, match="no labelled claims"):
        fit(np.zeros((0, 3)), np.zeros(0))
