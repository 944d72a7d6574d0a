"""Bundles that are not what they say: a sentence that names the file and the field, soon and in little memory.

`hostile_bundles.py` beside this tries many more by hand, with time and memory held to limits."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from pathlib import Path

import hostile_bundles
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import export
from safetensors.numpy import save_file

from lisax import cli
from lisax.errors import DataError, LisaxError
from lisax.files.json_file import MOST_BYTES
from lisax.scoring import program, program_check
from lisax.scoring.backends import JAX, VARIABLE
from lisax.serve.models import Models
from lisax.weights import safetensors_file

NAMES = [*hostile_bundles.MODELS, *(f"{name} without a program" for name in ("ranker", "fusion", "pointer"))]
DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.fixture
def in_jax(monkeypatch):
    """onnxruntime, which scores on a CPU, reads no exported scorer."""
    monkeypatch.setenv(VARIABLE, JAX)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    made = hostile_bundles.build(tmp_path_factory.mktemp("sound"))
    return {name: made.get(name) or made[f"{name} without a program"] for name in NAMES}


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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[]", "model.json: expected a JSON object, found list"),
        (b"", "model.json: not valid JSON"),
        (DEEP, "model.json: not valid JSON"),
        (b"{" + b'"a":{' * 900 + b"}" * 901, "model.json: .* nested more than"),
        (b"\xff\xfe{}", "model.json: byte 1 is not UTF-8"),
        (b'{"x": "\\ud800"}', "model.json: .*surrogate"),
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
    for field, value in (
        ("vocab_size", 1e12),
        ("num_heads", 0),
        ("mlp_activations", ["Module"]),
        ("dtype", "object"),
        ("num_encoder_layers", 100_000),
        ("remat", "some"),
    ):
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
@pytest.mark.parametrize("field", ["vocab_size", "emb_dim"])
def test_sizes_that_the_weights_do_not_have(copied, name, field):
    folder = copied(name)
    inner = ["backbone"] if "backbone" in json.loads((folder / "model.json").read_text())["architecture"] else []
    edit(folder / "model.json", "architecture", *inner, field, to=4096)
    with pytest.raises(LisaxError, match=f"{field}': is 4,096, but|the parameters of .* of another shape"):
        hostile_bundles.load(folder)


@pytest.mark.usefixtures("in_jax")
def test_weights_of_another_type_than_the_scorer_takes(copied):
    folder = copied()
    path = folder / "model.safetensors"
    arrays = {name: array.astype(np.float16) for name, array in safetensors_file.read(path).items()}
    save_file(arrays, path)
    with pytest.raises(DataError, match="model.safetensors: field '.*': the scorer takes float32, found float16"):
        hostile_bundles.load(folder)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (DEEP, "not valid JSON"),
        (b"[]", "expected a JSON object"),
        (b'{"a": []}', "'a' is of the type None"),
        (b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}}', "do not take the bytes"),
        (b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}', "`shape` of 'a'"),
        (b'{"a": {"dtype": "F32", "shape": [1e0], "data_offsets": [0, 4]}}', "`shape` of 'a'"),
        (b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}', "begins at byte"),
        (b'{"a": {"dtype": "F32", "shape": [0, 1000000000000], "data_offsets": [0, 0]}}', "end at byte"),
        (b'{"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}', "of the type .C64"),
        (b'{"a\\n": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}', "no name of an array"),
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
    with pytest.raises(DataError, match="field '.*': these weights hold values that are no numbers") as told:
        hostile_bundles.use(model)
    assert str(folder) in str(told.value)


@pytest.mark.usefixtures("in_jax")
@pytest.mark.parametrize("content", [b"", b"garbage" * 100, None, "cut", "changed"])
@pytest.mark.parametrize("says_digest", [True, False])
@pytest.mark.parametrize("name", ["ranker", "fusion", "pointer"])
def test_scorers_that_are_not_whole(copied, name, content, says_digest):
    folder = copied(name)
    path = folder / "scorer.stablehlo"
    whole = path.read_bytes()
    if not says_digest:  # of a bundle that an older version wrote, or that someone would have us believe
        described = json.loads((folder / "scorer.json").read_text())
        described.pop("sha256")
        (folder / "scorer.json").write_text(json.dumps(described))
        hostile_bundles.load(folder)
        if content == "changed":
            return
    path.unlink()
    if content is not None:
        path.write_bytes({"cut": whole[:-1000], "changed": whole[:500] + b"x" + whole[501:]}.get(content, content))
    with pytest.raises(DataError, match="scorer.stablehlo: (no such file|not the scorer|not a program)"):
        hostile_bundles.load(folder)


@pytest.mark.usefixtures("in_jax")
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("tokens", ["batch", "batch*1000000", "length"]),
        ("tokens", 3),
        ("outputs", [["batch", 3]]),
        ("outputs", [[[]]]),
        ("platforms", ["amiga"]),
        ("platforms", ["tpu"]),
        ("calling_convention_version", 99),
        ("kept_arguments", [10**6]),
        ("kept_arguments", [1, 0]),
        ("parameters", {"a": [10**30]}),
        ("parameters", {"a\x1b[2J": [1]}),
        ("parameters", []),
        ("pieces", ["x"]),
    ],
)
def test_descriptions_of_scorers(copied, place, value):
    folder = copied()
    edit(folder / "scorer.json", place, to=value)
    with pytest.raises(LisaxError, match="scorer.json: |the parameters of "):
        hostile_bundles.load(folder)


@pytest.mark.usefixtures("in_jax")
def test_the_scorer_of_another_kind_of_model(copied):
    folder, other = copied(), copied("fusion")
    pieces = json.loads((folder / "scorer.json").read_text())["pieces"]
    for name in ("scorer.json", "scorer.stablehlo", "model.safetensors"):
        shutil.copyfile(other / name, folder / name)
    edit(folder / "scorer.json", "pieces", to=pieces)
    with pytest.raises(LisaxError, match="are not those of the model: missing decoder/"):
        hostile_bundles.load(folder)


# --- Programs that do more than to score ---------------------------------------------------------


def of(function, *arguments) -> tuple[bytes, dict]:
    """A program of parameters a [3] and tokens, and its description."""
    shapes = {"a": jax.ShapeDtypeStruct((3,), np.float32)}, program._tokens(("batch", "length"))
    exported = export.export(
        jax.jit(function), platforms=program.PLATFORMS, disabled_checks=[export.DisabledSafetyCheck.custom_call("harm")]
    )(*shapes)
    return program._older(exported), {
        "tokens": ["batch", "length"],
        "outputs": [["batch"]],
        "parameters": {"a": [3]},
        "platforms": list(program.PLATFORMS),
        "kept_arguments": list(exported.module_kept_var_idx),
        "calling_convention_version": 10,
    }


def harmless(parameters, tokens):
    return (jnp.sum(parameters["a"]) + jnp.sum(tokens, axis=1).astype(jnp.float32),)


def calling(parameters, tokens):
    return (
        jax.ffi.ffi_call("harm", jax.ShapeDtypeStruct((3,), np.float32))(parameters["a"])[0]
        + harmless(parameters, tokens)[0],
    )


def endless(parameters, tokens):
    begin = harmless(parameters, tokens)[0]
    return (jax.lax.while_loop(lambda _: True, lambda x: x + parameters["a"][0], begin),)


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (calling, r"does more than to score \('stablehlo.custom_call harm'\)"),
        (endless, r"does more than to score \('stablehlo.while'\)"),
    ],
)
def test_programs_that_do_more_than_to_score(tmp_path, function, complaint):
    path = tmp_path / "scorer.stablehlo"
    content, described = of(harmless)
    path.write_bytes(content)
    assert program_check.read_program(path, described) == content
    for wrong in ({"parameters": {"a": [4]}}, {"outputs": [["batch", 2]]}, {"platforms": ["cpu"]}):
        with pytest.raises(DataError, match="arrays that are not the"):
            program_check.read_program(path, described | wrong)
    content, described = of(function)
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"scorer.stablehlo: it {complaint}"):
        program_check.read_program(path, described)


def test_functions_that_call_each_other_without_end():
    steps = {"main": 3, **{f"f{i}": 2 for i in range(40)}}
    twice = {"main": ["f0"], **{f"f{i}": [f"f{i + 1}"] * 2 for i in range(39)}, "f39": []}
    assert program_check._total(steps, twice) > program_check.MOST_STEPS
    assert program_check._total(steps, twice | {"f10": []}) < program_check.MOST_STEPS
    assert program_check._total(steps, twice | {"f10": ["main"]}) > program_check.MOST_STEPS
    assert program_check._total(steps, twice | {"f10": ["none"]}) > program_check.MOST_STEPS


# --- Anything else -------------------------------------------------------------------------------


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
