"""`lisax checkpoint show | import | export`. Light to import."""

from __future__ import annotations

import argparse
import math

from lisax.places import fetched, place
from lisax.runtime.interop.kinds import Kind

SOURCE = (
    "a checkpoint in T5X's Orbax or native layout, scanned or not, a MODEL_DIR of such, a Hugging Face folder "
    "(config.json and safetensors), or a bundle"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Shows checkpoints of T5X, Hugging Face and LisaX, and converts between them."
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="kind, step, parameters, vocabulary and optimizer slots")
    take = actions.add_parser("import", help="write our own layout, with model.json")
    give = actions.add_parser("export", help="write another program's layout")
    for action in (show, take, give):
        action.add_argument("source", metavar="PATH", help=SOURCE)
    for action in (take, give):
        action.add_argument("--out", type=place, required=True, metavar="DIR", help="a folder that does not exist yet")
    take.add_argument(
        "--vocabulary",
        type=fetched,
        metavar="FILE",
        help="the SentencePiece model that the checkpoint was trained with (default: the one beside it)",
    )
    take.add_argument(
        "--gin_file",
        action="append",
        default=[],
        metavar="FILE",
        help="a model's gin file, where the architecture is not to be found from the source; repeatable",
    )
    take.add_argument("--gin_bindings", action="append", default=[], metavar="NAME=value")
    give.add_argument("--format", required=True, choices=[Kind.NATIVE, Kind.ORBAX, Kind.HUGGINGFACE])
    give.add_argument(
        "--layers",
        choices=("separate", "stacked"),
        help="T5X's layouts: an array for each layer, as "
        "t5x.examples.t5 has them, or one for all layers of a stack, as t5x.examples.scalable_t5 does "
        "(default: as the source has them, where T5X has such a model)",
    )


def main(args: argparse.Namespace) -> int:
    if args.action == "show":
        print(described(args.source))
        return 0
    from lisax.runtime.interop import convert

    if args.action == "import":
        print(
            convert.import_checkpoint(
                args.source, args.out, vocabulary=args.vocabulary, gin_files=args.gin_file, bindings=args.gin_bindings
            )
        )
    else:
        print(convert.export_checkpoint(args.source, args.out, Kind(args.format), args.layers))
    return 0


def described(source: str) -> str:
    """What a checkpoint holds, as text for a terminal; no array is read."""
    from lisax.runtime.interop.opening import open_checkpoint
    from lisax.runtime.interop.pieces import shapes_of

    checkpoint = open_checkpoint(source)
    shapes, slots = shapes_of(checkpoint.parameters), shapes_of(checkpoint.slots)
    count = sum(map(math.prod, shapes.values()))
    known = (checkpoint.card or {}).get("vocabulary") or {}
    kinds = sorted({name.rsplit("/", 1)[1] for name in slots})
    width = max(map(len, shapes), default=0)
    facts = {
        "checkpoint": checkpoint.folder,
        "kind": checkpoint.kind + (", layers stacked (scanned)" if checkpoint.scanned else ""),
        "step": "not said" if checkpoint.step is None else checkpoint.step,
        "parameters": f"{count:,} in {len(shapes)} arrays",
        "vocabulary": ", ".join(
            filter(
                None,
                (f"{known['kind']} of {known['pieces']} pieces" if known else "", str(checkpoint.vocabulary or "")),
            )
        )
        or "none beside it",
        "optimizer slots": f"{sum(map(math.prod, slots.values())):,} values: {', '.join(kinds)}" if slots else "none",
    }
    return "\n".join(
        [
            *(f"{name:16}{value}" for name, value in facts.items()),
            "",
            *(f"{name:{width}}  {list(shape)}" for name, shape in shapes.items()),
        ]
    )
