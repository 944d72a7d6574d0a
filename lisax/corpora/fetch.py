"""`lisax data get`: downloads, verifies and unpacks all files of a catalogue entry; run again, it resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from lisax.corpora import archives
from lisax.corpora.catalogue import Download, Entry
from lisax.corpora.download import Patience, download
from lisax.errors import LisaxError
from lisax.files.writing import write_json

Progress = Callable[[str, int, int | None], None]


def fetch(entry: Entry, folder, *, patience: Patience = Patience(), progress: Progress | None = None) -> Iterator[str]:
    """Downloads the missing files of `entry` to `folder`; yields a line for each file. Raises `LisaxError`."""
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
