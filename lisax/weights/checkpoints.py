"""Checkpoint folders: `MODEL_DIR/checkpoint_{step}/state`, T5X's Orbax layout, written in the background.

Next to `state` are `model.json` (architecture, vocabulary digest, the caller's fields), the vocabulary, the operative
gin and `metrics.json`, so that a checkpoint folder is whole when copied on its own. Orbax renames `state` into place
when everything is on disk: a folder without it is the rest of an interrupted save. In a bucket nothing is renamed:
there a checkpoint counts once `state` holds Orbax's `commit_success.txt`, which is written when all hosts have written
all else, and removed first.
"""

from __future__ import annotations

import dataclasses
import errno
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lisax.devices import hosts
from lisax.devices.quiet import saving_quietly
from lisax.errors import DataError, LisaxError, shown
from lisax.files.json_file import read_object
from lisax.files.places import COMMIT_NAME, absolute, exists, is_remote, place, remove_tree
from lisax.files.writing import atomic_write, write_json
from lisax.progress import say
from lisax.weights.heads_apart import heads_in, split
from lisax.weights.interop.kinds import MODEL_JSON, NATIVE_INDEX, STATE_NAME, Kind, kind_of
from lisax.weights.model_card import FITTED
from lisax.weights.pretrained import folder_of

if TYPE_CHECKING:  # a bundle is read without JAX
    from jax import Array

METRICS_JSON, GIN_NAME = "metrics.json", "config.gin"
CHOSEN = "chosen.json"  # in a MODEL_DIR: the checkpoint that was chosen after training, by more than its metrics


class TrainState(NamedTuple):
    """The state that a training carries from step to step, and a checkpoint keeps. `parameters` and `slots` are trees
    of arrays; T5X calls the latter the optimizer's `param_states`."""

    step: Array  # int32 scalar: finished updates, those of pretraining included
    parameters: Any
    slots: Any


@dataclasses.dataclass(frozen=True)
class SaveCheckpointConfig:
    """Every `period` steps (None: never) and at the end; the newest `keep` stay (None: all), and the best one.

    The best is that of the highest `best_metric` of evaluation (`best_mode="max"`) or of the lowest ("min"; None: of a
    loss the lowest); with it, every evaluation is followed by a save. `dtype` is that of the saved parameters; slots are
    float32."""

    period: int | None = 1000
    keep: int | None = 2
    best_metric: str | None = None
    best_mode: str | None = None
    dtype: str | None = "float32"

    def __post_init__(self):
        if self.dtype not in (None, "float32", "bfloat16"):
            raise LisaxError(f"SaveCheckpointConfig.dtype must be 'float32' or 'bfloat16', found {shown(self.dtype)}")
        if self.period is not None and self.period < 1:
            raise LisaxError(f"SaveCheckpointConfig.period must be at least 1 step, found {self.period}")
        if self.keep is not None and self.keep < 1:
            raise LisaxError(f"SaveCheckpointConfig.keep must be at least 1, or None for all, found {self.keep}")
        if self.best_mode not in (None, "max", "min"):
            raise LisaxError(f"SaveCheckpointConfig.best_mode must be 'max' or 'min', found '{self.best_mode}'")

    @property
    def mode(self) -> str:
        """Whether the highest or the lowest value is the best: "max" or "min"."""
        return self.best_mode or ("min" if re.search(r"(^|[/_])loss$", self.best_metric or "") else "max")


@dataclasses.dataclass(frozen=True)
class RestoreCheckpointConfig:
    """The start of a fresh run. A run that has checkpoints of its own continues those instead.

    `path`: a checkpoint folder, or a MODEL_DIR whose best (else newest) checkpoint is meant; `mode="latest"` takes its
    newest. T5X's list of one path is that path, and its empty list none. The step continues from the checkpoint, as in
    T5X, unless `restore_step` is False. `restore_optimizer`: None restores slots if they are present and fit.

    `assignment_map` and `fallback_to_scratch` start a model from another's parameters, `strict=False` from more than
    its own: see `assignment.assigned`. `dtype` rounds the parameters to it; they are float32 all the same."""

    path: str | Sequence[str] | None = None
    mode: str = "specific"
    restore_optimizer: bool | None = None
    restore_step: bool = True
    dtype: str | None = None
    strict: bool = True
    assignment_map: Sequence[tuple[str, str | None]] | None = None
    fallback_to_scratch: bool = False

    def __post_init__(self):
        if isinstance(self.path, (list, tuple)):
            if len(self.path) > 1:
                raise LisaxError(f"RestoreCheckpointConfig.path must be one checkpoint, found {len(self.path)}")
            object.__setattr__(self, "path", self.path[0] if self.path else None)
        if self.mode not in ("specific", "latest"):
            raise LisaxError(f"RestoreCheckpointConfig.mode must be 'specific' or 'latest', found '{self.mode}'")
        if self.dtype not in (None, "float32", "bfloat16", "float16"):
            raise LisaxError(
                f"RestoreCheckpointConfig.dtype must be 'float32', 'bfloat16' or 'float16', found {shown(self.dtype)}"
            )
        for pattern, replacement in self.assignment_map or ():
            try:
                re.sub(pattern, replacement or "", "")
            except (re.error, IndexError) as error:
                raise LisaxError(
                    f"RestoreCheckpointConfig.assignment_map: {shown(pattern)} -> {shown(replacement)} is not a regular "
                    f"expression and its replacement: {error}"
                ) from error


@dataclasses.dataclass(frozen=True)
class CheckpointConfig:
    """T5X's None of `save` saves only the last step, and that of `restore` starts from nothing."""

    save: SaveCheckpointConfig | None = SaveCheckpointConfig()
    restore: RestoreCheckpointConfig | None = RestoreCheckpointConfig()

    def __post_init__(self):
        object.__setattr__(self, "save", self.save or SaveCheckpointConfig(period=None))
        object.__setattr__(self, "restore", self.restore or RestoreCheckpointConfig())


# --- Finding -------------------------------------------------------------------------------


def checkpoint_folder(model_dir: str | os.PathLike, step: int) -> Path:
    return place(model_dir) / f"checkpoint_{step}"


def complete_steps(model_dir: str | os.PathLike) -> list[int]:
    """Steps of the complete checkpoints in MODEL_DIR, ascending."""
    return [step for step, folder in _folders(model_dir) if _is_complete(folder)]


def _is_complete(folder: Path) -> bool:
    state = folder / STATE_NAME
    if not is_remote(state):
        return state.is_dir()
    # T5X commits the folder, of which `state` is a part.
    return (state / COMMIT_NAME).is_file() or ((folder / COMMIT_NAME).is_file() and state.is_dir())


def _is_ours(folder: Path) -> bool:
    """Whether LisaX has saved a folder, or begun to: it has a `model.json`, or nothing yet. T5X's checkpoint may have been
    given a `model.json` too (`training.start`), but no metrics."""
    if (folder / MODEL_JSON).is_file():
        return (folder / METRICS_JSON).is_file() or not _is_complete(folder)
    return folder.is_dir() and all(path.suffix == ".partial" for path in folder.iterdir())


def native_checkpoints(model_dir: str | os.PathLike) -> list[Path]:
    """Checkpoints in T5X's native layout in MODEL_DIR, oldest first."""
    return [folder for _, folder in _folders(model_dir) if (folder / NATIVE_INDEX).is_file()]


def latest_checkpoint(model_dir: str | os.PathLike) -> Path | None:
    steps = complete_steps(model_dir)
    return checkpoint_folder(model_dir, steps[-1]) if steps else None


def best_checkpoint(model_dir: str | os.PathLike) -> Path | None:
    """The checkpoint that was chosen (`write_chosen`), or else the one best on the metric that training chose the newest
    by, of equals the one of the lower loss, then the earlier; None if no checkpoint has one."""
    if (chosen := _chosen(model_dir)) is not None:
        return chosen
    folders = [checkpoint_folder(model_dir, step) for step in complete_steps(model_dir)]
    metrics = {folder: found for folder in folders if (found := read_metrics(folder)).get("best") is not None}
    if not metrics:
        return None
    newest = metrics[[*metrics][-1]]["best"]
    sign = 1 if newest["mode"] == "max" else -1

    def goodness(folder: Path) -> tuple[float, float]:
        return sign * metrics[folder]["best"]["value"], -metrics[folder].get("metrics", {}).get("loss", math.inf)

    same = [folder for folder in metrics if metrics[folder]["best"].get("metric") == newest.get("metric")]
    return max(same, key=goodness)


def write_chosen(model_dir: Path, step: int, figures: Mapping[str, Any]) -> None:
    """Notes that the checkpoint of `step` is the best of a MODEL_DIR, with the figures that it was chosen by."""
    write_json(model_dir / CHOSEN, {"checkpoint": checkpoint_folder(model_dir, step).name, **figures})


def _chosen(model_dir: str | os.PathLike) -> Path | None:
    path = place(model_dir) / CHOSEN
    if not path.is_file():
        return None
    name = read_object(path).get("checkpoint")
    folder = next((folder for _, folder in _folders(model_dir) if folder.name == name), None)
    return folder if folder is not None and _is_complete(folder) else None


def read_metrics(folder: str | os.PathLike) -> dict[str, Any]:
    """`metrics.json` of a checkpoint: {"metrics": {...}, "best": {"metric", "mode", "value"} or null}."""
    path = place(folder) / METRICS_JSON
    metrics = read_object(path) if path.is_file() else {}
    best = metrics.get("best")
    if best is not None and not (
        isinstance(best, dict) and best.get("mode") in ("max", "min") and isinstance(best.get("value"), (int, float))
    ):
        raise DataError(
            f"must be null, or have a mode ('max' or 'min') and a value, found {shown(best)}", path=path, field="best"
        )
    return metrics


def resolve_checkpoint(path: str | os.PathLike, mode: str = "specific") -> Path:
    """The checkpoint folder that `path` means: itself, its parent if `path` is `state` or a native index, or,
    of a MODEL_DIR, the best one (`mode="specific"`) or the newest; of a name such as `minilm` (see `pretrained`) that
    model.

    A checkpoint is of any kind that `interop.kinds` knows: T5X's layouts, Hugging Face folders, bundles."""
    folder = folder_of(path, say) or place(path)
    if not exists(folder):
        raise LisaxError(f"there is no checkpoint at {path}: no such folder, and no pretrained model of that name")
    if (folder.name == STATE_NAME and (folder / "_METADATA").is_file()) or (
        folder.name == NATIVE_INDEX and folder.is_file()
    ):
        folder = folder.parent
    elif not folder.is_dir():
        raise LisaxError(f"there is no checkpoint at {path}: no such folder")
    if (kind := kind_of(folder)) is not None:
        if kind is Kind.ORBAX and not _is_complete(folder):
            raise LisaxError(
                f"{folder} is the rest of an interrupted save or copy: its '{STATE_NAME}' has no "
                f"{COMMIT_NAME}. If all else was copied there, add an empty object of that name"
            )
        return folder
    found = (best_checkpoint(folder) if mode == "specific" else None) or latest_checkpoint(folder)
    found = found or next(reversed(native_checkpoints(folder)), None)
    if found is None:
        raise LisaxError(
            f"there is no checkpoint at {path}: expected a folder checkpoint_STEP with "
            f"'{STATE_NAME}' or '{NATIVE_INDEX}' in it, a folder of such folders, or one with "
            f"model.safetensors"
        )
    return found


def write_fitted(model_dir: Path, fields: Mapping[str, Any]) -> None:
    """Writes the values fitted for the best checkpoint of a MODEL_DIR after its training: fields of `model.json`, which
    a bundle made of the checkpoint has too."""
    write_json(model_dir / FITTED, {"checkpoint": resolve_checkpoint(model_dir).name, **fields})


def add_fitted(path: str | os.PathLike, fields: Mapping[str, Any]) -> Path:
    """Adds values fitted for the checkpoint or bundle that `path` means to the earlier ones; returns the file: `FITTED`
    of a checkpoint's MODEL_DIR, a bundle's own `model.json`."""
    folder = resolve_checkpoint(path)
    if kind_of(folder) is Kind.BUNDLE:
        file, found = folder / MODEL_JSON, read_object(folder / MODEL_JSON)
    else:
        file = folder.parent / FITTED
        found = read_object(file) if file.is_file() else {}
        if found.get("checkpoint") != folder.name:
            found = {"checkpoint": folder.name}
    write_json(file, {**found, **fields})
    return file


def _folders(model_dir: str | os.PathLike) -> list[tuple[int, Path]]:
    found = [
        (int(match[1]), folder)
        for folder in place(model_dir).glob("checkpoint_*")
        if (match := re.fullmatch(r"checkpoint_(\d+)", folder.name))
    ]
    return sorted(found)


# --- Writing -------------------------------------------------------------------------------


class CheckpointWriter:
    """Saves to MODEL_DIR in the background; a context manager that waits for the last save.

    `card` is the content of `model.json` but for the step; `files` maps names to bytes put next to it."""

    def __init__(
        self,
        model_dir: str | os.PathLike,
        config: SaveCheckpointConfig,
        card: Mapping[str, Any],
        files: Mapping[str, bytes],
    ):
        import orbax.checkpoint as ocp

        self._model_dir = place(model_dir)
        self._config, self._card, self._files = config, card, files
        self._save_args = ocp.args.PyTreeSave
        self._orbax = ocp.AsyncCheckpointer(ocp.PyTreeCheckpointHandler())
        self._folder = self._model_dir  # the checkpoint that is being saved
        self._quiet = saving_quietly()

    def __enter__(self) -> CheckpointWriter:
        self._quiet.__enter__()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            self.wait()
        except LisaxError:
            if kind is None:  # otherwise the error that ended the run is the one to report
                raise
        finally:
            self._orbax.close()
            self._quiet.__exit__(None, None, None)

    def save(self, state: TrainState, metrics: Mapping[str, float]) -> Path:
        """Starts to save `state`; arrays are copied before it returns, so that they may be donated then."""
        import jax
        import jax.numpy as jnp

        self.wait()
        step = int(state.step)
        self._folder = folder = checkpoint_folder(self._model_dir, step)
        try:
            if hosts.is_first():
                self._write_beside(folder, step, metrics)
            hosts.wait_for_all(folder.name)
            if self._config.dtype == "bfloat16":
                state = state._replace(parameters=jax.tree.map(lambda leaf: leaf.astype("bfloat16"), state.parameters))
            if jax.default_backend() == "cpu":
                # There Orbax reads the very buffers of the arrays, which the next step will overwrite.
                state = jax.tree.map(jnp.copy, state)
            self._orbax.save(absolute(folder) / STATE_NAME, args=self._save_args(state_tree(state)))
        except OSError as error:
            raise save_error(folder, error) from error
        return folder

    def _write_beside(self, folder: Path, step: int, metrics: Mapping[str, float]) -> None:
        """The folder with all but its `state`."""
        if folder.exists():
            if not _is_ours(folder):
                raise LisaxError(
                    f"{folder} is in the place of a checkpoint, and LisaX has not saved it: move it, or choose another "
                    "MODEL_DIR"
                )
            remove_tree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / MODEL_JSON, {**self._card, "step": step})
        for name, content in self._files.items():
            with atomic_write(folder / name, "wb") as file:
                file.write(content)
        self._write_metrics(folder, metrics)

    def add_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Writes the metrics of a checkpoint that was saved before its evaluation."""
        if hosts.is_first():
            self._write_metrics(checkpoint_folder(self._model_dir, step), metrics)

    def _write_metrics(self, folder: Path, metrics: Mapping[str, float]) -> None:
        name, best = self._config.best_metric, None
        if name is not None and name in metrics:
            best = {"metric": name, "mode": self._config.mode, "value": float(metrics[name])}
        write_json(folder / METRICS_JSON, {"metrics": dict(metrics), "best": best})

    def wait(self) -> None:
        """Waits for a save in progress and then removes checkpoints that need not be kept."""
        try:
            self._orbax.wait_until_finished()
        except Exception as error:  # Orbax wraps whatever its threads met
            raise save_error(self._folder, error) from error
        self._prune()

    def _prune(self) -> None:
        if self._config.keep is None or not hosts.is_first():
            return
        best = best_checkpoint(self._model_dir)
        for step in complete_steps(self._model_dir)[: -self._config.keep]:
            folder = checkpoint_folder(self._model_dir, step)
            if folder != best and _is_ours(folder):
                remove_tree(folder)


def save_error(folder: Path, error: Exception) -> LisaxError:
    told = str(error).strip() or type(error).__name__
    # tensorstore's own sentence names a file of a folder that is gone by then, three times.
    why = os.strerror(errno.ENOSPC) if os.strerror(errno.ENOSPC) in told else told.splitlines()[0][:300]
    return LisaxError(
        f"the checkpoint {folder} could not be saved: {why}. Check that the disk has room and "
        f"that the folder may be written; the checkpoints before it are whole"
    )


def state_tree(state: TrainState) -> dict[str, Any]:
    """The state as T5X's checkpoints name and shape it: attention kernels of stacked layers have their heads apart."""
    heads = heads_in(flatten(state.parameters))

    def apart(tree: Any) -> Any:
        return tree and nested({name: split(name, leaf, heads) for name, leaf in flatten(tree).items()})

    return {
        "target": apart(state.parameters),
        "state": {"step": state.step, "param_states": apart(state.slots)},
    }


def remove_incomplete(model_dir: str | os.PathLike, after: int | None) -> list[Path]:
    """Removes the rests of interrupted saves, and all checkpoints after step `after` if one is given. Folders that
    LisaX has not saved stay, whatever their name."""
    if not hosts.is_first():
        return []
    removed = [
        folder
        for step, folder in _folders(model_dir)
        if _is_ours(folder) and (not _is_complete(folder) or (after is not None and step > after))
    ]
    for folder in removed:
        remove_tree(folder)
    return removed


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """{"encoder/…/kernel": leaf} of nested dicts."""
    if not isinstance(tree, Mapping):
        return {prefix: tree}
    joined = {f"{prefix}/{name}" if prefix else name: value for name, value in tree.items()}
    return {path: leaf for name, value in joined.items() for path, leaf in flatten(value, name).items()}


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `flatten`: {"encoder/…/kernel": leaf} as nested dicts."""
    tree: dict[str, Any] = {}
    for name, leaf in flat.items():
        *parents, last = name.split("/")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = leaf
    return tree


def parameter_count(parameters: Any) -> int:
    return sum(int(np.prod(leaf.shape)) for leaf in flatten(parameters).values())
