"""The second hop: pages and sentences that the first evidence names."""

import pytest

from lisax.records import Claim, Document, Hit, Sentence
from lisax.retrieval.documents import build_index, retrieve
from lisax.retrieval.multi_hop import KEPT_FIRST, named_pages, second_pages, second_sentences
from lisax.retrieval.runs import by_query

PAGES = {
    "Salt": ["Salt is a novel by Mara Velin.", "It sold well in Osk."],
    "Mara Velin": ["Mara Velin was a novelist.", "She lived in Tarn."],
    "Tarn": ["Tarn is a town."],
    "Osk": ["Osk is a town."],
    **{f"Salt {n}": [f"Salt {n} is a novel of the author of old."] for n in range(8)},
}
CLAIM, OLD = Claim("1", "The author of Salt lived in Tarn."), Claim("1", "The author of Salt is old.")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    documents = (
        Document(
            title.replace(" ", "_"),
            title,
            tuple(Sentence(title.replace(" ", "_"), n, text) for n, text in enumerate(texts)),
        )
        for title, texts in PAGES.items()
    )
    return build_index(documents, tmp_path_factory.mktemp("hops") / "index")


def run_of(index, k):
    return by_query(retrieve(index, [OLD], k))


def test_the_page_that_only_the_first_evidence_names_comes_right_after_the_first_pages(index):
    first = run_of(index, 12)
    before = [hit.id for hit in first["1"]]
    after = [hit.id for hit in second_pages(index, [OLD], first, 12)]
    assert "Mara_Velin" not in before[:5]
    assert after[:KEPT_FIRST] == before[:KEPT_FIRST] and after[KEPT_FIRST] == "Mara_Velin"
    assert set(before) <= set(after) and len(set(after)) == len(after)


def test_ranks_count_on_and_k_bounds_them(index):
    hits = list(second_pages(index, [OLD], run_of(index, 4), 4))
    assert [hit.rank for hit in hits] == [1, 2, 3, 4]
    assert [hit.score for hit in hits] == [1, 1 / 2, 1 / 3, 1 / 4]


def test_without_first_pages_there_is_no_second_hop(index):
    assert list(second_pages(index, [CLAIM], {}, 5)) == []
    assert list(second_sentences(index, [CLAIM], {}, index.pages.page)) == []


def test_pages_are_named_with_a_capital_and_by_other_pages(index):
    assert named_pages(index, Sentence("Salt", 0, "Salt is a novel by Mara Velin of tarn.")) == ["Mara_Velin"]


def test_sentences_of_the_second_hop_take_turns_after_the_first_ones(index):
    units = ["Salt_0", "Salt_1", "Tarn_0", "Salt_1_0", "Salt_2_0"]
    run = {"1": [Hit("1", unit, rank, 1 / rank) for rank, unit in enumerate(units, start=1)]}
    hits = list(second_sentences(index, [CLAIM], run, index.pages.page))
    # What has a word of the claim that the naming sentence has not comes before the page's opening.
    found = [hit.id for hit in hits]
    assert found == [*units[:KEPT_FIRST], "Mara_Velin_1", "Salt_1_0", "Mara_Velin_0", "Salt_2_0", "Osk_0"]
    assert [hit.rank for hit in hits] == list(range(1, 9))
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True) and scores[:3] == [1, 1 / 2, 1 / 3]


@pytest.mark.parametrize("place", [1, 5])
def test_a_sentence_that_both_hops_find_stands_once_and_scores_fall(index, place):
    units = ["Salt_0", "Salt_1", "Tarn_0", "Salt_1_0", "Salt_2_0"]
    units.insert(place, "Mara_Velin_1")
    run = {"1": [Hit("1", unit, rank, 1 / rank) for rank, unit in enumerate(units, start=1)]}
    hits = list(second_sentences(index, [CLAIM], run, index.pages.page))
    found = [hit.id for hit in hits]
    assert len(set(found)) == len(found) and set(units) <= set(found)
    assert found.index("Mara_Velin_1") == min(place, KEPT_FIRST)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
