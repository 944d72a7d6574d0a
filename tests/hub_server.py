"""A server that speaks the Hub's protocol as far as its client asks, for tests on this machine."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "a" * 40


class Hub(BaseHTTPRequestHandler):
    """The server's `repositories`, NAME -> file -> bytes, under any owner. `gated`, `wrong` whose weights are others, and
    `cut` that breaks off behave as they are called."""

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
        if name not in self.server.repositories:
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
        return self.server.repositories[name]

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


@contextlib.contextmanager
def serving(repositories: Mapping[str, Mapping[str, bytes]]) -> Iterator[ThreadingHTTPServer]:
    """The server while it runs; `asked` are the requests that it had."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        server.repositories, server.asked = repositories, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def environment(server: ThreadingHTTPServer, home: Path) -> dict[str, str]:
    """What points the Hub's client at the server, with a cache of its own."""
    return {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }


def files_of(folder: Path) -> dict[str, bytes]:
    """A folder's files as a repository has them."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
