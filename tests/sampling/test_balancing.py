"""Pairs of a claim and a sentence, as many of each label."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.examples import Example
from lisax.records import LABELS, Claim, Document, Label, Sentence
from lisax.sampling import negatives
from lisax.sampling.balancing import balanced, with_equal_labels
from lisax.sampling.examples import Draws, lookup_in
from lisax.sampling.negatives import Window

PAGES = [
    Document(f"P{p}", f"Page {p}", tuple(Sentence(f"P{p}", n, f"text {p} {n}") for n in range(5))) for p in range(6)
]
LOOKUP = lookup_in(PAGES)
UNITS = [sentence.id for page in PAGES for sentence in page.sentences]


def claims_of(sizes):
    """A claim for each (label, number of gold sentences, number of candidates)."""
    claims = [
        Claim(str(i), f"claim {i}", label, (tuple(UNITS[:gold]),) if label is not Label.NOT_ENOUGH_INFO else ())
        for i, (label, gold, _) in enumerate(sizes)
    ]
    return claims, {str(i): UNITS[:depth] for i, (_, _, depth) in enumerate(sizes)}


@given(
    st.lists(st.tuples(st.sampled_from(LABELS), st.integers(1, 5), st.integers(0, 30)), max_size=12), st.integers(0, 9)
)
def test_as_many_of_each_label_that_occurs(sizes, seed):
    claims, ranked = claims_of(sizes)
    window = Window(3, 8)
    found = balanced(claims, ranked, LOOKUP, Draws(seed, labelling_window=window))
    there = Counter()
    for claim in claims:
        there[claim.label] += len(claim.gold_ids) or len(negatives.pool(ranked[claim.id], (), window, 1))
    fewest = min((count for count in there.values() if count), default=0)
    seen = Counter(example.label for example in found)
    assert seen == {label: fewest for label, count in there.items() if count and fewest}
    assert len({(example.claim_id, *example.unit_ids) for example in found}) == len(found)
    assert [int(example.claim_id) for example in found] == sorted(int(example.claim_id) for example in found)
    asked = {claim.id: claim for claim in claims}
    for example in found:
        (unit,), claim = example.unit_ids, asked[example.claim_id]
        assert example.label is claim.label
        assert unit in (claim.gold_ids or negatives.pool(ranked[claim.id], (), window, 1))
    drawn = Counter(example.claim_id for example in found if example.label is Label.NOT_ENOUGH_INFO)
    room = {i: len(negatives.pool(ranked[i], (), window, 1)) for i in drawn}
    assert all(drawn[i] >= max(drawn.values()) - 1 or drawn[i] == room[i] for i in drawn)  # in turns
    assert found == balanced(claims, ranked, LOOKUP, Draws(seed, labelling_window=window))


def test_a_list_above_the_window_is_told_of():
    claims, ranked = claims_of([(Label.SUPPORTS, 1, 0), (Label.REFUTES, 1, 0), (Label.NOT_ENOUGH_INFO, 1, 2)])
    skipped = Counter()
    assert len(balanced(claims, ranked, LOOKUP, Draws(labelling_window=Window(6, 9)), skipped)) == 3
    assert skipped == {negatives.MOVED: 1}


@given(st.lists(st.sampled_from(LABELS), max_size=40), st.integers(0, 3))
def test_equal_labels_are_some_of_the_examples_in_their_order(labels, seed):
    examples = [Example(str(i), "claim", label=label) for i, label in enumerate(labels)]
    kept = with_equal_labels(examples, seed=seed)
    counts = Counter(labels)
    assert Counter(one.label for one in kept) == dict.fromkeys(counts, min(counts.values(), default=0))
    assert [int(one.claim_id) for one in kept] == sorted({int(one.claim_id) for one in kept})
    assert kept == with_equal_labels(iter(examples), seed=seed)
