"""The machines that a plan is made for: the TPUs that are rented, by name, and the limits of their devices."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import jax

from lisax.errors import LisaxError

GIB = 2**30


@dataclasses.dataclass(frozen=True)
class Device:
    """The limits of one of JAX's devices, as the maker of the chip states them."""

    flops: float  # bfloat16 operations per second
    bandwidth: float  # bytes per second between the device and its memory
    memory: int  # bytes
    clock: float  # cycles per second: `flops` over the operations of a cycle, a power of two


# By JAX's name of the device: half a chip of v2, v3 and TPU7x, a chip of the others.
DEVICES = {
    "TPU v2": Device(22.5e12, 350e9, 8 * GIB, 0.70e9),
    "TPU v3": Device(61.5e12, 450e9, 16 * GIB, 0.94e9),
    "TPU v4": Device(275e12, 1200e9, 32 * GIB, 1.05e9),
    "TPU v4 lite": Device(137e12, 614e9, 8 * GIB, 1.05e9),
    "TPU v5 lite": Device(197e12, 819e9, 16 * GIB, 1.50e9),
    "TPU v5": Device(459e12, 2765e9, 95 * GIB, 1.75e9),
    "TPU v6 lite": Device(918e12, 1638e9, 32 * GIB, 1.75e9),
    "TPU7x": Device(1153.5e12, 3690e9, 96 * GIB, 2.20e9),
}

# The chips of a slice on its network.
_FLAT = {
    1: "1x1", 4: "2x2", 8: "2x4", 16: "4x4", 32: "4x8",
    64: "8x8", 128: "8x16", 256: "16x16", 512: "16x32", 1024: "32x32",
}  # fmt: skip
_CUBE = {
    4: "2x2x1", 8: "2x2x2", 16: "2x2x4", 32: "2x4x4",
    64: "4x4x4", 128: "4x4x8", 256: "4x8x8", 512: "8x8x8", 1024: "8x8x16",
}  # fmt: skip


def _sizes(name: str, kind: str, cores: int, shapes: Mapping[int, str], chips: range) -> dict[str, str]:
    """{name of a slice: libtpu's name}, where the number in the name counts `cores` of each chip."""
    return {f"{name}-{count * cores}": f"{kind}:{shape}" for count, shape in shapes.items() if count in chips}


_FAMILIES = (
    _sizes("v2", "v2", 2, _FLAT, range(4, 257)),
    _sizes("v3", "v3", 2, _FLAT, range(4, 1025)),
    _sizes("v4", "v4", 2, _CUBE, range(4, 1025)),
    _sizes("v5litepod", "v5e", 1, _FLAT, range(1, 257)),
    _sizes("v5e", "v5e", 1, _FLAT, range(1, 257)),
    _sizes("v5p", "v5p", 2, _CUBE, range(4, 1025)),
    _sizes("v6e", "v6e", 1, _FLAT, range(1, 257)),
    _sizes("tpu7x", "tpu7x", 2, _CUBE, range(4, 1025)),
)
TOPOLOGIES = {name: topology for family in _FAMILIES for name, topology in family.items()}
_LIBTPU_NAME = re.compile(r"([\w ]+):(\d+x\d+(?:x\d+)?)")


def devices_of(topology: str) -> list[Any]:
    """The devices of a machine: a name of `TOPOLOGIES`, libtpu's own (`v5e:4x4`), or `cpu-N`, `gpu-N` of this
    machine."""
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
    name = TOPOLOGIES.get(topology, topology)
    parts = _LIBTPU_NAME.fullmatch(name)
    if not parts:
        raise _unknown(topology)
    from jax.experimental import topologies

    options: dict[str, Any] = {}
    if parts[1] == "v4":  # JAX takes a chip as one device, which libtpu does on request only
        options["chip_config_name"] = "megacore"
    if {*parts[2].split("x")} == {"1"}:  # libtpu expects hosts of four chips
        options["chips_per_host_bounds"] = (1, 1, 1)
    try:
        return list(topologies.get_topology_desc(platform="tpu", topology_name=name, **options).devices)
    except Exception as error:
        if "libtpu" in str(error) and "lockfile" in str(error):
            raise LisaxError(
                "libtpu is in use by another process on this machine, and one at a time can hold it: "
                "wait for its end; if no such process runs, remove /tmp/libtpu_lockfile"
            ) from error
        if "INVALID_ARGUMENT" in str(error):
            raise _unknown(topology) from error
        raise LisaxError(
            f"the TPU compiler is not installed: pip install 'lisax[plan]' ({str(error).splitlines()[0][:150]})"
        ) from error


def _unknown(topology: str) -> LisaxError:
    sizes = ", ".join(f"{next(iter(family))} to {next(reversed(family))}" for family in _FAMILIES)
    return LisaxError(
        f"no topology is named '{topology}': there are {sizes}, libtpu's names (v5e:4x4), cpu-N and gpu-N"
    )
