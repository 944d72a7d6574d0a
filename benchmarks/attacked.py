"""What each kind of attack costs the checker that LisaX ships, on claims of a folder.

    lisax attack make --claims ../shared/data/fever --split dev --out ATTACKED [--kind lexical ...]
    .venv/bin/python -m benchmarks.attacked --claims ../shared/data/fever --attacked ATTACKED [--split dev] [--most 300]

FEVER score and label accuracy in percent of the claims that a kind attacks, as they were and as they are, of at most
`--most` attacks of each kind, drawn at random by a fixed seed; an index of the folder's pages finds the evidence. The
last column is the share of the most frequent label: what a checker gets that reads nothing.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from pathlib import Path

from lisax.adversary.attack import AttackKind
from lisax.adversary.decisions import read_attacks
from lisax.corpora import open_folder
from lisax.metrics.fever import claim_scores
from lisax.predict.checker import Checker
from lisax.predict.index import Index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=Path, required=True)
    parser.add_argument("--attacked", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--most", type=int, default=300)
    parser.add_argument("--kind", nargs="*", default=list(AttackKind))
    args = parser.parse_args()
    start = time.perf_counter()
    source = open_folder(args.claims)
    originals = {claim.id: claim for claim in source.claims(args.split) if claim.label is not None}
    attacked = {claim.id: claim for claim in open_folder(args.attacked).claims(args.split)}
    rows = read_attacks(args.attacked / f"claims.{args.split}.jsonl")
    kinds = {}
    for kind in args.kind:
        made = [id for id, claim in attacked.items() if claim.kind == kind]
        if made:
            kinds[kind] = random.Random(0).sample(made, min(args.most, len(made)))
    checker = Checker(Index.build(source.documents()))
    needed = {id: attacked[id] for chosen in kinds.values() for id in chosen}
    needed |= {id: originals[id] for chosen in kinds.values() for one in chosen for id in rows[one]["source"]}
    verdicts = {i: v.prediction() for i, v in zip(needed, checker.check_many(needed.values()), strict=True)}
    scores = claim_scores(needed, verdicts)

    def percent(name: str, ids: list[str]) -> str:
        return f"{100 * sum(scores[name][id] for id in ids) / len(ids):.1f}"

    print("| kind | attacks | FEVER score before | after | label accuracy before | after | most frequent label |")
    print("|---|---|---|---|---|---|---|")
    for kind, chosen in kinds.items():
        before = [id for one in chosen for id in rows[one]["source"]]
        cells = [percent(name, ids) for name in ("fever_score", "label_accuracy") for ids in (before, chosen)]
        common = Counter(attacked[id].label for id in chosen).most_common(1)[0][1]
        print(f"| {kind} | {len(chosen)} | {' | '.join(cells)} | {100 * common / len(chosen):.0f} |")
    print(f"{len(needed):,} claims checked in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
