"""The memory and time of a gin file's program on a named machine, by compiling it for that machine.

The TPU compiler (libtpu, the extra `plan`) runs without a TPU: it refuses programs that exceed a core's memory, and
models their costs (`costs.py`). It counts the body of a loop once, so that for models with scanned layers or
microbatches the model is made from unrolled programs of one and two layers, and scaled: by layers, and all but the
update by microbatches.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from lisax.devices.partitioning import Partitioner, bytes_on_device
from lisax.planning.costs import Costs, combined, costs_of
from lisax.planning.machines import DEVICES
from lisax.training.model_kinds import kind_of
from lisax.training.step import make_train_step, updated
from lisax.training.train_config import TrainConfig
from lisax.weights.checkpoints import TrainState, parameter_count
from lisax.weights.interop.architecture import parameter_shapes


@dataclasses.dataclass(frozen=True)
class Modelled:
    """One step of one device, made from programs of few layers. A whole one with a loop over layers needs more."""

    costs: Costs
    memory: float  # bytes; infinite where even few layers do not fit


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
    costs: Costs = Costs()
    examples: int = 0  # of one step

    @property
    def step_seconds(self) -> float | None:
        return self.costs.seconds(self.device)

    @property
    def examples_per_second(self) -> float | None:
        return self.examples / self.step_seconds if self.step_seconds else None

    @property
    def share_of_peak(self) -> float | None:
        return self.flop_limit / self.step_seconds if self.flop_limit and self.step_seconds else None

    @property
    def flop_limit(self) -> float | None:
        """The seconds that its operations take at the device's peak."""
        known = DEVICES.get(self.device)
        return self.costs.flops / known.flops if known and self.costs.flops else None

    @property
    def byte_limit(self) -> float | None:
        """The seconds that its bytes take if all of them pass between the device and its memory."""
        known = DEVICES.get(self.device)
        return self.costs.bytes / known.bandwidth if known and self.costs.bytes else None

    def figures(self) -> dict[str, Any]:
        """The plan as JSON: its fields, the fields of its costs, and derived figures."""
        fields = {name: value for name, value in dataclasses.asdict(self).items() if name != "costs"}
        derived = ("step_seconds", "examples_per_second", "share_of_peak", "flop_limit", "byte_limit")
        costs = {name: value for name, value in dataclasses.asdict(self.costs).items() if name != "loops"}
        return fields | costs | {name: getattr(self, name) for name in derived}


@dataclasses.dataclass(frozen=True)
class Run:
    """A whole training on a machine. The user gives the price per hour and the power."""

    steps: int
    hours: float
    price: float | None
    watts: float | None

    @classmethod
    def of(cls, found: Plan, config: TrainConfig, price: float | None, watts: float | None) -> Run | None:
        """Returns None if the plan is not for training or has no forecast of the time."""
        steps = config.total_steps if config.relative_steps is None else config.relative_steps
        if found.program != "train" or not steps or not found.step_seconds:
            return None
        return cls(steps, steps * found.step_seconds / 3600, price, watts)

    @property
    def cost(self) -> float | None:
        return self.hours * self.price if self.price else None

    @property
    def kilowatt_hours(self) -> float | None:
        return self.hours * self.watts / 1000 if self.watts else None


def plan(config: TrainConfig, program: str, devices: list[Any], known: Modelled | None = None) -> Plan:
    """Compiles `program` ("train", "score" or "generate") of a gin file's configuration for `devices`; `known` is its
    `modelled`, if it was computed before."""
    partitioner = config.partitioner.over(devices)
    if program != "train":
        config = dataclasses.replace(config, model=config.model.for_inference())
    microbatches = config.trainer.num_microbatches or 1
    partitioner.check_batch_size(config.train_data.batch_size, microbatches if program == "train" else 1)
    state, kept = _state_shapes(config, program)
    found = Plan(
        program,
        devices[0].device_kind,
        len(devices),
        parameter_count(state.parameters if program == "train" else state) + parameter_count(kept),
        sum(bytes_on_device(tree, partitioner.state(tree)) for tree in (state, kept)),
        False,
        examples=config.train_data.batch_size,
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
    backbone = config.model.backbone
    if backbone.scan_layers or backbone.attention_chunk or (program == "train" and microbatches > 1):
        at_once = dataclasses.replace(config, model=config.model.replaced(attention_chunk=None))
        costs = (known or modelled(at_once, program, partitioner)).costs
    else:
        costs = _with_loops(costs_of(compiled), 0)
    return dataclasses.replace(found, costs=costs)


# --- Compiling -----------------------------------------------------------------------------


def _compiled(config: TrainConfig, program: str, partitioner: Partitioner) -> Any:
    placed, kept = (_placed(tree, partitioner) for tree in _state_shapes(config, program))
    lengths, rows = config.train_data.task_feature_lengths, config.train_data.batch_size

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

    def of(layers: Mapping[str, int]) -> Modelled:
        """The program with this number of layers of each stack."""

        def of_chunk(chunk: int | None) -> TrainConfig:
            counts = {f"num_{stack}_layers": count for stack, count in layers.items()}
            model = config.model.replaced(**counts, scan_layers=False, attention_chunk=chunk)
            return dataclasses.replace(config, model=model)

        whole = _compiled(of_chunk(None), program, partitioner)
        costs = _with_loops(costs_of(whole), int(microbatches > 1))
        if microbatches > 1:
            # The compiler counts one of them, which is all but the update.
            update = _with_loops(costs_of(_compiled_update(of_chunk(None), partitioner)), 0)
            costs = combined([(microbatches, costs), (1 - microbatches, update)])
        memory = (_compiled(of_chunk(chunk), program, partitioner) if chunk else whole).memory_analysis()
        needed = getattr(memory, "peak_memory_in_bytes", 0) or memory.temp_size_in_bytes + memory.argument_size_in_bytes
        return Modelled(costs, needed)

    one = dict.fromkeys(stacks, 1)
    # Stacks of equal numbers of layers are compiled together.
    alike: dict[int, dict[str, int]] = {}
    for stack, count in stacks.items():
        alike.setdefault(count - 1, dict(one))[stack] = 2
    try:
        base = of(one)
        terms = [(1.0, base)]
        for times, layers in alike.items():
            if times:
                terms += [(times, of(layers)), (-times, base)]
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return Modelled(Costs.without("one or two layers do not fit"), float("inf"))
    return Modelled(
        combined([(factor, each.costs) for factor, each in terms]), sum(factor * each.memory for factor, each in terms)
    )


def _with_loops(costs: Costs, counted: int) -> Costs:
    """The costs, unless the program has more loops than those whose turns are `counted` elsewhere."""
    return costs if costs.loops <= counted else Costs.without("the program loops, and the compiler counts one turn")


def least_memory(config: TrainConfig, partitioner: Partitioner) -> int:
    """Bytes of a device that training needs for any batch: the state, and the microbatches' sums of gradients."""
    state, kept = _state_shapes(config, "train")
    sums = state.parameters if (config.trainer.num_microbatches or 1) > 1 else {}
    return sum(bytes_on_device(tree, partitioner.state(tree)) for tree in (state, kept, sums))


def _state_shapes(config: TrainConfig, program: str) -> tuple[Any, Any]:
    """(the state of a training, or another program's parameters; the kept parameters of an adapter, if any)."""
    parameters, kept = parameter_shapes(config.model), {}
    if program != "train":
        return parameters, kept
    if config.adapter is not None:
        kept, parameters = jax.eval_shape(config.adapter.split, parameters)
    slots = jax.eval_shape(config.optimizer.init, parameters)
    return TrainState(jax.ShapeDtypeStruct((), jnp.int32), parameters, slots), kept


def _refusal(error: Exception) -> str:
    """The compiler's sentence about memory."""
    text = str(error)
    found = re.search(r"Ran out of memory[^\n]*?\.(?=\s|$)", text) or re.search(r"Ran out of memory[^\n]*", text)
    return found[0] if found else text.splitlines()[0][:200]
