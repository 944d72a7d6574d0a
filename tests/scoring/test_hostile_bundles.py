"""Bundles that are not what they say: a sentence that names the file and the field, soon and in little memory."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from pathlib import Path

import hostile_bundles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax import cli
from lisax.errors import DataError, LisaxError
from lisax.files.json_file import MOST_BYTES
from lisax.serve.models import Models

NAMES = list(hostile_bundles.MODELS)
SOME = ["ranker", "span reader"]  # a T5, and a model on one: their files are read by the same functions
DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return hostile_bundles.build(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def copied(sound, tmp_path):
    return lambda name="ranker": Path(shutil.copytree(sound[name], tmp_path / name))


def edit(path: Path, *place: str, to) -> None:
    """Sets a value in a JSON file."""
    card = json.loads(path.read_text())
    inner = card
    for name in place[:-1]:
        inner = inner.setdefault(name, {})
    inner[place[-1]] = to
    path.write_text(json.dumps(card))


def with_header(path: Path, header: bytes) -> None:
    content = path.read_bytes()
    body = content[8 + struct.unpack("<Q", content[:8])[0] :]
    path.write_bytes(struct.pack("<Q", len(header)) + header + body)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[]", "model.json: expected a JSON object, found list"),
        (DEEP, "model.json: not valid JSON"),
        (b"{" + b'"a":{' * 900 + b"}" * 901, "model.json: .* nested more than"),
        (b'{"x": ' + b"1" * 5000 + b"}", "model.json: not valid JSON"),
        (b" " * (MOST_BYTES + 1), "model.json: more than the"),
        (b'{"text": []}', "model.json: field 'text': must be an object"),
        (b'{"architecture": 3}', "model.json: field 'architecture"),
        (b"{}", "model.json: "),
    ],
)
def test_descriptions_of_models(copied, name, content, complaint):
    folder = copied(name)
    (folder / "model.json").write_bytes(content)
    with pytest.raises(LisaxError, match=complaint):
        hostile_bundles.load(folder)


@pytest.mark.parametrize("name", NAMES)
def test_values_of_every_kind_of_model(copied, name):
    folder = copied(name)
    inner = ["backbone"] if "backbone" in json.loads((folder / "model.json").read_text())["architecture"] else []
    for field, value in (("vocab_size", 1e12), ("mlp_activations", ["Module"]), ("dtype", "object")):
        shutil.rmtree(folder)
        edit(copied(name) / "model.json", "architecture", *inner, field, to=value)
        with pytest.raises(DataError, match=f"model.json: field 'architecture.*{field}': must be"):
            hostile_bundles.load(folder)
        for arguments in (
            ["export", "--model", str(folder), "--out", str(folder / "out")],
            ["checkpoint", "import", str(folder), "--out", str(folder / "out")],
            ["checkpoint", "show", str(folder)],
        ):
            assert cli.main(arguments) == 1 and not (folder / "out").exists()
        with pytest.raises(DataError, match=f"model.json: field 'architecture.*{field}': must be"):
            Models.open([folder])  # of `lisax serve --model`


@pytest.mark.parametrize("name", NAMES)
def test_sizes_that_the_weights_do_not_have(copied, name):
    folder = copied(name)
    inner = ["backbone"] if "backbone" in json.loads((folder / "model.json").read_text())["architecture"] else []
    edit(folder / "model.json", "architecture", *inner, "emb_dim", to=4096)
    with pytest.raises(LisaxError, match="the parameters of .* of another shape"):
        hostile_bundles.load(folder)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (DEEP, "not valid JSON"),
        (b"[]", "expected a JSON object"),
        (b'{"a": []}', "'a' is of the type None"),
        (b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}}', "do not take the bytes"),
        (b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}', "`shape` of 'a'"),
        (b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}', "begins at byte"),
        (b'{"a": {"dtype": "F32", "shape": [0, 1000000000000], "data_offsets": [0, 0]}}', "end at byte"),
        (b'{"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}', "of the type .C64"),
        (b'{"a\\n": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}', "not a name of an array"),
        (b" " * (MOST_BYTES + 1), "more than the"),
    ],
)
def test_headers_of_weights(copied, name, header, complaint):
    folder = copied(name)
    with_header(folder / "model.safetensors", header)
    with pytest.raises(DataError, match=f"model.safetensors: .*{complaint}"):
        hostile_bundles.load(folder)
    for verb in ("import", "export"):
        form = ["--format", "huggingface"] if verb == "export" else []
        assert cli.main(["checkpoint", verb, str(folder), "--out", str(folder / "out"), *form]) == 1


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", NAMES)
def test_weights_that_are_no_numbers_give_no_answer(copied, name, number):
    folder = copied(name)
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    content[begin:] = struct.pack("<f", number) * ((len(content) - begin) // 4)
    path.write_bytes(content)
    model = hostile_bundles.load(folder)  # which does not read them
    with pytest.raises(DataError, match="field '.*': these weights hold values that are not numbers") as told:
        hostile_bundles.use(model)
    assert str(folder) in str(told.value)


def test_a_pipe_is_not_waited_for(copied):
    folder = copied()
    (folder / "model.json").unlink()
    os.mkfifo(folder / "model.json")
    with pytest.raises(DataError, match="model.json: no such file"):
        hostile_bundles.load(folder)


@settings(max_examples=60)
@given(st.integers(0, 1 << 32))
def test_mutations(sound, tmp_path_factory, seed):
    draw = random.Random(seed)
    folder = tmp_path_factory.mktemp("hostile") / "bundle"
    shutil.copytree(sound[draw.choice(NAMES)], folder)
    how = hostile_bundles.mutate(folder, draw)
    try:
        hostile_bundles.load(folder)
    except LisaxError as error:
        assert "\n" not in str(error) and len(str(error)) < 2000, how
