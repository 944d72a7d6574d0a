"""Downloads files: resumable, verified, and visible under their names only when complete.

Not pooch, which starts again after an interruption and takes five times as long; urllib3's Retry gives up when a body
breaks off.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lisax.corpora import archives
from lisax.corpora.catalogue import Download, Entry
from lisax.errors import LisaxError
from lisax.files.writing import write_json

log = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20


class DownloadError(LisaxError):
    """A download did not finish; the received bytes stay for the next attempt."""


class _TryAgain(Exception):
    """An attempt failed that may succeed when repeated."""


@dataclasses.dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server (`timeout_seconds` of silence) and how often to retry."""

    timeout_seconds: float = 60.0
    retries: int = 5
    first_wait_seconds: float = 1.0


def download(
    url: str,
    destination,
    *,
    checksum: str | None = None,
    patience: Patience = Patience(),
    progress: Callable[[int, int | None], None] = lambda received, total: None,
) -> Path:
    """Downloads `url` to `destination`, which appears only when it is complete and its checksum is right.

    The bytes received before an interruption are in `{destination}.partial`; the download resumes from them if the
    server still has the same file (by its ETag or date). `progress(received, total)` is called with bytes. Raises
    `DownloadError`.
    """
    destination = Path(destination)
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = destination.with_name(destination.name + ".partial")
    failures = 0
    while True:
        received_before = _size(partial)
        try:
            _attempt(url, partial, checksum is not None, patience, progress)
            break
        except _TryAgain as error:
            failures = 0 if _size(partial) > received_before else failures + 1
            if failures > patience.retries:
                raise DownloadError(
                    f"{url}: {error}; check the connection and run the same command again, which resumes after "
                    f"{_size(partial):,} bytes, or download it by other means into {destination}"
                ) from None
            wait_seconds = min(patience.first_wait_seconds * 2**failures, 60.0)
            log.warning("%s: %s; trying again in %g s", url, error, wait_seconds)
            time.sleep(wait_seconds)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise DownloadError(f"{partial}: cannot be written: {error.strerror or error}") from None
            raise DownloadError(f"{partial}: the disk is full; make room and run the same command again") from None
    if checksum is not None and (found := _digest(partial, checksum.partition(":")[0])) != checksum:
        partial.unlink()
        _notes(partial).unlink(missing_ok=True)
        raise DownloadError(
            f"{url}: the checksum is wrong: expected {checksum}, found {found}; "
            "the received file is deleted, run the same command again"
        )
    os.replace(partial, destination)
    _notes(partial).unlink(missing_ok=True)
    return destination


def _attempt(url: str, partial: Path, checked: bool, patience: Patience, progress) -> None:
    """Sends one request: continues `partial` if that is safe, otherwise starts it again.

    It is safe if the server confirms that the file is the same, or if the checksum is verified afterwards.
    """
    import requests  # takes a tenth of a second, which `lisax --help` does not need
    import urllib3

    received = _size(partial)
    validator = _read_notes(partial).get(url) if received else None
    headers = {"Accept-Encoding": "identity", "User-Agent": "lisax"}
    if received and (validator or checked):
        headers["Range"] = f"bytes={received}-"
        if validator:
            headers["If-Range"] = validator
    try:
        with requests.get(url, headers=headers, stream=True, timeout=patience.timeout_seconds) as response:
            if response.status_code == 416 and response.headers.get("Content-Range") == f"bytes */{received}":
                return
            if response.status_code == 416:
                partial.unlink()
                raise _TryAgain("the server's file is not the file that was begun")
            if response.status_code in (408, 429) or response.status_code >= 500:
                raise _TryAgain(f"the server answers {response.status_code} {response.reason}")
            if response.status_code not in (200, 206):
                raise DownloadError(
                    f"{url}: the server answers {response.status_code} {response.reason}; "
                    "the file may have moved: see the dataset's homepage"
                )
            resumed = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(
                f"bytes {received}-"
            )
            if response.status_code == 206 and not resumed:
                partial.unlink()
                raise _TryAgain("the server sends another range than was asked for")
            received = received if resumed else 0
            length = response.headers.get("Content-Length", "")
            total = received + int(length) if length.isdigit() else None
            if not resumed:
                _note(partial, url, response.headers)
            with partial.open("ab" if resumed else "wb") as file:
                while chunk := response.raw.read(CHUNK_BYTES, decode_content=False):
                    file.write(chunk)
                    received += len(chunk)
                    progress(received, total)
                file.flush()
                os.fsync(file.fileno())
            if total is not None and received != total:
                raise _TryAgain(f"the connection ended after {received:,} of {total:,} bytes")
    except (
        requests.exceptions.InvalidURL,
        requests.exceptions.MissingSchema,
        requests.exceptions.InvalidSchema,
    ) as error:
        raise DownloadError(f"{url}: not an address that can be fetched: {error}") from None
    except requests.exceptions.ConnectionError:
        raise _TryAgain("the server cannot be reached") from None
    except requests.exceptions.Timeout:
        raise _TryAgain(f"the server is silent for {patience.timeout_seconds:g} seconds") from None
    except requests.exceptions.RequestException as error:
        raise _TryAgain(f"the request failed: {type(error).__name__}") from None
    except urllib3.exceptions.HTTPError:  # these pass through `response.raw`
        raise _TryAgain("the connection broke off") from None


def _notes(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _note(partial: Path, url: str, headers) -> None:
    """Stores the headers that show whether the server's file is still the same; weak ETags do not."""
    etag = headers.get("ETag", "")
    validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")
    partial.unlink(missing_ok=True)
    write_json(_notes(partial), {url: validator})


def _read_notes(partial: Path) -> dict:
    try:
        notes = json.loads(_notes(partial).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"


# --- Entries of the catalogue ----------------------------------------------------------------


def fetch(
    entry: Entry,
    folder,
    *,
    patience: Patience = Patience(),
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Iterator[str]:
    """Downloads, verifies and unpacks the missing files of `entry` in `folder`; yields a line for each file. Raises
    `LisaxError`."""
    folder = Path(folder)
    if not entry.files:
        raise LisaxError(f"{entry.name} cannot be fetched directly: {entry.note} ({entry.homepage})")
    if folder.exists() and not folder.is_dir():
        raise LisaxError(f"{folder}: expected a folder to fill, found a file")
    for file in entry.files:
        done = _marker(folder, file) if file.unpack else folder / file.name
        if done.is_file():
            yield f"{folder / file.name}: already there"
            continue
        tell = (lambda received, total, name=file.name: progress(name, received, total)) if progress else None
        path = folder / file.name
        if not path.is_file():
            download(file.url, path, checksum=file.checksum, patience=patience, **({"progress": tell} if tell else {}))
        if file.unpack:
            made = archives.unpack(path, folder, inside=file.inside)
            write_json(done, {"url": file.url, "files": len(made)})
            path.unlink()
            yield f"{path}: unpacked {len(made):,} files into {folder}"
        else:
            yield f"{path}: {path.stat().st_size:,} bytes"


def _marker(folder: Path, file: Download) -> Path:
    """The marker file of an archive that was unpacked and deleted."""
    return folder / f".{file.name}.unpacked.json"
