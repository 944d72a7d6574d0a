"""Published models against their authors' figures; needs a network, or a Hub cache that holds them.

    .venv/bin/python -m benchmarks.public_models minicheck
    .venv/bin/python -m benchmarks.public_models monot5 --collection collection.tsv --queries queries.dev.small.tsv \
        --qrels qrels.dev.small.tsv --run run.bm25.tsv [--limit 200]

`minicheck`: the two claims of MiniCheck's README and their probabilities, within 0.0001. `monot5`:
MRR@10 of monoT5-base on MS MARCO's dev queries, from a run of BM25 of a thousand passages each (lines of query, passage
and rank with tabs between them), beside the authors' .3799. With --limit, of so many queries, with the standard error: the
figure agrees where it lies within two of these. Prints OK or FAIL, and ends with 1 where one failed.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lisax.predict.prompt_model import PromptModel
from lisax.predict.ranker import Ranker
from lisax.records import Label

MINICHECK, MONOT5 = "hf:lytang/MiniCheck-Flan-T5-Large", "hf:castorini/monot5-base-msmarco"
DOCUMENT = "A group of students gather in the school library to study for their upcoming final exams."
CLAIMS = {
    "The students are preparing for an examination.": 0.98059,
    "The students are on vacation.": 0.00712,
}
DIGITS = 1e-4  # the README's figures are of a GPU
MRR, ROUNDING = 0.3799, 0.0005
CUT = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("minicheck").add_argument("--model", default=MINICHECK)
    monot5 = verbs.add_parser("monot5")
    monot5.add_argument("--model", default=MONOT5)
    for name in ("collection", "queries", "qrels", "run"):
        monot5.add_argument(f"--{name}", type=Path, required=True)
    monot5.add_argument("--limit", type=int, help="the first queries of the run alone")
    given = parser.parse_args()
    return 0 if (minicheck(given.model) if given.verb == "minicheck" else mrr(given)) else 1


def minicheck(name: str) -> bool:
    model, good = PromptModel.open(name), True
    for claim, wanted in CLAIMS.items():
        found = model.verify(claim, [DOCUMENT])[Label.SUPPORTS]
        good &= told(f"{claim} {found:.5f}, published {wanted:.5f}", abs(found - wanted) <= DIGITS)
    return good


def mrr(given: argparse.Namespace) -> bool:
    queries = dict(lines(given.queries, 2))
    relevant = defaultdict(set)
    for query, _, passage, grade in lines(given.qrels, 4):
        if int(grade) > 0:
            relevant[query].add(passage)
    candidates = defaultdict(list)
    for query, passage, *_ in lines(given.run, 2):
        if query in candidates or len(candidates) < (given.limit or len(queries)):
            candidates[query].append(passage)
    wanted = {passage for found in candidates.values() for passage in found}
    texts = {passage: text for passage, text in lines(given.collection, 2) if passage in wanted}
    if missing := wanted - texts.keys():
        sys.exit(f"{given.collection}: {len(missing):,} passages of the run are not in it, such as {min(missing)}")
    ranker, ranks = Ranker.open(given.model), []
    for done, (query, passages) in enumerate(candidates.items(), start=1):
        ranked = ranker.rank(queries[query], [texts[passage] for passage in passages])
        order = [passages[int(one.unit)] for one in ranked]
        first = next((rank for rank, one in enumerate(order[:CUT], start=1) if one in relevant[query]), None)
        ranks.append(0.0 if first is None else 1 / first)
        print(f"\r{done:,} of {len(candidates):,} queries, MRR@{CUT} {np.mean(ranks):.4f}", end="", file=sys.stderr)
    print(file=sys.stderr)
    error = 0.0 if len(ranks) == len(queries) else float(np.std(ranks) / len(ranks) ** 0.5)
    found = float(np.mean(ranks))
    of = f"{len(ranks):,} queries: MRR@{CUT} {found:.4f}" + (f" ± {error:.4f}" if error else "")
    return told(f"{of}, published {MRR:.4f}", abs(found - MRR) <= max(2 * error, ROUNDING))


def lines(path: Path, fields: int) -> Iterator[list[str]]:
    """The fields of each line, at least so many."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            found = line.rstrip("\n").split("\t")
            if len(found) < fields:
                sys.exit(f"{path}, line {number}: expected {fields} fields with tabs between them, found {len(found)}")
            yield found


def told(line: str, good: bool) -> bool:
    print(f"{'OK  ' if good else 'FAIL'} {line}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
