"""Pages or tables of a corpus, prepared for an index by workers: block by block, they read the records, find the terms,
and make the texts that are stored. One process writes the blocks in the order of the corpus, so that the index has the
bytes that this process would have written without workers.

A worker reads the corpus up to its next block. Of short pages, reading takes a quarter of the time of indexing, and writing
two fifths: four workers make it 2.5 times as fast, and more of them no faster.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from lisax.corpora import open_folder
from lisax.devices.workers import Workers, mapped
from lisax.progress import counted

RECORDS = 1 << 10  # of a block
Kind = Literal["documents", "tables"]
Prepare = Callable[[Sequence[Any]], Any]


def prepared(corpus: Path, kind: Kind, opens: Callable[[], Prepare], workers: Workers) -> Iterator[Any]:
    """The blocks of a corpus, each as `opens()` prepares it (`documents.open_preparing`, `table_store.open_preparing`).
    Prints progress."""
    blocks = mapped(functools.partial(_open_reading, corpus, kind, opens, RECORDS), itertools.count(), workers)
    return counted(itertools.takewhile(lambda block: block is not None, blocks), kind, each=RECORDS)


def _open_reading(corpus: Path, kind: Kind, opens: Callable[[], Prepare], records: int) -> Callable[[int], Any]:
    """The work on the block with a number, from 0: the prepared block; None after the end of the corpus."""
    prepare, left, read = opens(), iter(()), 0

    def work(number: int) -> Any:
        nonlocal left, read
        if number < read or not read:  # a block that another worker had begun
            left, read = getattr(open_folder(corpus), kind)(), 0
        skipped = (number - read) * records
        block, read = list(itertools.islice(left, skipped, skipped + records)), number + 1
        return prepare(block) if block else None

    return work
