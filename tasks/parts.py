"""CLTR's tasks over `examples/parts_{rows,columns}.{split}.jsonl` in the data folder (`sampling.part_examples`).

`cltr_rows` and `cltr_columns` ask of a row and of a column whether it holds the answer; `cltr_parts` is both, for the
one model that scores both; `cltr_pair_rows` and so on are the same for pair scorers. `cltr_aggregation` asks of the
header, in `examples/operations.{split}.jsonl`, which operation makes the answer of cells.
"""

from __future__ import annotations

from collections.abc import Callable

import seqio

from lisax.formats.parts import TABLE_OPERATION, TABLE_PARTS, PartKind
from lisax.sampling.part_examples import PARTS, file_name, operations_file

from . import example_tasks, pairs
from .example_tasks import Options
from .locations import FileOf, in_data_folder

KINDS = {f"{kind}s": kind for kind in PartKind}
VARIANTS = (*KINDS, PARTS)


def add_all() -> None:
    for name, add in (("cltr", example_tasks.add), ("cltr_pair", pairs.add)):
        add_both(name, lambda kind: in_data_folder("examples/" + file_name(kind, "{split}")), add=add)
    headers = in_data_folder("examples/" + operations_file("{split}"))
    example_tasks.add("cltr_aggregation", TABLE_OPERATION, headers)


def add_both(
    name: str,
    file_of: Callable[[PartKind], FileOf],
    options: Options = Options(),
    *,
    add: Callable[..., seqio.Task] = example_tasks.add,
) -> None:
    """Registers `{name}_rows`, `{name}_columns` and the mixture `{name}_parts` of equal numbers of examples of each;
    `add` is that of `example_tasks`, or of `pairs`."""
    for variant, kind in KINDS.items():
        add(f"{name}_{variant}", TABLE_PARTS, file_of(kind), options)
    seqio.MixtureRegistry.add(f"{name}_{PARTS}", [f"{name}_{variant}" for variant in KINDS], default_rate=1.0)
