"""The mesh and where arrays live on it: the one place that knows about devices and processes.

All devices form one axis, `data`: parameters and slots are on every device, a batch is split by rows.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from lisax.records import LisaxError

DATA_AXIS = "data"


@dataclasses.dataclass(frozen=True)
class Partitioner:
    """Shardings of state and batches on `mesh`."""

    mesh: Mesh

    @classmethod
    def over_all_devices(cls) -> Partitioner:
        return cls(Mesh(np.array(jax.devices()), (DATA_AXIS,)))

    @property
    def state(self) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec())

    @property
    def batch(self) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec(DATA_AXIS))

    @property
    def microbatches(self) -> NamedSharding:
        """For arrays [microbatches, rows, ...]."""
        return NamedSharding(self.mesh, PartitionSpec(None, DATA_AXIS))

    def check_batch_size(self, batch_size: int, microbatches: int, name: str = "BATCH_SIZE") -> None:
        devices = self.mesh.devices.size
        if batch_size < 1 or batch_size % (devices * microbatches):
            raise LisaxError(
                f"{name} is {batch_size}, which {devices} devices"
                + (f" times {microbatches} microbatches" if microbatches > 1 else "")
                + f" cannot share evenly: make it a multiple of {devices * microbatches}")

    def place_batch(self, batch: dict[str, np.ndarray]) -> dict[str, jax.Array]:
        """A whole host batch as global arrays; every process gives the same rows and keeps its own."""
        return {name: jax.make_array_from_callback(array.shape, self.batch, lambda index, a=array: a[index])
                for name, array in batch.items()}

    def place_state(self, state: Any) -> Any:
        """Host or device arrays as global arrays of the state's sharding."""
        return jax.device_put(state, self.state)
