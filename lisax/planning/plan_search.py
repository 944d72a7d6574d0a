"""The fastest way to train a gin file's batch on a machine: model parallelism, sharding, remat, microbatches, scan.

The costs of a step are made from programs of one and two layers, which compile in seconds; whether it fits is asked of
the whole program, which takes minutes. So settings are taken in the order of their cost, from settings that save
nothing to settings that save memory, which only make a step slower; the first whose whole program fits is the fastest.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable, Iterator
from typing import Any

from lisax.errors import LisaxError
from lisax.models.fields import REMATS
from lisax.planning.machines import DEVICES
from lisax.planning.plan import Modelled, Plan, least_memory, modelled, plan
from lisax.training.model_kinds import kind_of
from lisax.training.train_config import TrainConfig

CHUNK = 128  # of attention
MAX_MICROBATCHES = 16


@dataclasses.dataclass(frozen=True)
class Setting:
    """The settings that may make a program fit, or faster, without changing its results."""

    num_partitions: int
    fully_sharded: bool
    scan_layers: bool
    remat: str
    attention_chunk: int | None
    microbatches: int
    backbone: str = "T5Config"  # as gin names it

    @classmethod
    def of(cls, config: TrainConfig) -> Setting:
        model, partitioner = config.model.backbone, config.partitioner
        return cls(
            partitioner.num_partitions,
            partitioner.parameter_partitioning_dims == 2,
            model.scan_layers,
            model.remat,
            model.attention_chunk,
            config.trainer.num_microbatches or 1,
            type(model).__name__,
        )

    def applied(self, config: TrainConfig) -> TrainConfig:
        model = config.model.replaced(
            scan_layers=self.scan_layers, remat=self.remat, attention_chunk=self.attention_chunk
        )
        partitioner = dataclasses.replace(
            config.partitioner,
            num_partitions=self.num_partitions,
            parameter_partitioning_dims=2 if self.fully_sharded else 1,
        )
        trainer = dataclasses.replace(config.trainer, num_microbatches=self.microbatches)
        return dataclasses.replace(config, model=model, partitioner=partitioner, trainer=trainer)

    def bindings(self) -> str:
        """The flags of `lisax train`."""
        return (
            f"--gin.PjitPartitioner.num_partitions={self.num_partitions} "
            f"--gin.PjitPartitioner.parameter_partitioning_dims={2 if self.fully_sharded else 1} "
            f"--gin.{self.backbone}.scan_layers={self.scan_layers} --gin.{self.backbone}.remat={self.remat} "
            f"--gin.{self.backbone}.attention_chunk={self.attention_chunk} --gin.Trainer.num_microbatches={self.microbatches}"
        )


Tell = Callable[[Setting, Modelled, "Plan | None"], None]


def search(config: TrainConfig, devices: list[Any], tell: Tell) -> tuple[Setting, Plan]:
    """The fastest setting that fits, of the settings that keep the batch. `tell` hears of each that was modelled, and
    again, with its plan, of each that was compiled."""
    device = devices[0].device_kind
    # A program modelled to need more is not compiled.
    limit = DEVICES[device].memory if device in DEVICES else float("inf")
    waiting: list[tuple[float, int, Setting, Modelled]] = []
    seen: set[Setting] = set()

    def consider(settings: Iterator[Setting], at_least: float = 0.0) -> None:
        for setting in settings:
            if setting in seen:
                continue
            seen.add(setting)
            changed = setting.applied(config)
            partitioner = changed.partitioner.over(devices)
            if least_memory(changed, partitioner) <= limit:
                found = modelled(changed, "train", partitioner)
                tell(setting, found, None)
                cost = found.costs.seconds(device) or found.costs.flops or float("inf")
                heapq.heappush(waiting, (max(cost, at_least), len(seen), setting, found))

    consider(_layouts(config, len(devices)))
    while waiting:
        cost, _, setting, found = heapq.heappop(waiting)
        if found.memory <= limit:
            # The loop over layers costs nothing that is modelled, and may need less.
            for scan_layers in (False, True):
                setting = dataclasses.replace(setting, scan_layers=scan_layers)
                planned = plan(setting.applied(config), "train", devices, known=found)
                tell(setting, found, planned)
                if planned.fits:
                    return setting, planned
        consider(_savers(dataclasses.replace(setting, scan_layers=False), config, len(devices)), cost)
    raise LisaxError("no setting fits this machine: take a smaller batch, shorter inputs or more devices")


def _layouts(config: TrainConfig, devices: int) -> Iterator[Setting]:
    """The ways of dividing parameters and rows among devices, those with the fewest messages first."""
    for partitions in range(1, devices + 1):
        shards = devices // partitions
        if (
            devices % partitions
            or config.model.backbone.num_heads % partitions
            or config.train_data.batch_size % shards
        ):
            continue
        for fully_sharded in (False, True)[: 1 if shards == 1 else 2]:
            yield Setting(partitions, fully_sharded, False, "none", None, 1, type(config.model.backbone).__name__)


def _savers(setting: Setting, config: TrainConfig, devices: int) -> Iterator[Setting]:
    """The same division with less memory, at a price."""
    rows = config.train_data.batch_size // (devices // setting.num_partitions)
    length = kind_of(config.model).objective.text_length(config.model, config.train_data.task_feature_lengths)
    microbatches = setting.microbatches * 2
    if microbatches <= MAX_MICROBATCHES and rows % microbatches == 0:
        yield dataclasses.replace(setting, microbatches=microbatches)
    if setting.remat != REMATS[-1]:
        yield dataclasses.replace(setting, remat=REMATS[REMATS.index(setting.remat) + 1])
    elif setting.attention_chunk is None and length > CHUNK and length % CHUNK == 0:
        yield dataclasses.replace(setting, attention_chunk=CHUNK)
