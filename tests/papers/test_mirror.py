"""A run whose folder is in a bucket, on machines that are killed."""

import importlib.util
import os
import subprocess
import sys

import pytest

if not all(map(importlib.util.find_spec, ("gcp_storage_emulator", "gcsfs"))):
    pytest.skip("needs gcp-storage-emulator and gcsfs: `make peers`", allow_module_level=True)

from gcs_emulator import BUCKET, bucket

from lisax import world
from lisax.cli import main
from lisax.files.places import listing, place, send_folder

OUT, DATA = f"gs://{BUCKET}/runs/one", f"gs://{BUCKET}/data"


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world.write(folder, pages=60)
    with bucket():
        send_folder(folder, place(DATA))
        yield folder


def _command(out, until, data=DATA):
    return [
        "run",
        "list5",
        f"--data={data}",
        f"--out={out}",
        f"--until={until}",
        "--gin_file=experiments/list5/demo.gin",
    ]


def test_a_run_goes_on_on_another_machine_after_kill_9(tmp_path, data, monkeypatch, capfd):
    process = subprocess.Popen(
        [sys.executable, "-m", "lisax", *_command(OUT, "examples.rank")],
        text=True,
        stderr=subprocess.PIPE,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "first")},
    )
    for line in process.stderr:
        if line == "[retrieve]\n":
            process.kill()
            break
    process.communicate()
    there = list(listing(place(OUT)))
    assert "stages/index.json" in there and "index/meta.json" in there and "stages/retrieve.json" not in there
    said = []
    for machine in ("second", "first", "second"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / machine))
        assert main(_command(OUT, "examples.rank")) == 0
        said.append([line for line in capfd.readouterr().err.splitlines() if line.endswith("done before")])
    assert said[0] == ["[index] done before"]
    assert len(said[1]) == len(said[2]) > 2  # all of them
    assert main(_command(tmp_path / "disk", "examples.rank", data)) == 0
    for name in ("runs/candidates.train.trec", "examples/rank.train.jsonl"):
        assert (place(OUT) / name).read_bytes() == (tmp_path / "disk" / name).read_bytes()
    left = list(listing(place(OUT)))
    assert not [name for name in left if name.endswith((".partial", ".begun", ".lock"))]


def test_what_was_damaged_in_the_bucket_is_made_again(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "third"))
    file = place(OUT) / "runs/candidates.train.trec"
    whole = file.read_bytes()
    file.write_bytes(whole[:300])
    assert main(_command(OUT, "examples.rank")) == 0
    assert "[retrieve] is made again" in capfd.readouterr().err
    assert file.read_bytes() == whole
