"""The start of a run: its own newest checkpoint, an initial checkpoint, or fresh parameters."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from lisax.devices import hosts
from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.files.places import absolute, place
from lisax.files.writing import atomic_write, write_json
from lisax.models.architectures import BACKBONE_PARTS, describe
from lisax.models.lora import Lora, joined
from lisax.models.stacking import unstack
from lisax.models.t5 import initialize
from lisax.training import data
from lisax.training.train_config import TrainConfig
from lisax.weights.assignment import assigned, rounded
from lisax.weights.checkpoints import (
    GIN_NAME,
    MODEL_JSON,
    TrainState,
    checkpoint_folder,
    complete_steps,
    flatten,
    native_checkpoints,
    remove_incomplete,
)
from lisax.weights.interop.adapters import check_base, lora_of, weights_digest
from lisax.weights.interop.kinds import vocabulary_name
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.pieces import Checkpoint, shapes_of
from lisax.weights.model_card import ModelCard
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import is_named
from lisax.weights.restore import restore_initial, restore_own


@dataclasses.dataclass
class Start:
    """The beginning of a run: its state, the step it ends at, and the content of `model.json` but for the step.

    With an adapter, the state has the trained parameters, and `kept` the backbone's parameters."""

    state: TrainState
    total_steps: int
    card: dict[str, Any]
    kept: Any = None
    adapter: Lora | None = None

    def whole(self, parameters: Any) -> Any:
        """The model's parameters, given those of the state."""
        return parameters if self.adapter is None else joined(self.kept, parameters, self.adapter.scale)


def begin(
    config: TrainConfig, initial: ModelFolder | None, partitioner: Partitioner, say: Callable[[str], None]
) -> Start:
    """The state to start from: this run's newest checkpoint, the `initial` model, or fresh parameters."""
    hosts.wait_for_all("start")
    if initial is None and not complete_steps(config.model_dir) and not native_checkpoints(config.model_dir):
        remove_incomplete(config.model_dir, after=None)
        return Start(_fresh(config, partitioner), _total(config, 0), _card(config, 0, 0))
    expected = jax.eval_shape(functools.partial(_initial, config))
    if config.adapter is not None:
        return _begin_adapter(config, initial, expected, partitioner, say)
    own = _own(config, expected, partitioner, say)
    return own or _from_initial(config, open_checkpoint(initial), expected, partitioner, say)


def _begin_adapter(
    config: TrainConfig,
    initial: ModelFolder,
    expected: TrainState,
    partitioner: Partitioner,
    say: Callable[[str], None],
) -> Start:
    """The start of an adapter on the initial model, which is read whether the run is new or continues. Where the
    initial model is an adapter that is made in the same way, that one is trained further. An initial adapter whose head
    has other classes gets a fresh one."""
    tell = (lambda _: None) if complete_steps(config.model_dir) else say
    found = _adapter_of(initial)
    config = dataclasses.replace(config, adapter=config.adapter.like(found and lora_of(found)))
    earlier = found if found is not None and lora_of(found) == config.adapter else None
    if earlier is None:
        backbone, base = (
            open_checkpoint(initial),
            initial.name if is_named(initial.name) else str(absolute(initial.folder)),
        )
        made = {**dataclasses.asdict(config.adapter), "base": base, "base_sha256": weights_digest(initial.folder)}
        if found is not None:
            tell(f"{initial.folder} is an adapter of another rank, alpha or targets: it stays as it is, below this one")
            backbone = _with_its_head(backbone, expected.parameters, tell)
    else:
        made = dict(earlier.card["adapter"])
        backbone = open_checkpoint(ModelFolder.find(made["base"]))
        check_base(earlier, backbone.folder)
    start = _from_initial(config, backbone, expected, partitioner, tell, made)
    kept, trained = config.adapter.split(start.state.parameters, config.random_seed or 0)
    if earlier is not None:
        earlier = _with_its_head(earlier, trained, tell)
        wanted = TrainState(start.state.step, jax.eval_shape(lambda: trained), None)
        found, _ = restore_initial(earlier, wanted, partitioner, optimizer=False)
        trained |= found.parameters
        step = int(found.step) if config.checkpoint.restore.restore_step else 0
        card = _card(config, step, step, made)
        start = Start(TrainState(jnp.int32(step), trained, None), _total(config, step), card)
        tell(f"trains the adapter of {earlier.folder} further")
    state = TrainState(start.state.step, trained, jax.jit(config.optimizer.init)(trained))
    found = _own(config, jax.eval_shape(lambda: state), partitioner, say, made)
    found = found or dataclasses.replace(start, state=partitioner.place_state(state))
    return dataclasses.replace(found, kept=kept, adapter=config.adapter)


def _adapter_of(initial: ModelFolder) -> Checkpoint | None:
    """The initial model without its backbone, if it is an adapter."""
    if not initial.has_card or initial.card.get("adapter") is None:
        return None
    return open_checkpoint(initial, alone=True)


def _with_its_head(checkpoint: Checkpoint, parameters: Any, say: Callable[[str], None]) -> Checkpoint:
    """The checkpoint, without its head if that is not the head of the `parameters`."""
    separate = jax.eval_shape(lambda: unstack(parameters))  # as a checkpoint has the layers
    shapes = {name: leaf.shape for name, leaf in flatten(separate).items()}
    found = shapes_of(checkpoint.parameters).items()
    if all(shapes.get(name) == shape for name, shape in found if name.partition("/")[0] not in BACKBONE_PARTS):
        return checkpoint
    say(f"{checkpoint.folder} has another head: this one begins fresh")
    return checkpoint.with_parts(BACKBONE_PARTS)


def _own(
    config: TrainConfig,
    expected: TrainState,
    partitioner: Partitioner,
    say: Callable[[str], None],
    adapter: Mapping[str, Any] | None = None,
) -> Start | None:
    """Starts from the run's newest checkpoint; None if it has none. `adapter` is its entry in `model.json`."""
    state = restore_own(config.model_dir, expected, partitioner, say)
    if state is None:
        return None
    card = _own_card(config, checkpoint_folder(config.model_dir, int(state.step)), say, adapter)
    training = card["training"]
    new = _card(config, training["first_step"], training["slots_first_step"], adapter)
    if card.get("adapter") != new.get("adapter"):
        raise LisaxError(
            f"{config.model_dir} was begun with the adapter {card.get('adapter')}, and is to continue with "
            f"{new.get('adapter')}: continue with the same one, or choose another MODEL_DIR"
        )
    for name in ("data", "random_seed"):
        if training.get(name) != new["training"][name]:
            say(
                f"note: {name} was {training.get(name)} when this run began and is {new['training'][name]} "
                f"now; the order of batches changes"
            )
    say(f"continues {config.model_dir} from step {int(state.step)}")
    return Start(state, _total(config, training["first_step"]), new)


def _from_initial(
    config: TrainConfig,
    initial: Checkpoint,
    expected: TrainState,
    partitioner: Partitioner,
    say: Callable[[str], None],
    adapter: Mapping[str, Any] | None = None,
) -> Start:
    """Starts from the initial checkpoint. For an `adapter` the state has no optimizer slots yet."""
    folder, restore, slots = initial.folder, config.checkpoint.restore, adapter is None
    draw = functools.partial(_initial, dataclasses.replace(config, model=config.model.replaced(scan_layers=False)))
    initial, begun = assigned(initial, restore, functools.partial(jax.eval_shape, draw), draw)
    if begun:
        say(f"{folder} does not have {', '.join(begun)}, which begin{'s' * (len(begun) == 1)} fresh")
    optimizer = restore.restore_optimizer if slots else False
    state, with_slots = restore_initial(initial, expected, partitioner, optimizer=optimizer)
    if own := expected.parameters.keys() - state.parameters.keys():

        def draw():
            parameters = initialize(config.model, config.random_seed or 0)
            return {name: parameters[name] for name in own if name not in copies}

        copies = config.model.copies
        copied = {name: {inner: state.parameters[part]} for name, (inner, part) in copies.items() if name in own}
        fresh = sorted(own - copied.keys())
        say(
            f"{folder} has only the backbone: "
            + "; ".join(
                [
                    *(f"{name} begins fresh" for name in fresh),
                    *(f"{name} begins as its {copies[name][1]}" for name in copied),
                ]
            )
        )
        drawn = partitioner.place_state(jax.jit(draw)()) if fresh else {}
        state = state._replace(parameters=state.parameters | drawn | jax.tree.map(jnp.copy, copied))
    step = int(state.step) if restore.restore_step else 0
    slots_first_step = step
    if with_slots:
        slots_first_step = (initial.card or {}).get("training", {}).get("slots_first_step", 0) - int(state.step) + step
    if slots and not with_slots:
        state = state._replace(slots=jax.jit(config.optimizer.init)(state.parameters))
    parameters = rounded(state.parameters, restore.dtype)
    state = partitioner.place_state(TrainState(jnp.int32(step), parameters, state.slots))
    say(f"starts at step {step} from {folder}, with {'its' if with_slots else 'fresh'} optimizer state")
    return Start(state, _total(config, step), _card(config, step, slots_first_step, adapter))


def _own_card(
    config: TrainConfig, folder: Path, say: Callable[[str], None], adapter: Mapping[str, Any] | None
) -> ModelCard:
    """`model.json` of the run's checkpoint. One that T5X wrote has none: it is made of the configuration, whose
    parameters the checkpoint was seen to have, and put next to it, so that every verb can read it.

    T5X's second moments decay by the step since 0; the place of its data is not known, so ours begins."""
    foreign = not (folder / MODEL_JSON).is_file()
    hosts.wait_for_all("looked for model.json")
    if foreign:
        step = int(folder.name.rpartition("_")[2])
        if hosts.is_first():
            for name, content in side_files(config).items():
                if not (folder / name).exists():
                    with atomic_write(folder / name, "wb") as file:
                        file.write(content)
            write_json(folder / MODEL_JSON, {**_card(config, step, 0, adapter), "step": step})
        say(f"{folder} has no {MODEL_JSON}, as T5X leaves it: written from the configuration; the data begins again")
    hosts.wait_for_all("wrote model.json")
    return ModelCard.read(folder)


def _initial(config: TrainConfig) -> TrainState:
    parameters = initialize(config.model, config.random_seed or 0)
    return TrainState(jnp.int32(0), parameters, config.optimizer.init(parameters))


def _fresh(config: TrainConfig, partitioner: Partitioner) -> TrainState:
    """Drawn on accelerators in its place, in one program; on a CPU that takes longer to compile than the training step
    of T5 small."""
    fresh = functools.partial(_initial, config)
    if jax.default_backend() == "cpu":
        return partitioner.place_state(fresh())
    return jax.jit(fresh, out_shardings=partitioner.state(jax.eval_shape(fresh)))()


def _total(config: TrainConfig, first_step: int) -> int:
    if config.total_steps is None:
        return first_step + config.relative_steps
    if 0 < first_step >= config.total_steps:
        raise LisaxError(
            f"TRAIN_STEPS is {config.total_steps:,}, and the initial checkpoint is at step {first_step:,}, from which "
            f"steps are counted: set TRAIN_STEPS above {first_step:,}, TRAIN_STEPS_RELATIVE to the number of further "
            "steps, or RestoreCheckpointConfig.restore_step to False"
        )
    return config.total_steps


def _card(
    config: TrainConfig, first_step: int, slots_first_step: int, adapter: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The content of `model.json` but for the step."""
    vocabulary, described, texts = None, None, {}
    if isinstance(config.train_data, data.DatasetConfig):
        dataset = config.train_data
        described = {
            "task": dataset.mixture_or_task_name,
            "batch_size": dataset.batch_size,
            "seed": dataset.seed,
            "lengths": dict(dataset.task_feature_lengths),
            "pack": dataset.pack,
        }
        vocabulary, texts = data.describe_vocabulary(dataset), data.model_card(dataset)
    return {
        "format": 1,
        "architecture": describe(config.model),
        "vocabulary": vocabulary,
        **({} if adapter is None else {"adapter": adapter}),
        "optimizer": {"name": type(config.optimizer).__name__, **dataclasses.asdict(config.optimizer)},
        "training": {
            "first_step": first_step,
            "slots_first_step": slots_first_step,
            "random_seed": config.random_seed,
            "data": described,
        },
        **texts,
        **({"files": sorted(config.files)} if config.files else {}),
        **config.card,
    }


def side_files(config: TrainConfig) -> dict[str, bytes]:
    files = dict(config.files)
    if config.gin is not None:
        files[GIN_NAME] = config.gin.encode()
    if isinstance(config.train_data, data.DatasetConfig):
        path = data.vocabulary_file(config.train_data)
        if path:
            files[vocabulary_name(path)] = place(path).read_bytes()
    return files
