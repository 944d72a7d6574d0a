"""Span corruption: T5's sentinel convention, and nothing of the text lost."""

from __future__ import annotations

import json

import numpy as np
import pytest
import seqio
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.tasks import pretraining
from lisax.tasks.vocabularies import ByteVocabulary

FIRST = 1099  # 1,000 pieces and 100 sentinels


def merged(inputs, targets, first=FIRST, sentinels=100):
    """The text again: each sentinel of the inputs replaced by what follows it in the targets."""

    def is_sentinel(token):
        return first - sentinels < token <= first

    spans, current = {}, None
    for token in targets[:-1]:
        if is_sentinel(token):
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    text = []
    for token in inputs[:-1]:
        text += spans.pop(token) if is_sentinel(token) else [token]
    assert not spans
    return text


@given(st.lists(st.integers(3, 999), min_size=2, max_size=600), st.integers(0, 2**32))
def test_inputs_and_targets_merge_back_to_the_text(tokens, seed):
    array = np.array(tokens, np.int32)
    inputs, targets = pretraining.corrupt(array, np.random.default_rng(seed), FIRST)
    assert inputs.dtype == targets.dtype == np.int32
    assert inputs[-1] == targets[-1] == 1
    assert merged(inputs.tolist(), targets.tolist()) == tokens
    assert (len(inputs), len(targets)) == pretraining.lengths_of(len(tokens))
    noise, spans = pretraining.noise_sizes(len(tokens))
    used = [token for token in targets.tolist() if token > 999]
    assert used == [token for token in inputs.tolist() if token > 999] == list(range(FIRST, FIRST - spans, -1))
    assert targets[0] == FIRST and inputs[0] <= 999
    if len(tokens) > 50:
        assert abs(noise - 0.15 * len(tokens)) <= 1 and abs(spans - noise / 3) <= 1


@given(st.integers(3, 700), st.integers(3, 200))
def test_a_stretch_is_as_long_as_the_lengths_allow(inputs, targets):
    length = pretraining.stretch_length(inputs, targets)
    assert all(have <= limit for have, limit in zip(pretraining.lengths_of(length), (inputs, targets)))
    assert any(have > limit for have, limit in zip(pretraining.lengths_of(length + 1), (inputs, targets)))


def test_the_lengths_of_T5s_own_pretraining():
    # T5: 512 tokens of inputs hold a stretch of 568 and give targets of 114.
    assert pretraining.stretch_length(512) == 568
    assert pretraining.lengths_of(568) == (512, 114)
    with pytest.raises(LisaxError, match="at least 3 tokens"):
        pretraining.stretch_length(2)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.train.jsonl"
    path.write_text("".join(json.dumps({"text": f"sentence number {i} of the text."}) + "\n" for i in range(300)))
    yield pretraining.add("test_span_corruption", lambda split: path, ByteVocabulary())
    seqio.TaskRegistry.remove("test_span_corruption")


def read(task, **options):
    dataset = task.get_dataset({"inputs": 64, "targets": 32}, split="train", **options)
    return [(row["inputs"].tolist(), row["targets"].tolist()) for row in dataset.as_numpy_iterator()]


def test_the_task_reads_all_the_text(task):
    rows = read(task, shuffle=False, seed=3)
    text = [token for inputs, targets in rows for token in merged(inputs, targets, first=258 + 100)]
    expected = "".join(f"sentence number {i} of the text." for i in range(300))
    assert bytes(token - 3 for token in text).decode() == expected
    assert all(len(inputs) <= 64 and len(targets) <= 32 for inputs, targets in rows)


def test_the_same_seed_gives_the_same_noise_and_each_epoch_its_own(task):
    assert read(task, shuffle=True, seed=3) == read(task, shuffle=True, seed=3)
    twice = read(task, shuffle=False, seed=3, num_epochs=2)
    half = len(twice) // 2
    assert twice[:half] != twice[half:]
