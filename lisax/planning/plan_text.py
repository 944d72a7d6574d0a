"""Plans as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lisax.planning.machines import GIB

if TYPE_CHECKING:
    from lisax.planning.plan import Modelled, Plan, Run
    from lisax.planning.plan_search import Setting

ADVICE = (
    "To make it fit: --gin.PjitPartitioner.num_partitions=8 (each matrix split over this number of devices), "
    "--gin.PjitPartitioner.parameter_partitioning_dims=2 (parameters split over all), --gin.{backbone}.remat=full, "
    "--gin.{backbone}.scan_layers=True, --gin.{backbone}.attention_chunk=128 for long inputs, "
    "--gin.Trainer.num_microbatches=2 or more; --search tries these."
)


_NAMES = {
    "flops": "operations",
    "bytes": "bytes",
    "cycles": "step by cycles",
    "bound_seconds": "step by bounds",
}


def print_candidate(device: str, setting: Setting, modelled: Modelled, found: Plan | None) -> None:
    """A line for each setting that a search has looked at; `found` if it was compiled."""
    seconds, flops = modelled.costs.seconds(device), modelled.costs.flops
    cost = f"{seconds * 1e3:,.1f} ms" if seconds else f"{flops / 1e12:,.3f} TFLOP" if flops else "unknown"
    what = f"at least {modelled.memory / GIB:.1f} GiB"
    if found is not None:
        needed = (found.peak or found.state + found.temporaries) / GIB if found.fits else 0
        what = f"fits, {needed:.1f} GiB" if found.fits else "does not fit"
    print(f"{cost:>12}  {what:<18}  {setting.bindings()}", flush=True)


def described(found: Plan, topology: str, run: Run | None, searched: Setting | None, backbone: str) -> str:
    """A plan for a machine named `topology`. `run`: the total of its steps; `searched`: the setting that a search
    has found; `backbone`: the class of the model's backbone, as gin names it."""
    lines = [f"{found.program} on {topology}: {found.devices} × {found.device}"]

    def line(name: str, text: str) -> None:
        lines.append(f"  {name:<19} {text}")

    line("parameters", f"{found.parameters / 1e6:,.1f} M")
    line("state a device", f"{found.state / GIB:.2f} GiB")
    if not found.fits:
        return "\n".join([*lines, f"  does not fit: {found.refusal}", ADVICE.format(backbone=backbone)])
    peak = f", at most {found.peak / GIB:.2f} GiB in use" if found.peak else ""
    line("temporaries", f"{found.temporaries / GIB:.2f} GiB{peak}")
    line("compiled in", f"{found.compile_seconds:.0f} s")
    costs = found.costs
    work = [f"{costs.flops / 1e12:,.3f} TFLOP"] if costs.flops else []
    work += [f"{costs.bytes / 1e9:,.2f} GB read and written"] if costs.bytes else []
    if work:
        line("work of a device", f"{', '.join(work)} a step")
    if costs.collectives:
        kinds = ", ".join(f"{number:,.0f} {kind}" for kind, (number, _) in costs.collectives.items())
        line("collectives", f"{sum(size for _, size in costs.collectives.values()) / 1e9:,.3f} GB a step: {kinds}")

    def step(name: str, seconds: float | None) -> None:
        if seconds:
            share = f", {found.flop_limit / seconds:.0%} of the device's peak" if found.flop_limit else ""
            line(name, f"{seconds * 1e3:,.1f} ms, {found.examples / seconds:,.0f} examples/s{share}")

    step(_NAMES["cycles"], costs.cycle_seconds(found.device))
    step(_NAMES["bound_seconds"], costs.bound_seconds)
    if found.flop_limit and found.byte_limit:
        line(
            "physical limits",
            f"{found.flop_limit * 1e3:,.1f} ms for the operations, {found.byte_limit * 1e3:,.1f} ms for the bytes",
        )
    for why in dict.fromkeys(costs.missing.values()):
        names = [_NAMES[name] for name, reason in costs.missing.items() if reason == why]
        line("not given", f"{', '.join(names)}: {why}")
    if run is not None:
        amounts = [f"{run.hours:.2f} h"]
        amounts += [f"{run.cost:,.2f} at {run.price:g} an hour"] if run.price else []
        amounts += [f"{run.kilowatt_hours:,.2f} kWh at {run.watts:g} W"] if run.watts else []
        line(f"{run.steps:,} steps", ", ".join(amounts))
    if searched is not None:
        lines.append(f"  with {searched.bindings()}")
    return "\n".join(lines)
