"""Make adversarial claims, review them, and keep those that were accepted.

lisax attack make --claims DIR --out ATTACKED
"""

from __future__ import annotations

from typing import Annotated, Literal

from lisax.cli.verbs import Local, Option, Port

Attacks = Annotated[Local, Option("Attacked claims.", "FILE")]


def make(
    *,
    claims: Annotated[Local, Option("Claims with labels and evidence: a folder or a file in any layout.", "PATH")],
    out: Annotated[Local, Option("Folder of attacks.", "DIR")],
    corpus: Annotated[
        Local | None,
        Option("A folder with pages, or an index of `lisax index documents`.", "DIR", "the folder of --claims"),
    ] = None,
    kind: Annotated[
        tuple[
            Literal[
                "conjunction", "multi_hop", "unverifiable", "date", "multi_hop_temporal", "disambiguation", "lexical"
            ],
            ...,
        ],
        Option("A kind of attack.", "KIND", "all but lexical, which is slower"),
    ] = (),
    split: Annotated[
        tuple[str, ...], Option("Of a folder: a split (default: all); of a file: its name (default: dev).", "SPLIT")
    ] = (),
    seed: Annotated[int, Option("The same seed gives the same attacks.")] = 0,
    layout: Annotated[Literal["plain", "fever"], Option("Of the output.")] = "plain",
    without_pages: Annotated[bool, Option("Do not write the corpus beside the claims.")] = False,
    model: Annotated[
        Local | None,
        Option("Of lexical: the labeller under attack; without one, words are exchanged unguided.", "DIR"),
    ] = None,
    fluency: Annotated[float, Option("Of lexical: how much the mean log10 score of word pairs may fall.")] = 0.5,
) -> None:
    """Write attacked claims with their evidence and pages.

    lisax attack make --claims DIR --out ATTACKED --kind date --kind conjunction
    """
    from lisax.adversary.attack import AttackKind
    from lisax.adversary.making import BY_RULE, AttackSettings, make_attacks

    kinds = tuple(one for one in AttackKind if one in kind) or BY_RULE
    settings = AttackSettings(kinds, seed, layout, not without_pages, model, fluency)
    summary = make_attacks(claims, out, corpus, split, settings)
    for name, of_split in summary["counts"].items():
        for one, labels in of_split.items():
            shown = ", ".join(f"{count:,} {label}" for label, count in sorted(labels.items()))
            print(f"{name:6} {one:20} {sum(labels.values()):7,}   {shown}")
    print(f"wrote {out}")


def review(
    *,
    attacks: Attacks,
    out: Annotated[Local, Option("File of decisions, which grows by a line a decision.", "FILE")],
    port: Annotated[Port, Option("Port of the page; 0 for any that is free.")] = 8323,
) -> int:
    """Judge attacked claims on a local page.

    lisax attack review --attacks ATTACKED/claims.dev.jsonl --out decisions.jsonl
    """
    from lisax.adversary.review import serve

    return serve(attacks, out, port)


def accept(
    *,
    attacks: Attacks,
    decisions: Annotated[Local, Option("What a review wrote.", "FILE")],
    out: Annotated[Local, Option("File of claims to write.", "FILE")],
) -> None:
    """Write the claims that a review accepted or mended.

    lisax attack accept --attacks ATTACKED/claims.dev.jsonl --decisions decisions.jsonl --out claims.dev.jsonl
    """
    from lisax.adversary.decisions import accept

    print(f"{accept(attacks, decisions, out):,} claims accepted: {out}")


VERBS = (make, review, accept)
