"""Labels of single sentences become a claim's."""

import numpy as np

from lisax.predict.verifier import AGGREGATES


def test_aggregates_of_single_sentences():
    shares = np.array([[0.7, 0.1, 0.2], [0.02, 0.08, 0.9], [0.0, 0.9, 0.1]])
    relevance = np.array([1.0, 0.5, 0.1])
    np.testing.assert_allclose(AGGREGATES["sum"](shares, relevance), [0.72, 1.08, 1.2])
    np.testing.assert_allclose(AGGREGATES["max"](shares, relevance), [0.7, 0.9, 0.9])
    np.testing.assert_allclose(AGGREGATES["first"](shares, relevance), shares[0])
    # The third sentence refutes, but hardly concerns the claim: 0.1 is left of its 0.9, and of the first one's 0.1.
    np.testing.assert_allclose(AGGREGATES["any"](shares, relevance), [0.7, 0.1, 0.2 * 0.95 * 0.91])
    np.testing.assert_allclose(AGGREGATES["any"](shares, np.ones(3)), [0.7, 0.9, 0.2 * 0.9 * 0.1])
