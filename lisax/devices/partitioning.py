"""The mesh and where arrays live on it: the one place that knows about devices and processes.

The devices form a mesh of two axes. `data` splits the rows of a batch, `model` the matrices (Megatron's way:
heads, the width of feed-forward layers and the vocabulary). Parameters and slots may besides be split over `data`
along the embedding ("fully sharded", ZeRO's third stage): each layer is gathered when it is used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from lisax.errors import LisaxError, shown
from lisax.models.axes import apart_axes, logical_axes

DATA_AXIS, MODEL_AXIS = "data", "model"
# T5X's names of dimensions -> axis of the mesh. Others are not split.
RULES = (
    ("batch", DATA_AXIS),
    ("vocab", MODEL_AXIS),
    ("heads", MODEL_AXIS),
    ("joined_kv", MODEL_AXIS),
    ("mlp", MODEL_AXIS),
    # The sum between layers, which is normed, is the same on all that share a matrix: each has some of its positions.
    ("residual_length", MODEL_AXIS),
)
# Slots that are shaped as their parameter; factored ones are vectors and stay whole.
FULL_SLOTS = ("m", "v", "mu", "nu")


@dataclasses.dataclass(frozen=True)
class Partitioner:
    """Shardings of state and batches on `mesh`."""

    mesh: Mesh
    fully_sharded: bool = False
    rules: tuple[tuple[str, str | None], ...] = RULES

    @classmethod
    def over_all_devices(cls) -> Partitioner:
        return PjitPartitioner().over(jax.devices())

    @property
    def replicated(self) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec())

    @property
    def batch(self) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec(DATA_AXIS))

    @property
    def microbatches(self) -> NamedSharding:
        """The sharding of arrays [microbatches, rows, ...]."""
        return NamedSharding(self.mesh, PartitionSpec(None, DATA_AXIS))

    @property
    def batch_shards(self) -> int:
        """Groups of devices that have rows of their own."""
        return self.mesh.shape[DATA_AXIS]

    def state(self, tree: Any) -> Any:
        """The sharding of each leaf of a tree of parameters, or of a state that holds them and their slots."""
        return jax.tree_util.tree_map_with_path(
            lambda path, leaf: NamedSharding(self.mesh, self._spec(_names(path), leaf.shape)), tree
        )

    def _spec(self, names: list[str], shape: Sequence[int]) -> PartitionSpec:
        path = names[:-1] if names and names[-1] in FULL_SLOTS else names
        axes = logical_axes(path)
        if axes is not None and len(axes) < len(shape):  # as a checkpoint has it
            axes = apart_axes(path)
        if axes is None or len(axes) != len(shape):
            return PartitionSpec()
        # As Flax reads them: the first rule of a dimension whose axis no other dimension has taken.
        taken: dict[str, str | None] = {}
        for name, axis in ((("embed", DATA_AXIS),) if self.fully_sharded else ()) + self.rules:
            if name in axes and name not in taken and (axis is None or axis not in taken.values()):
                taken[name] = axis
        split = [taken.get(axis) for axis in axes]
        # A dimension that an axis of the mesh does not divide stays whole on it.
        return PartitionSpec(
            *(name if name and size % self.mesh.shape[name] == 0 else None for name, size in zip(split, shape))
        )

    @contextlib.contextmanager
    def constraints(self) -> Iterator[None]:
        """While a model is traced in it, its activations and gathered matrices are laid out by the rules."""
        if self.mesh.size == 1:
            yield
            return
        import flax.linen as nn  # not to be needed where a program is run that was traced before

        # Flax knows the mesh only by this context: without it, it drops every constraint.
        with jax.sharding.use_abstract_mesh(self.mesh.abstract_mesh), nn.logical_axis_rules(self.rules):
            yield

    def check_batch_size(self, batch_size: int, microbatches: int, name: str = "BATCH_SIZE") -> None:
        shards = self.batch_shards
        if batch_size < 1 or batch_size % (shards * microbatches):
            raise LisaxError(
                f"{name} is {batch_size}, which {shards} devices"
                + (f" times {microbatches} microbatches" if microbatches > 1 else "")
                + f" cannot share evenly: make it a positive multiple of {shards * microbatches}"
            )

    def place_batch(self, batch: dict[str, np.ndarray]) -> dict[str, jax.Array]:
        """A whole host batch as global arrays; every process gives the same rows and keeps its own."""
        return {
            name: jax.make_array_from_callback(array.shape, self.batch, lambda index, a=array: a[index])
            for name, array in batch.items()
        }

    def place_state(self, state: Any) -> Any:
        """Host or device arrays as global arrays of the state's shardings."""
        return jax.device_put(state, self.state(state))


def standard_logical_axis_rules(
    activation_partitioning_dims: int = 1,
    parameter_partitioning_dims: int = 1,
    additional_rules: Sequence[tuple[str, str | None]] = (),
) -> tuple[tuple[str, str | None], ...]:
    """T5X's rules. With 2 dimensions of activations the embedding is split over `model`, with 2 of parameters over `data`,
    where the axis is free. `additional_rules` come last: they are for dimensions that have no rule yet."""
    for name, dims in (("activation", activation_partitioning_dims), ("parameter", parameter_partitioning_dims)):
        if dims not in (1, 2):
            raise LisaxError(f"standard_logical_axis_rules.{name}_partitioning_dims must be 1 or 2, found {dims}")
    embed = [("embed", MODEL_AXIS)] * (activation_partitioning_dims == 2)
    embed += [("embed", DATA_AXIS)] * (parameter_partitioning_dims == 2)
    return (*RULES, *(embed or [("embed", None)]), *additional_rules)


@dataclasses.dataclass(frozen=True)
class PjitPartitioner:
    """How devices are used, with T5X's names.

    `num_partitions` devices share each matrix, and are neighbours along (x, y, z, cores of a chip) with
    `model_parallel_submesh`; the others have rows of their own. `parameter_partitioning_dims=2` also splits parameters
    and slots over the others. `logical_axis_rules` are pairs (name of a dimension, axis of the mesh or None) that
    replace those of `RULES`; a list with "batch" keeps its order, and a dimension takes its first free axis."""

    num_partitions: int = 1
    parameter_partitioning_dims: int = 1
    logical_axis_rules: Sequence[tuple[str, str | None]] = ()
    model_parallel_submesh: Sequence[int] | None = None

    def __post_init__(self):
        if (submesh := self.model_parallel_submesh) is not None:
            if len(submesh) != 4 or min(submesh) < 1:
                raise LisaxError(
                    "PjitPartitioner.model_parallel_submesh must be four numbers of at least 1, devices along x, y and "
                    f"z and cores of a chip, found {shown(submesh)}"
                )
            if self.num_partitions not in (1, math.prod(submesh)):
                raise LisaxError(
                    f"PjitPartitioner.num_partitions is {self.num_partitions}, and model_parallel_submesh has "
                    f"{math.prod(submesh)} devices: set one of the two"
                )
            object.__setattr__(self, "num_partitions", math.prod(submesh))
        if self.parameter_partitioning_dims not in (1, 2):
            raise LisaxError(
                "PjitPartitioner.parameter_partitioning_dims must be 1 or 2 (fully sharded), found "
                f"{self.parameter_partitioning_dims}"
            )
        if self.num_partitions < 1:
            raise LisaxError(f"PjitPartitioner.num_partitions must be at least 1, found {self.num_partitions}")
        for name, axis in self.logical_axis_rules:
            if axis not in (DATA_AXIS, MODEL_AXIS, None):
                raise LisaxError(
                    f"PjitPartitioner.logical_axis_rules: '{name}' is given to '{axis}'; the axes of "
                    f"the mesh are '{DATA_AXIS}' and '{MODEL_AXIS}'"
                )

    def over(self, devices: Sequence[jax.Device]) -> Partitioner:
        """The partitioner on these devices, neighbours on the network next to each other in the mesh."""
        if len(devices) % self.num_partitions:
            raise LisaxError(
                f"PjitPartitioner.num_partitions is {self.num_partitions}, which does not divide the "
                f"{len(devices)} devices"
            )
        shape = (len(devices) // self.num_partitions, self.num_partitions)
        if self.model_parallel_submesh is not None and all(hasattr(device, "coords") for device in devices):
            arranged = _tiled(devices, tuple(self.model_parallel_submesh)).reshape(shape)
        else:
            arranged = mesh_utils.create_device_mesh(shape, devices)
        return Partitioner(
            Mesh(arranged, (DATA_AXIS, MODEL_AXIS)), self.parameter_partitioning_dims == 2, self._rules()
        )

    def _rules(self) -> tuple[tuple[str, str | None], ...]:
        given = tuple((name, axis) for name, axis in self.logical_axis_rules)
        replaced = dict(given)
        if "batch" in replaced:
            return (*given, *(rule for rule in RULES if rule[0] not in replaced))
        return tuple((dict(RULES) | replaced).items())


def _tiled(devices: Sequence[jax.Device], submesh: tuple[int, ...]) -> np.ndarray:
    """Devices [tiles, devices of a tile], each tile a block of the torus of the submesh's size."""
    places = np.array([(*device.coords, device.core_on_chip) for device in devices])
    places -= places.min(axis=0)
    torus = tuple(int(size) for size in places.max(axis=0) + 1)
    if any(size % part for size, part in zip(torus, submesh)) or math.prod(torus) != len(devices):
        raise LisaxError(
            f"PjitPartitioner.model_parallel_submesh is {submesh}, each of which must divide the devices along that "
            f"dimension, {torus}"
        )
    grid = np.empty(torus, object)
    for place, device in zip(places, devices):
        grid[tuple(place)] = device
    split = grid.reshape([size for whole, part in zip(torus, submesh) for size in (whole // part, part)])
    return split.transpose(0, 2, 4, 6, 1, 3, 5, 7).reshape(-1, math.prod(submesh))


def bytes_on_device(tree: Any, shardings: Any) -> int:
    """Bytes that one device holds of a tree of arrays or shapes under their shardings."""
    sizes = jax.tree.map(
        lambda leaf, sharding: math.prod(sharding.shard_shape(leaf.shape)) * leaf.dtype.itemsize, tree, shardings
    )
    return sum(jax.tree.leaves(sizes))


def _names(path: Sequence[Any]) -> list[str]:
    """["token_embedder", "embedding"] of a path in a tree of dicts and named tuples."""
    return [str(getattr(entry, "key", getattr(entry, "name", ""))) for entry in path]
