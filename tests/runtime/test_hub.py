"""Models of the Hub by `hf:OWNER/NAME@REVISION`, from a local server that speaks the Hub's protocol."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest

from lisax.records import LisaxError
from lisax.runtime import hub

COMMIT = "a" * 40
WEIGHTS = b"weights " * 5000
PICKLED = {"config.json": b"{}", "pytorch_model.bin": b"never fetched"}
FILES = PICKLED | {
    "model.safetensors": WEIGHTS,
    "tokenizer.json": b"[]",
    "README.md": b"never fetched",
    "code.py": b"never fetched",
}


class Hub(BaseHTTPRequestHandler):
    """Repositories `owner/NAME`: a whole one, `pickled`, `gated`, `wrong` whose weights are others, `cut` that breaks off."""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        if path.startswith("/api/models/"):
            _, name, what, revision = path.removeprefix("/api/models/").split("/", 3)
            return self.describe(name, what, revision)
        if f"/resolve/{COMMIT}/" not in path:
            return self.fail(404, "EntryNotFound")
        _, name, _, _, file = path.lstrip("/").split("/", 4)
        data = self.files(name)[file]
        large = file.endswith(".safetensors")
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{digest(data, large)}"', "Accept-Ranges": "bytes"}
        if large:
            headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(data))}
        if name == "wrong" and large:
            data = b"W" + data[1:]
        begin = int((self.headers.get("Range") or "bytes=0-").split("=")[1].split("-")[0])
        self.send(206 if begin else 200, data[begin:], headers, cut=name == "cut" and large)

    def describe(self, name, what, revision):
        if name not in ("whole", "pickled", "gated", "wrong", "cut"):
            return self.fail(404, "RepoNotFound")
        if name == "gated":
            return self.fail(403, "GatedRepo")
        if revision not in ("main", "v1", COMMIT):
            return self.fail(404, "RevisionNotFound")
        files = self.files(name)
        if what == "revision":
            found = {"id": f"owner/{name}", "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]}
        else:
            found = [
                {"type": "file", "path": file, "size": len(data), "oid": digest(data, False)}
                | (
                    {"lfs": {"oid": digest(data, True), "size": len(data), "pointerSize": 130}}
                    if file.endswith(".safetensors")
                    else {}
                )
                for file, data in files.items()
            ]
        self.send(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    def files(self, name):
        return PICKLED if name == "pickled" else FILES

    def fail(self, status, code):
        self.send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def send(self, status, data, headers, cut=False):
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[: len(data) // 2] if cut else data)


def digest(data, large):
    return hashlib.sha256(data).hexdigest() if large else hashlib.sha1(data).hexdigest()


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def get(server, tmp_path):
    """Runs `lisax models get` in a fresh process, whose cache is empty at first."""
    environment = os.environ | {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }

    def run(reference, **more):
        return subprocess.run(
            [sys.executable, "-m", "lisax", "models", "get", reference],
            env=environment | more,
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


@pytest.mark.parametrize(
    "reference, said",
    [
        ("hf:owner/none", "the Hub has no model 'owner/none', or it is private"),
        ("hf:owner/gated", "is gated: accept its terms at"),
        ("hf:owner/whole@v9", "'owner/whole' has no revision 'v9'"),
        ("hf:owner/pickled", "has no weights in safetensors"),
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
