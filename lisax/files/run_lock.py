"""One process at a time in the folder of a run: a second one would write over the first one's files."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lisax.errors import LisaxError
from lisax.files.places import create, exists, is_remote, place

LOCK = (
    ".lock"  # as of an index (`retrieval/folder.py`); the system lets go of it when its process ends, however it ends
)
# Nobody lets go of an object of a process that was killed: it says that it lives, and is dead when it has not for long.
BEAT_SECONDS, DEAD_SECONDS = 15, 60


@contextlib.contextmanager
def alone_in(folder: str | os.PathLike) -> Iterator[None]:
    """Makes the folder where it is missing; an error where another process is in it: at once, or of a bucket as soon as
    the other one is seen to live."""
    folder = place(folder)
    with _alone_in_bucket(folder) if is_remote(folder) else _alone_on_disk(folder):
        yield


@contextlib.contextmanager
def _alone_on_disk(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(folder) from None
        yield


def _taken(folder: Path) -> LisaxError:
    return LisaxError(
        f"{folder}: another process is at work in this folder; wait for it or stop it, or give another folder"
    )


@contextlib.contextmanager
def _alone_in_bucket(folder: Path) -> Iterator[None]:
    path, me = folder / LOCK, secrets.token_hex(8)
    beats = 0

    def content() -> bytes:
        return json.dumps(
            {"id": me, "machine": _machine(), "pid": os.getpid(), "started": _started(os.getpid()), "beat": beats}
        ).encode()

    while not create(path, content()):
        if (seen := _read(path)) is not None:
            _wait_for_death(folder, path, seen)
            if _read(path) == seen:
                path.unlink(missing_ok=True)
    done = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not done.wait(BEAT_SECONDS):
            with contextlib.suppress(Exception):  # the network may be back at the next beat
                if (_read(path) or {}).get("id") != me:
                    _lost(folder)
                beats += 1
                path.write_bytes(content())

    thread = threading.Thread(target=beat, name="lisax-lock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if (_read(path) or {}).get("id") == me:
            path.unlink(missing_ok=True)


def _read(path: Path) -> dict | None:
    """What the lock says; None where it is gone. Of something else than a lock {}."""
    if not exists(path):
        return None
    try:
        found = json.loads(path.read_text())
        return found if isinstance(found, dict) else {}
    except FileNotFoundError:
        return None
    except ValueError:
        return {}


def _wait_for_death(folder: Path, path: Path, seen: dict) -> None:
    """Returns when who wrote the lock is dead: at once where it was a process of this machine."""
    if seen.get("machine") == _machine() is not None:
        if seen.get("started") == _started(seen.get("pid")) is not None:
            raise _taken(folder)
        return
    deadline = time.monotonic() + DEAD_SECONDS
    while time.monotonic() < deadline:
        time.sleep(1)
        if (now := _read(path)) is None:
            return
        if now != seen:
            raise _taken(folder)


@functools.cache
def _machine() -> str | None:
    """Within which a number means one process, since it was started; None where the system does not say."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"


def _started(pid: Any) -> str | None:
    """When a process of this machine began, which another one of the same number did not; None where there is none."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[19]


def _lost(folder: Path) -> None:
    """Another process took this one, which the network had kept from its bucket, for dead, and goes on in its place."""
    os.write(2, f"lisax: {_taken(folder)}\n".encode())
    os._exit(1)
