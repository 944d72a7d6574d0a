"""`lisax VERB`: one module per verb, imported only when the verb is used."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

import click

from lisax import __version__
from lisax.cli.verbs import SETTINGS, Root
from lisax.devices.huge_pages import start_again_with_huge_pages
from lisax.errors import LisaxError
from lisax.extras import not_installed
from lisax.progress import Visible

RESTARTS = ("attack",)  # verbs that cannot resume after an interruption
TRAINS = ("train", "run", "demo", "reproduce")


def root() -> Root:
    help = "Checks claims against text, tables and graphs with T5, in JAX."
    made = Root("lisax", help=help, context_settings=SETTINGS, subcommand_metavar="VERB …")
    return click.version_option(__version__, message="lisax %(version)s")(made)


def invoke(words: Sequence[str]) -> int:
    """Runs a command and returns its exit code. Errors of the verb and `click.UsageError` propagate."""
    verbs = root()
    try:
        with verbs.make_context("lisax", list(words)) as context:
            return verbs.invoke(context)
    except click.exceptions.Exit as end:  # after --help and --version
        return end.exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 0, 1 after a `LisaxError`, 2 for wrong usage, 130 after Ctrl-C.
    Training that is stopped by SIGTERM raises SystemExit(143)."""
    if arguments is None:
        # Pythons that libraries start import nothing of the current folder.
        os.environ["PYTHONSAFEPATH"] = "1"
        sys.stdout, sys.stderr = Visible.over(sys.stdout), Visible.over(sys.stderr)
        if any(word in TRAINS for word in sys.argv[1:2]):
            start_again_with_huge_pages()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return invoke(arguments)
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except ModuleNotFoundError as error:
        if (missing := not_installed(error)) is None:
            raise
        print(f"lisax: {missing}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (LisaxError, OSError) as error:
        print(f"lisax: {error}", file=sys.stderr)
        return 1
    except RuntimeError as error:  # jax's own is one, and jax need not be there
        if not (asked := re.search(r"RESOURCE_EXHAUSTED: (.*)", str(error))):
            raise
        print(
            f"lisax: the memory does not suffice ({asked[1][:200]}); in training take a smaller BATCH_SIZE, shorter "
            "TASK_FEATURE_LENGTHS, or the same batch in parts, --gin.Trainer.num_microbatches=8",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        restarts = next((word for word in arguments if not word.startswith("-")), None) in RESTARTS
        print(f"lisax: interrupted; the same command {'starts again' if restarts else 'resumes'}", file=sys.stderr)
        return 130
