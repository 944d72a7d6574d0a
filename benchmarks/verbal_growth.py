"""A million rows through `lisax verbalize` and into an index: seconds, memory and bytes, apart from the network's own time.

    .venv/bin/python -m benchmarks.verbal_growth [--rows 10000 100000 1000000] [--beams 10] [--json FILE]

The network is stood in for by one that copies its input, as ten hypotheses of which nine lack something: what is timed is
splitting, choosing, restoring, checking and writing, each size in a process of its own that is interrupted half-way and
goes on. The rows are of generated tables of up to six rows; their index has a passage a table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cells import apart, made_tables, peak_mib
from lisax.files.reading import read_json_lines
from lisax.formats.triples import Triples, table_triples
from lisax.formats.verbalizing import Encoder, marker_ids
from lisax.formats.vocabulary import SentencePieceVocabulary, train_vocabulary
from lisax.predict.verbalizer import Choices, Verbalizer, verbalize_to_file
from lisax.records import Table
from lisax.retrieval import mixed, passages
from lisax.retrieval.passages import Source
from lisax.scoring.generating import Hypothesis

MAX_TOKENS = 160


class Copying:
    """Says the input without its markers, then ever less of it."""

    def __init__(self, markers: set[int], beams: int):
        self._markers, self._beams = markers, beams

    def hypotheses(self, tokens: Sequence[Sequence[int]]) -> Iterator[list[Hypothesis]]:
        for row in tokens:
            said = [token for token in row[:-1] if token not in self._markers]
            yield [Hypothesis(said[: len(said) - i], 0.0) for i in range(self._beams)]


class Interrupted(Exception):
    pass


def tables_of(rows: int) -> Iterator[Table]:
    """Tables with `rows` rows together, the last one cut."""
    for table in made_tables(rows):
        rows -= len(table.rows)
        if rows <= 0:
            yield Table(table.id, table.title, table.header, table.rows[: len(table.rows) + rows], table.caption)
            return
        yield table


def units_of(rows: int, until: int | None = None) -> Iterator[Triples]:
    for number, unit in enumerate(unit for table in tables_of(rows) for unit in table_triples(table)):
        if number == until:
            raise Interrupted
        yield unit


def verbalized(folder: Path, rows: int, beams: int) -> dict:
    vocabulary = SentencePieceVocabulary(folder / "spiece.model")
    markers = marker_ids(vocabulary.size)
    verbalizer = Verbalizer(
        Copying(set(markers.values()), beams),
        vocabulary,
        Encoder(vocabulary.encode, markers),
        MAX_TOKENS,
        Choices(beams),
    )
    before, started = peak_mib(), time.perf_counter()
    with contextlib.suppress(Interrupted):
        verbalize_to_file(verbalizer, units_of(rows, until=rows // 2), folder / "said.jsonl", str(rows))
    shares = verbalize_to_file(verbalizer, units_of(rows), folder / "said.jsonl", str(rows))
    return {
        "rows": shares["units"],
        "verbalize_seconds": time.perf_counter() - started,
        "by_rule": shares["fallback"],
        "mib_before": before,
        "verbalize_peak_mib": peak_mib(),
        "file_mib": (folder / "said.jsonl").stat().st_size / 2**20,
    }


def indexed(folder: Path, rows: int) -> dict:
    said = folder / "said.jsonl"
    texts = passages.texts_in_order(read_json_lines(said), said)
    before, started = peak_mib(), time.perf_counter()
    index = mixed.build_index(
        {
            Source.TABLE: (
                passage for table in tables_of(rows) for passage in passages.of_verbalized_table(table, texts)
            )
        },
        folder / "index",
        form="verbalized",
    )
    return {
        "passages": len(index),
        "index_seconds": time.perf_counter() - started,
        "index_peak_mib": peak_mib(),
        "index_mib_before": before,
        "index_mib": sum(path.stat().st_size for path in (folder / "index").rglob("*.*")) / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--beams", type=int, default=10)
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    args = parser.parse_args()
    found = []
    for rows in args.rows:
        folder = Path(tempfile.mkdtemp())
        texts = (f"{unit.title} {' '.join(map(' '.join, unit.pairs))}".lower() for unit in units_of(20_000))
        train_vocabulary(texts, folder / "spiece.model", 4000)
        found.append(apart(verbalized, folder, rows, args.beams) | apart(indexed, folder, rows))
        shutil.rmtree(folder)
        print(json.dumps(found[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
