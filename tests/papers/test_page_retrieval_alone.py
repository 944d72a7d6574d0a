"""A LisT5 run that stops at retrieval tells and writes its figures; those of a whole run are kept."""

import json

import pytest

from lisax import world
from lisax.cli import main
from lisax.predict.index import Index
from lisax.retrieval import cluster_client
from tests.small_cluster import ELASTICSEARCH, OPENSEARCH, Cluster, stand_in


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world.write(folder, 60, 0)
    return folder


def command(data, out, until="retrieve"):
    return ["run", "list5", "--data", str(data), "--out", str(out), "--until", until]


def test_recall_and_the_majority_are_told_and_written(data, tmp_path, capfd):
    assert main(command(data, tmp_path)) == 0
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert 0 < found["retrieval"]["recall_complete@1"] <= found["retrieval"]["recall_complete@20"] <= 1
    labels = [json.loads(line)["label"] for line in (data / "claims.test.jsonl").read_text().splitlines()]
    assert found["majority"]["label_accuracy"] in {labels.count(label) / len(labels) for label in labels}
    told = capfd.readouterr().out
    assert "Page retrieval" in told and f"{100 * found['retrieval']['recall_complete@1']:.2f}" in told


def test_nothing_is_told_before_retrieval(data, tmp_path, capfd):
    assert main(command(data, tmp_path, "index")) == 0
    assert capfd.readouterr().out == "" and not (tmp_path / "metrics.json").exists()


def test_figures_of_a_whole_run_are_kept(data, tmp_path):
    (tmp_path / "metrics.json").write_text('{"variants": {}}')
    assert main(command(data, tmp_path)) == 0
    assert (tmp_path / "metrics.json").read_text() == '{"variants": {}}'


@pytest.mark.parametrize(("family", "paper"), [(ELASTICSEARCH, "list5"), (OPENSEARCH, "deseption")])
def test_a_run_over_a_cluster_needs_no_index_of_its_own(data, tmp_path, monkeypatch, family, paper):
    server = Cluster(family)
    monkeypatch.setattr(cluster_client, "connect", lambda url, **_: stand_in(server))
    recipe = {"list5": "Recipe", "deseption": "PointerRecipe"}[paper]
    run = ["run", paper, "--data", str(data), "--until", "retrieve", "--out"]
    remote = [f"--gin.{recipe}.cluster='http://host:9200/pages'"]
    assert main([*run, str(tmp_path / "here")]) == 0
    assert main([*run, str(tmp_path / "there"), *remote]) == 0
    assert [file.name for file in (tmp_path / "there/index").iterdir()] == ["cluster.json"]
    found, expected = (
        {tuple(line.split()[:3:2]) for line in (tmp_path / out / "runs/candidates.test.trec").read_text().splitlines()}
        for out in ("there", "here")
    )
    # Lucene's own lengths and ties move a few pages.
    assert len(found & expected) > 0.9 * len(expected)
    requests = len(server.requests)
    assert (
        main([*run, str(tmp_path / "there"), *remote]) == 0 and len(server.requests) == requests
    )  # nothing is made again
    assert Index.open(tmp_path / "there/index").search("Torimoor is a town.")
    requests = len(server.requests)
    assert main([*run, str(tmp_path / "there")]) == 0  # without the setting, in a folder again
    assert not (tmp_path / "there/index/cluster.json").exists() and len(server.requests) == requests
