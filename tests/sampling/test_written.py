"""Documents written for LisaX and claims about them: labels in balance, claims that reveal little, examples as in use."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.examples import Passage
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.formats.presets import PAPER
from lisax.predict.probing import read_suite
from lisax.records import LABELS, Claim, Label
from lisax.sampling import files, written
from lisax.sampling.examples import Draws
from lisax.text.words import words

DOCUMENTS = written.documents()
TABLES = written.tables()
CLAIMS = [(document, claim) for document in DOCUMENTS for claim in document["claims"]]


def grams(texts, n: int = 7) -> set[tuple[str, ...]]:
    return {tuple(found[i : i + n]) for found in map(words, texts) for i in range(len(found) - n + 1)}


def test_every_claim_has_a_label_and_s_and_r_name_what_decides():
    assert len(DOCUMENTS) > 500 and len(CLAIMS) > 4000
    for document, claim in CLAIMS:
        texts = [text for _, text in written.sentences_of(document)]
        assert claim["label"] in "SRN" and (claim["because"] or claim["label"] == "N"), claim
        assert all(0 <= place < len(texts) for place in claim["because"]) and all(map(str.strip, texts)), claim
    counts = Counter(claim["label"] for _, claim in CLAIMS)
    assert min(counts.values()) > 0.25 * len(CLAIMS) and max(counts.values()) < 0.4 * len(CLAIMS)
    assert len({claim["claim"] for _, claim in CLAIMS}) > 0.99 * len(CLAIMS)


def test_a_bag_of_words_of_the_claim_knows_little():
    order = np.random.default_rng(0).permutation(len(DOCUMENTS))
    half = {id(DOCUMENTS[i]) for i in order[: len(order) // 2]}
    counts = {label: Counter() for label in "SRN"}
    for document, claim in CLAIMS:
        if id(document) in half:
            counts[claim["label"]].update(set(words(claim["claim"])))
    totals = {label: sum(counts[label].values()) for label in "SRN"}

    def guess(text: str) -> str:
        found = set(words(text))
        return max("SRN", key=lambda label: sum(np.log((counts[label][w] + 1) / (totals[label] + 9000)) for w in found))

    rest = [claim for document, claim in CLAIMS if id(document) not in half]
    assert np.mean([guess(claim["claim"]) == claim["label"] for claim in rest]) < 0.45


def test_no_wording_is_the_suites():
    cases = read_suite()
    suite = grams([case.claim.text for case in cases] + [one.text for case in cases for one in case.evidence])
    mine = grams(
        [claim["claim"] for _, claim in CLAIMS] + [text for one in DOCUMENTS for _, text in written.sentences_of(one)]
    )
    assert not suite & mine


def test_a_seed_gives_the_same_examples_and_a_smaller_number_the_first_of_them():
    some = list(written.draw(len(CLAIMS) + 100, 5))
    assert list(written.draw(50, 5)) == some[:50] != list(written.draw(50, 6))
    assert len({example.claim_id for example in some}) == len(some)
    assert {example.claim for example in some[: len(CLAIMS)]} == {claim["claim"] for _, claim in CLAIMS}
    assert list(written.draw(0)) == []


DRAWN = list(written.draw(3000, 1))


@given(st.sampled_from(DRAWN))
def test_an_example_has_all_sentences_that_decide_or_is_open(example):
    _, _, i, j = example.claim_id.split("-")
    document = DOCUMENTS[int(i)]
    claim = document["claims"][int(j)]
    read = {int(passage.id.rpartition("_")[2]) for passage in example.sentences}
    sentences = written.sentences_of(document)
    assert read and all(
        (passage.title, passage.text) == sentences[int(passage.id.rpartition("_")[2])] for passage in example.sentences
    )
    if claim["label"] == "N" or not set(claim["because"]) <= read:
        assert example.label is Label.NOT_ENOUGH_INFO
    else:
        assert example.label is LABELS["SRN".index(claim["label"])]
    assert LABEL_LISTWISE.pair(example, preset=PAPER).first == example.claim


def test_a_labellers_training_file_has_them():
    claims = [Claim("c", "Tarn is a town.", Label.SUPPORTS, (("Tarn_1",),))]
    units = {f"Tarn_{i}": Passage(f"Tarn_{i}", "Tarn", f"Tarn is town {i}.") for i in range(30)}
    found = {"c": list(units)}

    def build(variant: str, **options) -> list:
        return list(files.build(variant, claims, found, found, units.get, **options))

    for variant in files.LABELLERS:
        plain, more = build(variant), build(variant, draws=Draws(written=20))
        seen = sorted(one.claim_id for one in more if one not in plain)
        assert seen == sorted(one.claim_id for one in written.draw(20))
        assert len(more) == len(plain) + 20
        assert build(variant, draws=Draws(written=20), training=False) == build(variant, training=False)


def test_tables_have_claims_of_each_label_that_their_words_do_not_give_away():
    beside_text = [one for one in DOCUMENTS if "rows" in one]
    assert TABLES[: len(beside_text)] == beside_text and len(TABLES) > len(beside_text) + 200
    for one in TABLES:
        assert one["claims"] and all(len(row) == len(one["header"]) for row in one["rows"]), one["title"]
    counts = Counter(claim["label"] for one in TABLES for claim in one["claims"])
    assert min(counts.values()) > 0.28 * counts.total()


def test_examples_of_tables_have_the_claims_own_table_or_another_that_leaves_it_open():
    some = list(written.draw_tables(3000, 1))
    assert list(written.draw_tables(50, 1)) == some[:50] != list(written.draw_tables(50, 2))
    for example in some:
        _, _, i, j = example.claim_id.split("-")
        document, (view,) = TABLES[int(i)], example.tables
        claim = document["claims"][int(j)]
        assert example.claim == claim["claim"]
        if example.gold == (True,):
            assert (view.caption, list(view.header)) == (document["title"], document["header"])
            assert example.label is LABELS["SRN".index(claim["label"])]
        else:
            assert example.label is Label.NOT_ENOUGH_INFO and view.rows != tuple(map(tuple, document["rows"]))
    wrong = np.mean([example.gold == (False,) for example in some])
    assert wrong == pytest.approx(written.WRONG * 2 / 3, abs=0.03)


def test_pairs_for_a_ranker_are_deciding_sentences_beside_near_others():
    some = list(written.draw_pairs(2000, 1))
    assert list(written.draw_pairs(50, 1)) == some[:50] != list(written.draw_pairs(50, 2))
    for example in some:
        _, _, i, j = example.claim_id.split("-")
        document = DOCUMENTS[int(i)]
        claim = document["claims"][int(j)]
        (passage,) = example.sentences
        place = int(passage.id.rpartition("_")[2])
        assert example.claim == claim["claim"] and claim["label"] != "N"
        assert (passage.title, passage.text) == written.sentences_of(document)[place]
        assert example.label is (place in claim["because"])
    assert sum(example.label for example in some) == pytest.approx(len(some) / 2, rel=0.05)


def test_decisive_sentences_lead_most_examples_and_lengths_differ():
    decided = [example for example in DRAWN if example.label is not Label.NOT_ENOUGH_INFO]
    places = [[int(passage.id.rpartition("_")[2]) for passage in example.sentences] for example in decided]
    because = [
        DOCUMENTS[int(i)]["claims"][int(j)]["because"] for _, _, i, j in (e.claim_id.split("-") for e in decided)
    ]
    several = [(read, first) for read, first in zip(places, because) if len(read) > len(first)]
    led = np.mean([read[: len(first)] == first for read, first in several])
    assert 0.7 < led < 0.9  # 0.7, and of the shuffled ones some by chance
    lengths = Counter(len(example.sentences) for example in DRAWN)
    assert 0.4 < lengths[1] / len(DRAWN) < 0.7 and min(lengths[2], lengths[3]) > 0.1 * len(DRAWN)


def test_labels_of_examples_are_in_balance():
    shares = np.array([sum(example.label is label for example in DRAWN) for label in LABELS]) / len(DRAWN)
    assert shares == pytest.approx([1 / 3] * 3, abs=0.12)
