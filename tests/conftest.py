"""Compiled programs are kept between tests, their subprocesses and sessions: most of them run the same tiny models."""

from __future__ import annotations

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Read by JAX when it is first imported, here or in a subprocess.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.rootpath / ".pytest_cache" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
