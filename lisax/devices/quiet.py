"""Silences native libraries whose stderr output is noise."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def stderr_closed() -> Iterator[None]:
    """Discards all writes to file descriptor 2 while it is open: native libraries write before any setting of their log
    level is read."""
    sys.stderr.flush()
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


@contextlib.contextmanager
def saving_quietly() -> Iterator[None]:
    """Orbax logs a save that fails with a traceback for every thread, before it raises the error. tensorstore prints
    one for every array whose event loop has ended by then, and asyncio one for every other task that failed too, also
    long after the save."""
    _drop_late_callbacks()
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@functools.cache
def _drop_late_callbacks() -> None:
    """tensorstore's callbacks reach either hook, by its version; the save raises the first task's error."""
    told, unraisable = sys.excepthook, sys.unraisablehook

    def late(error: BaseException | None) -> bool:
        return isinstance(error, RuntimeError) and str(error) == "Event loop is closed"

    sys.excepthook = lambda kind, error, trace: None if late(error) else told(kind, error, trace)
    sys.unraisablehook = lambda found: None if late(found.exc_value) else unraisable(found)

    def heard(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        of_file = isinstance(error, OSError) or "os_error_code" in str(error)  # tensorstore's is a ValueError
        return not (of_file and "exception was never retrieved" in record.getMessage())

    logging.getLogger("asyncio").addFilter(heard)
