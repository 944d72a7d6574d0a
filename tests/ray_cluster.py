"""A small Ray cluster for tests, and the death of one of its workers or nodes."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMALL = {"object_store_memory": 80 << 20, "include_dashboard": False}


@contextlib.contextmanager
def started(*folders: Path, workers: int = 3) -> Iterator[object]:
    """Ray on this machine, with room for three workers, which import modules of `folders` too."""
    ray = pytest.importorskip("ray", reason="pip install 'lisax[ray]'")
    with _importing(*folders):
        ray.init("local", log_to_driver=False, logging_level="ERROR", num_cpus=workers, **SMALL)
    yield ray
    ray.shutdown()


@contextlib.contextmanager
def nodes(count: int) -> Iterator[tuple[str, list[int]]]:
    """A cluster of `count` nodes, each with room for one worker: its address, and the process of each node."""
    cluster = pytest.importorskip("ray.cluster_utils", reason="pip install 'lisax[ray]'").Cluster()
    with _importing():
        made = [cluster.add_node(num_cpus=1, **SMALL) for _ in range(count)]
    yield cluster.address, [node.all_processes["raylet"][0].process.pid for node in made]
    cluster.shutdown()


@contextlib.contextmanager
def _importing(*folders: Path) -> Iterator[None]:
    """The environment in which Ray starts, for workers that import modules of tests."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(
            "PYTHONPATH", os.pathsep.join(map(str, (*folders, ROOT / "tests", ROOT))), prepend=os.pathsep
        )
        environment.setenv("RAY_worker_niceness", "0")
        yield


def workers_of(process: int) -> list[int]:
    """The processes of workers below a process."""
    parents, names = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "cmdline").read_bytes()

    def is_below(one: int) -> bool:
        while one in parents and one != process:
            one = parents[one]
        return one == process

    return [one for one, name in names.items() if name.startswith(b"ray::_Worker") and is_below(one)]


@contextlib.contextmanager
def one_killed(after: Path, content: bytes = b"#group 1\n", node: int | None = None) -> Iterator[list[int]]:
    """Kills a worker (SIGKILL), or a `node` with its workers, as soon as the file `after` has the `content`; yields the
    list of killed processes."""
    killed: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not killed and not done.is_set():
            time.sleep(0.01)
            if after.is_file() and content in after.read_bytes() and (found := workers_of(node or os.getpid())):
                killed.extend(found[:1] if node is None else [node, *found])
                for process in killed:
                    os.kill(process, signal.SIGKILL)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield killed
    finally:
        done.set()
        watcher.join()
