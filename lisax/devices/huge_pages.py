"""Memory in huge pages for processes that train on a CPU.

XLA asks for its buffers again in every step and gives them back, gigabytes of them, and the kernel hands each one over
in pages of 4 KiB. In pages of 2 MiB a step of a MiniLM adapter takes three quarters of the time
(`benchmarks/RESULTS.md`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE, TUNABLE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"
MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def start_again_with_huge_pages() -> None:
    """Runs this process's command again, as the same process, with glibc set to ask for huge pages: it reads its
    settings once, when a program starts. Does nothing where the user has chosen them, where the kernel gives huge pages
    to all or to none, or once the process has begun to work."""
    given = os.environ.get(VARIABLE, "")
    if TUNABLE in given or "numpy" in sys.modules or not _on_request():
        return
    settings = f"{given}:{TUNABLE}=1".removeprefix(":")
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {VARIABLE: settings})


def _on_request() -> bool:
    try:
        return "[madvise]" in MODE.read_text(encoding="ascii")
    except OSError:
        return False
