"""Starts the page and the API: opens models and indexes, listens, prints the address, serves until Ctrl-C or
SIGTERM."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.errors import LisaxError
from lisax.files.writing import atomic_write
from lisax.progress import say

SHORTEST = 16  # characters of a token besides LISAX_TOKEN

if TYPE_CHECKING:
    from lisax.serve.answering import Engine
    from lisax.serve.app import Page
    from lisax.serve.guard import Network
    from lisax.serve.library import Library
    from lisax.serve.limits import Limits
    from lisax.serve.models import Models


@dataclasses.dataclass(frozen=True)
class ServeSettings:
    """The options of `lisax serve`; the field of an option that repeats has its plural."""

    models: Sequence[Path]
    indexes: Sequence[Path | str]  # folders, or addresses of a cluster's indexes
    state: Path
    corpora: Sequence[Path] = ()  # folders of documents, which are followed
    host: str = "127.0.0.1"
    port: int = 8765
    names: Sequence[str] = ()  # of the host, besides its address
    pool: int = 20
    keep: int = 5
    aggregate: str | None = None
    temporal: bool = True
    min_confidence: float | None = None
    rate_limit: float | None = None  # calls of the API a second from one address
    limits: Sequence[str] = ()  # NAME=N
    proxies: Sequence[Network] = ()
    allow_origins: Sequence[str] = ()  # of pages elsewhere that may call the API
    shared_limits: str | None = None  # the URL of a Redis
    log_json: bool = False
    tier: str | None = None  # of the shipped labeller; None: see `checker.tier_of`
    keep_uploads: float | None = None  # seconds
    examples: Sequence[tuple[str, str, str]] = ()  # (kind, corpus, text); none: made of the indexes' content
    tried: str = ""  # how the examples were chosen


def serve(settings: ServeSettings) -> None:
    # Read when JAX is imported: later starts reuse compiled programs.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str((settings.state / "compiled").resolve()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    import signal
    import socket
    import threading
    from urllib.parse import quote

    from lisax.serve.app import create
    from lisax.serve.connections import server
    from lisax.serve.contents import warming
    from lisax.serve.observing import JSON_LOGS
    from lisax.serve.store import private_folder

    host = settings.host
    _check_apart(settings)
    token, is_printed = _token(host, bool(settings.proxies))
    private_folder(settings.state)
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    with contextlib.closing(listener):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, settings.port))
        except (OSError, OverflowError) as error:
            raise LisaxError(f"cannot listen on {host}, port {settings.port}: {error}") from None
        port = listener.getsockname()[1]
        page = open_page(settings, token)
        page.worker.when_idle(warming(page.engine, page.library))
        listener.listen()  # early visitors of the printed address wait instead of being refused
        shown = f"[{host}]" if ":" in host else host
        print(f"http://{shown}:{port}/" + (f"?token={quote(token, safe='')}" if is_printed else ""), flush=True)
        if token:
            how = "" if is_printed else "Open it with ?token= and the value of LISAX_TOKEN. "
            may = "Anyone with the token may ask, load tables and train."
            print(f"{how}{may} Without HTTPS before it, it can be read on the way.", flush=True)
        elif settings.proxies:
            may = "Anyone who reaches the proxy may ask, load tables and train"
            print(f"{may}: set LISAX_TOKEN to ask for a token.", flush=True)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # which uvicorn raises again when it has ended
        with contextlib.suppress(KeyboardInterrupt):  # the normal way to stop
            log_config = JSON_LOGS if settings.log_json else None
            server(create(page), page.limits, log_config, settings.proxies).run(sockets=[listener])


def serve_assistant(settings: ServeSettings) -> None:
    """Serves the calls as tools on standard input and output, until the input ends. Tables that were uploaded to a page
    with the same state folder can be asked too; nothing is kept."""
    import tempfile

    from lisax.serve.assistants import serve_stdio  # which names the package to install, before a model is opened
    from lisax.serve.limits import LIMITS
    from lisax.serve.service import Service
    from lisax.serve.visitors import Seen
    from lisax.serve.worker import Worker

    if settings.state.is_dir():  # else nothing was uploaded, and nothing is written there
        _check_apart(settings)
    with tempfile.TemporaryDirectory() as empty:
        state = settings.state if settings.state.is_dir() else Path(empty)
        engine, library = open_models(settings, state / "corpora", LIMITS)
        limits = dataclasses.replace(LIMITS, together=together(LIMITS))
        worker = Worker("model", limits.waiting, limits.together, limits.together_seconds)
        with contextlib.suppress(KeyboardInterrupt):
            serve_stdio(Service(engine, Seen(library), worker, limits))
        worker.close()


def _check_apart(settings: ServeSettings) -> None:
    """Raises LisaxError if a served folder holds the state folder: private uploads would be documents for everyone."""
    for folder in settings.corpora:
        if settings.state.resolve().is_relative_to(folder.resolve()):
            raise LisaxError(
                f"the state folder {settings.state} is in the served folder {folder}: choose one outside with --state"
            )


def _token(host: str, is_behind_proxy: bool = False) -> tuple[str | None, bool]:
    """The access token (None if everyone who can connect may ask), and whether it may be printed because we generated
    it."""
    from lisax.serve.guard import is_loopback

    given = os.environ.get("LISAX_TOKEN") or next(iter(_group_tokens()), None)
    if is_loopback(host) and not (is_behind_proxy and given):
        return None, False
    return (_check_token("LISAX_TOKEN", given), False) if given else (secrets.token_urlsafe(24), True)


def _check_token(name: str, given: str, least: int = 1) -> str:
    if not re.fullmatch("[!-~]+", given):
        raise LisaxError(
            f"{name} must be of letters, digits and signs of ASCII, without blanks: others are written "
            "in several ways, and would not be recognised everywhere"
        )
    if len(given) < least:
        raise LisaxError(f"{name} has a token of {len(given)} characters: give each at least {least}")
    return given


def _group_tokens() -> tuple[str, ...]:
    """The tokens in LISAX_TOKENS, with blanks between them: the holders of each can have uploads of their own."""
    given = os.environ.get("LISAX_TOKENS", "").split()
    return tuple(_check_token("LISAX_TOKENS", token, SHORTEST) for token in given)


def _operator(folder: Path) -> str:
    """The operator's token: LISAX_OPERATOR_TOKEN, or one that is kept in the state folder."""
    if given := os.environ.get("LISAX_OPERATOR_TOKEN"):
        return _check_token("LISAX_OPERATOR_TOKEN", given, SHORTEST)
    return _kept(folder, "operator-token", lambda: secrets.token_urlsafe(24).encode()).decode()


def open_page(settings: ServeSettings, token: str | None) -> Page:
    """Opens everything behind the page. Errors in bundles and indexes are raised before anything is served."""
    from lisax.serve.app import Page
    from lisax.serve.guard import Rules
    from lisax.serve.in_use import InUse
    from lisax.serve.limits import LIMITS, changed
    from lisax.serve.rates import open_storage
    from lisax.serve.store import Store
    from lisax.serve.training import Training

    limits = changed(LIMITS, settings.limits)
    limits = dataclasses.replace(limits, calls_per_second=settings.rate_limit or limits.calls_per_second)
    engine, library = open_models(settings, settings.state / "corpora", limits)
    limits = dataclasses.replace(limits, together=together(limits))
    in_use = InUse(settings.state, engine.models.paths)
    in_use.take_up(engine.models.paths, engine.use)
    page = Page(
        engine,
        library,
        Store(settings.state, limits.answers_kept),
        Training(settings.state / "training"),
        in_use,
        Rules(
            _secret(settings.state),
            token,
            frozenset(name.lower() for name in settings.names),
            limits,
            tuple(settings.proxies),
            frozenset(settings.allow_origins),
            None if settings.shared_limits is None else open_storage(settings.shared_limits),
            _operator(settings.state),
            tuple(one for one in _group_tokens() if one != token),
        ),
        list(settings.examples),
        settings.tried,
    )
    in_use.follow(engine.models.paths, lambda model: page.worker.submit(lambda: engine.use(model)).result())
    return page


def together(limits: Limits) -> int:
    """How many claims the models that are open compute in one call. On a CPU JAX gains nothing by it, and makes people
    wait while it compiles a program for each size; where all models run in onnxruntime, it has not been imported."""
    from lisax.devices.platforms import accelerated

    return limits.together if "jax" not in sys.modules or accelerated() else 1


def open_models(settings: ServeSettings, uploads: Path, limits: Limits) -> tuple[Engine, Library]:
    """The models and the corpora: the given indexes, and the uploads in the folder `uploads`."""
    from lisax.serve.answering import Engine
    from lisax.serve.following import Followed, Renewal, later
    from lisax.serve.library import Library
    from lisax.serve.models import Models

    library = Library(settings.indexes, uploads, limits, settings.keep_uploads)
    models = Models.open(settings.models, settings.tier)
    if models.missing:
        say(f"search only, without verdicts and answers: {models.missing}")
    library.add_vectors = _vectors(models)
    engine = Engine(
        models, settings.pool, settings.keep, settings.aggregate, settings.temporal, settings.min_confidence
    )
    followed: list[Followed] = []
    forget = later(engine.forget, limits.answer_seconds)
    for folder in settings.corpora:
        say(f"reads {folder}")
        followed.append(Followed(folder, library, forget))
        say(f"{folder}: {followed[-1].corpus.account}")
    engine.check(library)
    for corpus in library:
        if not corpus.uploaded:
            engine.open(corpus)
            if corpus.account:
                corpus.account.tell()
    library.opening, library.dropped = engine.open, forget
    for one in followed:
        one.start()
    Renewal(library, forget).start()
    return engine, library


def _vectors(models: Models) -> Callable[[Path], object] | None:
    """The encoder of uploaded tables, if the model of rows and columns finds tables by vectors."""
    from lisax import shipped
    from lisax.predict.table_answers import VECTORS
    from lisax.serve.models import PARTS

    if PARTS not in models or models[PARTS].card.content.get("retrieval") != VECTORS:
        return None
    from lisax.predict.retriever import add_vectors, open_encoder

    return lambda index: add_vectors(index, open_encoder(shipped.ENCODER))


def _secret(folder: Path) -> bytes:
    """The key that signs forms and cookies; stored, so that open pages survive a restart."""
    return _kept(folder, "secret", lambda: secrets.token_bytes(32))


def _kept(folder: Path, name: str, made: Callable[[], bytes]) -> bytes:
    """The content of a file that only its owner may read, and that the first server on a state folder makes."""
    from lisax.serve.store import alone_in

    path = folder / name
    with alone_in(folder):
        if not path.is_file():
            with atomic_write(path, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(made())
    return path.read_bytes()
