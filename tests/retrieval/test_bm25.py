import math
from collections import Counter

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import DataError, LisaxError
from lisax.retrieval import bm25
from lisax.retrieval.bm25 import Bm25Index, build
from lisax.retrieval.bm25_builder import Bm25Builder
from lisax.retrieval.folder import writing
from lisax.retrieval.terms import stems

DOCUMENTS = [
    ("Malcolm_X", "Malcolm X was an American minister. Malcolm X was born in Omaha."),
    ("Omaha", "Omaha is a city in Nebraska."),
    ("Minister", "A minister is a member of a government; ministers govern, ministers travel."),
    ("Empty", ""),
    ("Twin_A", "The twins are painters."),
    ("Twin_B", "The twins are painters."),
    ("Stop", "It was not in the"),
]


@pytest.fixture(params=[0, bm25.FEW], ids=["numba", "numpy"], autouse=True, scope="module")
def few(request):
    """Small collections are searched without numba, and with it."""
    before, bm25.FEW = bm25.FEW, request.param
    yield
    bm25.FEW = before


def textbook(documents, query, k1=0.6, b=0.5):
    """Lucene's BM25 straight from its definition: [(id, score)] for all documents that share a term."""
    *texts, query_terms = stems([text for _, text in documents] + [query])
    average = sum(map(len, texts)) / len(texts)
    scores = {}
    for (document, _), terms in zip(documents, texts):
        counts, score = Counter(terms), 0.0
        for term in query_terms:
            frequency = sum(term in other for other in texts)
            if counts[term]:
                idf = math.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
                score += idf * counts[term] / (counts[term] + k1 * (1 - b + b * len(terms) / average))
        if score:
            scores[document] = score
    return scores


def add(documents, folder):
    """Adds documents, as `documents.add_documents` does."""
    with writing(folder) as state:
        builder = Bm25Builder(state, extend=True)
        for document in documents:
            builder.add(*document)
        state.commit({bm25.NAME: builder.finish()})
    return Bm25Index.open(folder)


def assert_same(found, expected, k):
    assert len(found) == min(k, len(expected))
    for document, score in found:
        assert score == pytest.approx(expected[document], rel=1e-5)
    assert [s for _, s in found] == pytest.approx(sorted(expected.values(), reverse=True)[:k], rel=1e-5)


@pytest.mark.parametrize("k1, b", [(0.6, 0.5), (1.2, 0.75), (0.0, 1.0)])
def test_scores_are_the_textbooks(tmp_path, k1, b):
    index = build(DOCUMENTS, tmp_path / "index", k1=k1, b=b, shard_documents=3)
    for query in ("Was Malcolm X a minister?", "painters", "minister minister Omaha", "nothing known"):
        assert_same(index.search([query], 10)[0], textbook(DOCUMENTS, query, k1, b), 10)


WORDS = st.sampled_from("ape bee cat dog eel fox gnu hen".split())
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=12)


@settings(max_examples=25)
@given(TEXTS, TEXTS, st.lists(WORDS, max_size=5).map(" ".join), st.integers(1, 5), st.integers(1, 4))
def test_shards_and_additions_change_nothing(tmp_path_factory, texts, more, query, k, shard_documents):
    folder = tmp_path_factory.mktemp("index")
    documents = [(f"d{i}", text) for i, text in enumerate(texts + more)]
    whole = build(documents, folder / "whole").search([query], k)[0]
    assert_same(whole, textbook(documents, query), k)
    grown = build(documents[: len(texts)], folder / "grown", shard_documents=shard_documents)
    assert add(documents[len(texts) :], grown.folder).search([query], k)[0] == whole


def test_equal_to_bm25s_itself(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"word{n}" for n in rng.zipf(1.5, 20) if n < 500) for _ in range(300)]
    terms = stems(texts)
    peer = bm25s.BM25(k1=0.6, b=0.5, method="lucene")
    peer.index(terms, show_progress=False)
    index = build([(str(i), text) for i, text in enumerate(texts)], tmp_path / "index", shard_documents=64)
    for i in range(20):
        scores = peer.get_scores(terms[i])
        for document, score in index.search([texts[i]], 300)[0]:
            assert score == pytest.approx(scores[int(document)], rel=1e-5)


def test_ties_go_to_the_earlier_document(tmp_path):
    index = build([(f"d{i}", "same words here") for i in range(50)], tmp_path / "index", shard_documents=7)
    assert [document for document, _ in index.search(["words"], 9)[0]] == [f"d{i}" for i in range(9)]
    texts = ["filler"] * 90
    texts[40], texts[7], texts[60] = "alpha", "beta", "gamma"
    index = build([(f"d{i}", text) for i, text in enumerate(texts)], tmp_path / "rare")
    for query in ("alpha beta gamma", "gamma alpha beta", "beta gamma alpha"):  # in whatever order they are come upon
        assert [document for document, _ in index.search([query], 3)[0]] == ["d7", "d40", "d60"]


def test_threads_and_batches_change_nothing(tmp_path):
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.4, 12) if n < 300) for _ in range(700)]
    index = build([(str(i), text) for i, text in enumerate(texts)], tmp_path / "index", shard_documents=128)
    alone = [index.search([text], 10, threads=1)[0] for text in texts[:40]]
    assert index.search(texts, 10, threads=2)[:40] == alone
    assert index.search([], 10) == []


def test_numpy_finds_to_the_last_digit_what_numba_finds(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.3, 15) if n < 200) for _ in range(500)]
    index = build([(str(i), text) for i, text in enumerate(texts)], tmp_path / "index", shard_documents=90)
    found = []
    for few in (0, 1 << 30):
        monkeypatch.setattr(bm25, "FEW", few)
        found.append(index.search(texts[:50], 20))
    assert found[0] == found[1]


def test_stems_keep_one_letter_words_and_fold():
    found = stems(["Malcolm X's running", "the U.S. Beyoncé", "Beyonce\u0301", "X-Men 2,000", "of the"])
    assert found == [["malcolm", "x", "run"], ["us", "beyonc"], ["beyonc"], ["x", "men", "2", "000"], []]


def test_a_document_id_twice_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(DataError, match="'b' occurs twice"):
        build([("a", "x"), ("b", "y"), ("c", "z"), ("b", "w")], tmp_path / "index", shard_documents=2)
    assert not (tmp_path / "index").exists()
    index = build([("a", "x")], tmp_path / "index")
    with pytest.raises(DataError, match="'a' occurs twice"):
        add([("n", "y"), ("a", "x")], index.folder)
    assert len(Bm25Index.open(tmp_path / "index")) == 1
    assert len(list((tmp_path / "index").glob("bm25/*"))) == 2  # the part and the vocabulary, nothing left over


def test_a_rebuild_replaces_and_an_interrupted_one_does_not(tmp_path):
    def broken():
        yield "new", "something else"
        raise KeyboardInterrupt

    index = build(DOCUMENTS, tmp_path / "index")
    before = index.search(["Omaha"], 3)
    with pytest.raises(KeyboardInterrupt):
        build(broken(), tmp_path / "index")
    assert Bm25Index.open(tmp_path / "index").search(["Omaha"], 3) == before
    build([("only", "Omaha")], tmp_path / "index")
    assert Bm25Index.open(tmp_path / "index").search(["Omaha"], 3)[0][0][0] == "only"
    assert index.search(["Omaha"], 3) == before  # who had it open keeps the old one


def test_bad_input_is_told(tmp_path):
    with pytest.raises(DataError, match="no documents"):
        build([], tmp_path / "none")
    with pytest.raises(LisaxError, match="k1"):
        build(DOCUMENTS, tmp_path / "none", b=2)
    with pytest.raises(DataError, match="white space"):
        build([("a b", "text")], tmp_path / "none")
    index = build([("e", "")], tmp_path / "empty")
    assert index.search(["anything"], 3) == [[]]
    with pytest.raises(LisaxError, match="k >= 1"):
        index.search(["a"], 0)


def test_new_parameters_give_the_scores_of_a_full_build(tmp_path):
    documents = [("a", "red fox red"), ("b", "a fox and a hound in the wood"), ("c", "hound")]
    index = build(documents, tmp_path / "index", k1=0.6, b=0.5, shard_documents=2)
    for k1, b in ((1.2, 0.0), (0.0, 1.0), (0.9, 0.4)):
        index.rescore(k1, b)
        whole = build(documents, tmp_path / f"{k1}-{b}", k1=k1, b=b, shard_documents=2)
        assert (index.settings["k1"], index.settings["b"]) == (k1, b)
        for opened in (index, Bm25Index.open(tmp_path / "index")):
            assert opened.search(["red fox", "hound"], 3) == whole.search(["red fox", "hound"], 3)
    with pytest.raises(LisaxError, match="0 <= b <= 1"):
        index.rescore(0.6, 1.5)
    assert Bm25Index.open(tmp_path / "index").search(["fox"], 3) == whole.search(["fox"], 3)


def test_lucenes_terms_and_scores(tmp_path):
    texts = [("a", "The U.S. economy's possibly " + "x " * 38), ("b", "Possible naïve economies"), ("c", "It was not")]
    index = build(texts[:2], tmp_path / "index", analyzer="lucene")
    index = add(texts[2:], index.folder)
    assert index.settings["analyzer"] == "lucene"
    assert [hits and hits[0][0] for hits in index.search(["U.S", "US", "naive", "naïve"], 1)] == ["a", [], [], "b"]
    # Two of the documents have terms; the first has 41 of them, which Lucene keeps as 40.
    [(best, score)] = index.search(["U.S."], 1)[0]
    average, length = (41 + 3) / 2, 40
    assert index.settings["average_length"] == average and best == "a"
    assert score == pytest.approx(math.log(1 + 1.5 / 1.5) / (1 + 0.6 * (0.5 + 0.5 * length / average)), rel=1e-6)
    assert "analyzer" not in build(texts, tmp_path / "ours").settings
    for wrong in ({"analyzer": "standard"}, {"analyzer": "lucene", "language": "german"}):
        with pytest.raises(LisaxError, match="the analyzers are 'lucene', of English"):
            build(texts, tmp_path / "wrong", **wrong)


def test_a_language_is_kept_when_documents_are_added(tmp_path):
    index = build([("a", "Die Mühlen der Stadt")], tmp_path / "index", language="german")
    index = add([("b", "Viele Städte")], index.folder)
    index.rescore(1.2, 0.75)
    assert Bm25Index.open(tmp_path / "index").settings["language"] == "german"
    assert [hits[0][0] for hits in index.search(["Mühle", "vieler Städten"], 1)] == ["a", "b"]


def test_an_english_index_has_the_digest_that_it_had_before_there_were_languages(tmp_path):
    documents = [
        ("Malcolm_X", "Malcolm X was an American minister. Malcolm X was born in Omaha."),
        ("Omaha", "Omaha is a city in Nebraska."),
        ("Beyonce", "Beyoncé's U.S. concert cost £2,000 – “really”?"),
        ("Stop", "It was not in the"),
    ]
    assert build(documents, tmp_path / "index").digest.startswith("f44bf030253a1069")
