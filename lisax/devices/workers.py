"""Blocks of input over the workers of a Ray cluster, with the results of one process, byte for byte.

A verb gives `mapped` a function that opens models and indexes and returns the work: a function from a block to its
result. One process opens them once and works block by block; each worker does the same with the blocks that it is given.
A block's result must depend only on the block, and not on earlier ones, which another worker may have had.

Ray (the extra `ray`) is imported only if workers are asked for. It starts the workers, carries blocks and results, and
notices the death of a worker: its blocks are given to others, and another worker takes its place.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import heapq
import io
import os
import pickle
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, TypeVar

from lisax import __version__
from lisax.devices.platforms import choose_platforms
from lisax.errors import LisaxError
from lisax.files.places import fetched, origin, place
from lisax.files.resumable import fingerprint, resumable_groups
from lisax.progress import counting, say

Block = TypeVar("Block")
Result = TypeVar("Result")
Opens = Callable[[], Callable[[Block], Result]]

LOCAL = "ray"
AT_A_TIME = 2  # blocks given to a worker: the current one and the next
AHEAD = 4  # unfinished blocks, times the workers, before further ones are read
TRIES = 3  # deaths of workers at the same block, after which the command ends
# Of a cluster started here: bytes of shared memory, for blocks and results are small, and the priority of this process.
STARTED = {"RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES": str(256 << 20), "RAY_worker_niceness": "0"}
REACHED = 20  # seconds until an address counts as out of reach
PATIENCE = 30  # seconds without a worker until a message
SENT = ("LISAX_BACKEND",)  # variables of the environment that choose the library that computes
PACKAGE = Path(__file__).resolve().parents[1]


@dataclasses.dataclass(frozen=True)
class Workers:
    """A Ray cluster, and how many workers work there; None: one for each GPU or, without GPUs, for each machine."""

    address: str
    count: int | None = None

    @classmethod
    def of(cls, text: str) -> Workers:
        """Reads `ray`, `HOST:6379` or `ray://HOST:10001`, with the number of workers after a comma. Raises LisaxError
        for others.

        >>> Workers.of("ray://head:10001,8")
        Workers(address='ray://head:10001', count=8)
        """
        address, comma, count = text.partition(",")
        if not re.fullmatch(r"ray|(ray://)?[^/\s:]+:\d{1,5}", address) or (
            comma and not re.fullmatch(r"[1-9]\d*", count)
        ):
            raise LisaxError(
                "expected ray, HOST:6379 or ray://HOST:10001, if need be with a number of workers (ray,4); found "
                f"{text!r:.80}"
            )
        return cls(address, int(count) if comma else None)


def mapped(opens: Opens, blocks: Iterable[Block], workers: Workers | None = None) -> Iterator[Result]:
    """The result of each block by `opens()`, in the order of the blocks: worked out here (None) or at workers.

    `opens` is sent to the workers: a function of a module, with its arguments by `functools.partial`. A `Path` among
    them is that of the same files there: in a folder that all machines have, or in a bucket. Errors of the work are
    raised here. Raises LisaxError if a worker does not see a file, and if workers end again and again."""
    if workers is None:
        yield from map(opens(), blocks)
        return
    with _Cluster(workers) as cluster:
        yield from cluster.results(sent(opens), blocks)


def grouped(
    opens: Opens,
    items: Sequence[Any],
    at_a_time: int,
    workers: Workers | None = None,
    what: str = "claims",
    done: int = 0,
) -> Iterator[Any]:
    """The result of each group of `at_a_time` items (`mapped`), without the first `done` groups. Prints progress."""
    from lisax.devices.batching import windows  # which brings numpy, and `lisax --help` imports this module

    groups = list(windows(items, at_a_time))
    with counting(len(items), what) as advance:
        advance(sum(map(len, groups[:done])))
        for result, group in zip(mapped(opens, groups[done:], workers), groups[done:]):
            yield result
            advance(len(group))


def lines_to_file(
    out: Path,
    opens: Callable[[], Callable[[Sequence[Any]], Iterable[str]]],
    items: Sequence[Any],
    at_a_time: int,
    *,
    made_from: str = "",
    workers: Workers | None = None,
    what: str = "claims",
) -> None:
    """Writes the lines of each group of claims, as `files.resumable` does: an interrupted call resumes, with the same
    workers or others."""
    resumable_groups(out, lambda done: grouped(opens, items, at_a_time, workers, what, done), made_from)


# --- Here -----------------------------------------------------------------------------------


def one_connection(workers: Workers | None) -> contextlib.AbstractContextManager:
    """Within the context, calls of `mapped` at workers `ray` share one connection to the cluster. An address gets a
    new one for each call: a process that stays connected ends with the first machine, and it may be training."""
    shared = workers is not None and workers.address == LOCAL
    return _Cluster(workers) if shared else contextlib.nullcontext()


class _Cluster:
    """A connection to Ray, closed at the end with all its workers."""

    def __init__(self, workers: Workers):
        for name, value in STARTED.items():
            os.environ.setdefault(name, value)
        import ray
        import ray.exceptions

        self._workers = workers
        self._ray, self._alive = ray, set()
        self._joined = ray.is_initialized()  # by the caller or `one_connection`, and stays so

    def __enter__(self) -> _Cluster:
        if not self._joined:
            self._connect()
        try:
            self._options, self._threads, self._count = _placed(
                [node["Resources"] for node in self._ray.nodes() if node["Alive"]], self._workers
            )
        except LisaxError:
            self.__exit__()
            raise
        return self

    def _connect(self) -> None:
        asked = self._workers.address
        try:
            if asked != LOCAL:  # Ray would try for minutes
                host, _, port = asked.removeprefix("ray://").partition(":")
                socket.create_connection((host, int(port)), REACHED).close()
            # None: $RAY_ADDRESS, or the cluster of this machine that `ray start` began, or a new one.
            quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
            self._ray.init(None if asked == LOCAL else asked, **quiet)
        except Exception as error:  # Ray has no common type, and none but this if it does not start in time
            raise LisaxError(
                f"no Ray cluster answers at {asked}: {_said(error)}; if it asks for a token, set RAY_AUTH_MODE=token"
            ) from None

    def __exit__(self, *_: Any) -> None:
        if not self._ray.is_initialized():  # `one_connection` ended before; `kill` would start another cluster
            return
        for worker in self._alive:
            self._ray.kill(worker)
        if not self._joined:
            self._ray.shutdown()

    def results(self, opens: bytes, blocks: Iterable[Any]) -> Iterator[Any]:
        """The results in order. A task is (number, workers that ended at it, block).

        `ray.util.ActorPool` reads all blocks at once and has no second try. Ray's own restarts of an actor keep its
        blocks until the cluster has room for it again; here the other workers take them."""
        source, again = ((number, 0, block) for number, block in enumerate(blocks)), []
        opening, running, found, given, ended, printed = {}, {}, {}, 0, 0, set()
        free: collections.deque = collections.deque()  # workers, as often as there are blocks that they can take

        def next_task() -> tuple[int, int, Any] | None:
            if again:
                return heapq.heappop(again)
            return next(source, None) if len(running) + len(found) < AHEAD * self._count else None

        for _ in range(self._count):
            self._start(opens, opening)
        while True:
            while given in found:
                if isinstance(result := found.pop(given), _Failed):
                    raise result.error from None
                yield result
                given += 1
            while free and (task := next_task()):
                worker = free.popleft()
                running[worker.do.remote(task[2])] = worker, task
            if free and not running and not found:
                return  # there was no further task
            for ref in self._finished(opening, running):
                worker, task = opening.pop(ref) if ref in opening else running.pop(ref)
                try:
                    result, lines = self._ray.get(ref)
                except self._ray.exceptions.RayTaskError as error:
                    if task is None:
                        raise _cause(error) from None
                    # Raised in its turn, as one process would do: the results before it are kept.
                    result, lines = _Failed(_cause(error)), ""
                except self._ray.exceptions.RayError as error:
                    number, tries, block = task or (None, ended, None)
                    if tries + 1 >= TRIES:
                        raise LisaxError(
                            f"{TRIES} workers ended one after another, {'at the same input' if task else 'at their start'}; "
                            f"has each memory enough? The last one: {_said(error)}"
                        ) from None
                    if task is None:
                        ended += 1
                    else:
                        heapq.heappush(again, (number, tries + 1, block))
                    if worker in self._alive:
                        say("  a worker has ended; another one takes its place")
                        self._alive.remove(worker)
                        free = collections.deque(one for one in free if one != worker)
                        self._start(opens, opening)
                    continue
                for line in lines.splitlines():
                    if line not in printed:  # one process would print it once, and each worker has
                        printed.add(line)
                        say(line)
                if task is None:
                    ended = 0
                    free.extend([worker] * AT_A_TIME)
                else:
                    found[task[0]] = result
                    if worker in self._alive:
                        free.append(worker)

    def _start(self, opens: bytes, opening: dict[Any, tuple]) -> None:
        worker = self._ray.remote(_Worker).options(**self._options).remote(self._threads)
        self._alive.add(worker)
        opening[worker.open.remote(opens)] = worker, None

    def _finished(self, opening: dict[Any, tuple], running: dict[Any, tuple]) -> list:
        """The finished ones, at least one."""
        while not (done := self._ray.wait([*running, *opening], timeout=PATIENCE)[0]):
            if not running:
                say(f"  no worker has opened yet: has the Ray cluster room for {self._count}?")
        return done


@dataclasses.dataclass
class _Failed:
    error: BaseException


def _placed(machines: list[dict[str, float]], workers: Workers) -> tuple[dict[str, Any], int, int]:
    """(Ray's options of a worker, its threads, the number of workers) for machines with these resources.

    All workers compute on the same kind of device, because the last digits of results are that kind's."""
    for device in ("GPU", "TPU", "CPU"):
        if having := [one for one in machines if one.get(device, 0) >= 1]:
            break
    else:
        raise LisaxError(f"no machine of the Ray cluster at {workers.address} has a processor to work on")
    devices, processors = (sum(int(one.get(kind, 0)) for one in having) for kind in (device, "CPU"))
    count = workers.count or (devices if device == "GPU" else len(having))
    options = {"scheduling_strategy": "SPREAD", "num_cpus": int(count <= processors)}
    if device == "GPU":
        options["num_gpus"] = 1
    elif device == "TPU":  # JAX takes all of a machine
        options["resources"] = {"TPU": min(one["TPU"] for one in having)}
    return options, max(1, processors // count), count


def _cause(error: Any) -> BaseException:
    """The error of the work; one that is not for the user keeps the worker's trace."""
    return error.cause if isinstance(error.cause, (LisaxError, OSError, ImportError)) else error


def _said(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


# --- From here to the workers -----------------------------------------------------------------


class _Sending(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        """How a path is found at another machine: (kind, address, {name: bytes} of its files)."""
        if not isinstance(value, PurePath):
            return None
        if (address := origin(value)) is not None:
            return "bucket", address, None
        if not value.exists():  # a name of a model, or a file to be written
            return "name", str(value), None
        path = value.absolute()
        files = {name: size for name, size, _ in fingerprint(path) if not name.endswith(".partial")}
        if path.is_relative_to(PACKAGE):  # which the other machine has somewhere else
            return "package", path.relative_to(PACKAGE).as_posix(), files
        return "shared", str(path), files


class _Receiving(pickle.Unpickler):
    def persistent_load(self, sent: tuple[str, str, dict[str, int] | None]) -> Path:
        kind, address, files = sent
        if kind == "bucket":
            return fetched(address)
        if kind == "name":
            return place(address)
        path = PACKAGE / address if kind == "package" else Path(address)
        for name, size in files.items():
            file = path / name
            if not file.is_file() or file.stat().st_size != size:
                raise LisaxError(
                    f"the worker on {socket.gethostname()} does not see {file} as the machine that asks does: put "
                    f"{path.name} in a folder that all machines have at the same place, or in a bucket"
                )
        return path


def sent(opens: Opens) -> bytes:
    """The bytes of `opens` for a worker, which `received` reads. No other pickled data is ever read."""
    environment = {name: os.environ[name] for name in SENT if name in os.environ}
    buffer = io.BytesIO()
    _Sending(buffer).dump((__version__, environment, opens))
    return buffer.getvalue()


def received(content: bytes) -> Opens:
    """Reads the bytes of `sent`. Raises LisaxError if a file of the arguments is another one on this machine."""
    version, environment, opens = _Receiving(io.BytesIO(content)).load()
    if version != __version__:
        raise LisaxError(
            f"the worker on {socket.gethostname()} has lisax {__version__}, and the machine that asks {version}: install "
            "the same on both"
        )
    os.environ |= environment
    return opens


class _Worker:
    """The work in a process of its own, which Ray starts."""

    def __init__(self, threads: int):
        # For libraries that are not imported yet; Ray gives each worker one thread.
        os.environ["OMP_NUM_THREADS"] = str(threads)

    def open(self, opens: bytes) -> tuple[None, str]:
        """Opens models and indexes. Returns (None, the text printed on standard error)."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            choose_platforms()
            self._work = received(opens)()
        return None, said.getvalue()

    def do(self, block: Any) -> tuple[Any, str]:
        """(the block's result, the text printed on standard error)"""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            result = self._work(block)
        return result, said.getvalue()
