"""`lisax plan`."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import partial
from typing import Annotated, Literal

import click

from lisax.cli.gin import GinOptions, configured_by
from lisax.cli.verbs import Option


def plan(
    *,
    gin: GinOptions,
    topology: Annotated[
        str, Option("Machine: v3-8, v4-16, v5litepod-8, v5p-8, v6e-8, tpu7x-8, …, or cpu-N and gpu-N.", "MACHINE")
    ] = "v3-8",
    program: Annotated[Literal["train", "score", "generate"], Option("Program to compile.")] = "train",
    search: Annotated[
        bool,
        Option(
            "For training: try model parallelism, sharding, remat, microbatches and scanned layers, and print the "
            "fastest combination that fits."
        ),
    ] = False,
    price: Annotated[float | None, Option("Price of the whole machine per hour, to print the cost of the run.")] = None,
    watts: Annotated[float | None, Option("Power of the whole machine, to print the energy of the run.")] = None,
    json_: Annotated[bool, Option("Print one JSON object.", names=("--json",))] = False,
) -> int:
    """Compile a run for a machine, without having it: does it fit, and how fast is it?

    Prints the memory, work and modelled speed of a program of the gin files, without the time of the network. The exit
    code is 1 if it does not fit.

        lisax plan --gin_file=experiments/list5/model_xl.gin --topology v3-8 \\
        --gin.MODEL_DIR=out --gin.INITIAL_CHECKPOINT_PATH=None
    """
    for name, value in (("--price", price), ("--watts", watts)):
        if value is not None and not 0 < value < math.inf:
            raise click.UsageError(f"{name} must be a positive number, found {value}")
    if search and program != "train":
        raise click.UsageError(f"--search is for --program=train, found --program={program}")
    from lisax.devices.platforms import plan_elsewhere
    from lisax.devices.quiet import stderr_closed

    if not topology.startswith(("cpu", "gpu")):
        plan_elsewhere()
    with configured_by("train", gin) as config:
        from lisax.planning import machines, plan_search, plan_text
        from lisax.planning import plan as planning

        if config.train_data.task_feature_lengths is None:
            raise click.UsageError("--gin.TASK_FEATURE_LENGTHS must be given: the program's shapes depend on it")
        with stderr_closed():
            devices = machines.devices_of(topology)
            if search:
                tell = (lambda *_: None) if json_ else partial(plan_text.print_candidate, devices[0].device_kind)
                setting, found = plan_search.search(config, devices, tell)
            else:
                setting, found = plan_search.Setting.of(config), planning.plan(config, program, devices)
    run = planning.Run.of(found, config, price, watts) if found.fits else None
    if json_:
        of_run = run and {
            "steps": run.steps,
            "hours": run.hours,
            "cost": run.cost,
            "kilowatt_hours": run.kilowatt_hours,
        }
        print(json.dumps({**found.figures(), "setting": dataclasses.asdict(setting), "run": of_run}))
    else:
        print(plan_text.described(found, topology, run, setting if search else None, setting.backbone))
    return 0 if found.fits else 1
