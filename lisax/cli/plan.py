"""`lisax plan`: will it fit, and how fast. Light to import."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from typing import TYPE_CHECKING

from lisax.cli.training import add_gin_arguments, configured_by
from lisax.records import LisaxError
from lisax.runtime.quiet import stderr_closed

if TYPE_CHECKING:
    from lisax.runtime.plan import Modelled, Plan
    from lisax.runtime.plan_search import Setting
    from lisax.runtime.train_config import TrainConfig

ADVICE = (
    "To make it fit: --gin.PjitPartitioner.num_partitions=8 (each matrix split over so many devices), "
    "--gin.PjitPartitioner.parameter_partitioning_dims=2 (parameters split over all), --gin.T5Config.remat=full, "
    "--gin.T5Config.scan_layers=True, --gin.T5Config.attention_chunk=128 for long inputs, "
    "--gin.Trainer.num_microbatches=2 or more; --search tries these."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compiles a program of the gin files for a machine that need not be here, and prints its "
        "memory, work and modelled speed."
    )
    add_gin_arguments(parser)
    parser.add_argument("--topology", default="v3-8", help="v3-8, v4-16, v5e-8, …, or cpu-N and gpu-N (default: v3-8)")
    parser.add_argument("--program", choices=["train", "score", "generate"], default="train")
    parser.add_argument(
        "--search",
        action="store_true",
        help="try model parallelism, sharding, remat, "
        "microbatches and scanned layers in training; print the fastest that fits",
    )
    parser.add_argument("--price", type=float, metavar="PER_HOUR", help="of the whole machine, to print the run's cost")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def main(args: argparse.Namespace) -> int:
    if not args.topology.startswith(("cpu", "gpu")):
        # The machine planned for is not the one this runs on, and libtpu need not ask a cloud for its metadata.
        os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
        # libtpu ends the process at a flag that it does not know, as it does not know all of other compilers'.
        flags = os.environ.get("XLA_FLAGS", "").split()
        os.environ["XLA_FLAGS"] = " ".join(flag for flag in flags if not flag.startswith(("--xla_cpu_", "--xla_gpu_")))
    with configured_by("train", args) as config:
        from lisax.runtime import plan as planning
        from lisax.runtime.plan_search import Setting, search

        if config.train_data.task_feature_lengths is None:
            raise LisaxError("TASK_FEATURE_LENGTHS must be given: the program's shapes depend on it")
        with stderr_closed():
            devices = planning.devices_of(args.topology)
            if args.search:
                setting, found = search(config, devices, _tell_nothing if args.json else _tell)
            else:
                setting, found = Setting.of(config), planning.plan(config, args.program, devices)
    if args.json:
        print(
            json.dumps(
                dataclasses.asdict(found)
                | {
                    "setting": dataclasses.asdict(setting),
                    "examples_per_second": found.examples_per_second,
                    "share_of_peak": found.share_of_peak,
                }
            )
        )
    else:
        print("\n".join(_lines(found, setting, config, args)))
    return 0 if found.fits else 1


def _tell(setting: Setting, modelled: Modelled, found: Plan | None) -> None:
    gib = 2**30
    cost = f"{modelled.seconds * 1e3:,.1f} ms" if modelled.seconds else f"{modelled.cost / 1e12:,.3f} TFLOP"
    what = f"at least {modelled.memory / gib:.1f} GiB"
    if found is not None:
        needed = (found.peak or found.state + found.temporaries) / gib if found.fits else 0
        what = f"fits, {needed:.1f} GiB" if found.fits else "does not fit"
    print(f"{cost:>12}  {what:<18}  {setting.bindings()}", flush=True)


def _tell_nothing(*_) -> None:
    """Standard output is the JSON object alone."""


def _lines(found: Plan, setting: Setting, config: TrainConfig, args: argparse.Namespace) -> list[str]:
    gib = 2**30
    lines = [
        f"{found.program} on {args.topology}: {found.devices} × {found.device}",
        f"  parameters          {found.parameters / 1e6:,.1f} M",
        f"  state a device      {found.state / gib:.2f} GiB",
    ]
    if not found.fits:
        return [*lines, f"  does not fit: {found.refusal}", ADVICE]
    lines.append(
        f"  temporaries         {found.temporaries / gib:.2f} GiB"
        + (f", at most {found.peak / gib:.2f} GiB in use" if found.peak else "")
    )
    lines.append(f"  compiled in         {found.compile_seconds:.0f} s")
    if found.flops:
        lines.append(f"  work of a device    {found.flops / 1e12:,.3f} TFLOP a step")
    if found.step_seconds:
        rate = found.examples_per_second
        share = f", {found.share_of_peak:.0%} of the device's peak" if found.share_of_peak else ""
        lines.append(f"  modelled step       {found.step_seconds * 1e3:,.1f} ms, {rate:,.0f} examples/s{share}")
        steps = config.total_steps if config.relative_steps is None else config.relative_steps
        if found.program == "train" and steps:
            hours = steps * found.step_seconds / 3600
            cost = f", {hours * args.price:,.2f} at {args.price:g} an hour" if args.price else ""
            lines.append(f"  {steps:,} steps".ljust(22) + f"{hours:.2f} h{cost}")
    if args.search:
        lines.append(f"  with {setting.bindings()}")
    return lines
