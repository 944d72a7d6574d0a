"""What a second hop finds: complete evidence with and without it, by kind of claim.

    .venv/bin/python benchmarks/multi_hop.py --data DIR [--split dev] [--depth 50] [--json FILE]

DIR is any layout with claims and pages: a world (`lisax data world --pages 3000 --out DIR`) or FEVER. Pages are those
of BM25 and titles, sentences those that BM25 ranks among the pages found; both are measured at 5 and 10 as the share
of claims of which some evidence set is there completely. A few seconds for 1,000 claims.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from lisax.corpora import open_folder
from lisax.formats import presets
from lisax.formats.ranking import titled
from lisax.predict.page_index import PageIndex
from lisax.records import Claim, Hit, split_sentence_id
from lisax.retrieval.bm25 import build
from lisax.retrieval.documents import build_index, retrieve
from lisax.retrieval.multi_hop import second_pages, second_sentences
from lisax.retrieval.runs import by_query

CUTOFFS = (5, 10)
Run = Mapping[str, Sequence[Hit]]


def pages_of(claim: Claim) -> list[set[str]]:
    return [{split_sentence_id(unit)[0] for unit in units} for units in claim.evidence_sets]


def complete(claims: Sequence[Claim], run: Run, k: int, of_pages: bool) -> float:
    """Share of the claims with all of some evidence set among the first `k`."""
    found = 0
    for claim in claims:
        first = {hit.id for hit in run.get(claim.id, ())[:k]}
        found += any(units <= first for units in (pages_of(claim) if of_pages else map(set, claim.evidence_sets)))
    return found / len(claims)


def group(claim: Claim) -> str:
    pages = min(map(len, pages_of(claim)))
    return f"{claim.kind or 'claims'}, {'one page' if pages == 1 else 'several pages'}"


def ranked_sentences(claims: Sequence[Claim], sentences: PageIndex, run: Run, folder: Path) -> dict[str, list[Hit]]:
    """BM25 over the sentences of all pages found."""
    units = dict.fromkeys(unit for claim in claims for unit in sentences.of_pages(run.get(claim.id, ()), 200))
    index = build(
        ((p.id, titled(p.title, p.text, presets.get("paper"))) for p in map(sentences.lookup, units) if p), folder
    )
    found = index.search([claim.text for claim in claims], 100)
    return {
        claim.id: [Hit(claim.id, unit, rank, score) for rank, (unit, score) in enumerate(row, start=1)]
        for claim, row in zip(claims, found, strict=True)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    data = open_folder(args.data)
    claims = [claim for claim in data.claims(args.split) if claim.evidence_sets]
    figures: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as folder:
        index = build_index(data.documents(), Path(folder) / "index")
        sentences = PageIndex(index)
        first = by_query(retrieve(index, claims, args.depth))
        started = time.perf_counter()
        runs = {"pages": (first, by_query(second_pages(index, claims, first, args.depth)))}
        seconds = time.perf_counter() - started
        ranked = ranked_sentences(claims, sentences, first, Path(folder) / "sentences")
        runs["sentences"] = ranked, by_query(second_sentences(index, claims, ranked, sentences.page))
    for name in sorted(set(map(group, claims))):
        members = [claim for claim in claims if group(claim) == name]
        figures[name] = {"claims": len(members)} | {
            f"{what}@{k}": [complete(members, run, k, what == "pages") for run in both]
            for what, both in runs.items()
            for k in CUTOFFS
        }
        shares = "  ".join(
            f"{key} {value[0]:.3f} → {value[1]:.3f}" for key, value in figures[name].items() if key != "claims"
        )
        print(f"{name} ({len(members)}): {shares}")
    print(f"second hop over pages: {len(claims) / seconds:,.0f} claims/s")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
