"""Unpacking what others packed, without trust: nothing is written outside the folder, and no link is made."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lisax.records import DataError


def unpack(archive, folder, *, inside: str = "") -> list[Path]:
    """Unpacks a .zip or .tar(.gz) into `folder` and returns the files made, or raises `DataError` and makes none.

    With `inside`, only what lies in that top folder of the archive is unpacked, without the folder itself.
    Refused: absolute names, `..`, links and devices, more bytes than the disk has. The helper files of a Mac
    (`__MACOSX/`, `._*`) are left out. Files appear under their names only when all of them are unpacked.
    """
    archive, folder = Path(archive), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpack-", dir=folder) as work:
        made: dict[PurePosixPath, Path] = {}
        try:
            with _told_of(archive):
                for name, source in _members(archive, shutil.disk_usage(folder).free):
                    if inside:
                        if name.parts[0] != inside or len(name.parts) == 1:
                            continue
                        name = PurePosixPath(*name.parts[1:])
                    if name in made:
                        raise DataError(f"the archive holds {str(name)!r} twice", path=archive)
                    made[name] = Path(work, *name.parts)
                    made[name].parent.mkdir(parents=True, exist_ok=True)
                    with made[name].open("xb") as file:
                        shutil.copyfileobj(source, file, 1 << 20)
                for name, unpacked in made.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    os.replace(unpacked, folder / name)
        except OSError as error:
            raise DataError(f"cannot be unpacked into {folder}: {error.strerror or error}", path=archive) from None
    return [folder / name for name in made]


def read_files(archive, *, largest_bytes: int = 1 << 28) -> Iterator[tuple[PurePosixPath, bytes]]:
    """(name, content) of each file of a .zip or .tar(.gz), one in memory at a time and none on disk.

    Refuses what `unpack` refuses, and a file of more than `largest_bytes`, with a `DataError`.
    """
    archive = Path(archive)
    seen: set[PurePosixPath] = set()
    try:
        with _told_of(archive):
            for name, source in _members(archive, sys.maxsize):
                if name in seen:
                    raise DataError(f"the archive holds {str(name)!r} twice", path=archive)
                seen.add(name)
                content = source.read(largest_bytes + 1)
                if len(content) > largest_bytes:
                    raise DataError(f"the archive holds {str(name)!r} of more than {largest_bytes:,} bytes",
                                    path=archive)
                yield name, content
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=archive) from None


def read_folder(path, suffix: str) -> Iterator[tuple[Path, bytes]]:
    """(path, content) of the files with this suffix in a folder, by name, or in an archive (see `read_files`), in its
    order; the path of a file in an archive goes on from the archive's own."""
    path = Path(path)
    if not path.is_dir():
        for name, content in read_files(path):
            if name.suffix == suffix:
                yield path / name, content
        return
    for file in sorted(path.glob(f"*{suffix}")):
        try:
            content = file.read_bytes()
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", path=file) from None
        yield file, content


@contextlib.contextmanager
def _told_of(archive: Path) -> Iterator[None]:
    """What a broken archive makes its library raise becomes a `DataError`."""
    try:
        yield
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"the archive is broken or encrypted: {error}", path=archive) from None


def _members(archive: Path, free_bytes: int) -> Iterator[tuple[PurePosixPath, BinaryIO]]:
    """(safe name, open file) of each regular file, in the archive's order."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            infos = [info for info in file.infolist() if not info.is_dir() and not _of_a_mac(info.filename)]
            for info in infos:
                if (info.external_attr >> 16) & 0o170000 == 0o120000:
                    raise DataError(f"the archive holds a link, {info.filename!r}", path=archive)
            _fits(archive, sum(info.file_size for info in infos), free_bytes)
            for info in infos:
                name = _safe(archive, info.filename)
                with file.open(info) as source:
                    yield name, source
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as file:
            unpacked_bytes = 0
            for info in file:
                if info.isdir() or _of_a_mac(info.name):
                    continue
                if not info.isreg():
                    raise DataError(f"the archive holds a link or a device, {info.name!r}", path=archive)
                unpacked_bytes += info.size
                _fits(archive, unpacked_bytes, free_bytes)
                yield _safe(archive, info.name), file.extractfile(info)
    else:
        raise DataError("neither a zip nor a tar archive", path=archive)


def _safe(archive: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name or path.parts[0].endswith(":"):
        raise DataError(f"the archive holds an unsafe name, {name!r}", path=archive)
    return path


def _of_a_mac(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and (parts[0] == "__MACOSX" or parts[-1].startswith("._"))


def _fits(archive: Path, unpacked_bytes: int, free_bytes: int) -> None:
    if unpacked_bytes > free_bytes:
        raise DataError(f"unpacked it has {unpacked_bytes:,} bytes, and the disk has {free_bytes:,} left",
                        path=archive)
