"""`lisax attack --claims … --corpus … --kinds … --out …`; `lisax attack review` and `lisax attack accept`."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.adversary.attack import Attack, Kind
from lisax.places import local
from lisax.records import Claim, LisaxError

if TYPE_CHECKING:
    from lisax.adversary.corpus import Corpus
    from lisax.adversary.lexical import LexicalSearch

REVIEW, ACCEPT = "review", "accept"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=[REVIEW, ACCEPT],
        help="review: a local page to judge attacks on; accept: those that were accepted or mended",
    )
    parser.add_argument(
        "--claims", type=local, metavar="PATH", help="claims with labels and evidence: a folder or a file in any layout"
    )
    parser.add_argument(
        "--corpus",
        type=local,
        metavar="DIR",
        help="a folder with pages, or an index made by `lisax index documents` (default: --claims)",
    )
    parser.add_argument(
        "--kinds",
        default="all",
        metavar="KIND,…",
        help=f"of {', '.join(Kind)}; all (default) leaves out {Kind.LEXICAL}, which is slower",
    )
    parser.add_argument(
        "--split",
        action="append",
        metavar="SPLIT",
        help="of a folder: a split (repeatable; default: all); of a file: its name (default: dev)",
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same attacks (default: 0)")
    parser.add_argument("--layout", choices=["plain", "fever"], default="plain", help="of the output (default: plain)")
    parser.add_argument("--without-pages", action="store_true", help="do not write the corpus beside the claims")
    parser.add_argument(
        "--checkpoint",
        type=local,
        metavar="DIR",
        help="of lexical: the labeller under attack; without one, words are exchanged unguided",
    )
    parser.add_argument(
        "--fluency",
        type=float,
        default=0.5,
        metavar="BOUND",
        help="of lexical: how much the mean log10 score of word pairs may fall (default: 0.5)",
    )
    parser.add_argument("--attacks", type=local, metavar="FILE", help="of review and accept: attacked claims")
    parser.add_argument("--decisions", type=local, metavar="FILE", help="of accept: what a review wrote")
    parser.add_argument("--port", type=int, default=8323, help="of review (default: 8323)")
    parser.add_argument(
        "--out",
        type=local,
        required=True,
        metavar="PATH",
        help="folder of attacks; of review the file of decisions; of accept a file of claims",
    )


def main(args: argparse.Namespace) -> int:
    if args.action == REVIEW:
        from lisax.adversary.review import serve

        return serve(_needed(args, "attacks"), args.out, args.port)
    if args.action == ACCEPT:
        from lisax.adversary.decisions import accept

        print(f"{accept(_needed(args, 'attacks'), _needed(args, 'decisions'), args.out):,} claims accepted: {args.out}")
        return 0
    return _attack(args)


def _needed(args: argparse.Namespace, name: str) -> Path:
    if (value := getattr(args, name)) is None:
        raise LisaxError(f"--{name} is needed")
    return value


def _attack(args: argparse.Namespace) -> int:
    from lisax.adversary.corpus import Corpus
    from lisax.adversary.kinds import attackable
    from lisax.adversary.writing import NoAttacks, write_folder
    from lisax.papers.stages import say

    kinds, splits = _kinds(args.kinds), _claims(_needed(args, "claims"), args.split)
    corpus = Corpus.open(args.corpus or (args.claims if args.claims.is_dir() else args.claims.parent))
    if args.out.resolve() in (args.claims.resolve(), corpus_place := (args.corpus or args.claims).resolve()):
        raise LisaxError(f"--out would overwrite {corpus_place}: choose another folder")
    left_out = {}
    for split, claims in splits.items():
        splits[split], left_out[split] = attackable(claims, corpus)
        if left_out[split]:
            say(
                f"  {split}: {left_out[split]:,} of {len(claims):,} claims are left out, SUPPORTS or REFUTES without "
                "evidence that the corpus has"
            )
    by_rule = [kind for kind in kinds if kind is not Kind.LEXICAL]
    search = _lexical(args, corpus) if Kind.LEXICAL in kinds else None
    made = {split: _stream(claims, corpus, by_rule, search, args.seed) for split, claims in splits.items()}
    settings = {
        "seed": args.seed,
        "kinds": list(map(str, kinds)),
        "claims": str(args.claims),
        "corpus": str(args.corpus or args.claims),
        "left_out": left_out,
    }
    try:
        summary = write_folder(
            args.out, made, corpus, layout=args.layout, pages=not args.without_pages, settings=settings
        )
    except NoAttacks:
        if search is None or not search.right:
            raise
        raise LisaxError(f"{_stood(search)}; no other attack was made either: nothing was written") from None
    if search and search.right:
        say(_stood(search))
    for split, of_split in summary["counts"].items():
        for kind, labels in of_split.items():
            shown = ", ".join(f"{count:,} {label}" for label, count in sorted(labels.items()))
            print(f"{split:6} {kind:20} {sum(labels.values()):7,}   {shown}")
    print(f"wrote {args.out}")
    return 0


def _kinds(text: str) -> list[Kind]:
    if text == "all":
        return [kind for kind in Kind if kind is not Kind.LEXICAL]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in set(Kind)]:
        raise LisaxError(f"--kinds: unknown {', '.join(unknown)}; there are {', '.join(Kind)}")
    if not names:
        raise LisaxError("--kinds: expected a kind at least")
    return [kind for kind in Kind if kind in names]


def _claims(place: Path, asked: list[str] | None) -> dict[str, list[Claim]]:
    from lisax.corpora import open_folder, read_claims

    if not place.is_dir():
        if asked and len(asked) > 1:
            raise LisaxError("--split: a file holds one split")
        return {(asked or ["dev"])[0]: list(read_claims(place))}
    dataset = open_folder(place)
    found = {split: list(dataset.claims(split)) for split in asked or dataset.splits}
    if not any(claim.label for claims in found.values() for claim in claims):
        raise LisaxError(f"{place}: no claim has a label, so none can be attacked")
    return found


def _lexical(args: argparse.Namespace, corpus: Corpus) -> LexicalSearch:
    """The search, with a lexicon and a measure of fluency from the corpus and every split of the claims."""
    from lisax.adversary.lexical import Fluency, LexicalSearch, evidence_model
    from lisax.adversary.lexicon import best_lexicon

    claims = [claim for of_split in _claims(args.claims, None).values() for claim in of_split]
    texts = itertools.chain(
        (line.text for page in corpus.documents() for line in page.sentences), (claim.text for claim in claims)
    )
    model = evidence_model(args.checkpoint, corpus) if args.checkpoint else None
    return LexicalSearch(corpus, best_lexicon(corpus, claims), Fluency(texts), model, fluency_bound=args.fluency)


def _stood(search: LexicalSearch) -> str:
    return (
        f"of {search.right:,} claims that the model gets right {search.changeable:,} have words to exchange, "
        f"and it errs on {search.broken:,} of these"
    )


def _stream(
    claims: list[Claim], corpus: Corpus, by_rule: list[Kind], search: LexicalSearch | None, seed: int
) -> Iterator[tuple[str, Attack]]:
    from lisax.adversary.kinds import attacks
    from lisax.papers.stages import counting

    if by_rule:
        with counting(len(claims), "claims") as advance:
            yield from attacks(claims, corpus, by_rule, seed, advance)
    if search is not None:
        with counting(len(claims), "claims, words exchanged") as advance:
            yield from search.attacks(claims, advance)
