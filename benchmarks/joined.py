"""One verdict from text and tables beside the verdict of each alone, on claims of both kinds mixed.

    .venv/bin/python -m benchmarks.joined --text ../shared/data/fever --tables ../shared/data/infotabs [--most 300]

Each claim is checked by what LisaX ships against the pages of `--text` and against the tables of `--tables`, whichever it
was made for, and the two verdicts are joined (`predict/joining.py`). The table has the label accuracy in percent of each of
the three, on the dev claims of either folder, at most `--most` of each, drawn by a fixed seed. *The better of the two* is
right where one of the verdicts that are joined is: what a perfect choice between them would give.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from lisax.corpora import open_folder
from lisax.predict.checker import Checker
from lisax.predict.index import Index
from lisax.predict.joining import join


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="folder with pages and claims over them")
    parser.add_argument("--tables", type=Path, required=True, help="folder with tables and claims over them")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--most", type=int, default=300)
    args = parser.parse_args()
    start, text, tables = time.perf_counter(), open_folder(args.text), open_folder(args.tables)
    of_text, of_tables = Checker(Index.build(text.documents())), Checker(Index.build(args.tables, kind="cells"))
    print("| claims | | text alone | tables alone | joined | the better of the two |\n|---|---|---|---|---|---|")
    every = []
    for name, found in (("over text", text.claims(args.split)), ("over tables", tables.table_claims(args.split))):
        claims = [claim for claim in found if claim.label is not None]
        claims = random.Random(0).sample(claims, min(args.most, len(claims)))
        verdicts = zip(of_text.check_many(claims), of_tables.check_many(claims), strict=True)
        right = [
            [verdict.label is claim.label for verdict in (*pair, join(pair))]
            for claim, pair in zip(claims, verdicts, strict=True)
        ]
        every += right
        print(_row(name, right), flush=True)
    print(_row("both", every))
    print(f"{len(every):,} claims checked twice in {time.perf_counter() - start:.0f} s")


def _row(name: str, right: list[list[bool]]) -> str:
    rows = [*zip(*right), [text or table for text, table, _ in right]]
    return f"| {name} | {len(right)} | {' | '.join(f'{100 * sum(row) / len(row):.1f}' for row in rows)} |"


if __name__ == "__main__":
    main()
