"""Which of JAX's platforms are looked for: no TPU if none is attached.

The TPU compiler (libtpu, the extra `plan`) makes JAX look for a TPU on any machine, and libtpu prints errors and a
trace without one.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

# A TPU host has one of these devices, or declares in its environment that it is one (GKE; or the user insists).
DEVICES = ("dev/accel[0-9]*", "dev/vfio/[0-9]*")
VARIABLES = ("TPU_WORKER_HOSTNAMES", "TPU_ACCELERATOR_TYPE", "JAX_FORCE_TPU_INIT")
# Of Google on the PCI bus; its network cards and disks have other numbers.
VENDOR, TPUS = "0x1ae0", {"0x0027", "0x0056", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}


def choose_platforms() -> None:
    """Chooses platforms; called before JAX is used. Does nothing where a TPU is attached, or the user has chosen
    platforms.

    JAX is not imported for it if it can be set by its environment, which processes started from here inherit."""
    if "JAX_PLATFORMS" in os.environ or importlib.util.find_spec("libtpu") is None or tpu_attached():
        return
    if "jax" not in sys.modules and not _plugins():
        os.environ["JAX_PLATFORMS"] = "cpu"
        return
    import jax
    from jax.extend import backend

    # With plugins for GPUs the list of platforms is left to JAX, which passes over plugins that do not start: platforms
    # that are named must start.
    if not jax.config.jax_platforms:
        backend.register_backend_factory("tpu", _absent, fail_quietly=True)


def accelerated() -> bool:
    """Whether JAX computes on something else than a CPU; it is imported for this only if that is possible."""
    if chosen := os.environ.get("JAX_PLATFORMS"):
        return chosen.partition(",")[0] != "cpu"
    if not (_plugins() or (importlib.util.find_spec("libtpu") is not None and tpu_attached())):
        return False
    import jax

    return jax.default_backend() != "cpu"


def plan_elsewhere() -> None:
    """Prepares JAX, before it is used, to compile for a TPU that is not the machine this runs on."""
    # libtpu need not ask a cloud for its metadata.
    os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
    # libtpu ends the process at a flag that it does not know, as it does not know all of other compilers'.
    flags = os.environ.get("XLA_FLAGS", "").split()
    os.environ["XLA_FLAGS"] = " ".join(flag for flag in flags if not flag.startswith(("--xla_cpu_", "--xla_gpu_")))


def tpu_attached(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this machine looks like a TPU host; libtpu is not asked."""
    return (
        any(environment.get(name) for name in VARIABLES)
        or any(True for pattern in DEVICES for _ in root.glob(pattern))
        or any(
            _says(path, {VENDOR}) and _says(path.with_name("device"), TPUS)
            for path in root.glob("sys/bus/pci/devices/*/vendor")
        )
    )


def _says(path: Path, values: set[str]) -> bool:
    try:
        return path.read_text(encoding="ascii").strip() in values
    except (OSError, ValueError):
        return False


def _plugins() -> bool:
    """Whether a package brings JAX a platform of its own, as those for CUDA and ROCm do."""
    return importlib.util.find_spec("jax_plugins") is not None or bool(
        importlib.metadata.entry_points(group="jax_plugins")
    )


def _absent() -> None:
    raise RuntimeError("no TPU is attached to this machine")
