"""Every layout of eight simulated devices computes what one device does."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

from lisax.devices.partitioning import Partitioner, PjitPartitioner, _tiled, standard_logical_axis_rules
from lisax.errors import LisaxError

LAYOUTS = """
import functools, json, sys, jax, jax.numpy as jnp, numpy as np
from lisax.models.stacking import stack, unstack
from lisax.models.architectures import FusionConfig, PointerConfig, T5Config
from lisax.models.t5 import initialize
from lisax.training.optimizers import Adafactor, AdamW
from lisax.devices.partitioning import PjitPartitioner, bytes_on_device, standard_logical_axis_rules
from lisax.training.losses import Loss
from lisax.training.step import make_train_step
from lisax.weights.checkpoints import TrainState
import fusion_task, pointer_task
from memory_task import batch_of

t5 = T5Config(vocab_size=64, emb_dim=32, num_heads=4, num_encoder_layers=1, num_decoder_layers=2, head_dim=8,
                 mlp_dim=64, mlp_activations=("gelu", "linear"))
batch = batch_of(3, rows=16)
batch["decoder_loss_weights"][:8, 2:] = 0
fusion_batch = fusion_task.batch_of(3, rows=16)
fusion_batch["decoder_target_tokens"][:8, 2] = 0  # some tables, and some gold ones, are absent
batches = {T5Config: batch, FusionConfig: fusion_batch, PointerConfig: pointer_task.batch_of(3, rows=16)}
pointer = PointerConfig(t5, steps=2, hidden=16, hops=1)
initial = functools.cache(lambda model: jax.tree.map(np.asarray, initialize(model)))

def run(model, devices, microbatches=1, layout={}, optimizer=None, **options):
    config, batch = model.replaced(**options), batches[type(model)]
    partitioner = PjitPartitioner(**layout).over(devices)
    parameters = stack(initial(model)) if config.backbone.scan_layers else initial(model)
    state = TrainState(jnp.int32(0), parameters, optimizer.init(parameters))
    held = bytes_on_device(state, partitioner.state(state))
    step = make_train_step(config, Loss(), optimizer, lambda _: jnp.float32(1.0), seed=0, microbatches=microbatches,
                           slots_first_step=0, partitioner=partitioner)
    state, metrics = step(partitioner.place_state(state), partitioner.place_batch(batch))
    parameters = jax.tree.map(np.asarray, state.parameters)
    return unstack(parameters) if config.backbone.scan_layers else parameters, metrics, held

adamw, adafactor = AdamW(epsilon=1.0, global_norm_clip_threshold=None), Adafactor(min_dim_size_to_factor=16)
everything = dict(scan_layers=True, remat="full", attention_chunk=4)
results = {}
for name, model, optimizer, layouts in (
        ("fusion", FusionConfig(t5), adamw,
         [(1, 2, 1, {}), (4, 1, 1, {}), (2, 2, 2, everything | dict(attention_chunk=3))]),
        ("pointer", pointer, adamw, [(1, 2, 1, {}), (2, 2, 2, dict(scan_layers=True, remat="full"))]),
        ("adamw", t5, adamw, [(1, 1, 1, {}), (1, 2, 1, {}), (4, 2, 1, dict(remat="attention")), (8, 1, 1, {}), (2, 1, 2, everything),
                      (4, "t5x", 1, {})]),
        ("adafactor", t5, adafactor, [(4, 1, 1, dict(scan_layers=True, remat="values")), (1, 2, 1, everything), (2, 2, 2, everything)])):
    if name not in sys.argv[1:]:
        continue
    expected, expected_metrics, whole = run(model, jax.devices()[:1], optimizer=optimizer)
    for partitions, dims, microbatches, options in layouts:
        layout = dict(num_partitions=partitions, parameter_partitioning_dims=dims)
        if dims == "t5x":  # two dimensions of activations and of parameters, by T5X's rules
            layout = dict(model_parallel_submesh=(2, 2, 1, 1), logical_axis_rules=standard_logical_axis_rules(2, 2))
        found, metrics, held = run(model, jax.devices(), microbatches, layout, optimizer, **options)
        worst = max(float(np.abs(a - b).max()) for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found)))
        relative = max(abs(float(metrics[k]) / float(v) - 1) for k, v in expected_metrics.items() if float(v))
        results[f"{name} {partitions} {dims} {microbatches}"] = dict(parameters=worst, metrics=relative, held=held / whole)
print(json.dumps(results))
"""


def printed(program: str, *arguments: str) -> str:
    """What a program prints on eight devices."""
    env = os.environ | {
        "JAX_NUM_CPU_DEVICES": "8",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1] / "training"), "."]),
    }
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    "group, layouts",
    [("adamw", 6)]
    + [pytest.param(*group, marks=pytest.mark.slow) for group in (("adafactor", 3), ("fusion", 3), ("pointer", 2))],
)
def test_all_layouts_equal_one_device(group, layouts):
    results = json.loads(printed(LAYOUTS, group))
    assert len(results) == layouts
    for name, found in results.items():
        assert found["parameters"] < 1e-5 and found["metrics"] < 1e-5, (name, found)
    # Fully sharded, a device holds about an eighth; as replicas, all.
    if group == "adamw":
        assert results["adamw 1 2 1"]["held"] < 0.2 and results["adamw 1 1 1"]["held"] == 1.0
        assert results["adamw 4 t5x 1"]["held"] < 0.2


GATHERED = """
import jax, jax.numpy as jnp
from lisax.models.attention import Dense, fan_in
from lisax.devices.partitioning import PjitPartitioner

partitioner = PjitPartitioner(parameter_partitioning_dims=2).over(jax.devices())
dense = Dense(32, "float32", fan_in, ("embed", "mlp"), name="wi")

def apply(parameters, x):
    with partitioner.constraints():
        return dense.apply({"params": parameters}, x)

kernel = {"wi": {"kernel": jax.ShapeDtypeStruct((64, 32), jnp.float32)}}
placed = jax.tree.map(lambda leaf, where: leaf.update(sharding=where), kernel, partitioner.state(kernel))["wi"]
x = jax.ShapeDtypeStruct((16, 4, 64), jnp.float32, sharding=partitioner.batch)
lowered = jax.jit(apply).lower(placed, x)
print(lowered.as_text(), lowered.compile().as_text())
"""


def test_matrices_are_gathered_rather_than_activations_summed():
    program = printed(GATHERED)
    # Asked for by the model, not only what XLA happens to choose for one layer.
    assert "sharding_constraint" in program
    assert "f32[64,32]{1,0} all-gather(" in program and "all-reduce" not in program


BETWEEN = """
import jax, jax.numpy as jnp
from lisax.models.attention import RESIDUAL, constrain
from lisax.devices.partitioning import PjitPartitioner

for rules in ((), (("residual_length", None),)):
    partitioner = PjitPartitioner(num_partitions=8, logical_axis_rules=rules).over(jax.devices())

    def between(x):
        with partitioner.constraints():
            return constrain(x, *RESIDUAL)

    for length in (16, 2):
        whole = jax.device_put(jnp.zeros((2, length, 8)), partitioner.replicated)
        print(jax.jit(between)(whole).sharding.shard_shape((2, length, 8)))
"""


def test_positions_between_layers_are_shared_out_where_they_can_be():
    assert printed(BETWEEN).splitlines() == ["(2, 2, 8)", "(2, 2, 8)", "(2, 16, 8)", "(2, 2, 8)"]


def test_a_submesh_is_a_block_of_the_torus():
    places = list(itertools.product(range(2), range(4), range(1), range(2)))
    devices = [SimpleNamespace(coords=place[:3], core_on_chip=place[3]) for place in places]
    tiles = _tiled(devices[::-1], (1, 2, 1, 2))
    assert tiles.shape == (4, 4)
    for tile in tiles:
        of_tile = [(*device.coords, device.core_on_chip) for device in tile]
        x, y, _, core = (sorted({place[axis] for place in of_tile}) for axis in range(4))
        assert (len(x), len(y), core) == (1, 2, [0, 1]) and y[0] % 2 == 0
    with pytest.raises(LisaxError, match=r"must divide the devices along that dimension, \(2, 4, 1, 2\)"):
        _tiled(devices, (1, 3, 1, 1))


def test_t5x_rules_count_in_their_order():
    matrix, vector = ["mlp", "wi", "kernel"], ["token_embedder", "embedding"]
    split = {"data": 2, "model": 4}

    def specs(**layout):
        mesh = SimpleNamespace(shape=split)
        partitioner = Partitioner(mesh, rules=PjitPartitioner(**layout)._rules())
        return [tuple(partitioner._spec(path, (8, 8))) for path in (matrix, vector)]

    assert specs() == specs(logical_axis_rules=standard_logical_axis_rules()) == [(None, "model"), ("model", None)]
    assert specs(logical_axis_rules=standard_logical_axis_rules(1, 2)) == [("data", "model"), ("model", "data")]
    assert specs(logical_axis_rules=[("mlp", None)]) == [(None, None), ("model", None)]
    own = [("batch", "data"), ("embed", "model"), ("mlp", "model")]
    assert specs(logical_axis_rules=own)[0] == ("model", None)
    more = standard_logical_axis_rules(additional_rules=[("mlp", "data"), ("new", "data")])
    assert specs(logical_axis_rules=more) == specs()


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"model_parallel_submesh": (1, 2)}, "model_parallel_submesh must be four numbers"),
        ({"model_parallel_submesh": (1, 2, 1, 1), "num_partitions": 4}, "is 4, and model_parallel_submesh has 2 dev"),
        ({"num_partitions": 3}, "num_partitions is 3, which does not divide the 1 devices"),
        ({"num_partitions": 0}, "at least 1"),
        ({"parameter_partitioning_dims": 3}, "must be 1 or 2"),
        ({"logical_axis_rules": [("mlp", "expert")]}, "'mlp' is given to 'expert'"),
    ],
)
def test_wrong_layouts_are_named(wrong, message):
    with pytest.raises(LisaxError, match=message):
        PjitPartitioner(**wrong).over(jax.devices()[:1])
