"""Vectors beside an index: exact search against numpy, swapped sources, interruption, fusion."""

import numpy as np
import pytest

from lisax.errors import DataError, LisaxError
from lisax.retrieval import dense, fusion, mixed
from lisax.retrieval.passages import Passage, Source
from lisax.retrieval.vector_codes import bits_of, coded, floats


class Made:
    """Vectors by the length of texts: what a model would be."""

    source, cosines = "made", False

    def __init__(self, digest="m", fails_after=None):
        self.digest, self._left = digest, fails_after

    def questions(self, texts):
        return np.array([self._vector(text) for text in texts], np.float32)

    def passages(self, passages, progress=None):
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt
        if progress is not None:
            progress(len(passages))
        return self.questions([passage.text for passage in passages])

    @staticmethod
    def _vector(text):
        return np.random.default_rng(sum(map(ord, text))).normal(size=8)


def made(source, count):
    return [Passage(f"{source}:p{i}:0", "", f"{source} number {i * 7}", (f"p{i}",), (0,)) for i in range(count)]


@pytest.fixture
def folder(tmp_path):
    return mixed.build_index(
        {Source.TEXT: made(Source.TEXT, 50), Source.TABLE: made(Source.TABLE, 30)}, tmp_path / "index"
    ).folder


def expected(passages, queries, k):
    scores = Made().questions(queries) @ Made().questions([passage.text for passage in passages]).T
    return [[passages[j].id for j in np.argsort(-row, kind="stable")[:k]] for row in scores]


def test_exact_search_is_the_greatest_dot_products_of_all_sources(folder, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", 16)
    monkeypatch.setattr(dense, "SEARCHED", 10)
    with pytest.raises(DataError, match="have no vectors"):
        dense.DenseIndex.open(folder)
    told = []
    assert dense.encode_index(folder, Made(), told.append) == sum(told) == 80
    queries, index = ["a", "bb", "ccc"], dense.DenseIndex.open(folder)
    found = index.search(Made().questions(queries), 7)
    every = made(Source.TEXT, 50) + made(Source.TABLE, 30)
    assert [[hit for hit, _ in hits] for hits in found] == expected(every, queries, 7)
    assert len(index.search(Made().questions(["a"]), 500)[0]) == 80


def test_sources_are_swapped_with_their_vectors(folder):
    dense.encode_index(folder, Made())
    mixed.remove_source(Source.TABLE, folder)
    queries = ["a", "bb"]
    found = dense.DenseIndex.open(folder).search(Made().questions(queries), 5)
    assert [[hit for hit, _ in hits] for hits in found] == expected(made(Source.TEXT, 50), queries, 5)
    mixed.add_sources({Source.TABLE: made(Source.TABLE, 20)}, folder)
    with pytest.raises(DataError, match="'table' have no vectors"):
        dense.DenseIndex.open(folder)
    told = []
    assert dense.encode_index(folder, Made(), told.append) == 70 and sum(told) == 20  # the text's stay
    assert dense.encode_index(folder, Made("other")) == 70
    assert dense.DenseIndex.open(folder).models == {"other"}


def test_an_interrupted_encoding_goes_on_where_it_was(folder, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", 16)
    with pytest.raises(KeyboardInterrupt):
        dense.encode_index(folder, Made(fails_after=2))
    told = []
    dense.encode_index(folder, Made(), told.append)
    assert sum(told) == 80 - 32
    found = [hit for hit, _ in dense.DenseIndex.open(folder).search(Made().questions(["a"]), 3)[0]]
    assert found == expected(made(Source.TEXT, 50) + made(Source.TABLE, 30), ["a"], 3)[0]


@pytest.mark.parametrize("kind", ["lists", "hnsw"])
def test_approximate_search_finds_nearly_what_exact_search_does(folder, kind):
    dense.encode_index(folder, Made())
    with pytest.raises(LisaxError, match="--approximate"):
        dense.DenseIndex.open(folder).search(Made().questions(["a"]), 3, exact=False)
    dense.approximate(folder, kind)
    index, vectors = dense.DenseIndex.open(folder), Made().questions([f"q{i}" for i in range(20)])
    exact, near = index.search(vectors, 5), index.search(vectors, 5, exact=False)
    shared = [len({hit for hit, _ in a} & {hit for hit, _ in b}) for a, b in zip(exact, near)]
    # The probes reach every list here, and the graph's search most vectors: only one byte a dimension differs.
    assert sum(shared) >= 0.9 * 100


def test_a_graph_takes_the_place_of_an_inverted_file(folder, monkeypatch):
    dense.encode_index(folder, Made())
    sizes = []
    for kind in ("lists", "hnsw", "hnsw", "lists"):
        dense.approximate(folder, kind)
        (file,) = folder.glob("ivf-text*/**/lists.faiss")
        sizes.append(file.stat().st_size)
        assert dense.DenseIndex.open(folder).is_listed
    assert sizes[1] == sizes[2] > sizes[0] == sizes[3]  # a graph also holds each vector's neighbours
    files = []
    for tried in (40, 200, 200):
        monkeypatch.setattr(dense, "TRIED", tried)
        dense.approximate(folder, "hnsw")
        files += folder.glob("ivf-text*/**/lists.faiss")
    assert files[0] != files[1] == files[2]  # a graph of fewer candidates is built again


def test_reciprocal_rank_fusion():
    found = fusion.by_ranks([{"q": ["a", "b", "c"]}, {"q": ["c", "a"], "r": ["z"]}], 2)
    assert [hit for hit, _ in found["q"]] == ["a", "c"] and found["q"][0][1] == pytest.approx(1 / 61 + 1 / 62)
    assert found["r"] == [("z", 1 / 61)]


@pytest.mark.parametrize(("bits", "dtype", "width"), [(16, np.float16, 8), (8, np.int8, 12)])
def test_fewer_bits_on_disk(folder, bits, dtype, width):
    questions = Made().questions([f"q{i}" for i in range(20)])
    dense.encode_index(folder, Made())
    exact = dense.DenseIndex.open(folder).search(questions, 5)
    assert dense.to_encode(folder, "m", bits) == 80 and dense.to_encode(folder, "m") == 0
    assert dense.encode_index(folder, Made(), bits=bits) == 80
    stored = np.load(next(folder.glob("dense-text/*/vectors.npy")))
    assert stored.dtype == dtype and stored.shape == (50, width)
    index = dense.DenseIndex.open(folder)
    for before, now in zip(exact, index.search(questions, 5)):
        assert [score for _, score in now] == pytest.approx([score for _, score in before], abs=0.1)
        record, score = now[0]
        assert index.products(questions[0], record).dtype == np.float32
    assert index.products(questions[-1], record)[0] == pytest.approx(score, abs=1e-5)
    assert dense.to_encode(folder, "m") == 0 and dense.encode_index(folder, Made()) == 80  # as they are
    dense.approximate(folder)
    near = dense.DenseIndex.open(folder).search(questions, 5, exact=False)
    assert sum(len({hit for hit, _ in a} & {hit for hit, _ in b}) for a, b in zip(exact, near)) >= 0.9 * 100


def test_codes_of_a_vector():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50, 7)).astype(np.float32) * rng.uniform(0.01, 100, size=(50, 1)).astype(np.float32)
    vectors[3] = 0
    assert floats(coded(vectors)) is vectors
    for bits, step in ((16, 2**-11), (8, 1 / 254 + 1e-6)):
        stored = coded(vectors, bits)
        assert bits_of(stored) == bits and floats(stored).dtype == np.float32
        assert (np.abs(floats(stored) - vectors) <= step * np.abs(vectors).max(axis=1, keepdims=True)).all()
        assert np.array_equal(floats(stored[10:12]), floats(stored)[10:12])
