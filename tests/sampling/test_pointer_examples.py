"""Builders of pointer examples over a handful of pages."""

from collections import Counter

from lisax.formats import pointing
from lisax.formats.examples import Passage
from lisax.records import Claim, Label
from lisax.sampling import pointer_examples as built

UNITS = {f"{page}_{n}": Passage(f"{page}_{n}", page, f"sentence {n}") for page in "ABC" for n in range(3)}
RANKED = list(UNITS)
ONE = Claim("one", "a claim", Label.SUPPORTS, (("A_0", "B_1"), ("C_2",), ("A_0", "X_9")))
FAR = Claim("far", "a claim", Label.REFUTES, (("C_1", "C_2"),))
WEAK = Claim("weak", "a claim", Label.NOT_ENOUGH_INFO, (("A_1",),))
LOST = Claim("lost", "a claim", Label.SUPPORTS, (("X_0",),))
CLAIMS = [ONE, FAR, WEAK, LOST, Claim("open", "a claim")]


def test_as_used_is_what_was_ranked_and_sets_are_whole():
    run = {claim.id: RANKED for claim in CLAIMS}
    examples = {e.claim_id: e for e in built.as_used(CLAIMS, run, UNITS.get, built.sentence_sets, 6)}
    assert examples["one"].unit_ids == RANKED[:6] and examples["one"].sets == ((0, 4),)
    assert examples["one"].pointers == (0, 4)
    assert examples["far"].sets == examples["weak"].sets == examples["lost"].sets == ()
    whole = next(built.as_used([ONE], run, UNITS.get, built.sentence_sets, 9))
    assert whole.sets == ((8,), (0, 4)) and whole.pointers == (8, 0, 4)  # the smallest set first


def test_in_training_a_whole_set_is_there():
    run, skipped = {claim.id: [RANKED[0], RANKED[0], "X_3", *RANKED[1:]] for claim in CLAIMS}, Counter()
    examples = {
        e.claim_id: e for e in built.training(CLAIMS, run, UNITS.get, built.sentence_sets, 4, steps=5, skipped=skipped)
    }
    assert examples.keys() == {"one", "far", "weak"} and skipped == {built.NO_EVIDENCE: 1}
    assert examples["one"].unit_ids == ["A_0", "A_1", "A_2", "C_2"] and examples["one"].sets == ((3,),)
    assert examples["far"].unit_ids == ["A_0", "A_1", "C_1", "C_2"] and examples["far"].pointers == (2, 3)
    assert examples["weak"].unit_ids == RANKED[:4] and examples["weak"].sets == ()


def test_a_set_of_more_than_the_steps_is_none():
    skipped = Counter()
    assert not list(built.training([FAR], {"far": RANKED}, UNITS.get, built.sentence_sets, 9, steps=1, skipped=skipped))
    assert skipped == {built.NO_EVIDENCE: 1}
    (example,) = built.training([FAR], {}, UNITS.get, built.sentence_sets, 2, steps=2)  # nothing was retrieved
    assert example.unit_ids == ["C_1", "C_2"]


def test_pages_of_evidence():
    assert built.page_sets(ONE) == [("C",), ("A", "B"), ("A", "X")]
    assert built.page_sets(Claim("x", "", Label.SUPPORTS, (("A_1", "A_2"), ("A_3",)))) == [("A",)]


def test_targets_are_what_the_model_reads():
    found = pointing.pointer_targets(3, Label.REFUTES, (2, 0), ((2,), (0, 2)))
    assert found == [[3, 2, 0, 1, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0], [3, 1, 1, 1, 0, 0, 0, 0]]
    assert pointing.pointer_targets(1, None, (), ()) == [[1, 0, 0, 0, 0, 0, 0, 0]]
