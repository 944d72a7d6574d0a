"""Starts the page: opens models and indexes, listens, prints the address, serves until Ctrl-C."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.records import LisaxError, atomic_write

if TYPE_CHECKING:
    from lisax.serve.app import Page


@dataclasses.dataclass(frozen=True)
class ServeSettings:
    """The options of `lisax serve`; `names` are host names of the page besides its address."""

    models: Sequence[Path]
    indexes: Sequence[Path]
    state: Path
    host: str = "127.0.0.1"
    port: int = 8765
    names: Sequence[str] = ()
    pool: int = 20
    keep: int = 5
    aggregate: str = "any"
    temporal: bool = False
    min_confidence: float | None = None


def serve(settings: ServeSettings) -> None:
    # Read when JAX is imported: later starts reuse what one start compiled.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str((settings.state / "compiled").resolve()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    import socket
    from urllib.parse import quote

    from lisax.serve.app import create
    from lisax.serve.connections import server
    from lisax.serve.store import private_folder

    host = settings.host
    token, is_printed = _token(host)
    private_folder(settings.state)
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    with contextlib.closing(listener):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, settings.port))
        except (OSError, OverflowError) as error:
            raise LisaxError(f"cannot listen on {host}, port {settings.port}: {error}") from None
        port = listener.getsockname()[1]
        page = open_page(settings, port, token)
        page.worker.when_idle(page.engine.warming(page.library))
        listener.listen()  # early visitors of the printed address wait instead of being refused
        shown = f"[{host}]" if ":" in host else host
        print(f"http://{shown}:{port}/" + (f"?token={quote(token, safe='')}" if is_printed else ""), flush=True)
        if token:
            print(
                ("" if is_printed else "Open it with ?token= and what LISAX_TOKEN says. ")
                + "Whoever has the token may "
                "ask, load tables and train. Without HTTPS before it, it can be read on the way.",
                flush=True,
            )
        with contextlib.suppress(KeyboardInterrupt):  # the normal way to stop
            server(create(page), page.limits).run(sockets=[listener])


def _token(host: str) -> tuple[str | None, bool]:
    """The access token (None if everyone who can connect may ask), and whether it may be printed because we generated
    it."""
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


def open_page(settings: ServeSettings, port: int, token: str | None) -> Page:
    """Opens everything behind the page. Errors in bundles and indexes are raised before anything is served."""
    from lisax.serve.answering import Depths, Engine, Models
    from lisax.serve.app import Page
    from lisax.serve.guard import Rules
    from lisax.serve.library import Library
    from lisax.serve.limits import LIMITS
    from lisax.serve.store import Store
    from lisax.serve.training import Training

    library = Library(settings.indexes, settings.state / "corpora", LIMITS)
    engine = Engine(
        Models.open(settings.models),
        Depths(pool=settings.pool, keep=settings.keep),
        settings.aggregate,
        settings.temporal,
        settings.min_confidence,
    )
    engine.check(library)
    return Page(
        engine,
        library,
        Store(settings.state, LIMITS.answers_kept),
        Training(settings.state / "training"),
        Rules(_secret(settings.state), port, token, frozenset(name.lower() for name in settings.names), LIMITS),
    )


def _secret(folder: Path) -> bytes:
    """The key that signs forms and cookies; stored, so that open pages survive a restart."""
    path = folder / "secret"
    if not path.is_file():
        with atomic_write(path, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(secrets.token_bytes(32))
    return path.read_bytes()
