"""DeSePtion's own adversarial claims (FEVER 2.0 dev), those whose evidence is among the pages at hand.

    .venv/bin/python -m benchmarks.authors claims --fever ../shared/data/fever --attacked deseption-dev.jsonl --out FOLDER
    lisax run deseption --data FOLDER …                   # FOLDER has FEVER's train and pages, and these claims as dev
    .venv/bin/python -m benchmarks.authors kinds --claims FOLDER/dev.jsonl --predictions FILE [FILE ...]

`claims` keeps a claim if the text of one whole evidence set is there. `kinds` prints label accuracy and FEVER score in
percent by kind of attack (the paper's Table 8); `lisax score potency` has Table 2.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lisax.corpora import open_folder
from lisax.corpora.fever import read_predictions
from lisax.metrics.fever import claim_scores
from lisax.metrics.scoring import read_gold
from lisax.sampling.examples import lookup_in


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    claims, kinds = verbs.add_parser("claims"), verbs.add_parser("kinds")
    for name in ("fever", "attacked", "out"):
        claims.add_argument(f"--{name}", type=Path, required=True)
    kinds.add_argument("--claims", type=Path, required=True)
    kinds.add_argument("--predictions", type=Path, required=True, nargs="+")
    args = parser.parse_args()
    if args.verb == "claims":
        keep(args.fever, args.attacked, args.out)
    else:
        score(args.claims, args.predictions)


def keep(fever: Path, attacked: Path, out: Path) -> None:
    lookup = lookup_in(open_folder(fever).documents())
    lines = attacked.read_text(encoding="utf-8").splitlines()
    kept = [
        line
        for line in lines
        if any(all(lookup(f"{page}_{at}") for _, _, page, at in found) for found in json.loads(line)["evidence"])
    ]
    out.mkdir(parents=True, exist_ok=True)
    for name in ("train.jsonl", "wiki-pages.jsonl"):
        (out / name).symlink_to((fever / name).resolve())
    (out / "dev.jsonl").write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    print(f"{out}: {len(kept)} of {len(lines)} claims have evidence here")


def score(gold: Path, predictions: list[Path]) -> None:
    claims = read_gold(gold)
    print("| verdicts | kind | claims | accuracy | FEVER |\n|---|---|---|---|---|")
    for path in predictions:
        scores = claim_scores(claims, {verdict.claim_id: verdict for verdict in read_predictions(path)})
        for kind in (*sorted({claim.kind for claim in claims.values()}), "all"):
            ids = [i for i, claim in claims.items() if kind in (claim.kind, "all")]
            shares = [100 * sum(scores[name][i] for i in ids) / len(ids) for name in ("label_accuracy", "fever_score")]
            print(f"| {path.stem} | {kind} | {len(ids)} | {shares[0]:.1f} | {shares[1]:.1f} |")


if __name__ == "__main__":
    main()
