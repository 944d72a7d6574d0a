"""Paths of files on this machine or in a bucket (`gs://BUCKET/…`).

`place` is the one function that turns user input into a path. Verbs that work on a bucket take `place` (to read and
write there) or `fetched` (to read a copy); all others take `local`, which refuses a bucket at once.

A bucket has objects but no folders, and nothing in it can be renamed. Objects appear only when complete, so a file
needs no more than one upload. For several objects that belong together, one is written last and removed first, and they
count only while it exists: `COMMITS` are the names of such objects.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lisax.errors import LisaxError

SCHEME = "gs://"
COMMIT_NAME = "commit_success.txt"  # Orbax's, for a `state` in a bucket
COMMITS = (COMMIT_NAME, "checkpoint", "model.safetensors", "model.safetensors.index.json")
_EMULATOR = ("STORAGE_EMULATOR_HOST", "TENSORSTORE_GCS_HTTP_URL")  # of gcsfs, and of tensorstore


def is_remote(path: str | os.PathLike) -> bool:
    return os.fspath(path).startswith(SCHEME)


def place(path: str | os.PathLike) -> Path:
    """The path on this machine or, for `gs://BUCKET/…`, in a bucket, with pathlib's methods (`etils.epath`).

    Raises LisaxError for other addresses and for one that has lost a slash: neither may become a local folder."""
    text = _checked(path)
    return _epath().Path(text) if is_remote(text) else Path(path)


def _checked(path: str | os.PathLike) -> str:
    text = os.fspath(path)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", text) and not re.match(r"gs://[a-z0-9][a-z0-9._-]+[a-z0-9](/|$)", text):
        raise LisaxError(
            f"'{text}' is not read and not written: expected a path of this machine, or gs://BUCKET/FOLDER"
        )
    return text


def local(path: str | os.PathLike) -> Path:
    """A path on this machine. Raises LisaxError for a bucket."""
    text = _checked(path)
    if is_remote(text):
        raise LisaxError(
            f"'{text}' is in a bucket, which this does not work on: give a path of this machine (train, eval, infer, "
            f"export, checkpoint, models show, run, rerank and verify take {SCHEME}…)"
        )
    return Path(path)


def target(path: str | os.PathLike, at: Callable[[str], Path] = local) -> Path:
    """The path of a file to write; of a link the file that it names. Raises LisaxError for a folder, a device or a pipe,
    which the finished file would replace."""
    found = at(path)
    if is_remote(found):
        return found
    if found.is_dir():
        raise LisaxError(f"{found} is a folder: name a file to write")
    if found.exists() and not found.is_file():
        raise LisaxError(f"{found} is a device or a pipe, which would be replaced: name a file to write")
    return found.resolve() if found.is_symlink() else found


def is_cluster(path: str | os.PathLike) -> bool:
    """Whether this is the address of an index of a cluster, see `lisax.retrieval.cluster`."""
    return isinstance(path, str) and re.match(r"(opensearch\+)?https?://", path) is not None


def index_at(path: str, read: Callable[[str], Path] = local) -> Path | str:
    """The folder of an index, which `read` returns, or the address of one of a cluster."""
    return path if is_cluster(path) else read(path)


def fetched(path: str | os.PathLike) -> Path:
    """A local path with the content of a file or folder: the path itself, or a copy that exists until this process
    ends. Copies have the bucket's modification times, so that `fingerprint` changes only with the content."""
    found = place(path)
    return _copy(os.fspath(found)) if is_remote(found) else found


@functools.cache
def _copy(text: str) -> Path:
    source, target = place(text), Path(_scratch()) / text.removeprefix(SCHEME)
    found = listing(source)
    if not found:
        raise LisaxError(f"there is nothing at {text}")
    for name, (_, changed) in found.items():
        fetch(source / name if name else source, target / name if name else target, changed)
    return target


def origin(path: str | os.PathLike) -> str | None:
    """The address (`gs://…`) of a place in a bucket, or of a copy made by `fetched`; None for other paths."""
    text = os.fspath(path)
    if is_remote(text):
        return text
    copied = _scratch.cache_info().currsize and Path(text).is_relative_to(_scratch())
    return SCHEME + Path(text).relative_to(_scratch()).as_posix() if copied else None


@functools.cache
def _scratch() -> str:
    import atexit

    folder = tempfile.mkdtemp(prefix="lisax-bucket-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def absolute(path: Path) -> Path:
    """Returns `Path.absolute`; a place in a bucket is unchanged."""
    return path if is_remote(path) else path.absolute()


def cache_folder() -> Path:
    """The folder of files that can be fetched or built again: $LISAX_CACHE, or `lisax` in $XDG_CACHE_HOME or
    ~/.cache."""
    if os.environ.get("LISAX_CACHE"):
        return Path(os.environ["LISAX_CACHE"])
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative path is to be ignored, as the XDG specification has it.
    return (given if given.is_absolute() else Path.home() / ".cache") / "lisax"


def exists(path: Path) -> bool:
    """Whether there is a file or a folder, which in a bucket is any object below it."""
    with telling(path):
        return path.exists()


# --- Files and folders in a bucket -----------------------------------------------------------------------------------


def listing(path: Path) -> dict[str, tuple[int, int]]:
    """{name within `path`: (bytes, modification time in ns)} of the objects below a place in a bucket; the name of an
    object itself is ''."""
    with telling(path):
        try:
            found = _system().find(os.fspath(path), detail=True)
        except FileNotFoundError:
            found = {}
    root = os.fspath(path).removeprefix(SCHEME).rstrip("/")
    return {
        name.removeprefix(root).removeprefix("/"): (int(info["size"]), _nanoseconds(info))
        for name, info in sorted(found.items())
    }


def _nanoseconds(info: dict[str, Any]) -> int:
    import datetime

    changed = info.get("mtime") or info["updated"]
    if isinstance(changed, str):
        changed = datetime.datetime.fromisoformat(changed.replace("Z", "+00:00"))
    return int(changed.timestamp() * 1_000_000) * 1000


def fetch(source: Path, target: Path, changed: int) -> None:
    """Downloads an object atomically, with its modification time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.partial")
    with telling(source):
        _system().get_file(os.fspath(source), os.fspath(beside))
    os.utime(beside, ns=(changed, changed))
    os.replace(beside, target)


def send(source: Path, target: Path) -> None:
    """Uploads a file."""
    with telling(target):
        _system().put_file(os.fspath(source), os.fspath(target))


def send_folder(source: Path, target: Path) -> None:
    """Uploads a folder; the files that mark it as complete come last."""
    files = [file for file in source.rglob("*") if file.is_file()]
    for file in sorted(files, key=lambda file: (file.name in COMMITS, file.name == COMMIT_NAME)):
        send(file, target / file.relative_to(source).as_posix())


def remove_tree(path: Path) -> None:
    """Removes a folder; in a bucket the objects that mark it as complete are removed first, so that no partial folder
    counts."""
    if not is_remote(path):
        shutil.rmtree(path)
        return
    names = sorted(listing(path), key=lambda name: name.rpartition("/")[2] not in COMMITS)
    with telling(path):
        for name in names:
            _system().rm_file(os.fspath(path / name if name else path))


@contextlib.contextmanager
def uploading(path: Path, mode: str) -> Iterator[Any]:
    """Yields a file to write, which is uploaded as the object `path` when it is complete."""
    with tempfile.TemporaryDirectory(prefix="lisax-bucket-") as scratch:
        beside = Path(scratch) / "content"
        with beside.open(mode, **({} if "b" in mode else {"encoding": "utf-8", "newline": "\n"})) as file:
            yield file
        send(beside, path)


class GrowingFile:
    """A file to append lines to (`file`): on this machine at `path`; for a bucket, `sync` uploads it as a whole."""

    def __init__(self, path: Path, mode: str):
        self.path, self._remote = path, is_remote(path)
        if self._remote:
            self._local = Path(tempfile.mkdtemp(prefix="growing-", dir=_scratch())) / path.name
            if "a" in mode and exists(path):
                self._local.write_bytes(path.read_bytes())
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._local = path
        self.file = self._local.open(mode, **({} if "b" in mode else {"encoding": "utf-8"}))

    def sync(self) -> None:
        self.file.flush()
        if self._remote:
            send(self._local, self.path)

    def close(self) -> None:
        try:
            if not self.file.closed:
                self.sync()
        finally:
            self.file.close()


# --- The libraries ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def telling(path: str | os.PathLike) -> Iterator[None]:
    """Turns errors of a bucket into LisaxError; errors on this machine are left as they are."""
    try:
        yield
    except LisaxError:
        raise
    except Exception as error:  # of gcsfs, aiohttp, google-auth and the system
        if not is_remote(path):
            raise
        why = (
            "no such bucket or object"
            if isinstance(error, FileNotFoundError)
            else (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        )
        raise LisaxError(
            f"{os.fspath(path)} could not be reached: {why}. Check the name of the bucket, the network and "
            "the credentials (`gcloud auth application-default login`, or those of the machine)"
        ) from error


@functools.cache
def _epath() -> Any:
    """etils.epath over gcsfs."""
    if os.environ.get(_EMULATOR[0]):
        os.environ.setdefault(_EMULATOR[1], os.environ[_EMULATOR[0]])
    try:
        import fsspec
        import gcsfs  # noqa: F401
        from etils import epath
    except ImportError as error:
        raise LisaxError(f"{SCHEME}… needs gcsfs, which is not installed ({error}): pip install 'lisax[gcs]'") from None
    # A listings cache would miss objects of other hosts.
    fsspec.config.conf["gcs"] = {"use_listings_cache": False, **fsspec.config.conf.get("gcs", {})}
    fsspec.config.conf["gs"] = fsspec.config.conf["gcs"]
    return epath


def _system() -> Any:
    import fsspec

    _epath()
    return fsspec.filesystem("gcs", finalize_on_close=True)  # the client of epath
