"""The costs of a compiled program: its compiler's counts, and figures from the text of its schedule.

Three of the compiler's figures need care. It counts the body of a loop once. Its sum of bounds (`optimal_seconds`)
contains -1 s for each operation that it cannot model. It estimates cycles for operations on a TPU's cores only: the
network and copies in the background have none.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax

from lisax.planning.machines import DEVICES

_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_COLLECTIVE = re.compile(
    r" (all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute|collective-broadcast)"
    r"(-start)?\("
)
_CHANNEL = re.compile(r"channel_id=(\d+)")
_ARRAY = re.compile(r"\b[a-z]++(\d*+)\w*+\[([\d,]*+)\]")
_CALLS = re.compile(r" calls=%?([\w.-]++)")


@dataclasses.dataclass(frozen=True)
class Costs:
    """The costs of one step on one device. A figure that the compiler does not give is None; `missing` has the reason."""

    flops: float | None = None
    bytes: float | None = None  # that operations read and write, in memory and on the chip
    bound_seconds: float | None = None  # sum over operations of the greater of two times: arithmetic and bytes
    cycles: float | None = None  # of the schedule, on the device's cores
    collectives: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)  # kind: (number, bytes)
    missing: Mapping[str, str] = dataclasses.field(default_factory=dict)  # figure: reason
    loops: int = 0  # of the model or the step, not of random numbers

    @classmethod
    def without(cls, why: str) -> Costs:
        return cls(missing=dict.fromkeys(FIGURES, why))

    def seconds(self, device: str) -> float | None:
        """The forecast for a device of JAX's name `device`: from cycles, or from bounds if the program has no cycles."""
        by_cycles = self.cycle_seconds(device)
        return self.bound_seconds if by_cycles is None else by_cycles

    def cycle_seconds(self, device: str) -> float | None:
        known = DEVICES.get(device)
        return self.cycles / known.clock if known and self.cycles is not None else None


FIGURES = ("flops", "bytes", "bound_seconds", "cycles")


def costs_of(compiled: Any) -> Costs:
    """The costs of a compiled program of JAX, with the body of each loop counted once."""
    analysis = compiled.cost_analysis() or {}
    found: dict[str, float | None] = {
        "flops": analysis.get("flops"),
        "bytes": analysis.get("bytes accessed"),
        "bound_seconds": analysis.get("optimal_seconds"),
        "cycles": None,
    }
    missing: dict[str, str] = {}
    try:
        text = compiled.as_text()
    except jax.errors.JaxRuntimeError:
        # A libtpu that is newer than jaxlib writes programs that jaxlib does not read.
        why = "the installed jaxlib cannot read this libtpu's programs; the one of jax[tpu] can be"
        text, found["bound_seconds"] = "", None
        missing |= {"cycles": why, "bound_seconds": why}
    schedule = _read_schedule(text)
    if schedule.cycles:
        found["cycles"] = float(schedule.cycles)
    elif text:
        missing["cycles"] = "only the TPU compiler estimates them"
    if schedule.unknown_calls and found["bound_seconds"] is not None:
        found["bound_seconds"] = None
        missing["bound_seconds"] = f"the compiler gives none for {schedule.unknown_calls:,} operations"
    return _positive(Costs(**found, collectives=schedule.collectives, missing=missing, loops=schedule.loops))


def combined(terms: Iterable[tuple[float, Costs]]) -> Costs:
    """The sum of costs, each times a factor."""
    terms = list(terms)
    sums: dict[str, Any] = {}
    for name in FIGURES:
        values = [getattr(costs, name) for _, costs in terms]
        sums[name] = None if None in values else sum(factor * value for (factor, _), value in zip(terms, values))
    kinds = dict.fromkeys(kind for _, costs in terms for kind in costs.collectives)
    collectives = {
        kind: tuple(sum(factor * costs.collectives.get(kind, (0, 0))[i] for factor, costs in terms) for i in (0, 1))
        for kind in kinds
    }
    missing = {name: why for _, costs in terms for name, why in costs.missing.items()}
    return _positive(Costs(**sums, collectives=collectives, missing=missing))


def _positive(costs: Costs) -> Costs:
    """The costs without figures that no program can have."""
    changes: dict[str, Any] = {}
    missing = dict(costs.missing)
    for name in FIGURES:
        value = getattr(costs, name)
        if value is None:
            missing.setdefault(name, "the compiler does not give it")
        elif not (value > 0 and math.isfinite(value)):
            changes[name], missing[name] = None, f"the compiler's figure is {value:,.3g}"
    kept = {kind: found for kind, found in costs.collectives.items() if min(found) >= 0 and found[0]}
    return dataclasses.replace(costs, **changes, collectives=kept, missing=missing)


class _Schedule(NamedTuple):
    """Figures of a program's schedule. Unknown calls are those outside fused operations: in these they count for
    nothing."""

    cycles: int
    collectives: dict[str, tuple[float, float]]
    loops: int
    unknown_calls: int


def _read_schedule(text: str) -> _Schedule:
    cycles = loops = 0
    computation, calls, fused = "", [], set()
    sent: dict[tuple[str, str], float] = {}
    for number, line in enumerate(text.splitlines()):
        if not line.startswith(" "):
            computation = line.removeprefix("ENTRY ").partition(" ")[0].lstrip("%")
            continue
        operation = line.partition(" = ")[2].partition(", metadata=")[0]
        cycles += sum(map(int, _CYCLES.findall(line)))
        # Other loops are the compiler's (a CPU's for a scatter) or JAX's, of five turns, for random numbers.
        loops += " while(" in operation and 'while"' in line and "jit(_" not in line
        if " custom-call(" in operation:
            calls.append(computation)
        if " fusion(" in operation and (found := _CALLS.search(operation)):
            fused.add(found[1])
        if found := _COLLECTIVE.search(operation):
            # On later chips a collective is in two operations: one starts it, one ends it.
            channel = _CHANNEL.search(operation)
            key = found[1], channel[1] if channel else f"line {number}"
            sent[key] = _bytes(operation[: found.start()], halved=bool(found[2]) and found[1] != "all-reduce")
    collectives: dict[str, tuple[float, float]] = {}
    for (kind, _), size in sent.items():
        count, total = collectives.get(kind, (0, 0))
        collectives[kind] = count + 1, total + size
    return _Schedule(cycles, collectives, loops, sum(name not in fused for name in calls))


def _bytes(types: str, halved: bool) -> float:
    """The bytes of arrays, written as the type of a result. `halved`: operands come before results, and scalars of the
    network after them."""
    arrays = [
        int(bits or 8) / 8 * math.prod(int(size) for size in shape.split(",") if size)
        for bits, shape in _ARRAY.findall(types)
        if shape or not halved
    ]
    return sum(arrays[len(arrays) // 2 :] if halved else arrays)
