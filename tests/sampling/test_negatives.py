"""Rank windows: who may be drawn, what a short list does, and that a draw depends on seed and claim alone."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.sampling import negatives
from lisax.sampling.negatives import LABELLING, RANKING, Window

RANKED = [f"p_{i}" for i in range(1, 301)]  # p_i is at rank i


@given(st.sets(st.sampled_from(RANKED), max_size=40), st.integers(0, 9), st.integers(0, 2**40))
def test_negatives_come_from_the_window_and_are_never_gold(gold, count, seed):
    drawn = negatives.sample(RANKED, gold, RANKING, count, negatives.generator(seed, "7", "test"))
    assert len(set(drawn)) == len(drawn) == count
    assert not gold & set(drawn)
    assert all(50 <= int(unit[2:]) <= 200 for unit in drawn)


def test_the_window_moves_up_by_halves_only_as_far_as_needed():
    assert negatives.pool(RANKED[:52], (), RANKING, 3) == ["p_50", "p_51", "p_52"]
    assert negatives.pool(RANKED[:30], (), RANKING, 3) == RANKED[24:30]
    assert negatives.pool(RANKED[:10], {"p_9"}, RANKING, 4) == ["p_6", "p_7", "p_8", "p_10"]
    assert negatives.pool(RANKED[:2], {"p_1"}, RANKING, 4) == ["p_2"]
    assert negatives.pool(RANKED, (), LABELLING, 2) == RANKED[9:25]
    assert negatives.pool([], (), RANKING, 1) == []


@given(st.integers(0, 260), st.integers(0, 9), st.sets(st.sampled_from(RANKED), max_size=30))
def test_who_asks_is_told_when_the_window_was_left_and_only_then(length, count, gold):
    counts = Counter()
    drawn = negatives.sample(RANKED[:length], gold, RANKING, count, negatives.generator(2, "7", "test"), counts)
    available = {first: {*RANKED[:length][first - 1 : 200]} - gold for first in (50, 25, 12, 6, 3, 1)}
    first = next(first for first, found in available.items() if first == 1 or len(found) >= count)
    assert set(drawn) <= available[first] and len(drawn) == min(count, len(available[first]))
    assert counts == ({negatives.MOVED: 1} if available[first] != available[50] else {})


def test_a_window_must_be_one():
    for window in (Window(0, 5), Window(6, 5)):
        with pytest.raises(LisaxError, match="1 <= first <= last"):
            negatives.pool(RANKED, (), window, 1)


def test_draws_are_uniform_over_the_window():
    counts = dict.fromkeys(RANKED[9:25], 0)
    for i in range(4000):
        counts[negatives.sample(RANKED, (), LABELLING, 1, negatives.generator(0, str(i), "test"))[0]] += 1
    assert all(180 < count < 330 for count in counts.values())


def test_the_generator_is_the_same_on_every_host():
    # Written down once: a change of hash, generator or numpy that moves it changes every user's data.
    drawn = negatives.generator(0, "75397", "ranking").integers(1_000_000, size=3)
    assert drawn.tolist() == [679378, 683010, 223199]
    first = negatives.generator(0, "1", "ranking").random()
    assert first == negatives.generator(0, "1", "ranking").random()
    others = [(1, "1", "ranking"), (0, "2", "ranking"), (0, "1", "infusion")]
    assert len({first, *(negatives.generator(*other).random() for other in others)}) == 4
