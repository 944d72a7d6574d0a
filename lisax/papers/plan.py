"""The plan of a run as text: its stages with their dependencies, their state, and the settings they have read."""

from __future__ import annotations

import textwrap
from typing import Any

from lisax.papers.staged import Planned, Staged

WIDTH = 100
LONGEST = 40  # longest value shown, in characters


def plan_text(run: Staged) -> str:
    """A paragraph per stage, in running order, up to the one named by `--until`."""
    planned = run.plan()
    left = sum(one.state != "done" for one in planned)
    lines = [line for one in planned for line in _lines(one)]
    return "\n".join([*lines, f"{len(planned)} stages, {left} of them to do, in {run.out}"])


def _lines(planned: Planned) -> list[str]:
    stage = planned.stage
    lines = [f"{stage.name}: {planned.state}"]
    for verb, names in (("after", stage.after), ("reads", [_shown(*item) for item in planned.settings.items()])):
        lines += textwrap.wrap(
            ", ".join(names), WIDTH, initial_indent=f"    {verb} ", subsequent_indent=" " * 10, break_on_hyphens=False
        )
    return lines


def _shown(name: str, value: Any) -> str:
    """A setting with its value, or only its name where the value is a file's content."""
    short = value is None or (isinstance(value, (bool, int, float, str, list)) and len(repr(value)) <= LONGEST)
    return f"{name} = {value!r}" if short else name
