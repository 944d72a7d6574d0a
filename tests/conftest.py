"""Tests run many tiny models once each: what counts is the time to compile them, and to write their files."""

import gc
import importlib.metadata
import os
import sys
from pathlib import Path

# A shell may keep Python from writing bytecode: each process that tests start would compile every package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import hypothesis
import pytest

from lisax.devices.platforms import choose_platforms

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
    "--xla_cpu_parallel_codegen_split_count=1",
    # A flag unknown to jaxlib, as this one from 0.11 on, ends the process.
    *(["--xla_cpu_use_fusion_emitters=false"] if importlib.metadata.version("jaxlib") < "0.11" else []),
)


MOST_PAGES = (3 << 30) // os.sysconf("SC_PAGE_SIZE")  # of a worker's memory

# Tracing allocates much that stays: with Python's own thresholds the collector is a tenth of the time of a training.
gc.set_threshold(10_000, 20, 50)

# No test cuts the power: what `fsync` waits for is most of the time of those that write many small files.
os.fsync = lambda file: None


# Rooms of files that take long. They come first: at the end a worker would be left with one while others have nothing.
SLOW = ("papers", "training", "tasks", "gin_configs", "weights")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.parent.name not in SLOW)


def pytest_configure(config: pytest.Config) -> None:
    config.option.loadscopereorder = False  # pytest-xdist would begin with the files of the most tests
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkippedTests(config.rootpath / ".pytest_cache" / "skipped"))
    choose_platforms()
    # Read by JAX when it is first imported, here or in a subprocess. Tests, their subprocesses and sessions share what
    # was compiled.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.rootpath / ".pytest_cache" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ["LISAX_TIER"] = "light"  # also where MPNet is
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *QUICK_COMPILATION]).strip()


class SkippedTests:
    """Writes the ids of skipped tests, and of modules skipped whole, to a file for `make test-skipped`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.ids.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.ids.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("".join(f"{one}\n" for one in sorted(self.ids)), encoding="utf-8")


@pytest.fixture(autouse=True, scope="module")
def forget_programs():
    """Programs of all modules would take gigabytes. They are kept for later modules up to a limit; without /proc, never."""
    yield
    pages = Path("/proc/self/statm")
    if "jax" in sys.modules and not (pages.exists() and int(pages.read_text().split()[1]) < MOST_PAGES):
        sys.modules["jax"].clear_caches()
        gc.collect()
        gc.freeze()  # or each collection would go through all that every module before it has left
