"""The loop of all inference: order, overlap, interruptions, placement on several devices, and what each scorer makes
of it."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.devices.batching import (
    BATCHES_IN_WINDOW,
    bucket_width,
    bucket_widths,
    by_length,
    by_tokens,
    padded,
    padded_each,
    windows,
)
from lisax.devices.finite import check_finite
from lisax.devices.loop import DeviceLoop
from lisax.errors import DataError, LisaxError

WEIGHTS = {"scale": np.array([3.0], np.float32)}
triple = jax.jit(lambda parameters, batch: batch["tokens"].sum(axis=1) * parameters["scale"])


def batches_of(shards):
    def batches(texts):
        for rows, count, width in by_tokens([len(text) for text in texts], 16, 32, shards):
            yield rows, {"tokens": padded([texts[row] for row in rows], count, width)}

    return batches


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


@given(st.lists(st.integers(1, 300), max_size=60), st.booleans())
def test_batches_have_every_example_once_and_if_asked_are_of_one_width(lengths, alone):
    batches = list(by_tokens(lengths, 300, 900, 1, of_one_width=alone))
    assert sorted(row for rows, *_ in batches for row in rows) == list(range(len(lengths)))
    for rows, count, width in batches:
        widths = {bucket_width(lengths[row], 300) for row in rows}
        assert len(rows) <= count and width == max(widths) and (len(widths) == 1 or not alone)


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=16), max_size=40))
def test_results_are_in_the_order_of_the_examples(texts):
    loop, told = DeviceLoop(WEIGHTS), []
    found = loop.all(texts, batches_of(loop.shards), triple, np.asarray, told.append)
    assert [float(value) for value in found] == [3.0 * sum(text) for text in texts]
    assert sum(told) == len(texts)


def test_windows_are_given_out_one_by_one_and_an_interrupted_call_goes_on_at_the_next():
    loop = DeviceLoop(WEIGHTS)
    groups = [[[1], [2, 2]], [[3]], [[4], [5]]]
    found = loop.windows(iter(groups), batches_of(loop.shards), triple, np.asarray)
    first = [float(value) for value in next(found)]
    found.close()  # as where the process ends here
    rest = loop.windows(iter(groups[1:]), batches_of(loop.shards), triple, np.asarray)
    assert [first, *([float(value) for value in window] for window in rest)] == [[3, 12], [9], [12, 15]]


def test_a_batch_is_fetched_when_the_next_is_under_way():
    loop, told = DeviceLoop(WEIGHTS), []

    def run(parameters, batch):
        told.append("run")
        return triple(parameters, batch)

    def fetch(result):
        told.append("fetch")
        return np.asarray(result)

    loop.all([[1] * 16, [1] * 15, [1] * 9, [1] * 8, [1] * 4], batches_of(1), run, fetch)
    assert told == ["run", "run", "fetch", "run", "fetch", "fetch"]
    told.clear()
    windows_of_two = list(loop.windows([[[1] * 16, [1] * 15, [1] * 9], [[1] * 4]], batches_of(1), run, fetch))
    assert told == ["run", "run", "fetch", "run", "fetch", "fetch"] and [len(one) for one in windows_of_two] == [3, 1]


def test_an_error_while_a_batch_runs_reaches_the_caller_and_the_loop_serves_again():
    loop = DeviceLoop(WEIGHTS)

    def stops(parameters, batch):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loop.all([[1], [2]], batches_of(1), stops, np.asarray)
    assert [float(value) for value in loop.all([[1], [2]], batches_of(1), triple, np.asarray)] == [3, 6]


def test_what_is_too_long_and_what_is_no_number_is_told():
    loop = DeviceLoop(WEIGHTS | {"scale": np.array([np.nan], np.float32)}, source="weights.bin")
    with pytest.raises(LisaxError, match="an input of 17 tokens was given to a scorer of at most 16"):
        loop.all([[1] * 17], batches_of(1), triple, np.asarray)
    with pytest.raises(DataError, match=r"weights\.bin: field 'scale': these weights hold values that are not numbers"):
        loop.check_finite(loop.all([[1]], batches_of(1), triple, np.asarray))


@pytest.mark.parametrize("scores", [[[1 / 3] * 3], [[2e6, 0.0, 0.0]]])
def test_weights_without_measure_are_named(scores):
    scores = [np.array(scores, np.float32)]
    with pytest.raises(DataError, match=r"weights\.bin: field 'scale': these weights .* larger than 1e\+09"):
        check_finite(scores, WEIGHTS | {"scale": np.array([1e30], np.float32)}, "weights.bin")
    check_finite(scores, WEIGHTS, "weights.bin")


def test_padding_fills_with_zeros():
    assert padded([[1, 2], [3]], 3, 4).tolist() == [[1, 2, 0, 0], [3, 0, 0, 0], [0] * 4]
    each = padded_each([[[1], [2, 3]], []], 2, 3, 2)
    assert each.tolist() == [[[1, 0], [2, 3], [0, 0]], [[0, 0]] * 3] and each.dtype == np.int32


def test_eight_devices_have_rows_of_their_own_and_give_the_same():
    program = """
import jax, numpy as np
from tests.devices.test_loop import WEIGHTS, DeviceLoop, batches_of, triple
loop = DeviceLoop(WEIGHTS)
assert loop.shards == 8 and len(loop.parameters["scale"].sharding.device_set) == 8
shapes = []
def run(parameters, batch):
    tokens = batch["tokens"]
    shapes.append(tokens.shape)
    assert {shard.data.shape[0] for shard in tokens.addressable_shards} == {tokens.shape[0] // 8}
    assert len({shard.device for shard in tokens.addressable_shards}) == 8
    return triple(parameters, batch)
texts = [[1] * (1 + i % 16) for i in range(37)]
found = loop.all(texts, batches_of(loop.shards), run, np.asarray)
assert [float(value) for value in found] == [3.0 * len(text) for text in texts]
assert all(rows % 8 == 0 for rows, _ in shapes)
"""
    subprocess.run(
        [sys.executable, "-c", program], check=True, env=os.environ | {"JAX_NUM_CPU_DEVICES": "8", "PYTHONPATH": "."}
    )
