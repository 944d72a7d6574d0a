"""Candidate pages: three ways to find them, and what is never one."""

from types import SimpleNamespace

import pytest

from lisax.records import Claim, Document, Sentence
from lisax.retrieval.candidates import noun_phrases, only_points_on, retrieve
from lisax.retrieval.documents import build_index


def page(title, text):
    name = title.replace(" ", "_")
    return Document(name, title, (Sentence(name, 0, text),))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    pages = [
        page("Savages (2012 film)", "A thriller with Blake Lively."),
        page("Savages (disambiguation)", "Savages may be:"),
        page("List of savages", "Savages, a list."),
        page("Blake Lively", "An actress."),
        page("Thriller film", "A kind of film."),
        page("River Osk", "A river in the north."),
    ]
    return build_index(pages, tmp_path_factory.mktemp("index"))


def test_candidates_come_from_text_titles_and_phrases(index):
    hits = list(retrieve(index, [Claim("1", "Savages was only a thriller film."), Claim("2", "Zzz.")], 5))
    found = [hit.id for hit in hits if hit.query_id == "1"]
    assert {"Savages_(2012_film)", "Thriller_film"} <= set(found) and len(found) == len(set(found))
    assert not {"Savages_(disambiguation)", "List_of_savages"} & set(found)
    assert [hit.rank for hit in hits if hit.query_id == "1"] == list(range(1, len(found) + 1))
    assert len(list(retrieve(index, [Claim("1", "Savages was only a thriller film.")], 1))) == 1


def test_the_best_page_of_each_phrase_comes_before_the_second_of_any():
    pages = {"Ada": ["a1", "a2", "a3"], "Brook": ["b1"], "Osk": [], "composed": ["c1", "c2"]}
    asked = []

    def search_all(phrases, k):
        asked.append(k)
        return [pages.get(phrase, []) for phrase in phrases]

    index = SimpleNamespace(
        titles=SimpleNamespace(search_all=search_all),
        bm25=SimpleNamespace(search=lambda texts, k: [[("t1", 2.0)] for _ in texts]),
        pages=SimpleNamespace(title=lambda page: "List of lists" if page == "c1" else page, prepare=set),
    )
    spotter = SimpleNamespace(spot=lambda text: ["Ada", "Brook", "Osk"])
    hits = list(retrieve(index, [Claim("1", "It was composed.")], 9, spotter=spotter))
    assert [hit.id for hit in hits] == ["t1", "a1", "b1", "a2", "c2", "a3"] and asked == [3, 18]


def test_pages_that_only_point_on():
    assert all(map(only_points_on, ("Savages (disambiguation)", "List of rivers", "Lists of lists")))
    assert not any(map(only_points_on, ("Liszt", "The List of Names", "Disambiguation")))


def test_noun_phrases_stand_between_stop_words():
    found = noun_phrases("The Faba river is the longest tributary of the Osk.")
    assert found == ["Faba river", "longest tributary", "Osk"]
    assert noun_phrases("one two three four five six") == []
