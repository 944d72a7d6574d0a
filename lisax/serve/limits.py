"""The limits of the page and the API, in one place."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from lisax.documents.grid import TableLimits
from lisax.errors import LisaxError


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """`waiting` claims and questions may queue for the model besides the running ones; further ones get 503."""

    text_characters: int = 500  # per question or claim
    paragraph_characters: int = 20_000  # of a text whose sentences are checked one by one
    paragraph_sentences: int = 50  # checked at once; the page then offers to continue
    form_bytes: int = 256 << 10
    upload_bytes: int = 16 << 20
    upload_files: int = 100
    upload_tables: int = 2_000
    upload_cells: int = 500_000
    upload_characters: int = 32 << 20  # in all cells
    corpora: int = 50  # uploaded ones
    name_characters: int = 100
    call_bytes: int = 1 << 20  # of a call of the API
    call_items: int = 256  # claims or questions of a batch
    candidates: int = 200  # units of evidence given with a claim
    evidence_characters: int = 10_000  # of each
    calls_per_second: float | None = None  # of the API, per client; None: no limit
    waiting: int = 200
    together: int = 16  # items of several users that are computed in one call of the models, at most
    together_seconds: float = 2.0  # no more than take about so long
    file_seconds: int = 60  # of the processor, to read one of them
    upload_memory: int = 2 << 30  # bytes, of the process that reads them
    uploads_waiting: int = 2
    answer_seconds: float = 60.0  # queueing and working
    upload_seconds: float = 600.0  # the same for files; the largest take minutes
    head_seconds: float = 10.0  # for the head of a request to arrive, after the connection or the last answer
    body_seconds: float = 30.0  # for the body
    body_grace_seconds: float = 5.0  # after which it must have come at this many bytes per second
    body_bytes_per_second: int = 2 << 10
    connections: int = 512
    connections_refused: int = 256  # further connections that wait for their 503; the oldest is reset
    connections_per_client: int = 32
    answers_kept: int = 10_000  # answers with feedback are kept beyond this
    requests_burst: int = 200  # per client, and how many it regains per second
    requests_per_second: float = 20.0
    changes_burst: int = 40  # the same for requests that change something: asking, feedback, uploads, training
    changes_per_second: float = 2.0
    table: TableLimits = TableLimits(rows=2_000, columns=100, cells=50_000, characters=2_000)


LIMITS = Limits()
# The description of the API names these.
FIXED = ("text_characters", "call_items", "candidates", "evidence_characters", "upload_cells", "table")
NAMES = tuple(field.name for field in dataclasses.fields(Limits) if field.name not in FIXED)


def changed(limits: Limits, given: Iterable[str]) -> Limits:
    """The limits with some replaced, each given as NAME=N. Raises LisaxError for an unknown name or a wrong number."""
    values = {}
    for one in given:
        name, _, text = one.partition("=")
        if name not in NAMES:
            raise LisaxError(f"--limit {one}: there is no such limit; there are {', '.join(NAMES)}")
        kind = int if isinstance(getattr(limits, name), int) else float
        try:
            values[name] = kind(text)
        except ValueError:
            values[name] = math.nan
        if not 0 < values[name] < math.inf:
            raise LisaxError(f"--limit {one}: expected a {'whole ' * (kind is int)}number above 0")
    return dataclasses.replace(limits, **values)
