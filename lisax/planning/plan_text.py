"""Plans as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lisax.planning.plan import Modelled, Plan
    from lisax.planning.plan_search import Setting
    from lisax.training.train_config import TrainConfig

ADVICE = (
    "To make it fit: --gin.PjitPartitioner.num_partitions=8 (each matrix split over this number of devices), "
    "--gin.PjitPartitioner.parameter_partitioning_dims=2 (parameters split over all), --gin.{backbone}.remat=full, "
    "--gin.{backbone}.scan_layers=True, --gin.{backbone}.attention_chunk=128 for long inputs, "
    "--gin.Trainer.num_microbatches=2 or more; --search tries these."
)


def print_candidate(setting: Setting, modelled: Modelled, found: Plan | None) -> None:
    """A line for each setting that a search has looked at; `found` if it was compiled."""
    gib = 2**30
    cost = f"{modelled.seconds * 1e3:,.1f} ms" if modelled.seconds else f"{modelled.cost / 1e12:,.3f} TFLOP"
    what = f"at least {modelled.memory / gib:.1f} GiB"
    if found is not None:
        needed = (found.peak or found.state + found.temporaries) / gib if found.fits else 0
        what = f"fits, {needed:.1f} GiB" if found.fits else "does not fit"
    print(f"{cost:>12}  {what:<18}  {setting.bindings()}", flush=True)


def described(found: Plan, topology: str, config: TrainConfig, price: float | None, searched: Setting | None) -> str:
    """A plan for a machine named `topology`, whose `price` an hour gives the run's cost; `searched`: the setting that a
    search has found."""
    gib = 2**30
    lines = [
        f"{found.program} on {topology}: {found.devices} × {found.device}",
        f"  parameters          {found.parameters / 1e6:,.1f} M",
        f"  state a device      {found.state / gib:.2f} GiB",
    ]
    if not found.fits:
        return "\n".join(
            [*lines, f"  does not fit: {found.refusal}", ADVICE.format(backbone=type(config.model.backbone).__name__)]
        )
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
            cost = f", {hours * price:,.2f} at {price:g} an hour" if price else ""
            lines.append(f"  {steps:,} steps".ljust(22) + f"{hours:.2f} h{cost}")
    if searched is not None:
        lines.append(f"  with {searched.bindings()}")
    return "\n".join(lines)
