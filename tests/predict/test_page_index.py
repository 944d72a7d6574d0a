"""Sentences of an index: what a run's ids stand for."""

from lisax.predict.page_index import PageIndex
from lisax.records import Document, Hit, Sentence
from lisax.retrieval.documents import build_index


def page(name, texts):
    return Document(name, name, tuple(Sentence(name, n, text) for n, text in enumerate(texts)))


def test_the_end_of_a_long_page_is_found(tmp_path):
    texts = [f"In round {n} the bridge got {n} planks." for n in range(500)]
    texts[400] = "Ilse Brandt conducts the choir."
    index = PageIndex(build_index([page("Report", texts), page("Marlow", ["A village."])], tmp_path))
    found = [one.unit for one in index.search("The choir's conductor is Ilse Brandt, says the report.", 20)]
    assert found[:10] == [f"Report_{n}" for n in range(10)] and found[10] == "Report_400" and len(found) == 20
    whole = [one.unit for one in index.search("Marlow had 3 rounds.", 501)]
    assert whole == [*(f"Report_{n}" for n in range(500)), "Marlow_0"]


def test_a_sentence_whose_id_is_a_pages_too(tmp_path):
    pages = [
        page("Apollo", ["A god.", "", "A mission."]),
        page("Apollo_2", ["A second flight."]),
        page("Zeus", ["A god."]),
    ]
    sentences = PageIndex(build_index(pages, tmp_path))

    def in_run(*units):
        return sentences.in_run({"q": [Hit("q", unit, rank, 1 / rank) for rank, unit in enumerate(units, start=1)]})[
            "q"
        ]

    assert in_run("Apollo_2", "Apollo", "Gone") == ["Apollo_2_0", "Apollo_0", "Apollo_2"]
    assert in_run("Apollo_2", "Zeus_0", "Apollo_0") == ["Apollo_2", "Zeus_0", "Apollo_0"]
    assert sentences.of_pages([Hit("q", "Apollo", 1, 1.0)], limit=1) == ["Apollo_0"]
    assert sentences.lookup("Apollo_1") is None and sentences.lookup("Apollo_2_0").title == "Apollo_2"
