"""An index folder: immutable parts on disk, and one `meta.json` that lists the current ones.

Writing `meta.json` is the only act that changes an index, and it is atomic: parts are written first, each to a new
folder, and an interruption before that leaves the index as it was. Several components (BM25, titles, pages) share a
folder and change together. Parts that `meta.json` does not list are left over from interrupted builds; the next build
removes them. A component made of another's parts, such as vectors, is dropped by the commit that replaces those parts.
Builds of one folder exclude each other by a lock. Readers need none: an open index does not change, and `unchanged`
reopens one that was replaced meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lisax.errors import DataError, LisaxError
from lisax.files.writing import naming, write_json
from lisax.retrieval.blocks import ADVICE, BLOCK, SMALL, checksum, expect

FORMAT, VERSION = "lisax index", 1
META, LOCK = "meta.json", ".lock"
# The verb of `lisax index` that builds a component, if it is not `documents`.
KINDS = {"cells": "cells", "tables": "cells", "table_text": "tables"}
Index = TypeVar("Index")


def read_components(folder: str | os.PathLike) -> dict[str, dict]:
    """Component name -> manifest. Errors name the folder's problem."""
    meta = Path(folder) / META
    if not meta.is_file():
        raise DataError(
            "no index here (no meta.json; an interrupted build leaves none); build one with "
            f"`lisax index documents|cells|tables --corpus DIR --out {folder}`",
            path=folder,
        )
    try:
        content = json.loads(meta.read_bytes())
        written, version, components = content["format"], content["version"], content["components"]
        manifests = {name: components[name] for name in components}
        if content["crc32"] != _sum(components):
            raise ValueError("it is not as it was written")
        for manifest in manifests.values():
            manifest["settings"], manifest["parts"], manifest["digest"]
            for entry in manifest["files"].values():
                entry["bytes"], entry["sha256"], entry["crc32"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"the index description is damaged ({error!r}); remove the folder and build the index again", path=meta
        ) from None
    if written != FORMAT or version != VERSION:
        raise DataError(
            f"expected '{FORMAT}' version {VERSION}, found '{written}' version {version}; "
            "remove the folder and build the index again",
            path=meta,
        )
    return manifests


def open_component(folder: str | os.PathLike, name: str) -> dict:
    """The manifest of one component, after checking that its files exist with their recorded sizes, and the content of
    small ones. Of the others each block is checked when it is first read (`blocks`)."""
    components = read_components(folder)
    if name not in components:
        raise DataError(
            f"this index has no '{name}' (it has {', '.join(sorted(components)) or 'nothing'}); "
            f"build it with `lisax index {KINDS.get(name, 'documents')} --corpus DIR --out {folder}`",
            path=folder,
        )
    manifest = components[name]
    for relative, entry in manifest["files"].items():
        path = Path(folder) / relative
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise DataError(f"a file of the index is missing; {ADVICE}", path=path) from None
        if size != entry["bytes"]:
            raise DataError(f"the index is damaged: expected {entry['bytes']} bytes, found {size}; {ADVICE}", path=path)
        if size <= SMALL and _crc32(path) != entry["crc32"]:
            raise DataError(f"the index is damaged: the file is not as it was written; {ADVICE}", path=path)
        expect(path, entry["crc32"])
    return manifest


def part_digests(manifest: dict) -> list[str]:
    """SHA-256 of each part of a component: equal for equal content, whatever the part's folder is called."""
    return [
        hashlib.sha256(
            json.dumps(
                sorted(
                    (name.removeprefix(f"{part}/"), entry["sha256"])
                    for name, entry in manifest["files"].items()
                    if name.startswith(f"{part}/")
                )
            ).encode()
        ).hexdigest()
        for part in manifest["parts"]
    ]


def unchanged(folder: str | os.PathLike, open_index: Callable[[], Index]) -> Index:
    """The result of `open_index`, called again if another process changed the index meanwhile, which removes files."""
    meta = Path(folder) / META
    while True:
        before = meta.read_bytes() if meta.is_file() else None
        failure = None
        try:
            index = open_index()
        except (LisaxError, OSError) as error:
            failure = error
        if (meta.read_bytes() if meta.is_file() else None) == before:
            if failure is not None:
                raise failure
            return index


def check(folder: str | os.PathLike) -> int:
    """Reads every file of an index and compares SHA-256; returns the number of files."""
    count = 0
    for name in read_components(folder):
        for relative, entry in open_component(folder, name)["files"].items():
            if _describe(Path(folder) / relative)["sha256"] != entry["sha256"]:
                raise DataError(
                    "the index is damaged: the file's SHA-256 is not the one written with it; build the index again",
                    path=Path(folder) / relative,
                )
            count += 1
    return count


class Writing:
    """An index folder opened for building: new parts, then one commit."""

    def __init__(self, folder: Path):
        self.folder = folder
        has_meta = (folder / META).exists()
        self.components = read_components(folder) if has_meta else {}
        self.remove_unnamed()

    def new_part(self, component: str) -> Path:
        """Creates a new empty folder for files of a component; files that no commit lists are removed."""
        part = self.folder / component / f"part-{secrets.token_hex(4)}"
        part.mkdir(parents=True)
        return part

    def commit(self, changed: dict[str, dict], removed: Collection[str] = ()) -> None:
        """Replaces the given components of the index and drops those in `removed`, atomically.

        A component is `{"settings": …, "parts": [folder names], "files": [names]}`, the names relative to the index.
        Sizes, SHA-256 digests and the CRC-32 of the blocks of new files are added; those of committed files are kept.
        """
        known = {name: entry for manifest in self.components.values() for name, entry in manifest["files"].items()}
        for name in removed:
            self.components.pop(name, None)
        for name, manifest in changed.items():
            files = {file: known.get(file) or _describe(self.folder / file) for file in manifest["files"]}
            sums = [entry["sha256"] for entry in files.values()]
            content = json.dumps([manifest["settings"], sums], sort_keys=True)
            digest = hashlib.sha256(content.encode()).hexdigest()
            self.components[name] = manifest | {"files": files, "digest": digest}
        while stale := [name for name in self.components if not self._is_current(name)]:
            for name in stale:
                del self.components[name]
        about = {"format": FORMAT, "version": VERSION, "crc32": _sum(self.components)}
        write_json(self.folder / META, about | {"components": self.components})

    def _is_current(self, name: str) -> bool:
        """Whether a component that is made of another's parts, such as vectors of stored texts, is still of the first
        parts of that one. Its settings record these: `over`, the other's name, and `of`, the digests of the parts."""
        settings = self.components[name]["settings"]
        if "over" not in settings:
            return True
        base = self.components.get(settings["over"])
        return base is not None and part_digests(base)[: len(settings["of"])] == settings["of"]

    def name(self, path: Path) -> str:
        """The name of a file or a part, relative to the index."""
        return path.relative_to(self.folder).as_posix()

    def names(self, part: Path) -> list[str]:
        """The files of a part by their names relative to the index, sorted."""
        return sorted(map(self.name, part.iterdir()))

    def manifest(
        self, settings: dict, parts: Sequence[Path], vocabulary: Path | None = None, revised: str = ""
    ) -> dict[str, Any]:
        """A component to `commit`, with all files of its parts and of the part `vocabulary`. `revised` is the name of a
        file that each part has in several revisions, like `scores-2.npy`: the others are left out."""
        kind = f"/{revised.partition('-')[0]}-"
        files = [
            file
            for part in parts
            for file in self.names(part)
            if not revised or kind not in file or file.endswith(f"/{revised}")
        ]
        found = {"settings": settings, "parts": list(map(self.name, parts)), "files": files}
        if vocabulary is not None:
            found |= {"vocabulary": self.name(vocabulary), "files": files + self.names(vocabulary)}
        return found

    def remove_unnamed(self) -> None:
        """Removes files that no committed component lists, and only from part folders."""
        named = {file for manifest in self.components.values() for file in manifest["files"]}
        for part in self.folder.glob("*/part-????????"):
            for path in part.iterdir():
                if self.name(path) not in named:
                    path.unlink()
            if not any(part.iterdir()):
                part.rmdir()


@contextlib.contextmanager
def writing(folder: str | os.PathLike) -> Iterator[Writing]:
    """Opens (or creates) an index folder for exclusive building; uncommitted files are removed at the end."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise DataError("an index is a folder, and this is a file", path=folder)
    if folder.is_dir() and not (folder / META).exists() and not (folder / LOCK).exists() and any(folder.iterdir()):
        raise DataError("this folder holds something else than an index; give a new or an empty folder", path=folder)
    created = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LisaxError(f"{folder}: another process is building this index; wait for it or stop it") from None
        state = None
        try:
            state = Writing(folder)
            with naming(folder):
                yield state
        finally:
            if state is not None:
                state.remove_unnamed()
            if created and not (folder / META).exists():
                shutil.rmtree(folder)


def _sum(components: dict[str, dict]) -> str:
    return checksum(json.dumps(components, sort_keys=True).encode())


def _crc32(path: Path) -> str:
    """The sums of all blocks of a file, joined."""
    with path.open("rb") as file:
        return "".join(map(checksum, iter(lambda: file.read(BLOCK), b"")))


def _describe(path: Path) -> dict:
    """Size and sums of a new file, which is also flushed to disk, so that a commit never lists a file that a power cut
    loses."""
    digest, sums = hashlib.sha256(), []
    with path.open("rb") as file:
        os.fsync(file.fileno())
        while block := file.read(BLOCK):
            digest.update(block)
            sums.append(checksum(block))
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest(), "crc32": "".join(sums)}
