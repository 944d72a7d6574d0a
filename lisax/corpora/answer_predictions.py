"""Ranked answers to questions, best first, as JSON Lines; or a TREC run of cells.

    {"id", "answers"?: ["54", ...], "cells"?: ["T7#r0c2", ...]}

Answers are texts, cells are ids of cells; at least one of the two is present.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from lisax.corpora.reading import Row, Watch, read_records, told
from lisax.records import is_cell


class RankedAnswers(NamedTuple):
    """Answers to one question, best first, as texts and as cell ids; one of the two may be empty."""

    question_id: str
    texts: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()


def read_predictions(path: str | os.PathLike, watch: Watch | None = None) -> Iterator[RankedAnswers]:
    return told(lambda w: read_records(path, parse_prediction, w, unique="question_id"), watch)


def parse_prediction(row: Row) -> RankedAnswers:
    question_id, _ = row.id()
    if not row.value.keys() & {"answers", "cells"}:
        raise row.error("answers", "neither answers nor cells are given")
    cells = row.ids("cells", row.get("cells", list, []))
    for i, cell in enumerate(cells):
        if not is_cell(cell):
            raise row.error(f"cells[{i}]", f"{cell!r} is not the id of a cell: expected {{table}}#r{{row}}c{{column}}")
    return RankedAnswers(question_id, row.strings("answers", []), cells)
