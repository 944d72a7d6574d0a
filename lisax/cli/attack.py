"""Make adversarial claims, review them, and keep the accepted ones.

lisax attack make --claims DIR --out ATTACKED
"""

from __future__ import annotations

from typing import Annotated, Literal

import click

from lisax.cli.verbs import Local, Option, Target

Attacks = Annotated[Local, Option("Attacked claims.", "FILE")]


def make(
    *,
    claims: Annotated[Local, Option("Claims with labels and evidence: a folder or a file in any layout.", "PATH")],
    out: Annotated[Local, Option("Folder to write the attacked claims to.", "DIR")],
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
        Option("Kind of attack.", "KIND", "all but lexical, which is slower"),
    ] = (),
    split: Annotated[
        tuple[str, ...],
        Option("A folder's split (default: all); for a file, the name of its split (default: dev).", "SPLIT"),
    ] = (),
    seed: Annotated[int, Option("The same seed gives the same attacks.")] = 0,
    layout: Annotated[Literal["plain", "fever"], Option("Layout of the output.")] = "plain",
    without_pages: Annotated[bool, Option("Do not write the corpus next to the claims.")] = False,
    model: Annotated[
        Local | None,
        Option(
            "For lexical: the model to attack, any that `lisax check --model` takes for text.",
            "DIR",
            default="the shipped labeller over text, an adapter of MiniLM",
        ),
    ] = None,
    unguided: Annotated[
        bool, Option("For lexical: attack no model; each claim takes the most fluent exchange.")
    ] = False,
    fluency: Annotated[float, Option("For lexical: largest allowed fall of the mean log10 score of word pairs.")] = 0.5,
) -> None:
    """Write attacked claims with their evidence and pages.

    Words for lexical come from the corpus, and from WordNet too if nltk and its data `wordnet` are installed.

    lisax attack make --claims DIR --out ATTACKED --kind date --kind conjunction
    lisax attack make --claims DIR --out ATTACKED --kind lexical --model RUN/models/label_listwise
    """
    if unguided and model is not None:
        raise click.UsageError("--unguided attacks no model: leave --model out")
    from lisax.adversary.attack import AttackKind
    from lisax.adversary.kinds import BY_RULE
    from lisax.adversary.making import AttackSettings, make_attacks

    kinds = tuple(one for one in AttackKind if one in kind) or tuple(BY_RULE)
    settings = AttackSettings(kinds, seed, layout, not without_pages, model, not unguided, fluency)
    summary = make_attacks(claims, out, corpus, split, settings)
    for name, of_split in summary["counts"].items():
        for one, labels in of_split.items():
            shown = ", ".join(f"{count:,} {label}" for label, count in sorted(labels.items()))
            print(f"{name:6} {one:20} {sum(labels.values()):7,}   {shown}")
    print(f"wrote {out}")


def review(
    *,
    attacks: Attacks,
    out: Annotated[Local, Option("File of decisions; each decision appends a line.", "FILE")],
    corpus: Annotated[
        Local | None,
        Option(
            "A folder with pages, or an index, for the text of the evidence.",
            "DIR",
            "the pages next to --attacks, if any",
        ),
    ] = None,
) -> None:
    """Review attacked claims in the terminal.

    lisax attack review --attacks ATTACKED/claims.dev.jsonl --out decisions.jsonl
    """
    from lisax.adversary.review import review

    review(attacks, out, corpus)


def accept(
    *,
    attacks: Attacks,
    decisions: Annotated[Local, Option("The file of decisions that a review wrote.", "FILE")],
    out: Annotated[Target, Option("File of claims to write.", "FILE")],
) -> None:
    """Write the claims that a review accepted or corrected.

    lisax attack accept --attacks ATTACKED/claims.dev.jsonl --decisions decisions.jsonl --out claims.dev.jsonl
    """
    from lisax.adversary.decisions import accept

    print(f"accepted claims: {accept(attacks, decisions, out):,}, in {out}")


VERBS = (make, review, accept)
