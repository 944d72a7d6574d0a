"""Bundles of every kind, made once, and an empty cache for the indexes of each test session."""

import pytest
from random_encoder import write_encoder
from small_bundles import MODELS, TABLES, bundle

from lisax import world
from lisax.examples import example_pages
from lisax.files.places import cache_folder
from lisax.predict.index import Index
from lisax.retrieval import cluster_client, elastic
from tests.small_cluster import ELASTICSEARCH, OPENSEARCH, Cluster, stand_in


@pytest.fixture(scope="session")
def bundles(tmp_path_factory):
    """`bundles[kind]` is a folder; each is made when it is first asked for."""
    root = tmp_path_factory.mktemp("bundles")

    class Bundles(dict):
        def __missing__(self, kind):
            self[kind] = bundle(root / kind.replace(" ", "_"), kind)
            return self[kind]

    assert set(MODELS) >= {"ranker", "pointwise", "fusion", "pointer"}
    return Bundles()


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """An empty cache, but for pretrained models that are here."""
    models, cache = cache_folder() / "models", tmp_path_factory.mktemp("cache")
    if models.is_dir():
        (cache / "models").symlink_to(models)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LISAX_CACHE", str(cache))
        yield


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """The example pages as an index of documents."""
    return Index.build(example_pages(), tmp_path_factory.mktemp("pages") / "index")


@pytest.fixture(scope="session")
def cells(tmp_path_factory):
    return Index.build(TABLES, tmp_path_factory.mktemp("cells") / "index", kind="cells")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A small random encoder."""
    return write_encoder(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The folder of a small world, for clusters."""
    folder = tmp_path_factory.mktemp("world")
    world.write(folder, pages=60, seed=3)
    return folder


@pytest.fixture(params=[ELASTICSEARCH, OPENSEARCH])
def server(request, monkeypatch):
    """A cluster that is connected to by `HOST`, whatever the prefix."""
    found = Cluster(request.param)
    monkeypatch.setattr(elastic, "FIRST_WAIT", 0)
    monkeypatch.setattr(cluster_client, "connect", lambda url, **_: stand_in(found))
    return found
