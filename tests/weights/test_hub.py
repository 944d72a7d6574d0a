"""Models of the Hub by `hf:OWNER/NAME@REVISION`, from a local server that speaks the Hub's protocol."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from lisax.errors import LisaxError
from lisax.weights import hub
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


def test_what_cannot_be_had_is_told(get_all, tmp_path):
    complaints = {
        "owner/none": "the Hub has no model 'owner/none', or it is private",
        "owner/gated": "is gated: accept its terms at",
        "owner/whole@v9": "'owner/whole' has no revision 'v9'",
        "owner/pickled": "has no weights in safetensors",
        "owner/converted@v1": "has no weights in safetensors",
        "owner/stale": "has no weights in safetensors",
        "owner/wrong": "the Hub's is",
        "owner/cut": "",  # half a download is not used
    }
    for (message, _), expected in zip(get_all(complaints), complaints.values(), strict=True):
        assert expected in message and "no error" not in message and "is no LisaxError" not in message
    assert not list((tmp_path / "hub").rglob("model.safetensors"))


def test_without_a_network_the_cache_is_named(get, server):
    done = get("hf:owner/whole", HF_HUB_OFFLINE="1")
    assert done.returncode == 1 and "is not whole in the cache, and HF_HUB_OFFLINE is set" in done.stderr, done.stderr
    server.shutdown()
    server.server_close()
    done = get("hf:owner/whole")
    assert done.returncode == 1 and "cannot be reached" in done.stderr, done.stderr


def answers(part, body, **headers):
    """Another answer where the request's path has this part."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda path, usual, data: (
        (200, usual | {"Content-Length": len(body)} | headers, body) if part in path else None
    )


def changes(part, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda path, usual, data: (200, usual | named, data) if part in path else None


def row(**fields):
    return [{"type": "file", "path": "config.json", "size": 2, "oid": "a" * 40} | fields]


WRONG = [b"<html>", b"", b"null", b"[" * 100_000, b"\xff", b" " * (40 << 20)]
HOSTILE = [
    *(answers("/revision/", body) for body in [*WRONG, [1], {}, {"sha": 1}, {"sha": "../../x"}, {"sha": "a" * 20}]),
    *(
        answers("/tree/", body)
        for body in [*WRONG, {}, [1], [{}], row(path=7), row(size="2"), row(size=-1), row(size=1e999)]
    ),
    *(
        answers("/tree/", row(path=path))
        for path in ("../x", "a/../../x", "/etc/x", "a\0b", "a\\b", "a//b", "", "\x1b[2J")
    ),
    *(answers("/tree/", row(oid=oid)) for oid in ("../../../x", "", "A" * 40, None)),
    *(answers("/tree/", row(lfs=lfs)) for lfs in (1, {}, {"oid": "../x", "size": 2}, {"oid": "b" * 64, "size": "2"})),
    *(answers("/tree/", row(lfs={"oid": "b" * 64, "size": size})) for size in (1 << 60, -1)),
    answers("/tree/", row(xetHash="../x")),
    answers("/revision/", gzip.compress(b"[" * 1000), **{"Content-Encoding": "gzip"}),
    changes("/revision/", X_Repo_Commit="../../x"),
    changes("/resolve/", Content_Length=1 << 50),
    answers("/resolve/", b"longer than was announced", ETag='"' + "a" * 40 + '"'),
    lambda path, usual, data: (429, {"Retry-After": "1000000", "Content-Length": 0}, b"") if "/tree/" in path else None,
    lambda path, usual, data: (302, {"Location": "http://[", "Content-Length": 0}, b"") if "/tree/" in path else None,
]
GET_ALL = """
import json, sys, time
slept = []
time.sleep = slept.append
from lisax.errors import LisaxError
from lisax.weights import hub
for name in sys.argv[1:]:
    began = time.monotonic()
    try:
        found = f"no error: {hub.get(f'hf:{name}')}"
    except LisaxError as error:
        found = str(error)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"[:300] + " is no LisaxError"
    print(json.dumps([found, time.monotonic() - began + sum(slept)]))
    slept.clear()
"""


@pytest.fixture
def get_all(server, tmp_path):
    """Returns (error message, seconds) of each model, fetched in one fresh process."""

    def run(names):
        command = [sys.executable, "-P", "-c", GET_ALL, *names]
        variables = os.environ | environment(server, tmp_path / "hub")
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        found = list(map(json.loads, done.stdout.splitlines()))
        assert len(found) == len(names), done.stderr
        return found

    return run


def test_hostile_answers_are_refused_within_seconds_and_leave_nothing_outside(server, get_all, tmp_path):
    for number, tamper in enumerate(HOSTILE):
        server.repositories[f"hostile{number}"], server.tampered[f"hostile{number}"] = FILES, tamper
    found = get_all([f"owner/hostile{number}" for number in range(len(HOSTILE))])
    wrong = {
        number: one for number, one in enumerate(found) if one[0].endswith("is no LisaxError") or "no error" in one[0]
    }
    assert not wrong and not [one for one in found if one[1] > 30]
    assert {path.name for path in tmp_path.iterdir()} == {"hub"} and not list(tmp_path.rglob("model.safetensors"))


REFERENCES = dict.fromkeys(
    (
        *("hf:whole", "hf:a/b/c", "hf:owner/whole@", "hf:owner/na me"),
        *(f"hf:owner/name@{path}" for path in ("../../x", "a/../../x", "/etc", "a//b")),
    ),
    "expected hf:OWNER/NAME",
) | dict.fromkeys((f"hf:o/{name}" for name in ("x.git", "..", "a--b", "a" * 200)), "names no model of the Hub")


@pytest.mark.parametrize("reference", REFERENCES)
def test_what_is_no_reference_is_told(reference):
    with pytest.raises(LisaxError, match=REFERENCES[reference]):
        hub.get(reference)
