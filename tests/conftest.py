"""Tests run many tiny models once each: what counts is the time to compile them."""

from __future__ import annotations

import gc
import os
import sys

import hypothesis
import pytest

from lisax.runtime.platforms import choose_platforms

# What an example takes says nothing on a machine that does other things besides. The rest, the same examples where CI is
# set among it, is hypothesis' own choice.
hypothesis.settings.register_profile(
    "lisax", hypothesis.settings.default, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("lisax")

# A third of the default's time; the code is slower, which tiny models do not show. No digit of a comparison rests on it.
QUICK_COMPILATION = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)


def pytest_configure(config: pytest.Config) -> None:
    choose_platforms()
    # Read by JAX when it is first imported, here or in a subprocess. Tests, their subprocesses and sessions share what
    # was compiled.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.rootpath / ".pytest_cache" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *QUICK_COMPILATION]).strip()


@pytest.fixture(autouse=True, scope="module")
def forget_programs():
    """What a module compiled would stay in memory to the end: gigabytes."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        gc.collect()
        gc.freeze()  # or each collection would go through all that every module before it has left
