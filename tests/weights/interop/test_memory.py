"""Checkpoints are read and converted array by array: the peak of memory, measured in a process of its own."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lisax.models.architectures import T5Config
from lisax.weights.interop.architecture import shapes_of_model
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.pieces import Checkpoint, Stored, whole
from lisax.weights.interop.t5x_native import write_native
from lisax.weights.interop.t5x_orbax import write_orbax

CONFIG = T5Config(vocab_size=8192, emb_dim=512, num_heads=8, num_encoder_layers=3, num_decoder_layers=3, mlp_dim=2048)
SHAPES = shapes_of_model(CONFIG)
SIZE = 4 * sum(map(math.prod, SHAPES.values()))  # 150 MB

PROGRAM = """
import json, sys
import flax, orbax.checkpoint, safetensors, tensorstore
from lisax.weights.interop.convert import export_checkpoint
from lisax.weights.interop.kinds import Kind
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters

def of_process(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name + ":"))

task, source, out, tiny = sys.argv[1:]
def work(path, out):
    model = ModelFolder.find(path)
    return load_parameters(model) if task == "load" else export_checkpoint(model, out, Kind(task))
work(tiny, out + "-tiny")  # what the libraries take once
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
before = of_process("VmRSS")
result = work(source, out)
print(json.dumps(of_process("VmHWM") - before))
"""


def _write(folder, kind, config):
    pieces = tuple(
        whole(name, Stored(shape, lambda shape=shape: np.full(shape, 0.5, np.float32)))
        for name, shape in shapes_of_model(config).items()
    )
    checkpoint = Checkpoint(kind, folder, 0, pieces)
    folder.mkdir()
    if kind is Kind.HUGGINGFACE:
        write_huggingface(folder, checkpoint, config)
    else:
        (write_native if kind is Kind.NATIVE else write_orbax)(folder, checkpoint)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel does not tell peaks")
@pytest.mark.parametrize(
    ("kind", "task", "limit"),
    [
        (Kind.NATIVE, "load", 1.2),
        (Kind.ORBAX, "load", 1.2),
        (Kind.HUGGINGFACE, "load", 1.2),
        (Kind.NATIVE, "huggingface", 0.6),
        (Kind.HUGGINGFACE, "t5x-native", 0.6),
    ],
)
def test_peak(tmp_path, kind, task, limit):
    tiny = T5Config(vocab_size=64, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1)
    _write(tmp_path / "source", kind, CONFIG)
    _write(tmp_path / "tiny", kind, tiny)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, task, tmp_path / "source", tmp_path / "out", tmp_path / "tiny"],
        capture_output=True,
        text=True,
        check=True,
    )
    peak = json.loads(done.stdout.splitlines()[-1])
    least = 0.95 if task == "load" else 0.02
    assert least * SIZE < peak < limit * SIZE
