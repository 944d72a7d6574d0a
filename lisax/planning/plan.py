"""The memory and time of a gin file's program on a named machine, by compiling it for that machine.

The TPU compiler (libtpu, the extra `plan`) runs without a TPU: it refuses programs that exceed a core's memory, and
models operations and seconds. It counts the body of a loop once, so that for models with scanned layers or microbatches
the model is made from unrolled programs of one and two layers, and scaled: by layers, and all but the update by
microbatches.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lisax.devices.partitioning import Partitioner, bytes_on_device
from lisax.errors import LisaxError
from lisax.training.model_kinds import kind_of
from lisax.training.step import make_train_step, updated
from lisax.training.train_config import TrainConfig
from lisax.weights.checkpoints import parameter_count
from lisax.weights.interop.architecture import parameter_shapes
from lisax.weights.train_state import TrainState

GIB = 2**30
TOPOLOGIES = {
    "v2-8": "v2:2x2",
    "v3-8": "v3:2x2",
    "v3-32": "v3:4x4",
    "v4-8": "v4:2x2x1",
    "v4-16": "v4:2x2x2",
    "v5e-4": "v5e:2x2",
    "v5e-8": "v5e:2x4",
    "v5e-16": "v5e:4x4",
    "v5p-8": "v5p:2x2x1",
    "v6e-8": "v6e:2x4",
}
# bfloat16 operations per second of a device, as its maker states them (v2, v3 and v4: half a chip).
PEAK_FLOPS = {
    "TPU v2": 22.5e12,
    "TPU v3": 61.5e12,
    "TPU v4": 137.5e12,
    "TPU v5 lite": 197e12,
    "TPU v5": 459e12,
    "TPU v6 lite": 918e12,
}


@dataclasses.dataclass(frozen=True)
class Modelled:
    """One step of one device, made from programs of few layers. The whole program needs more bytes if it has a loop
    over layers."""

    flops: float | None
    seconds: float | None
    memory: float  # bytes; infinite where even few layers do not fit

    @property
    def cost(self) -> float:
        """Seconds, or operations where the compiler models no time; 0 if unknown."""
        return self.seconds or self.flops or 0.0


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes are bytes of one device, times seconds of one step; None if the compiler does not report it."""

    program: str
    device: str
    devices: int
    parameters: int
    state: int
    fits: bool
    temporaries: int | None = None
    peak: int | None = None
    refusal: str | None = None
    compile_seconds: float | None = None
    flops: float | None = None
    step_seconds: float | None = None
    examples: int = 0  # of one step

    @property
    def examples_per_second(self) -> float | None:
        return self.examples / self.step_seconds if self.step_seconds else None

    @property
    def share_of_peak(self) -> float | None:
        peak = PEAK_FLOPS.get(self.device)
        return self.flops / self.step_seconds / peak if peak and self.flops and self.step_seconds else None


def devices_of(topology: str) -> list[Any]:
    """The devices of a machine: `v3-8` and others of `TOPOLOGIES`, or `cpu-N`, `gpu-N` of this machine."""
    kind, _, count = topology.rpartition("-")
    if kind in ("cpu", "gpu"):
        try:
            devices = jax.devices(kind)
        except RuntimeError:
            raise LisaxError(f"this machine has no {kind} that JAX can use") from None
        if not count.isdigit() or not 1 <= int(count) <= len(devices):
            raise LisaxError(
                f"'{topology}': this machine has {len(devices)} {kind} device(s)"
                + ("; XLA_FLAGS=--xla_force_host_platform_device_count=8 simulates more" if kind == "cpu" else "")
            )
        return devices[: int(count)]
    if topology not in TOPOLOGIES:
        raise LisaxError(f"no topology is named '{topology}': there are {', '.join(TOPOLOGIES)}, cpu-N and gpu-N")
    from jax.experimental import topologies

    try:
        return list(topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[topology]).devices)
    except Exception as error:
        if "libtpu" in str(error) and "lockfile" in str(error):
            raise LisaxError(
                "libtpu is in use by another process on this machine, and one at a time can hold it: "
                "wait for that one, or remove /tmp/libtpu_lockfile if there is none"
            ) from error
        raise LisaxError(
            f"the TPU compiler is not installed: pip install 'lisax[plan]' ({str(error).splitlines()[0][:150]})"
        ) from error


def plan(config: TrainConfig, program: str, devices: list[Any], known: Modelled | None = None) -> Plan:
    """Compiles `program` ("train", "score" or "generate") of a gin file's configuration for `devices`; `known` is its
    `modelled`, if it was computed before."""
    partitioner = config.partitioner.over(devices)
    if program != "train":
        config = dataclasses.replace(config, model=config.model.for_inference())
    microbatches = config.trainer.num_microbatches or 1
    partitioner.check_batch_size(_batch_size(config), microbatches if program == "train" else 1)
    state, kept = _state_shapes(config, program)
    found = Plan(
        program,
        devices[0].device_kind,
        len(devices),
        parameter_count(_parameters(state)) + parameter_count(kept),
        sum(bytes_on_device(tree, partitioner.state(tree)) for tree in (state, kept)),
        False,
        examples=_batch_size(config),
    )
    started = time.perf_counter()
    try:
        compiled = _compiled(config, program, partitioner)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return dataclasses.replace(found, refusal=_refusal(error), compile_seconds=time.perf_counter() - started)
    memory = compiled.memory_analysis()
    found = dataclasses.replace(
        found,
        fits=True,
        compile_seconds=time.perf_counter() - started,
        temporaries=memory.temp_size_in_bytes,
        peak=getattr(memory, "peak_memory_in_bytes", None) or None,
    )
    flops, seconds = _cost(compiled)
    if (
        config.model.backbone.scan_layers
        or config.model.backbone.attention_chunk
        or (program == "train" and microbatches > 1)
    ):
        at_once = dataclasses.replace(config, model=config.model.replaced(attention_chunk=None))
        known = known or modelled(at_once, program, partitioner)
        flops, seconds = known.flops, known.seconds
    return dataclasses.replace(found, flops=flops, step_seconds=seconds)


# --- Compiling -----------------------------------------------------------------------------


def _compiled(config: TrainConfig, program: str, partitioner: Partitioner) -> Any:
    placed, kept = (_placed(tree, partitioner) for tree in _state_shapes(config, program))
    lengths, rows = config.train_data.task_feature_lengths, _batch_size(config)

    def tokens(length: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((rows, length), jnp.int32, sharding=partitioner.batch)

    if program == "train":
        step = make_train_step(
            config.model,
            config.loss,
            config.optimizer,
            config.trainer.learning_rate_fn,
            seed=0,
            microbatches=config.trainer.num_microbatches or 1,
            slots_first_step=0,
            partitioner=partitioner,
            adapter=config.adapter,
        )
        targets = {
            name: tokens(lengths["targets"])
            for name in ("decoder_input_tokens", "decoder_target_tokens", "decoder_loss_weights")
        }
        return step.lower(placed, {"encoder_input_tokens": tokens(lengths["inputs"]), **targets}, kept).compile()
    return kind_of(config.model).inference.compiled(config.model, program, lengths, rows, partitioner, placed)


def _compiled_update(config: TrainConfig, partitioner: Partitioner) -> Any:
    """The part of a step that is done once whatever the microbatches."""
    state = _placed(_state_shapes(config, "train")[0], partitioner)
    gradients = _placed(
        jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, jnp.float32), state.parameters), partitioner
    )

    def update(gradients: Any, state: TrainState) -> tuple[TrainState, jax.Array]:
        state, norm = updated(config.optimizer, gradients, state, jnp.float32(1.0), state.step)
        return jax.lax.with_sharding_constraint(state, partitioner.state(state)), norm

    return jax.jit(update, donate_argnums=1).lower(gradients, state).compile()


def _placed(tree: Any, partitioner: Partitioner) -> Any:
    """Shapes with the shardings of a state."""
    return jax.tree.map(
        lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
        tree,
        partitioner.state(tree),
    )


def modelled(config: TrainConfig, program: str, partitioner: Partitioner) -> Modelled:
    """The costs of a step with its loops unrolled, from programs of one and two layers of each stack."""
    microbatches = (config.trainer.num_microbatches or 1) if program == "train" else 1
    stacks, chunk = config.model.backbone.stacks, config.model.backbone.attention_chunk

    def of(layers: Mapping[str, int]) -> np.ndarray:
        """[FLOPs, seconds, bytes] with this number of layers of each stack."""

        def of_chunk(chunk: int | None) -> TrainConfig:
            counts = {f"num_{stack}_layers": count for stack, count in layers.items()}
            model = config.model.replaced(**counts, scan_layers=False, attention_chunk=chunk)
            return dataclasses.replace(config, model=model)

        whole = _compiled(of_chunk(None), program, partitioner)
        cost = np.array(_cost(whole), dtype=float)
        if microbatches > 1:
            # The compiler counts one of them, which is all but the update.
            update = np.array(_cost(_compiled_update(of_chunk(None), partitioner)), dtype=float)
            cost = microbatches * (cost - update) + update
        memory = (_compiled(of_chunk(chunk), program, partitioner) if chunk else whole).memory_analysis()
        needed = getattr(memory, "peak_memory_in_bytes", 0) or memory.temp_size_in_bytes + memory.argument_size_in_bytes
        return np.array([*cost, needed])

    one = dict.fromkeys(stacks, 1)
    # Stacks of equal numbers of layers are compiled together.
    alike: dict[int, dict[str, int]] = {}
    for stack, count in stacks.items():
        alike.setdefault(count - 1, dict(one))[stack] = 2
    try:
        base = of(one)
        flops, seconds, memory = base + sum(times * (of(layers) - base) for times, layers in alike.items() if times)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return Modelled(None, None, float("inf"))
    flops, seconds = (float(value) if np.isfinite(value) else None for value in (flops, seconds))
    return Modelled(flops, seconds, float(memory))


def least_memory(config: TrainConfig, partitioner: Partitioner) -> int:
    """Bytes of a device that training needs whatever its batch: the state and, of microbatches, the sums of
    gradients."""
    state, kept = _state_shapes(config, "train")
    sums = state.parameters if (config.trainer.num_microbatches or 1) > 1 else {}
    return sum(bytes_on_device(tree, partitioner.state(tree)) for tree in (state, kept, sums))


def _cost(compiled: Any) -> tuple[float | None, float | None]:
    """(FLOPs, modelled seconds) of a device, as its compiler counts them."""
    analysis = compiled.cost_analysis() or {}
    return analysis.get("flops"), analysis.get("optimal_seconds")


def _state_shapes(config: TrainConfig, program: str) -> tuple[Any, Any]:
    """(the state of a training, or the parameters of another program; the kept parameters of an adapter, else
    nothing)."""
    parameters, kept = parameter_shapes(config.model), {}
    if program != "train":
        return parameters, kept
    if config.adapter is not None:
        kept, parameters = jax.eval_shape(config.adapter.split, parameters)
    slots = jax.eval_shape(config.optimizer.init, parameters)
    return TrainState(jax.ShapeDtypeStruct((), jnp.int32), parameters, slots), kept


def _parameters(state: Any) -> Any:
    return state.parameters if isinstance(state, TrainState) else state


def _batch_size(config: TrainConfig) -> int:
    return config.train_data.batch_size


def _refusal(error: Exception) -> str:
    """The compiler's sentence about memory."""
    text = str(error)
    found = re.search(r"Ran out of memory[^\n]*?\.(?=\s|$)", text) or re.search(r"Ran out of memory[^\n]*", text)
    return found[0] if found else text.splitlines()[0][:200]
