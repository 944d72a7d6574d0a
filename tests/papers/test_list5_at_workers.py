"""The stages of `lisax run list5` give the same files at workers, after the death of one too."""

import pytest
import ray_cluster

from lisax import world
from lisax.cli import main
from lisax.files.resumable import partial
from lisax.papers.list5 import selection
from lisax.retrieval import documents
from lisax.weights.pretrained import MODELS


@pytest.mark.slow
def test_a_given_labellers_run(tmp_path, monkeypatch):
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")
    monkeypatch.setattr(selection, "CLAIMS_AT_A_TIME", 4)
    monkeypatch.setattr(documents, "CLAIMS_AT_A_TIME", 16)
    world.write(tmp_path / "world", pages=40, seed=0)
    out, given = tmp_path / "out", ["run", "list5", "--data", f"{tmp_path}/world", "--model", "minilm-text"]
    few = ["--gin.Recipe.candidates=9", "--gin.Recipe.documents=3"]
    assert main([*given, *few, "--out", f"{tmp_path}/alone"]) == 0
    with ray_cluster.started() as _, ray_cluster.one_killed(partial(out / "runs" / "vectors.test.trec")) as killed:
        assert main([*given, *few, "--out", str(out), "--workers", "ray,2"]) == 0
    files = sorted(path.relative_to(out) for name in ("runs", "predictions") for path in (out / name).rglob("*.*"))
    assert killed and len(files) >= 5
    for path in files:
        assert (out / path).read_bytes() == (tmp_path / "alone" / path).read_bytes(), path
