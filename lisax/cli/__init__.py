"""`lisax VERB`: each verb's module is imported only when that verb is asked for."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import sys
from collections.abc import Sequence

from lisax import __version__
from lisax.records import LisaxError
from lisax.runtime.platforms import choose_platforms


@dataclasses.dataclass(frozen=True)
class Verb:
    """`module` has the functions `add_arguments(parser)` and `main(args) -> int` under the given names."""

    help: str
    module: str
    add_arguments: str = "add_arguments"
    main: str = "main"
    resumes: bool = True  # after Ctrl-C the same command goes on


VERBS = {
    "demo": Verb(
        "LisT5 at small size on a generated world, ending in a table and a report",
        "lisax.cli.papers",
        "add_demo_arguments",
        "demo_main",
    ),
    "data": Verb("list, download, check and generate datasets", "lisax.cli.data"),
    "index": Verb("build a retrieval index", "lisax.cli.retrieval", "add_index_arguments", "index_main"),
    "retrieve": Verb("retrieve documents for claims", "lisax.cli.retrieval", "add_retrieve_arguments", "retrieve_main"),
    "cache": Verb("prepare tasks and examples with Apache Beam", "lisax.cli.cache"),
    "train": Verb("train from gin files", "lisax.cli.training", "add_train_arguments", "train_main"),
    "eval": Verb("evaluate a checkpoint on a task", "lisax.cli.training", "add_eval_arguments", "eval_main"),
    "infer": Verb("predict or score a task", "lisax.cli.training", "add_infer_arguments", "infer_main"),
    "plan": Verb("will a gin file's run fit a machine, and how fast", "lisax.cli.plan"),
    "export": Verb(
        "write a checkpoint as a bundle for inference", "lisax.cli.papers", "add_export_arguments", "export_main"
    ),
    "checkpoint": Verb("show checkpoints, and convert them from and to T5X and Hugging Face", "lisax.cli.checkpoint"),
    "rerank": Verb(
        "rank sentences for claims with a checkpoint", "lisax.cli.papers", "add_rerank_arguments", "rerank_main"
    ),
    "verify": Verb("label claims given ranked sentences", "lisax.cli.papers", "add_verify_arguments", "verify_main"),
    "answer": Verb("answer questions from an index of passages", "lisax.cli.answer"),
    "verbalize": Verb("write rows of tables and sub-graphs as sentences", "lisax.cli.verbalize"),
    "verbalizer": Verb(
        "train a verbalizer in rounds", "lisax.cli.verbalize", "add_verbalizer_arguments", "verbalizer_main"
    ),
    "run": Verb("a paper's whole pipeline", "lisax.cli.papers", "add_run_arguments", "run_main"),
    "attack": Verb(
        "make adversarial claims, review them, keep those that were accepted", "lisax.cli.attack", resumes=False
    ),
    "serve": Verb("a page to ask tables and to check claims", "lisax.cli.serve", "add_serve_arguments", "serve_main"),
    "feedback": Verb(
        "what was said on that page, as training data", "lisax.cli.serve", "add_feedback_arguments", "feedback_main"
    ),
    "evaluate": Verb("score predictions and runs", "lisax.cli.evaluate"),
}
# Verbs whose arguments are T5X's flags.
GIN_VERBS = ("train", "eval", "infer", "plan", "run", "demo", "verbalizer")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 after a `LisaxError`, 2 for wrong usage, 130 after Ctrl-C; a training that SIGTERM stops
    raises SystemExit(143)."""
    if arguments is None:
        sys.stdout.reconfigure(errors="backslashreplace")  # a path that is printed need not be UTF-8
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="lisax", description="Checks claims against text with T5, in JAX.")
    parser.add_argument("--version", action="version", version=f"lisax {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    asked = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, verb in VERBS.items():
        # Only the verb asked for is imported and given its arguments; the others are a line of help.
        subparser = verbs.add_parser(name, help=verb.help, description=verb.help)
        if name == asked:
            getattr(importlib.import_module(verb.module), verb.add_arguments)(subparser)
    try:
        if asked in GIN_VERBS and any(argument.startswith("--gin.") for argument in arguments):
            from lisax.runtime.gin_files import rewrite_gin_flags

            arguments = rewrite_gin_flags(arguments)
        args = parser.parse_args(arguments)
        verb = VERBS[args.verb]
        choose_platforms()
        return getattr(importlib.import_module(verb.module), verb.main)(args)
    except LisaxError as error:
        print(f"lisax: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"lisax: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        goes_on = asked not in VERBS or VERBS[asked].resumes
        print(
            f"lisax: interrupted; the same command {'goes on from here' if goes_on else 'starts again'}",
            file=sys.stderr,
        )
        return 130
