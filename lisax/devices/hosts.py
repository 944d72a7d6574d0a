"""Several processes that train one model: the hosts of a pod, or processes of one machine.

Every process computes, and writes its own parts of a checkpoint; files and messages that are needed once are process
0's. JAX's own coordination does the rest: nothing here sends messages.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import itertools
import os
import sys
import threading
from collections.abc import Iterator

from lisax.errors import LisaxError

MEETING_PERIOD, MEETING_TIMEOUT = 5, 60  # seconds
# Of the processes' heartbeats, which threads of their own send, however busy Python is.
HEARTBEAT_TIMEOUT = 20  # seconds
_meetings: dict[str, Iterator[int]] = collections.defaultdict(itertools.count)  # each has a name of its own
_questions = itertools.count(1)


def connect(coordinator_address: str | None, process_count: int | None, process_index: int | None) -> None:
    """Joins the other processes: at process 0's HOST:PORT, or None three times where JAX finds them."""
    import jax

    try:
        jax.distributed.initialize(
            coordinator_address, process_count, process_index, heartbeat_timeout_seconds=HEARTBEAT_TIMEOUT
        )
    except (RuntimeError, ValueError) as error:
        raise LisaxError(
            f"the processes of this run did not find each other: {str(error).strip()}. Give every one of "
            "them --coordinator_address, --process_count and its own --process_index"
        ) from None


@contextlib.contextmanager
def ending_together() -> Iterator[None]:
    """Where several processes train, an error in one, or the death of another, ends this one with exit status 1.

    At once, because whatever it would still wait for, a checkpoint or the common end of JAX, needs the others. A
    computation that waits for a dead process may never return: a thread meets the other processes' all the while, and
    when one of them does not come, it ends the process."""
    import jax

    if jax.process_count() == 1:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(MEETING_PERIOD):
            try:
                wait_for_all("alive", timeout=MEETING_TIMEOUT)
            except Exception as error:  # of whatever type the service raises
                if not done.is_set():
                    _end("another one is gone", error, 1)

    watcher = threading.Thread(target=watch, name="lisax-alive", daemon=True)
    watcher.start()
    atexit.register(_leave, watcher)
    try:
        yield
        wait_for_all("end")
    except (Exception, KeyboardInterrupt) as error:
        _end("it or another one failed", error, 130 if isinstance(error, KeyboardInterrupt) else 1)
    finally:
        done.set()


def _leave(watcher: threading.Thread) -> None:
    """Waits for the thread, whose last meeting may lack the other processes: JAX's end, which is otherwise later, ends
    it.

    A thread that returns from a native call while Python finalizes aborts the process."""
    import jax

    jax.distributed.shutdown()
    watcher.join(MEETING_TIMEOUT)


def _end(why: str, error: BaseException, status: int) -> None:
    import jax

    told = (str(error).strip() or type(error).__name__).splitlines()[0]
    sys.stderr.write(
        f"lisax: process {jax.process_index()} of {jax.process_count()} stopped, because {why}: {told:.300}. "
        "Checkpoints are whole: start all processes again with the same command\n"
    )
    sys.stderr.flush()
    os._exit(status)


def is_first() -> bool:
    """Whether this process writes the files that are needed once."""
    import jax

    return jax.process_index() == 0


def wait_for_all(what: str, timeout: int | None = None) -> None:
    """Returns when every process has come to the same point, named `what`; raises after `timeout` seconds.

    They wait for each other's messages, not in a computation: a computation gives up on a process that is 30 seconds
    late, and one that compiles may be."""
    import jax

    if jax.process_count() > 1:
        import orbax.checkpoint as ocp

        ocp.multihost.sync_global_processes(
            f"{what}.{next(_meetings[what])}", timeout=timeout, processes=set(range(jax.process_count()))
        )


def asked_to_stop() -> bool:
    """Whether any process was sent SIGTERM and this is the question at which all of them stop, which every process
    therefore asks equally often. Of one process False."""
    import jax

    if jax.process_count() == 1:
        return False
    from jax.experimental import multihost_utils

    return multihost_utils.reached_preemption_sync_point(next(_questions))
