import platform
import subprocess
import sys

import pytest

from lisax.runtime import allocation

# How many of 20 calls of a program whose result has 64 MB took new memory (16,384 page faults), once the first calls
# have found places for it.
PROGRAM = """
import os, resource, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from lisax.runtime import allocation
allocation.share_arena()
allocation.keep_freed(int(sys.argv[1]))
import jax, jax.numpy as jnp

program = jax.jit(lambda x: x @ x.T)
x = jnp.ones((4096, 4))
faults = []
for _ in range(61):
    program(x).block_until_ready()
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(sum(after - before > 8192 for before, after in zip(faults[40:], faults[41:])))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="not glibc's malloc")
def test_a_small_models_programs_find_their_memory_again(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    small, large = (int(subprocess.run([sys.executable, "-c", PROGRAM, str(parameters)], capture_output=True, text=True,
                                       check=True).stdout) for parameters in (1, allocation.SMALL + 1))
    assert small <= 5 < 15 <= large, (small, large)


def test_where_there_is_no_such_library_nothing_happens(monkeypatch):
    monkeypatch.setattr(allocation.ctypes, "CDLL", lambda name: object())
    monkeypatch.setattr(allocation.os, "sched_getaffinity", lambda process: {0})
    monkeypatch.setattr(allocation, "_shared", False)
    allocation.share_arena()
    allocation.keep_freed(1)


@pytest.mark.parametrize("cores, accelerators, shared", [(1, [], True), (2, [], False), (1, ["/dev/accel0"], False)])
def test_threads_share_an_arena_on_one_core_without_an_accelerator(monkeypatch, cores, accelerators, shared):
    options = []
    monkeypatch.setattr(allocation, "_set", lambda option, value: options.append(option))
    monkeypatch.setattr(allocation, "_shared", False)
    monkeypatch.setattr(allocation.glob, "glob", lambda pattern: accelerators)
    monkeypatch.setattr(allocation.os, "sched_getaffinity", lambda process: set(range(cores)))
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    allocation.share_arena()
    assert bool(options) == shared
    allocation.keep_freed(1)
    assert (len(options) > 1) == shared
