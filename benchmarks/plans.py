"""Plans every experiment that trains a seqio task, for a v3-8, and writes the result into the head of its gin file.

    python -m benchmarks.plans [gin_configs/experiments/list5/*_xl.gin] [--topology v3-8] [--dry-run]

Experiments of the same program, as most of a paper are, are compiled once. Needs the TPU compiler (`make peers`).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}

from lisax.devices.quiet import stderr_closed
from lisax.errors import LisaxError
from lisax.files.writing import atomic_write
from lisax.planning import plan as planning
from lisax.planning.machines import GIB, devices_of
from lisax.training.gin_files import GIN_CONFIGS, configured

GIVEN = ("MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = None", "VOCAB_SIZE = 32128")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--topology", default="v3-8")
    parser.add_argument("--dry-run", action="store_true", help="print the lines only")
    args = parser.parse_args()
    mark, known = f"# {args.topology} by `lisax plan`:", {}
    for path in args.files or sorted((GIN_CONFIGS / "experiments").rglob("*.gin")):
        try:
            with configured("train", [path], GIVEN) as config:
                pass
        except LisaxError:
            continue  # a recipe, or what experiments include: nothing to train by itself
        if config.train_data.task_feature_lengths is None:
            continue
        with stderr_closed():
            # Experiments that differ in table fusion's small head only share a plan.
            shape = repr(
                (
                    type(config.model),
                    config.model.backbone,
                    config.partitioner,
                    config.trainer.num_microbatches,
                    config.optimizer,
                    config.train_data.task_feature_lengths,
                    config.train_data.batch_size,
                )
            )
            if shape not in known:
                known[shape] = planning.plan(config, "train", devices_of(args.topology))
        line = f"{mark} {_told(known[shape], config.total_steps or config.relative_steps)}"
        print(f"{path}: {line}", flush=True)
        if not args.dry_run:
            _write(path, mark, line)


def _told(found: planning.Plan, steps: int) -> str:
    if not found.fits:
        return f"does not fit ({found.refusal})"
    peak = (found.peak or found.state + found.temporaries) / GIB
    if found.step_seconds is None:
        return f"{peak:.1f} GiB a core; no forecast of the time."
    by = "bounds" if found.costs.cycle_seconds(found.device) is None else "cycles"
    return (
        f"{peak:.1f} GiB a core; by {by} {found.step_seconds * 1e3:,.0f} ms a step, "
        f"{found.examples_per_second:,.0f} examples/s, {steps:,} steps in {steps * found.step_seconds / 3600:.1f} h."
    )


def _write(path: Path, mark: str, line: str) -> None:
    """Puts the line at the end of the comment that the file begins with, in place of an older one."""
    lines = [old for old in path.read_text(encoding="utf-8").splitlines() if not old.startswith(mark)]
    end = next((i for i, old in enumerate(lines) if not old.startswith("#")), len(lines))
    with atomic_write(path) as file:
        file.write("\n".join([*lines[:end], line, *lines[end:]]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
