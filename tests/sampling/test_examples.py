"""Example builders on a corpus of a few pages."""

from collections import Counter

import pytest

from lisax.records import Claim, Document, Label, Sentence
from lisax.sampling import examples, negatives
from lisax.sampling.examples import Draws
from lisax.sampling.negatives import Window

PAGES = [
    Document(f"P{p}", f"Page {p}", tuple(Sentence(f"P{p}", n, f"text {p} {n}" if n else "") for n in range(4)))
    for p in range(20)
]
LOOKUP = examples.lookup_in(PAGES)
ALL = [f"P{p}_{n}" for p in range(20) for n in range(4)]
READABLE = [unit for unit in ALL if not unit.endswith("_0")]

SUPPORTED = Claim("s", "supported", Label.SUPPORTS, (("P1_1", "P2_2"), ("P1_1",), ("P9_3",)))
REFUTED = Claim("r", "refuted", Label.REFUTES, (("P3_1",),))
UNKNOWN = Claim("n", "unknown", Label.NOT_ENOUGH_INFO)
CLAIMS = [SUPPORTED, REFUTED, UNKNOWN]
RUN = {claim.id: ALL for claim in CLAIMS}
IN_WINDOW = Draws(ranking_window=Window(5, 40), labelling_window=Window(5, 40))


def ids(example):
    return [sentence.id for sentence in example.sentences]


def test_ranking_is_one_to_one_with_the_titles_of_the_gold_pages():
    built = list(examples.ranking(CLAIMS, RUN, LOOKUP, IN_WINDOW))
    found = Counter((e.claim_id, e.label) for e in built)
    assert found == {("s", True): 3, ("s", False): 3, ("r", True): 1, ("r", False): 1}
    assert [ids(e) for e in built if e.label and e.claim_id == "s"] == [["P1_1"], ["P2_2"], ["P9_3"]]
    assert {e.entities for e in built if e.claim_id == "s"} == {("Page 1", "Page 2", "Page 9")}
    for example in built:
        if not example.label:
            assert ids(example)[0] in READABLE[4:40]


@pytest.mark.parametrize(("build", "moved"), [(examples.ranking, 2), (examples.pointwise, 1), (examples.listwise, 1)])
def test_a_list_that_is_too_short_for_its_window_is_told_of(build, moved):
    long, short = Counter(), Counter()
    list(build(CLAIMS, {claim.id: ALL for claim in CLAIMS}, LOOKUP, IN_WINDOW, long))
    list(build(CLAIMS, {claim.id: ALL[:6] for claim in CLAIMS}, LOOKUP, IN_WINDOW, short))
    assert not long and short[negatives.MOVED] == moved
    assert list(examples.told({negatives.MOVED: 2, "a page": 3})) == [f"2 {negatives.MOVED}", "left out 3: a page"]


def test_pointwise_and_listwise_train_on_gold_and_on_the_window():
    built = list(examples.pointwise(CLAIMS, RUN, LOOKUP))
    assert [ids(e) for e in built if e.label == Label.SUPPORTS] == [["P1_1"], ["P2_2"], ["P9_3"]]
    lists = list(examples.listwise(CLAIMS, RUN, LOOKUP))
    assert [ids(e) for e in lists if e.claim_id == "s"] == [["P1_1", "P2_2"], ["P1_1"], ["P9_3"]]
    for example in [*built, *lists]:
        if example.claim_id == "n":
            assert set(ids(example)) <= set(READABLE[9:25]) and len(example.sentences) in (1, 2)


def test_entities_of_training_may_be_spotted_as_in_inference():
    built = list(examples.ranking(CLAIMS, RUN, LOOKUP, Draws(spot=lambda text: [text.title(), "X"])))
    assert {e.entities for e in built} == {("Supported", "X"), ("Refuted", "X")}


def test_weak_sentences_of_every_claim_are_no_information():
    built = list(examples.pointwise(CLAIMS, RUN, LOOKUP, Draws(labelling_window=Window(1, 8), weak=2)))
    gold = [example for example in built if example.label != Label.NOT_ENOUGH_INFO]
    assert [ids(e) for e in gold] == [["P1_1"], ["P2_2"], ["P9_3"], ["P3_1"]]
    weak = [example for example in built if example.label == Label.NOT_ENOUGH_INFO]
    assert Counter(e.claim_id for e in weak) == {"s": 2, "r": 2, "n": 2}
    assert all(ids(e)[0] in READABLE[:8] for e in weak)
    assert not {("s", "P1_1"), ("s", "P2_2"), ("r", "P3_1")} & {(e.claim_id, ids(e)[0]) for e in weak}


def test_infused_has_one_example_an_evidence_set():
    built = list(examples.infused(CLAIMS, RUN, LOOKUP))
    assert [e.claim_id for e in built] == ["s", "s", "s", "r", "n"]
    assert all(len(e.sentences) == 5 for e in built)
    assert all(set(gold) <= set(ids(e)) for e, gold in zip(built, [*SUPPORTED.evidence_sets, ("P3_1",)]))
    assert ids(built[-1]) == READABLE[:5]


def test_several_infused_lists_of_each_claim():
    built = list(examples.infused(CLAIMS, RUN, LOOKUP, Draws(lists=40)))
    plain = list(examples.infused(CLAIMS, RUN, LOOKUP))
    assert Counter(one.claim_id for one in built) == dict.fromkeys((one.claim_id for one in plain), 40)
    as_selected = [ids(one) == READABLE[: len(one.sentences)] for one in built if one.claim_id == "n"]
    assert 0.4 < sum(as_selected) / 40 < 0.95
    assert {len(one.sentences) for one in built} == {1, 2, 3, 4, 5}
    for claim in CLAIMS[:2]:
        drawn = [one for one in built if one.claim_id == claim.id]
        pages = {LOOKUP(unit).title for unit in claim.gold_ids}
        foreign = [one for one in drawn if not pages & {LOOKUP(unit).title for unit in ids(one)}]
        assert 0 < len(foreign) < 12 and {one.label for one in foreign} == {Label.NOT_ENOUGH_INFO}
        ours = [one for one in drawn if one not in foreign]
        assert {one.label for one in ours} == {claim.label}
        assert all(set(ids(one)) & set(claim.gold_ids) for one in ours)
    titled = [{bool(passage.title) for passage in one.sentences} for one in built]
    assert all(len(kinds) == 1 for kinds in titled) and 0 < sum(kinds == {False} for kinds in titled) / len(built) < 0.3


def test_lists_are_as_long_as_their_sets_need():
    built = list(examples.infused(CLAIMS, RUN, LOOKUP, Draws(lists=40, length=2)))
    assert {len(one.sentences) for one in built} == {1, 2}
    two = SUPPORTED.evidence_sets[0]
    assert len(two) == 2 and any(set(ids(one)) == set(two) for one in built)
    decided = [one for one in built if one.label in (Label.SUPPORTS, Label.REFUTES)]
    gold = {claim.id: claim.evidence_sets for claim in CLAIMS}
    assert all(any(set(units) <= set(ids(one)) for units in gold[one.claim_id]) for one in decided)


def test_without_a_run_infusion_trains_on_gold_and_counts_what_it_skips():
    skipped = Counter()
    built = list(examples.infused(CLAIMS, {}, LOOKUP, skipped=skipped))
    assert [ids(e) for e in built] == [["P1_1", "P2_2"], ["P1_1"], ["P9_3"], ["P3_1"]]
    assert skipped == {"a claim without sentences": 1}


def test_gold_without_text_is_skipped_and_counted():
    skipped = Counter()
    claim = Claim("g", "gap", Label.SUPPORTS, (("P1_0", "P1_1"), ("P99_1",)))
    assert [ids(e) for e in examples.listwise([claim], {}, LOOKUP, skipped=skipped)] == [["P1_1"]]
    assert skipped == {"a sentence without text in the corpus": 2}


def test_draws_of_a_claim_do_not_depend_on_the_others():
    def negatives_of(claims):
        return [ids(e) for e in examples.ranking(claims, RUN, LOOKUP, IN_WINDOW) if e.claim_id == "r"]

    assert negatives_of(CLAIMS) == negatives_of([REFUTED])


def test_a_list_is_of_the_first_five_that_have_text():
    ranked = ["P0_0", *READABLE[:2], READABLE[0], "gone_1", *READABLE[2:]]
    assert [passage.id for passage in examples.first_found(ranked, LOOKUP)] == READABLE[:5]


def test_msmarco_gives_two_examples_a_triple():
    built = list(examples.msmarco([("q", "yes", "no")]))
    found = [(e.claim, e.sentences[0].text, e.sentences[0].title, e.label) for e in built]
    assert found == [("q", "yes", "", True), ("q", "no", "", False)]


def test_a_gold_set_of_more_than_five_is_cut():
    many = Claim("m", "many", Label.SUPPORTS, (tuple(READABLE[:7]),))
    assert [ids(e) for e in examples.listwise([many], {}, LOOKUP)] == [READABLE[:5]]
    assert [ids(e) for e in examples.infused([many], {}, LOOKUP)] == [READABLE[:5]]
    assert examples.set_sizes([many, SUPPORTED]) == [5, 2, 1, 1]
