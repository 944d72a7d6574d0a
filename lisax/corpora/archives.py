"""Unpacks untrusted archives: nothing is written outside the folder, no links are created, and sizes are checked before
memory or disk is used."""

from __future__ import annotations

import bz2
import contextlib
import dataclasses
import gzip
import lzma
import os
import shutil
import struct
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lisax.errors import DataError
from lisax.files.reading import read_file
from lisax.records import is_text

# Tables and texts compress to a tenth, seldom to a thirtieth; higher ratios are built to fill memory or disk.
LARGEST_RATIO, LARGEST_UNRATED = 200, 1 << 27
LARGEST_MEMBER = 1 << 24  # bytes of a member that is read into memory
LARGEST_READ = 1 << 20  # bytes of a tar header, or of a part of a member
LONGEST_NAME, LONGEST_PART = 1_024, 255  # bytes, as in file systems
CHUNK_BYTES = 1 << 14  # compressed bytes passed to a zip's LZMA at once, which has no limit of its own
COMPRESSED_TARS = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    IndexError,
    KeyError,
    OverflowError,
    MemoryError,
)


def unpack(archive, folder, *, inside: str = "") -> list[Path]:
    """Unpacks a .zip or .tar(.gz|.bz2|.xz) into `folder` and returns the created files; on a `DataError` there are
    none.

    With `inside`, only the contents of that top folder of the archive are unpacked, without the folder itself. Refused:
    absolute names, `..`, links and devices, more bytes than the disk has or than such an archive can contain. The
    helper files of macOS (`__MACOSX/`, `._*`) are left out. Files appear under their names only when all of them are
    unpacked.
    """
    archive, folder = Path(archive), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpack-", dir=folder) as work:
        made: dict[PurePosixPath, Path] = {}
        try:
            with _told_of(archive):
                for name, source, _ in _members(archive, shutil.disk_usage(folder).free):
                    if inside:
                        if name.parts[0] != inside or len(name.parts) == 1:
                            continue
                        name = PurePosixPath(*name.parts[1:])
                    if name in made:
                        raise DataError(f"the archive holds {str(name)!r} twice", path=archive)
                    made[name] = Path(work, *name.parts)
                    made[name].parent.mkdir(parents=True, exist_ok=True)
                    with made[name].open("xb") as file:
                        shutil.copyfileobj(source, file, CHUNK_BYTES)
                for name, unpacked in made.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    os.replace(unpacked, folder / name)
        except OSError as error:
            raise DataError(f"cannot be unpacked into {folder}: {error.strerror or error}", path=archive) from None
    return [folder / name for name in made]


def read_files(
    archive, *, suffix: str = "", largest_bytes: int = LARGEST_MEMBER
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yields (name, content) of each file of a .zip or .tar(.gz|.bz2|.xz) whose name ends in `suffix`, one in memory at
    a time and none on disk.

    Raises `DataError` for archives that `unpack` refuses, and for a file of more than `largest_bytes`.
    """
    archive = Path(archive)
    seen: set[PurePosixPath] = set()
    try:
        with _told_of(archive):
            for name, source, size in _members(archive, sys.maxsize):
                if name in seen:
                    raise DataError(f"the archive holds {str(name)!r} twice", path=archive)
                seen.add(name)
                if not name.name.endswith(suffix):
                    continue
                if size > largest_bytes:
                    raise DataError(
                        f"the archive holds {str(name)!r} of more than {largest_bytes:,} bytes", path=archive
                    )
                yield name, b"".join(iter(lambda: source.read(CHUNK_BYTES), b""))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=archive) from None


def read_folder(path, suffix: str) -> Iterator[tuple[Path, bytes]]:
    """Yields (path, content) of the files with this suffix: in a folder by name, in an archive (see `read_files`) in
    its order; the path of a file in an archive starts with the archive's."""
    path = Path(path)
    if not path.is_dir():
        for name, content in read_files(path, suffix=suffix):
            if name.suffix == suffix:
                yield path / name, content
        return
    for file in sorted(path.glob(f"*{suffix}")):
        yield file, read_file(file, LARGEST_MEMBER)


@contextlib.contextmanager
def _told_of(archive: Path) -> Iterator[None]:
    """Turns the exceptions that a library raises for a broken archive into `DataError`."""
    try:
        yield
    except BROKEN as error:
        raise DataError(f"the archive is broken or encrypted: {error}", path=archive) from None


def _members(archive: Path, free_bytes: int) -> Iterator[tuple[PurePosixPath, BinaryIO, int]]:
    """(safe name, open file, bytes) of each regular file, in the archive's order; together they fit into
    `free_bytes`."""
    room = _Room(archive, max(LARGEST_UNRATED, LARGEST_RATIO * archive.stat().st_size), free_bytes)
    if zipfile.is_zipfile(archive):
        yield from _zipped(archive, room)
        return
    with archive.open("rb") as file:
        magic = file.read(6)
    opened = next((opened for start, opened in COMPRESSED_TARS if magic.startswith(start)), open)
    with opened(archive, "rb") as file:
        yield from _tarred(archive, _Stream(file, room), room)


def _zipped(archive: Path, room: _Room) -> Iterator[tuple[PurePosixPath, BinaryIO, int]]:
    with zipfile.ZipFile(archive) as file:
        infos = [info for info in file.infolist() if not (info.filename.endswith("/") or _of_a_mac(info.filename))]
        for info in infos:
            if (info.external_attr >> 16) & 0o170000 == 0o120000:
                raise DataError(f"the archive holds a link, {info.filename!r:.80}", path=archive)
            if info.compress_type == zipfile.ZIP_BZIP2:  # 16 kB of it may be gigabytes, unpacked at once
                raise DataError(
                    f"{info.filename!r:.80} is compressed with bzip2, which is not read in a zip: pack it again "
                    "with zip's default compression",
                    path=archive,
                )
        room.check(sum(info.file_size for info in infos))
        for info in infos:
            name = _safe(archive, info.filename)
            with file.open(info) as source:
                yield name, source, info.file_size


def _tarred(archive: Path, stream: _Stream, room: _Room) -> Iterator[tuple[PurePosixPath, BinaryIO, int]]:
    try:
        file = tarfile.open(fileobj=stream, mode="r:")  # noqa: SIM115, streams have nothing to close
    except tarfile.ReadError:
        raise DataError("neither a zip nor a tar archive that can be read", path=archive) from None
    unpacked_bytes = 0
    while (info := file.next()) is not None:
        file.members.clear()  # kept by tarfile for lookups by name
        if info.isdir() or _of_a_mac(info.name):
            continue
        if not info.isreg():
            raise DataError(f"the archive holds a link or a device, {info.name!r:.80}", path=archive)
        unpacked_bytes += info.size
        room.check(unpacked_bytes)
        yield _safe(archive, info.name), file.extractfile(info), info.size
    stream.seek(file.offset)
    if stream.read(tarfile.BLOCKSIZE).strip(b"\0"):  # tarfile takes an invalid header for the end
        raise DataError(f"the archive is broken: byte {file.offset:,} begins no member", path=archive)


@dataclasses.dataclass(frozen=True, slots=True)
class _Room:
    """The number of bytes that may be unpacked: bounded by the archive's own size and by the free disk space."""

    archive: Path
    most_bytes: int
    free_bytes: int

    def check(self, unpacked_bytes: int) -> None:
        if unpacked_bytes > self.most_bytes:
            raise DataError(
                f"unpacked it has {unpacked_bytes:,} bytes or more, over {LARGEST_RATIO} times its own: it "
                "was made to fill a memory or a disk",
                path=self.archive,
            )
        if unpacked_bytes > self.free_bytes:
            raise DataError(
                f"unpacked it has {unpacked_bytes:,} bytes, and the disk has {self.free_bytes:,} left",
                path=self.archive,
            )


class _Stream:
    """The unpacked bytes of a tar: in all no more than fit, at once no more than a header may have."""

    def __init__(self, file: BinaryIO, room: _Room):
        self._file, self._room = file, room
        self.tell = file.tell

    def read(self, size: int) -> bytes:
        if size > LARGEST_READ:
            raise DataError(f"the archive is broken: a header claims {size:,} bytes", path=self._room.archive)
        content = self._file.read(size)
        self._room.check(self._file.tell())
        return content

    def seek(self, position: int) -> int:
        self._room.check(position)
        return self._file.seek(position)


def _safe(archive: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name or path.parts[0].endswith(":"):
        raise DataError(f"the archive holds an unsafe name, {name!r:.80}", path=archive)
    if not is_text(name):
        raise DataError(f"the archive holds a name that is not UTF-8, {name!r:.80}", path=archive)
    if len(name.encode()) > LONGEST_NAME or any(len(part.encode()) > LONGEST_PART for part in path.parts):
        raise DataError(f"the archive holds a name that is too long for a file, {name!r:.80}", path=archive)
    return path


def _of_a_mac(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and (parts[0] == "__MACOSX" or parts[-1].startswith("._"))
