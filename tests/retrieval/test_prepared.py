"""An index whose pages or tables were prepared block by block, elsewhere, is the index of one process."""

import functools

import pytest

from lisax import world
from lisax.corpora import open_folder
from lisax.retrieval import bm25_builder, documents, prepared, table_store, table_text
from lisax.retrieval.folder import read_components


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus") / "world"
    world.write(folder, pages=90, seed=1)
    return folder


def digests(folder):
    return {name: manifest["digest"] for name, manifest in read_components(folder).items()}


def blocks(corpus, kind, opens, order=None):
    """The blocks, prepared by one worker that is given them in this order."""
    work = prepared._open_reading(corpus, kind, opens, 8)
    found = {number: work(number) for number in order or range(100)}
    return [found[number] for number in sorted(found) if found[number] is not None]


@pytest.mark.parametrize("language", ["english", "german"])
@pytest.mark.parametrize("limit", [1 << 18, 11])
def test_documents(corpus, tmp_path, monkeypatch, language, limit):
    monkeypatch.setattr(bm25_builder.Bm25Builder.__init__, "__kwdefaults__", {
        **bm25_builder.Bm25Builder.__init__.__kwdefaults__, "shard_documents": limit,
    })  # fmt: skip
    documents.build_index(open_folder(corpus).documents(), tmp_path / "alone", language=language)
    opens = functools.partial(documents.open_preparing, language)
    # A worker that takes over a block of a dead one reads from the start again.
    made = blocks(corpus, "documents", opens, [0, 1, 5, 2, *range(3, 100)])
    documents.build_index(made, tmp_path / "out", language=language)
    assert digests(tmp_path / "out") == digests(tmp_path / "alone")
    parts = read_components(tmp_path / "out")["bm25"]["parts"]
    assert len(made) > 2 and (len(parts) > 2) is (limit == 11)


def test_tables(corpus, tmp_path):
    table_text.build_index(open_folder(corpus).tables(), tmp_path / "alone")
    table_text.build_index(blocks(corpus, "tables", table_store.open_preparing), tmp_path / "out")
    assert digests(tmp_path / "out") == digests(tmp_path / "alone")
