"""`lisax serve` and `lisax feedback export`. Light to import."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.places import local
from lisax.records import LisaxError, atomic_write

if TYPE_CHECKING:
    from lisax.serve.app import Page

STATE = Path("lisax-page")


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--index",
        type=local,
        action="append",
        default=[],
        metavar="INDEX",
        help="made by `lisax index tables` (questions), `cells` (claims over tables), `documents` "
        "(claims over text) or `mixed` (both, over text, tables and graphs); repeatable",
    )
    parser.add_argument(
        "--state",
        type=local,
        default=STATE,
        metavar="DIR",
        help=f"folder of feedback, uploaded tables and models trained from the page (default: {STATE})",
    )


def add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bundle",
        type=local,
        action="append",
        required=True,
        metavar="DIR",
        help="a bundle or a MODEL_DIR; its format tells what it is for. Repeatable: one that scores "
        "rows and columns (or one for each), a ranker, a labeller, one that verifies over tables; for "
        "an index of passages a reader, and a retriever that `lisax index vectors` was given",
    )
    _add_sources(parser)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default: "
        "127.0.0.1); with any that is not loopback a token is needed, LISAX_TOKEN or else one that is "
        "printed",
    )
    parser.add_argument("--port", type=int, default=8765, help="default: 8765; 0 for any that is free")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that the page is reached by, as a browser's address has it; repeatable",
    )
    parser.add_argument("--pool", type=int, default=20, help="tables scored for a question (default: 20)")
    parser.add_argument("--keep", type=int, default=5, help="tables or answers shown (default: 5)")
    parser.add_argument(
        "--aggregate",
        choices=["max", "sum", "first", "any"],
        default="any",
        help="how a pointwise labeller's labels of single sentences become one (default: any)",
    )
    parser.add_argument(
        "--temporal",
        action="store_true",
        help="let the dates of a claim and its evidence decide where "
        "they can, as `lisax verify --temporal` does; the page says which did",
    )


def serve_main(args: argparse.Namespace) -> int:
    # Read when JAX is imported: what one start compiles, the next ones have.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str((args.state / "compiled").resolve()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    import socket
    from urllib.parse import quote

    from lisax.serve.app import create
    from lisax.serve.connections import server
    from lisax.serve.store import private_folder

    for option in ("pool", "keep"):
        if getattr(args, option) < 1:
            raise LisaxError(f"--{option} must be at least 1, found {getattr(args, option)}")
    token, is_printed = _token(args.host)
    private_folder(args.state)
    listener = socket.socket(socket.AF_INET6 if ":" in args.host else socket.AF_INET)
    with contextlib.closing(listener):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((args.host, args.port))
        except (OSError, OverflowError) as error:
            raise LisaxError(f"cannot listen on {args.host}, port {args.port}: {error}") from None
        port = listener.getsockname()[1]
        page = open_page(args, port, token)
        page.worker.when_idle(page.engine.warming(page.library))
        listener.listen()  # who comes by the printed address waits rather than being refused
        shown = f"[{args.host}]" if ":" in args.host else args.host
        print(f"http://{shown}:{port}/" + (f"?token={quote(token, safe='')}" if is_printed else ""), flush=True)
        if token:
            print(
                ("" if is_printed else "Open it with ?token= and what LISAX_TOKEN says. ")
                + "Whoever has the token may "
                "ask, load tables and train. Without HTTPS before it, it can be read on the way.",
                flush=True,
            )
        with contextlib.suppress(KeyboardInterrupt):  # how it is ended
            server(create(page), page.limits).run(sockets=[listener])
    return 0


def _token(host: str) -> tuple[str | None, bool]:
    """What lets people in, None where everyone who can connect may ask; and whether it may be printed: it is our own."""
    from lisax.serve.guard import is_loopback

    if is_loopback(host):
        return None, False
    if not (given := os.environ.get("LISAX_TOKEN")):
        return secrets.token_urlsafe(24), True
    if not re.fullmatch("[!-~]+", given):
        raise LisaxError(
            "LISAX_TOKEN must be of letters, digits and signs of ASCII, without blanks: others are written "
            "in several ways, and would not be recognised everywhere"
        )
    return given, False


def open_page(args: argparse.Namespace, port: int, token: str | None) -> Page:
    """Everything behind the page; complaints about bundles and indexes come before anything is served."""
    from lisax.serve.answering import Depths, Engine, Models
    from lisax.serve.app import Page
    from lisax.serve.guard import Rules
    from lisax.serve.library import Library
    from lisax.serve.limits import LIMITS
    from lisax.serve.store import Store
    from lisax.serve.training import Training

    library = Library(args.index, args.state / "corpora", LIMITS)
    engine = Engine(Models.open(args.bundle), Depths(pool=args.pool, keep=args.keep), args.aggregate, args.temporal)
    engine.check(library)
    return Page(
        engine,
        library,
        Store(args.state, LIMITS.answers_kept),
        Training(args.state / "training"),
        Rules(_secret(args.state), port, token, frozenset(name.lower() for name in args.name), LIMITS),
    )


def _secret(folder: Path) -> bytes:
    """Seals forms and cookies; kept, so that pages that are open outlive a restart."""
    path = folder / "secret"
    if not path.is_file():
        with atomic_write(path, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(secrets.token_bytes(32))
    return path.read_bytes()


def add_feedback_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["export"], help="write the feedback as training data")
    _add_sources(parser)
    parser.add_argument("--out", type=local, required=True, metavar="DIR", help="a folder that does not exist yet")


def feedback_main(args: argparse.Namespace) -> int:
    from lisax.serve.answering import Engine, Models
    from lisax.serve.export import gather
    from lisax.serve.library import Library
    from lisax.serve.limits import LIMITS
    from lisax.serve.store import NAME, Store

    if not (args.state / NAME).is_file():
        raise LisaxError(f"there is no feedback in {args.state}: --state names the folder that `lisax serve` was given")
    if args.out.exists():
        raise LisaxError(f"{args.out} is there already; name a new folder")
    with contextlib.closing(Store(args.state)) as store:
        gathered = gather(store.feedback(), Library(args.index, args.state / "corpora", LIMITS), Engine(Models({})))
    for name, count in gathered.write(args.out).items():
        print(f"{args.out / name}.jsonl: {count:,}")
    for reason, count in gathered.skipped.items():
        print(f"left out, {reason}: {count:,}")
    return 0
