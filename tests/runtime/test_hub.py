"""Models of the Hub by `hf:OWNER/NAME@REVISION`, from a local server that speaks the Hub's protocol."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lisax.records import LisaxError
from lisax.runtime import hub
from tests.hub_server import environment, serving

WEIGHTS = b"weights " * 5000
PICKLED = {"config.json": b"{}", "pytorch_model.bin": b"never fetched"}
FILES = PICKLED | {
    "model.safetensors": WEIGHTS,
    "tokenizer.json": b"[]",
    "README.md": b"never fetched",
    "code.py": b"never fetched",
}


@pytest.fixture
def server():
    whole = dict.fromkeys(("whole", "gated", "wrong", "cut"), FILES)
    proposals = dict.fromkeys(("converted", "stale"), PICKLED | {"model.safetensors": WEIGHTS})
    with serving(whole | dict.fromkeys(("pickled", *proposals), PICKLED), proposals) as server:
        server.based_on["stale"] = "c" * 40
        yield server


@pytest.fixture
def get(server, tmp_path):
    """Runs `lisax models get` in a fresh process, whose cache is empty at first."""
    variables = os.environ | environment(server, tmp_path / "hub")

    def run(reference, **more):
        return subprocess.run(
            [sys.executable, "-m", "lisax", "models", "get", reference],
            env=variables | more,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def test_a_model_is_fetched_once_and_then_needs_no_network(get, server):
    done = get("hf:owner/whole@v1")
    assert done.returncode == 0, done.stderr
    folder = done.stdout.strip()
    assert sorted(os.listdir(folder)) == ["config.json", "model.safetensors", "tokenizer.json"]
    with open(f"{folder}/model.safetensors", "rb") as file:
        assert file.read() == WEIGHTS
    assert not [line for line in server.asked if line.endswith((".bin", ".py", ".md"))]
    server.asked.clear()
    assert get("hf:owner/whole@v1", HF_HUB_OFFLINE="1").stdout == done.stdout
    assert server.asked == []


def test_of_pickled_weights_the_hubs_own_conversion_is_taken(get, server):
    done = get("hf:owner/converted")
    assert done.returncode == 0 and "/tree/refs/pr/1, the Hub's conversion" in done.stderr, done.stderr
    assert sorted(os.listdir(done.stdout.strip())) == ["config.json", "model.safetensors"]
    assert not [line for line in server.asked if line.endswith(".bin")]
    server.asked.clear()
    assert get("hf:owner/converted", HF_HUB_OFFLINE="1").stdout == done.stdout
    assert server.asked == []


@pytest.mark.parametrize(
    "reference, said",
    [
        ("hf:owner/none", "the Hub has no model 'owner/none', or it is private"),
        ("hf:owner/gated", "is gated: accept its terms at"),
        ("hf:owner/whole@v9", "'owner/whole' has no revision 'v9'"),
        ("hf:owner/pickled", "has no weights in safetensors"),
        ("hf:owner/converted@v1", "has no weights in safetensors"),
        ("hf:owner/stale", "has no weights in safetensors"),
        ("hf:owner/wrong", "the Hub says"),
    ],
)
def test_what_cannot_be_had_is_told(get, tmp_path, reference, said):
    done = get(reference)
    assert done.returncode == 1 and said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "hub").rglob("model.safetensors"))


def test_without_a_network_the_cache_is_named(get, server):
    done = get("hf:owner/whole", HF_HUB_OFFLINE="1")
    assert done.returncode == 1 and "is not whole in the cache, and HF_HUB_OFFLINE is set" in done.stderr, done.stderr
    server.shutdown()
    server.server_close()
    done = get("hf:owner/whole")
    assert done.returncode == 1 and "cannot be reached" in done.stderr, done.stderr


def test_half_a_download_is_not_used(get, tmp_path):
    done = get("hf:owner/cut")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert not list((tmp_path / "hub").rglob("model.safetensors"))


@pytest.mark.parametrize("reference", ["hf:", "hf:whole", "hf:a/b/c", "hf:owner/whole@", "hf:owner/na me"])
def test_what_is_no_reference_is_told(reference):
    with pytest.raises(LisaxError, match="expected hf:OWNER/NAME"):
        hub.get(reference)
