"""Sentences of an index: what a run's ids stand for."""

from lisax.predict.page_index import PageIndex
from lisax.records import Document, Hit, Sentence
from lisax.retrieval.documents import build_index


def test_a_sentence_whose_id_is_a_pages_too(tmp_path):
    def page(name, texts):
        return Document(name, name, tuple(Sentence(name, n, text) for n, text in enumerate(texts)))

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
