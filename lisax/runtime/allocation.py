"""How the C library keeps memory for programs that run on one core of a CPU.

XLA takes all temporaries of a program when it starts and gives them back when it ends. glibc asks the kernel for large
ones anew each time, which costs a micro model's training step a third of its time in page faults. Kept, they are there
for the next step. Large models leave it as it is: their steps compute for long, and pieces that are kept but do not
fit make such a process grow by half. Where there is no glibc, nothing happens.
"""

from __future__ import annotations

import ctypes
import glob
import os

# Of glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8
ACCELERATORS = ("/dev/accel*", "/dev/vfio/[0-9]*", "/dev/nvidia[0-9]*")
SMALL = 16_000_000  # parameters


_shared = False


def share_arena() -> None:
    """One arena for all threads, without which a thread keeps no piece above 64 MiB. To be called before threads start;
    where a process has one core only: on more, threads that wait for each other's arena cost more than is gained."""
    global _shared
    on_cpu = os.environ.get("JAX_PLATFORMS") == "cpu" or not any(map(glob.glob, ACCELERATORS))
    if on_cpu and len(os.sched_getaffinity(0)) == 1:
        _set(_ARENA_MAX, 1)
        _shared = True


def keep_freed(parameters: int) -> None:
    """What programs free stays with the process, where threads share an arena and the model has few parameters."""
    if _shared and parameters <= SMALL:
        _set(_MMAP_MAX, 0)
        _set(_TRIM_THRESHOLD, (1 << 31) - 1)
        _set(_TOP_PAD, 64 << 20)


def _set(option: int, value: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(option, value)
