"""Answers of the Hub, or of a server in its place, to its client: read with bounds, and only checked values are passed
on.

The client makes paths of its cache from ETags, commits and names of files, and trusts the shape of all JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from lisax.files.reading import get_field
from lisax.files.remote import AnswerError, Bounds, bounded, parse

DESCRIPTIONS = Bounds(seconds=10, size=16 << 20)  # a repository of 10,000 files has 3 MB of them
FILES = Bounds(seconds=30, size=1 << 40, bytes_per_second=10_000)
MOST_DESCRIPTIONS = 100  # of one model
SILENCE = 10.0  # seconds
_HEX = re.compile(r"[0-9a-f]{32,64}")
_WAITS = ("retry-after", "ratelimit")  # headers by which a server chooses how long the client sleeps


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """While it is open, the client checks the answers that it receives. Raises AnswerError for an answer that cannot be
    the Hub's."""
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils import _http

    class Checked(_http.httpx2.SyncByteStream):
        def __init__(self, chunks: Iterator[bytes], close: Callable[[], None]):
            self._chunks, self.close = chunks, close

        def __iter__(self) -> Iterator[bytes]:
            yield from self._chunks

    described, sizes, usual = 0, {}, _http._GLOBAL_CLIENT_FACTORY

    def check(response: Any) -> None:
        nonlocal described
        url, stream = str(response.url), response.stream
        _check_headers(response, url)
        if "/api/" not in response.url.path:
            response.stream = Checked(bounded(stream, _announced(response, sizes, url), url), stream.close)
            return
        if (described := described + 1) > MOST_DESCRIPTIONS:
            raise AnswerError(f"{url} describes the model in more than {MOST_DESCRIPTIONS} answers")
        content = b"".join(bounded(stream, DESCRIPTIONS, url))
        if response.status_code == 200 and response.request.method == "GET":
            content = _looked_at(content, response.url.path, url, sizes)
        response.stream = Checked(iter([content]), stream.close)

    def client() -> Any:
        made = usual()
        made.timeout, made.headers["Accept-Encoding"] = SILENCE, "identity"
        made.event_hooks = {**made.event_hooks, "response": [check]}
        return made

    set_client_factory(client)
    try:
        yield
    finally:
        set_client_factory(usual)


def _check_headers(response: Any, url: str) -> None:
    for name in _WAITS:
        response.headers.pop(name, None)
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise AnswerError(f"{url} answers in a packed form that it was not asked for")
    commit = response.headers.get("X-Repo-Commit")
    if commit is not None:
        _hex(commit, url, "X-Repo-Commit")
    # A file's name in the cache. Elsewhere, behind a redirect, ETags are of other forms.
    tag = response.headers.get("X-Linked-Etag") or response.headers.get("ETag")
    if tag is not None and response.request.method == "HEAD":
        _hex(tag.removeprefix("W/").strip('"'), url, "ETag")


def _announced(response: Any, sizes: dict[str, int], url: str) -> Bounds:
    """The bounds of a file's content, whose size is in the model's description."""
    size = sizes.get(re.sub(r".*?/resolve/[^/]+/", "", response.url.path), FILES.size)
    whole = "Content-Length" if response.status_code == 200 else ""
    found = response.headers.get("X-Linked-Size") or response.headers.get(whole, "0")
    if not found.isdecimal() or len(found) > 15 or int(found) > size:
        raise AnswerError(f"{url} sends {found[:20]} bytes of a file that has {size}")
    return dataclasses.replace(FILES, size=size)


def _looked_at(content: bytes, path: str, url: str, sizes: dict[str, int]) -> bytes:
    """The JSON of an answer, reduced to fields that were checked; `sizes` has those of files. Raises DataError for
    others."""
    what = re.fullmatch(r"/api/models/[^/]+/[^/]+(?:/(revision|tree|commits|discussions)(?:/.*)?)?", path)
    value: Any = parse(content, url)
    match what and what[1]:
        case "tree":
            value = [_file(row, url) for row in _rows(value, url)]
            sizes |= {row["path"]: row["lfs"]["size"] if "lfs" in row else row["size"] for row in value}
        case "commits":
            about = {"title": "", "message": "", "date": "2000-01-01T00:00:00.000Z", "authors": []}
            value = [about | {"id": _hex(_field(row, "id", str, url), url, "id")} for row in _rows(value, url)]
        case "discussions":
            value = _typed(value, dict, url)
            rows = [_discussion(row, url) for row in _rows(_field(value, "discussions", list, url), url)]
            value = {"discussions": rows, "count": len(rows), "start": 0}
        case "revision" | None if what:
            sha = _field(_typed(value, dict, url), "sha", str, url)
            value = {"id": "/".join(path.split("/")[3:5]), "sha": _hex(sha, url, "sha"), "siblings": []}
    return json.dumps(value).encode()


def _file(row: dict, url: str) -> dict:
    kind, path = _field(row, "type", str, url), _field(row, "path", str, url)
    if not path.isprintable() or "\\" in path or {"", ".", ".."} & set(path.split("/")):
        raise AnswerError(f"{url} names a file {path[:80]!r}, which is not a path in a repository")
    oid = _hex(_field(row, "oid", str, url), url, "oid")
    found = {"type": "directory" if kind == "directory" else "file", "path": path, "oid": oid}
    found["size"] = _size(row, url)
    if (lfs := row.get("lfs")) is not None:
        lfs = _typed(lfs, dict, url)
        sha256 = _hex(_field(lfs, "oid", str, url), url, "lfs.oid")
        found["lfs"] = {"oid": sha256, "size": _size(lfs, url), "pointerSize": 0}
    if (xet := row.get("xetHash")) is not None:
        found["xetHash"] = _hex(_typed(xet, str, url), url, "xetHash")
    return found


def _size(row: dict, url: str) -> int:
    size = _field(row, "size", int, url)
    if not 0 <= size <= FILES.size:
        raise AnswerError(f"{url} has a file of {size:.3g} bytes")
    return size


def _discussion(row: dict, url: str) -> dict:
    found = {name: _field(row, name, kind, url) for name, kind in (("title", str), ("num", int), ("status", str))}
    author = _field(_field(row, "author", dict, url, default={}), "name", str, url, default="deleted")
    pull = _field(row, "isPullRequest", bool, url)
    about = {"createdAt": "2000-01-01T00:00:00.000Z", "repo": {"name": "", "type": "model"}}
    return found | about | {"author": {"name": author}, "isPullRequest": pull}


def _rows(value: Any, url: str) -> list[dict]:
    return [_typed(row, dict, url) for row in _typed(value, list, url)]


def _typed(value: Any, kind: type, url: str) -> Any:
    return _field({"answer": value}, "answer", kind, url)


def _field(row: dict, name: str, kind: type, url: str, **options: Any) -> Any:
    return get_field(row, name, kind, path=url, line=None, **options)


def _hex(text: str, url: str, name: str) -> str:
    if not _HEX.fullmatch(text):
        raise AnswerError(f"{url} has '{text[:80]}' as {name}: expected 32 to 64 hexadecimal digits")
    return text
