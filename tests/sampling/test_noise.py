"""Noise infusion, by its rules."""

from hypothesis import given
from hypothesis import strategies as st

from lisax.records import Label
from lisax.sampling.negatives import generator
from lisax.sampling.noise import infuse, varied

units = st.sampled_from([f"p_{i}" for i in range(9)])
selections = st.lists(units, max_size=6, unique=True)
golds = st.lists(units, min_size=1, max_size=6, unique=True)
verdicts = st.sampled_from([Label.SUPPORTS, Label.REFUTES])
seeds = st.integers(0, 2**63)


@given(selections, golds, verdicts, seeds, st.sets(units))
def test_every_gold_sentence_is_there_and_only_noise_was_overwritten(selected, gold, label, seed, spare):
    before = list(selected)
    result = infuse(selected, gold, label, generator(seed, "7", "infusion"), spare=spare)
    assert selected == before and len(result) == len(selected)
    assert all(after == unit for unit, after in zip(selected, result) if unit in gold)
    assert all(after in gold for unit, after in zip(selected, result) if unit != after)
    assert len(set(result)) == len(result)
    if len(gold) <= len(selected):
        assert set(gold) <= set(result)
    else:
        # More gold than slots: all slots are gold, filled in the set's order.
        missing = [unit for unit in gold if unit not in selected]
        assert set(result) <= set(gold)
        assert [unit for unit in missing if unit in result] == missing[: sum(u not in gold for u in selected)]


@given(selections, golds, verdicts, seeds, st.sets(units))
def test_other_evidence_is_overwritten_only_when_nothing_else_is_left(selected, gold, label, seed, spare):
    result = infuse(selected, gold, label, generator(seed, "7", "infusion"), spare=spare)
    lost = [unit for unit in selected if unit not in result]
    if any(unit in spare for unit in lost):
        assert not any(unit not in spare and unit not in gold for unit in result)


@given(selections, golds, seeds)
def test_not_enough_info_is_untouched(selected, gold, seed):
    assert infuse(selected, gold, Label.NOT_ENOUGH_INFO, generator(seed, "7", "infusion")) == selected


def test_every_free_index_is_taken_sometimes():
    results = {
        tuple(infuse(["a", "g", "b"], ["g", "h"], Label.REFUTES, generator(i, "7", "infusion"))) for i in range(40)
    }
    assert results == {("h", "g", "b"), ("a", "g", "h")}


def test_other_evidence_makes_room_last():
    def results(gold):
        rngs = (generator(i, "7", "infusion") for i in range(40))
        return {tuple(infuse(["a", "s", "b"], gold, Label.SUPPORTS, rng, spare=["s"])) for rng in rngs}

    assert results(["g"]) == {("g", "s", "b"), ("a", "s", "g")}
    assert results(["g", "h"]) == {("g", "s", "h"), ("h", "s", "g")}
    assert results(["g", "h", "i"]) == {("g", "i", "h"), ("h", "i", "g")}


@given(selections.filter(bool), golds, seeds)
def test_a_varied_list_has_all_gold_and_some_of_the_others(selected, gold, seed):
    result = varied(selected, gold, generator(seed, "7", "infusion"))
    assert result and len(set(result)) == len(result) and set(result) <= set(selected)
    assert set(selected) & set(gold) <= set(result)


def test_every_order_and_length_comes():
    results = {tuple(varied(["g", "a", "b"], ["g"], generator(i, "7", "infusion"))) for i in range(200)}
    assert len(results) == 1 + 4 + 6  # the gold sentence alone, with one of the others, with both
