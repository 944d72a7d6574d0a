"""How many of a claim's sentences a ranker has to read: what the shipped one finds by depth, beside transformers reading all.

    lisax models get minilm; make peers
    .venv/bin/python -m benchmarks.reranking --data ../shared/data/fever [--claims 100] [--split dev]

Sentences that an index finds for claims with evidence are ordered by vectors and BM25, and the first of them scored again
by the shipped ranker (`predict/ranker.Reranker`), to depths from 5 to all. A row has the share of the sentences that were
scored, complete evidence among the first five, MAP@5 in percent, and the CPU's time with that of the first step, as a
ratio to the peer's. The peer is the same network in transformers, which scores all sentences and has no first step: its
order is by its score alone. `alone` is ours in the peer's way. Each claim's sentences are encoded anew.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.pairs import TorchMean, exported, in_batches
from lisax import shipped
from lisax.corpora import open_folder
from lisax.formats.examples import Example, Passage
from lisax.formats.presets import PAPER
from lisax.formats.ranking import RANK
from lisax.metrics.ranking import sentence_selection
from lisax.predict.checker import CANDIDATES
from lisax.predict.index import Index
from lisax.predict.ranker import Ranker, Reranker, VectorRanker
from lisax.predict.verdicts import Evidence
from lisax.records import Claim, Hit

DEPTHS = (5, 8, 10, 20, CANDIDATES)
Found = Sequence[Sequence[Evidence]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--claims", type=int, default=100)
    parser.add_argument("--split", default="dev")
    args = parser.parse_args()
    # Threads that wait sleep, so that the CPU's time is that of work.
    os.environ |= {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "TOKENIZERS_PARALLELISM": "true"}
    data = open_folder(args.data)
    claims = list(itertools.islice((one for one in data.claims(args.split) if one.gold_ids), args.claims))
    texts = [claim.text for claim in claims]
    found = Index.build(data.documents()).search_many(texts, CANDIDATES)
    ranker = Ranker.open(shipped.ranker())
    assert isinstance(ranker, Reranker) and isinstance(ranker.first, VectorRanker)
    ways = {"transformers, all": peer(texts), "alone, all": lambda found: ranker.second.rank_many(texts, found)}
    for depth in DEPTHS:
        reranking = dataclasses.replace(ranker.reranking, depth=depth)
        ways[f"the best {depth}"] = lambda found, reranking=reranking: Reranker(
            ranker.second, VectorRanker(ranker.first.encoder), reranking
        ).rank_many(texts, found)
    total, slowest = sum(map(len, found)), 0.0
    print(f"{len(claims)} claims, {total:,} sentences\n")
    print("| | scored % | complete among 5 | MAP@5 | CPU seconds a claim | times as fast |\n|---|---|---|---|---|---|")
    for name, way in ways.items():
        started = time.process_time()
        ranked = list(way(found))
        seconds = time.process_time() - started
        slowest = slowest or seconds
        depth = int(name.rpartition(" ")[2]) if name.startswith("the") else CANDIDATES
        scored = sum(min(depth, len(one)) for one in found) / total
        recall, precision = measured(claims, ranked)
        print(
            f"| {name} | {100 * scored:.0f} | {100 * recall:.1f} | {100 * precision:.1f} | {seconds / len(claims):.3f} | "
            f"{slowest / seconds:.1f} |",
            flush=True,
        )


def peer(claims: Sequence[str]) -> Callable[[Found], list[list[Evidence]]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "exported"
        model, *head = exported(folder, shipped.ranker())
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(80)
    way = in_batches(tokenizer, TorchMean(model, tuple(head)).run)

    def rank(found: Found) -> list[list[Evidence]]:
        pairs = [
            tuple(RANK.pair(Example("", claim, (Passage(one.unit, one.source, one.text),)), preset=PAPER))
            for claim, of in zip(claims, found)
            for one in of
        ]
        scores = iter(way(pairs)[:, 0].tolist())
        of_claims = [[dataclasses.replace(one, score=next(scores)) for one in of] for of in found]
        return [sorted(of, key=lambda one: -one.score) for of in of_claims]

    return rank


def measured(claims: Sequence[Claim], ranked: Found) -> tuple[float, float]:
    """Complete evidence among the first five, and MAP@5."""
    run = {
        claim.id: [Hit(claim.id, one.unit, rank, 1 / rank) for rank, one in enumerate(of, start=1)]
        for claim, of in zip(claims, ranked)
    }
    figures = sentence_selection({claim.id: claim for claim in claims}, run)
    return figures["recall@5"], figures["map@5"]


if __name__ == "__main__":
    main()
