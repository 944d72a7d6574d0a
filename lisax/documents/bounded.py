"""Reads files in a process of its own, which has little memory and time: the caller survives any file.

The process takes one line of JSON a file on standard input and answers with one on standard output. It is started for
the first file, and again after a file that ended it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lisax.documents.blocks import TOO_LARGE, Block, Document, Kind, Unread
from lisax.documents.grid import LIMITS, TableLimits
from lisax.documents.reading import is_bounded, named, read

MEMORY = 2 << 30  # bytes of the process
ANSWER = 128 << 20  # bytes of a document as JSON
SECONDS = 60  # of the processor, for one file; twice that may pass on the clock


class Reader:
    """Reads files one after the other; a context manager. With `bounded`, files of every type are read in the process,
    by default only those whose readers promise no bounds (Office files, PDF). `all_seconds`: the time for all files."""

    def __init__(
        self,
        limits: TableLimits = LIMITS,
        *,
        bounded: bool = False,
        memory: int = MEMORY,
        seconds: int = SECONDS,
        all_seconds: float = float("inf"),
    ):
        self.limits, self.bounded, self.memory, self.seconds = limits, bounded, memory, seconds
        self._until = time.monotonic() + all_seconds
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_) -> None:
        self._end()

    def read(self, path: Path | str, name: str = "") -> Document:
        """See `reading.read`. Raises Unread as well for a file that takes more memory or time than the bounds."""
        path = Path(path)
        if time.monotonic() > self._until:
            raise Unread("too late", "the files before it took all the time", path=path)
        if not (self.bounded or is_bounded(path)):
            return read(path, name, self.limits)
        if self._process is None or self._process.poll() is not None:
            self._start()
        request = json.dumps({"path": os.fspath(path.absolute()), "name": name or path.name})
        try:
            self._process.stdin.write(request.encode() + b"\n")
            self._process.stdin.flush()
            answer = self._answer()
        except (BrokenPipeError, json.JSONDecodeError):
            answer = None
        if answer is None:
            code = self._end()
            bound = f"it takes more than {self.seconds} s"
            if code not in (-signal.SIGXCPU, -signal.SIGKILL):
                bound = f"it is damaged, or takes more than {self.memory >> 20:,} MiB of memory"
            raise Unread(TOO_LARGE, bound, path=path)
        found = from_json(answer, path, name or path.name)
        if isinstance(found, Unread):
            if found.why == TOO_LARGE:
                self._end()  # its memory may still be full
            raise found
        return found

    def _start(self) -> None:
        settings = {"memory": self.memory, "seconds": self.seconds, "limits": dataclasses.asdict(self.limits)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        os.set_blocking(self._process.stdout.fileno(), False)

    def _answer(self) -> dict[str, Any] | None:
        """The next line of the process; None if it ended, or does not answer in time."""
        pieces: list[bytes] = []
        size = 0
        end = time.monotonic() + 2 * self.seconds
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while (left := end - time.monotonic()) > 0:
                if not ready.select(left):
                    break
                piece = self._process.stdout.read1(1 << 20)
                if not piece:
                    return None
                pieces.append(piece)
                size += len(piece)
                if size > ANSWER:
                    break
                if piece.endswith(b"\n"):
                    return json.loads(b"".join(pieces))
        return None

    def _end(self) -> int | None:
        """Ends the process; returns its exit status, if it had ended."""
        if self._process is None:
            return None
        process, self._process = self._process, None
        process.stdin.close()
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        finally:
            process.stdout.close()


def to_json(found: Document | Unread) -> dict[str, Any]:
    """Writes a document, or the reason why a file is not read, as plain data."""
    return {"why": found.why, "detail": found.detail} if isinstance(found, Unread) else dataclasses.asdict(found)


def from_json(answer: dict[str, Any], path: Path, name: str) -> Document | Unread:
    """Reads the value of `to_json`, of the file at `path`, which may have another `name` now."""
    if "why" in answer:
        return Unread(answer["why"], answer["detail"], path=path)
    blocks = tuple(map(_block, answer["blocks"]))
    title = named(name) if answer["title"] == named(answer["name"]) else answer["title"]
    return Document(name, title, blocks, tuple(map(tuple, answer["notes"])))


def _block(found: dict[str, Any]) -> Block:
    kind, header, rows = Kind(found["kind"]), tuple(found["header"]), tuple(map(tuple, found["rows"]))
    return Block(**found | {"kind": kind, "header": header, "rows": rows})


def main() -> int:
    """Answers requests on standard input until it ends."""
    settings = json.loads(sys.argv[1])
    limits = TableLimits(**settings["limits"])
    resource.setrlimit(resource.RLIMIT_AS, (settings["memory"], settings["memory"]))
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # libraries print there
    for line in sys.stdin:
        request = json.loads(line)
        end = int(time.process_time()) + settings["seconds"]
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        try:
            answer = to_json(read(request["path"], request["name"], limits))
        except Unread as error:
            answer = to_json(error)
        out.write(json.dumps(answer) + "\n")
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
