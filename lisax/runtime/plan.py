"""What a program of a gin file needs of a named machine, by compiling it for that machine.

The TPU compiler (libtpu, the extra `plan`) runs without a TPU: it refuses what exceeds a core's memory, and models
operations and seconds. It counts the body of a loop once, so that for models with scanned layers or microbatches
the model is made from unrolled programs of one and two layers and one microbatch, and scaled.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lisax.models.dual_encoder import DualEncoderConfig
from lisax.models.reader import ReaderConfig
from lisax.models.t5 import T5Config
from lisax.models.table_fusion import FusionConfig
from lisax.records import LisaxError
from lisax.runtime.checkpoints import parameter_count
from lisax.runtime.interop.architecture import parameter_shapes
from lisax.runtime.objectives import objective_of
from lisax.runtime.partitioning import Partitioner, bytes_on_device
from lisax.runtime.step import TrainState, make_train_step
from lisax.runtime.train_config import TrainConfig

GIB = 2 ** 30
TOPOLOGIES = {"v2-8": "v2:2x2", "v3-8": "v3:2x2", "v3-32": "v3:4x4", "v4-8": "v4:2x2x1", "v4-16": "v4:2x2x2",
              "v5e-4": "v5e:2x2", "v5e-8": "v5e:2x4", "v5e-16": "v5e:4x4", "v5p-8": "v5p:2x2x1", "v6e-8": "v6e:2x4"}
# bfloat16 operations a second of a device, as its maker states them (v2, v3 and v4: half a chip).
PEAK_FLOPS = {"TPU v2": 22.5e12, "TPU v3": 61.5e12, "TPU v4": 137.5e12, "TPU v5 lite": 197e12, "TPU v5": 459e12,
              "TPU v6 lite": 918e12}


@dataclasses.dataclass(frozen=True)
class Setting:
    """What may be changed to make a program fit, or faster, without changing what it computes."""

    fully_sharded: bool
    scan_layers: bool
    remat: str
    attention_chunk: int | None
    microbatches: int

    @classmethod
    def of(cls, config: TrainConfig) -> Setting:
        model = config.model.t5
        return cls(config.partitioner.parameter_partitioning_dims == 2, model.scan_layers, model.remat,
                   model.attention_chunk, config.trainer.num_microbatches or 1)

    def applied(self, config: TrainConfig) -> TrainConfig:
        model = config.model.replaced(scan_layers=self.scan_layers, remat=self.remat,
                                      attention_chunk=self.attention_chunk)
        partitioner = dataclasses.replace(config.partitioner,
                                          parameter_partitioning_dims=2 if self.fully_sharded else 1)
        trainer = dataclasses.replace(config.trainer, num_microbatches=self.microbatches)
        return dataclasses.replace(config, model=model, partitioner=partitioner, trainer=trainer)

    def bindings(self) -> str:
        """As flags of `lisax train`."""
        return (f"--gin.PjitPartitioner.parameter_partitioning_dims={2 if self.fully_sharded else 1} "
                f"--gin.T5Config.scan_layers={self.scan_layers} --gin.T5Config.remat={self.remat} "
                f"--gin.T5Config.attention_chunk={self.attention_chunk} --gin.Trainer.num_microbatches={self.microbatches}")


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes are bytes of one device, times seconds of one step; None where the compiler does not say."""

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
            raise LisaxError(f"'{topology}': this machine has {len(devices)} {kind} device(s)"
                             + ("; XLA_FLAGS=--xla_force_host_platform_device_count=8 simulates more"
                                if kind == "cpu" else ""))
        return devices[:int(count)]
    if topology not in TOPOLOGIES:
        raise LisaxError(f"no topology is named '{topology}': there are {', '.join(TOPOLOGIES)}, cpu-N and gpu-N")
    from jax.experimental import topologies

    try:
        return list(topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[topology]).devices)
    except Exception as error:
        if "libtpu" in str(error) and "lockfile" in str(error):
            raise LisaxError("libtpu is in use by another process on this machine, and one at a time can hold it: "
                             "wait for that one, or remove /tmp/libtpu_lockfile if there is none") from error
        raise LisaxError("the TPU compiler is not installed: pip install 'lisax[plan]' "
                         f"({str(error).splitlines()[0][:150]})") from error


def plan(config: TrainConfig, program: str, devices: list[Any]) -> Plan:
    """Compiles `program` ("train", "score" or "generate") of a gin file's configuration for `devices`."""
    partitioner = config.partitioner.over(devices)
    if program != "train":
        config = dataclasses.replace(config, model=config.model.for_inference())
    microbatches = config.trainer.num_microbatches or 1
    partitioner.check_batch_size(_batch_size(config), microbatches if program == "train" else 1)
    state = _state_shapes(config, program)
    known = Plan(program, devices[0].device_kind, len(devices), parameter_count(_parameters(state)),
                 bytes_on_device(state, partitioner.state(state)), False, examples=_batch_size(config))
    started = time.perf_counter()
    try:
        compiled = _compiled(config, program, partitioner)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return dataclasses.replace(known, refusal=_refusal(error), compile_seconds=time.perf_counter() - started)
    memory = compiled.memory_analysis()
    known = dataclasses.replace(
        known, fits=True, compile_seconds=time.perf_counter() - started, temporaries=memory.temp_size_in_bytes,
        peak=getattr(memory, "peak_memory_in_bytes", None) or None)
    loops = config.model.t5.scan_layers or (program == "train" and microbatches > 1)
    flops, seconds = _unrolled_cost(config, program, partitioner) if loops else _cost(compiled)
    return dataclasses.replace(known, flops=flops, step_seconds=seconds)


def search(config: TrainConfig, devices: list[Any], tell: Callable[[Setting, Plan], None]) -> tuple[Setting, Plan]:
    """The fastest setting that fits, of those that keep the batch; `tell` hears of each."""
    found: list[tuple[Setting, Plan]] = []
    for setting in _settings(config, len(devices)):
        planned = plan(setting.applied(config), "train", devices)
        tell(setting, planned)
        if planned.fits:
            found.append((setting, planned))
    if not found:
        raise LisaxError("no setting fits this machine: take a smaller batch, shorter inputs or more devices")
    return min(found, key=lambda pair: pair[1].step_seconds or float("inf"))


def _settings(config: TrainConfig, devices: int) -> Iterator[Setting]:
    """From the fastest when there is room to the smallest. Deep models are scanned, or they compile for minutes."""
    length = objective_of(config.model).text_length(config.model, config.train_data.task_feature_lengths)
    scan = config.model.t5.num_encoder_layers > 12
    shards = devices // config.partitioner.num_partitions
    rows = _batch_size(config) // shards
    for fully_sharded in (False, True):
        for remat, chunk in (("none", None), ("minimal", None), ("full", None), ("full", 128)):
            if chunk is None or (length > chunk and length % chunk == 0):
                yield Setting(fully_sharded, scan, remat, chunk, 1)
        for microbatches in (2, 4, 8):
            if rows % microbatches == 0:
                yield Setting(fully_sharded, scan, "minimal", None, microbatches)


# --- Compiling -----------------------------------------------------------------------------


def _compiled(config: TrainConfig, program: str, partitioner: Partitioner) -> Any:
    state = _state_shapes(config, program)
    placed = jax.tree.map(lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
                          state, partitioner.state(state))
    lengths, rows = config.train_data.task_feature_lengths, _batch_size(config)

    def tokens(length: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((rows, length), jnp.int32, sharding=partitioner.batch)

    if program == "train":
        step = make_train_step(config.model, config.loss, config.optimizer, config.trainer.learning_rate_fn, seed=0,
                               microbatches=config.trainer.num_microbatches or 1, slots_first_step=0,
                               partitioner=partitioner)
        targets = {name: tokens(lengths["targets"]) for name in
                   ("decoder_input_tokens", "decoder_target_tokens", "decoder_loss_weights")}
        return step.lower(placed, {"encoder_input_tokens": tokens(lengths["inputs"]), **targets}).compile()
    if program != "train" and isinstance(config.model, (DualEncoderConfig, ReaderConfig)):
        raise LisaxError("of dual encoders and readers training alone is planned: plan --program=train")
    if not isinstance(config.model, T5Config):
        kind = "table fusion" if isinstance(config.model, FusionConfig) else "the evidence pointer"
        if program == "generate":
            raise LisaxError(f"{kind} generates nothing: plan --program=score")
        from lisax.runtime.fusion_scoring import compiled_fusion
        from lisax.runtime.pointer_scoring import compiled_search

        compiled = compiled_fusion if isinstance(config.model, FusionConfig) else compiled_search
        length = objective_of(config.model).text_length(config.model, lengths)
        texts = jax.ShapeDtypeStruct((rows, lengths["inputs"] // length, length), jnp.int32, sharding=partitioner.batch)
        return compiled(config.model, partitioner).lower(placed, texts).compile()
    if program == "score":
        from lisax.runtime.scoring import compiled_scorer

        words = jax.ShapeDtypeStruct((3,), jnp.int32, sharding=partitioner.replicated)
        return compiled_scorer(config.model, partitioner).lower(placed, tokens(lengths["inputs"]), words).compile()
    from lisax.models.decoding import Decoding
    from lisax.runtime.inference import make_predictor

    numbers = jax.ShapeDtypeStruct((rows,), jnp.int32, sharding=partitioner.batch)
    predict = make_predictor(config.model, lengths["targets"], Decoding(), partitioner)
    return predict.lower(placed, tokens(lengths["inputs"]), numbers).compile()


def _unrolled_cost(config: TrainConfig, program: str, partitioner: Partitioner) -> tuple[float | None, float | None]:
    """FLOPs of a device and seconds of a whole step, from one microbatch through one and two layers of a stack."""
    microbatches = (config.trainer.num_microbatches or 1) if program == "train" else 1
    rows = _batch_size(config) // microbatches

    def cost(encoder: int, decoder: int) -> np.ndarray:
        model = config.model.replaced(num_encoder_layers=encoder, num_decoder_layers=decoder, scan_layers=False)
        part = dataclasses.replace(
            config, model=model, trainer=dataclasses.replace(config.trainer, num_microbatches=1),
            train_data=dataclasses.replace(config.train_data, batch_size=rows))
        return np.array(_cost(_compiled(part, program, partitioner)), dtype=float)

    base = cost(1, 1)
    whole = (base + (config.model.t5.num_encoder_layers - 1) * (cost(2, 1) - base)
             + (config.model.t5.num_decoder_layers - 1) * (cost(1, 2) - base))
    flops, seconds = (float(value) * microbatches for value in whole)
    return (flops if np.isfinite(flops) else None), (seconds if np.isfinite(seconds) else None)


def _cost(compiled: Any) -> tuple[float | None, float | None]:
    """(FLOPs, modelled seconds) of a device, as its compiler counts them."""
    analysis = compiled.cost_analysis() or {}
    return analysis.get("flops"), analysis.get("optimal_seconds")


def _state_shapes(config: TrainConfig, program: str) -> Any:
    parameters = parameter_shapes(config.model)
    if program != "train":
        return parameters
    slots = jax.eval_shape(config.optimizer.init, parameters)
    return TrainState(jax.ShapeDtypeStruct((), jnp.int32), parameters, slots)


def _parameters(state: Any) -> Any:
    return state.parameters if isinstance(state, TrainState) else state


def _batch_size(config: TrainConfig) -> int:
    return config.train_data.batch_size


def _refusal(error: Exception) -> str:
    """The compiler's sentence about memory."""
    text = str(error)
    found = re.search(r"Ran out of memory[^\n]*?\.(?=\s|$)", text) or re.search(r"Ran out of memory[^\n]*", text)
    return found[0] if found else text.splitlines()[0][:200]
