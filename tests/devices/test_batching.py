"""Batches by length waste little and change no order."""

import numpy as np

from lisax.devices.batching import BATCHES_IN_WINDOW, bucket_width, bucket_widths, by_length, in_order, windows


def test_widths_waste_little():
    widths = bucket_widths(512)
    assert widths[0] == 8 and widths[-1] >= 512 and (np.diff(widths) <= np.maximum(8, widths[:-1] / 8)).all()
    assert [bucket_width(length, 100) for length in (0, 8, 9, 97, 100)] == [8, 8, 12, 100, 100]


def test_padding_stays_under_a_tenth_of_the_tokens():
    """Lengths of sentences, and of five sentences together: about log-normal."""
    for mean, longest in ((40, 256), (200, 512)):
        lengths = np.random.default_rng(0).lognormal(np.log(mean), 0.4, 5000).astype(int).clip(4, longest)
        computed = 0
        for window in windows(lengths, 32 * BATCHES_IN_WINDOW):
            for rows in by_length([(length,) for length in window], 32):
                computed += 32 * bucket_width(max(window[i] for i in rows), longest)
        assert 1 - lengths.sum() / computed < 0.1


def test_every_index_is_in_one_batch_longest_first():
    batches = by_length([(3, 1), (9, 2), (9, 5), (1, 1), (4, 4)], 2)
    assert [batch.tolist() for batch in batches] == [[2, 1], [4, 0], [3]]


def test_results_come_in_order_and_a_batch_is_fetched_after_the_next_has_begun():
    told = []

    def run(batch):
        told.append(f"run {batch}")
        return batch

    def fetch(batch):
        told.append(f"fetch {batch}")
        return [item * 10 for item in batch] + ["padding"]

    def batches(group):
        for rows in ([2, 0], [1]) if len(group) == 3 else ([1, 0],):
            yield np.array(rows), [group[i] for i in rows]

    results = in_order([[1, 2, 3], [4, 5]], batches, run, fetch)
    assert list(results) == [[10, 20, 30], [40, 50]]
    assert told == ["run [3, 1]", "run [2]", "fetch [3, 1]", "run [5, 4]", "fetch [2]", "fetch [5, 4]"]
