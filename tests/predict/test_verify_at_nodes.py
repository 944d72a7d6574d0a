"""`lisax verify` on a cluster of several nodes, one of which dies."""

import pytest
import ray_cluster

from lisax.cli import main
from lisax.files.resumable import partial
from lisax.files.writing import write_json_lines
from lisax.predict import file_steps

NAMES = ("Vova Brugard", "Lenas Brugard", "Besa Siton", "Torimoor", "the Irum")


@pytest.mark.slow
def test_a_node_dies_with_its_worker(bundles, pages, tmp_path, monkeypatch):
    monkeypatch.setattr(file_steps, "VERIFIED_AT_A_TIME", 2)
    rows = [{"id": i, "claim": f"{NAMES[i % 5]} was born in {1800 + i}."} for i in range(60)]
    claims, run, out = (tmp_path / name for name in ("claims.jsonl", "run.trec", "out.jsonl"))
    write_json_lines(claims, rows)
    given = ["--index", pages.folder, "--claims", claims]

    def lisax(*words) -> None:
        assert main([str(word) for word in words]) == 0

    lisax("retrieve", "documents", *given, "--out", run)
    verify = ["verify", *given, "--run", run, "--model", bundles["pointer"]]
    lisax(*verify, "--out", tmp_path / "alone")
    with ray_cluster.nodes(3) as (address, nodes):
        with ray_cluster.one_killed(partial(out), node=nodes[-1]) as killed:
            lisax(*verify, "--out", out, "--workers", f"{address},3")
    assert len(killed) > 1 and out.read_bytes() == (tmp_path / "alone").read_bytes()
