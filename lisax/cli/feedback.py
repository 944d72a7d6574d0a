"""Use the feedback given on the page of `lisax serve`.

lisax feedback export --index INDEX --out DATA
"""

from __future__ import annotations

from typing import Annotated

from lisax.cli.serve import STATE, Indexes, State
from lisax.cli.verbs import Local, Option


def export(
    *,
    index: Indexes = (),
    state: State = STATE,
    out: Annotated[Local, Option("A folder that does not exist yet.", "DIR")],
) -> None:
    """Write the feedback as training data.

    lisax feedback export --index INDEX --out DATA
    """
    from lisax.serve.export import export_feedback

    written, left_out = export_feedback(state, index, out)
    for name, count in written.items():
        print(f"{out / name}.jsonl: {count:,}")
    for reason, count in left_out.items():
        print(f"left out, {reason}: {count:,}")


VERBS = (export,)
