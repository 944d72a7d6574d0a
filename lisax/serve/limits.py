"""What the page takes from anyone, in one place."""

from __future__ import annotations

import dataclasses

from lisax.corpora.grid import TableLimits


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """`waiting` asks queue for the model beside the one that it works on; beyond, the answer is 503."""

    text_characters: int = 500  # of a question or a claim
    form_bytes: int = 64 << 10
    upload_bytes: int = 16 << 20
    upload_files: int = 100
    upload_tables: int = 2_000
    upload_cells: int = 500_000
    upload_characters: int = 32 << 20  # of all cells
    corpora: int = 50  # uploaded ones
    name_characters: int = 100
    waiting: int = 20
    uploads_waiting: int = 2
    answer_seconds: float = 60.0  # in the queue and in work
    upload_seconds: float = 600.0  # the same for files, of which the largest take minutes
    head_seconds: float = 10.0  # for the head of a request to arrive, from the connection or the answer before it
    body_seconds: float = 30.0  # for the rest of it
    connections: int = 512
    connections_per_client: int = 32
    answers_kept: int = 10_000  # those with feedback stay beyond
    requests_burst: int = 200  # of one client, and how many a second it earns back
    requests_per_second: float = 20.0
    changes_burst: int = 40  # the same for what changes something: asking, feedback, uploads, training
    changes_per_second: float = 2.0
    table: TableLimits = TableLimits(rows=2_000, columns=100, cells=50_000, characters=2_000)


LIMITS = Limits()
