"""A server that speaks the Hub's protocol as far as its client asks, for tests on this machine."""

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT, PROPOSED = "a" * 40, "b" * 40  # of main, and of the pull request on it


class Hub(BaseHTTPRequestHandler):
    """The server's `repositories`, NAME -> file -> bytes, under any owner, with what the Hub's converter proposes for them
    (`proposals`); `tampered`, NAME -> what makes (status, headers, body) of (request path, headers, body). `gated`, `wrong` whose weights are others, and
    `cut` that breaks off behave as they are called."""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        if path.startswith("/api/models/"):
            _, name, what, *revision = path.removeprefix("/api/models/").split("/", 3)
            return self.describe(name, what, *revision)
        _, name, _, commit, file = [*path.lstrip("/").split("/", 4), "", "", ""][:5]
        if commit not in (COMMIT, PROPOSED):
            return self.fail(404, "EntryNotFound")
        data = self.files(name, commit)[file]
        large = file.endswith(".safetensors")
        headers = {"X-Repo-Commit": commit, "ETag": f'"{digest(data, large)}"', "Accept-Ranges": "bytes"}
        if large:
            headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(data))}
        if name == "wrong" and large:
            data = b"W" + data[1:]
        begin = int((self.headers.get("Range") or "bytes=0-").split("=")[1].split("-")[0])
        self.send(206 if begin else 200, data[begin:], headers, cut=name == "cut" and large)

    def describe(self, name, what, revision=""):
        if name not in self.server.repositories:
            return self.fail(404, "RepoNotFound")
        if name == "gated":
            return self.fail(403, "GatedRepo")
        if what == "discussions":
            return self.send_json(self.discussions(name))
        if revision not in ("main", "v1", "refs/pr/1", COMMIT, PROPOSED):
            return self.fail(404, "RevisionNotFound")
        commit = PROPOSED if revision in ("refs/pr/1", PROPOSED) else COMMIT
        if what == "commits":
            history = [COMMIT] if commit == COMMIT else [PROPOSED, self.server.based_on.get(name, COMMIT)]
            about = {"title": "", "message": "", "date": "2023-01-01T00:00:00.000Z", "authors": []}
            return self.send_json([about | {"id": one} for one in history])
        files = self.files(name, commit)
        if what == "revision":
            found = {"id": f"owner/{name}", "sha": commit, "siblings": [{"rfilename": file} for file in files]}
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
        self.send_json(found)

    def discussions(self, name):
        found = [
            {
                "title": "Adding `safetensors` variant of this model",
                "num": 1,
                "author": {"name": "SFconvertbot"},
                "createdAt": "2023-01-01T00:00:00.000Z",
                "status": "open",
                "repo": {"name": f"owner/{name}", "type": "model"},
                "isPullRequest": True,
            }
        ]
        found = found if name in self.server.proposals else []
        return {"discussions": found, "count": len(found), "start": 0}

    def files(self, name, commit):
        return (self.server.proposals if commit == PROPOSED else self.server.repositories)[name]

    def send_json(self, found):
        self.send(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    def fail(self, status, code):
        self.send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def send(self, status, data, headers, cut=False):
        headers = {"Content-Length": str(len(data))} | headers
        if tamper := self.server.tampered.get(re.split("[/?]", self.path.replace("/api/models", ""))[2]):
            status, headers, data = tamper(self.path, headers, data) or (status, headers, data)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data[: len(data) // 2] if cut else data)


def digest(data, large):
    return hashlib.sha256(data).hexdigest() if large else hashlib.sha1(data).hexdigest()


@contextlib.contextmanager
def serving(
    repositories: Mapping[str, Mapping[str, bytes]], proposals: Mapping[str, Mapping[str, bytes]] | None = None
) -> Iterator[ThreadingHTTPServer]:
    """The server while it runs; `asked` are the requests that it had, and `based_on` names commits other than
    main's that a proposal stands on."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        server.repositories, server.proposals = repositories, proposals or {}
        server.based_on, server.asked, server.tampered = {}, [], {}
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
