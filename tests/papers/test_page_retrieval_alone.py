"""A LisT5 run that stops at retrieval tells and writes its figures; those of a whole run are kept."""

import json

import pytest

from lisax import world
from lisax.cli import main


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
