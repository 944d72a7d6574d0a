"""What the benchmarks of quality share: one run a seed in the same folder, and figures as mean and spread."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from lisax.devices.platforms import choose_platforms
from lisax.files.writing import write_json
from lisax.papers.reporting import versions


def arguments(doc: str, out: str, pages: int, **paths: str) -> argparse.Namespace:
    """What each benchmark takes; `paths` are further options that it has, with their help."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(out))
    parser.add_argument("--pages", type=int, default=pages)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--claims", type=int, help="of the reported split; all where it is not given")
    for name, meaning in paths.items():
        parser.add_argument(f"--{name}", type=Path, help=meaning)
    choose_platforms()
    return parser.parse_args()


def figures_of_seeds(out: Path, seeds: int, run: Callable[[int], None]) -> list[dict]:
    """What `run(seed)` writes to `out/metrics.json`, for each seed; those that are there are not made again."""
    found = []
    for seed in range(seeds):
        kept = out / f"metrics.seed{seed}.json"
        if not kept.is_file():
            run(seed)
            write_json(kept, json.loads((out / "metrics.json").read_text(encoding="utf-8")))
        found.append(json.loads(kept.read_text(encoding="utf-8")))
    return found


def mean_and_spread(values: Sequence[float], digits: int = 3) -> str:
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values) if len(values) > 1 else 0:.{digits}f}"


def print_machine() -> None:
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores; "
        + ", ".join(f"{name} {version}" for name, version in versions().items())
    )
