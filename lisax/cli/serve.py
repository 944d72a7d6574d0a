"""`lisax serve`."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any

import click

from lisax.cli.check import Aggregate, Tier
from lisax.cli.verbs import Built, Count, Indexed, Local, Option, Port, Probability, Rate


def _network(text: str) -> Any:
    """An IP address, or a network of them."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise click.BadParameter(f"expected an address (10.0.0.1) or a network (10.0.0.0/8), found {text!r}") from None


def _origin(text: str) -> str:
    """The origin of pages, as browsers name it: without a path."""
    if text != "*" and not re.fullmatch(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?", text):
        raise click.BadParameter(f"expected an origin such as https://app.example, without a path, found {text!r}")
    return text


def _host(text: str) -> str:
    """The name of a host, as the header Host has it."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        raise click.BadParameter(
            f"expected a host name such as check.example, without a port, found {text!r}; a browser sends the letters of "
            "other alphabets as xn--…"
        )
    return text


def _duration(text: str) -> float:
    """A time in days, hours or minutes, as seconds."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})([dhm])", text)
    if found is None:
        raise click.BadParameter(f"expected days, hours or minutes, such as 7d, 12h or 30m, found {text!r}")
    return int(found[1]) * {"d": 86_400, "h": 3_600, "m": 60}[found[2]]


Network, Origin = Annotated[Any, Built("address", _network)], Annotated[str, Built("origin", _origin)]
Host, Duration = Annotated[str, Built("name", _host)], Annotated[float, Built("time", _duration)]
Indexes = Annotated[
    tuple[Indexed, ...],
    Option(
        "An index of `lisax index tables` (questions), `cells` (claims over tables), `documents` (claims over text) or "
        "`mixed` (both, over text, tables and graphs), or the address of one of `lisax index cluster`.",
        "INDEX",
        names=("--index",),
    ),
]
State = Annotated[Local, Option("Folder for feedback, uploaded tables and models trained from the page.", "DIR")]
STATE = Path("lisax-page")


@dataclasses.dataclass(frozen=True)
class ServeOptions:
    """The fields of `ServeSettings` that are options."""

    models: Annotated[
        tuple[Local, ...],
        Option(
            "A bundle or a MODEL_DIR, used as its format allows: scorers of rows and columns (one model or two), a "
            "ranker (also minilm), a labeller, a model of tables; for an index of passages a reader, and the retriever "
            "given to `lisax index vectors`.",
            "DIR",
            default="the checker that ships, for claims over text",
            names=("--model",),
        ),
    ] = ()
    tier: Tier = None
    indexes: Indexes = ()
    corpora: Annotated[
        tuple[Local, ...],
        Option(
            "A folder of documents of any type: indexed at the start, and again when its files change.",
            "DIR",
            names=("--corpus",),
        ),
    ] = ()
    state: State = STATE
    host: Annotated[
        str,
        Option(
            "Address to listen on. Any but a loopback address requires a token: LISAX_TOKEN, or else a printed one.",
            "ADDRESS",
        ),
    ] = "127.0.0.1"
    port: Annotated[Port, Option("Port; 0 picks a free one.")] = 8765
    names: Annotated[
        tuple[Host, ...],
        Option("A further host name of the page, as it appears in a browser's address bar.", "NAME", names=("--name",)),
    ] = ()
    pool: Annotated[Count, Option("Tables scored per question.")] = 20
    keep: Annotated[Count, Option("Tables or answers to show.")] = 5
    aggregate: Aggregate = None
    temporal: Annotated[
        bool,
        Option(
            "Let the dates of claim and evidence decide if they can, as `lisax verify --temporal` does; the page "
            "shows which dates decided."
        ),
    ] = True
    min_confidence: Annotated[
        Probability | None,
        Option(
            "Label a claim NOT ENOUGH INFO, and answer a question with `no answer here`, if the likeliest label or "
            "answer has a lower probability; the page shows this.",
            default="none for claims; for questions over tables as fitted by `lisax run cltr`",
        ),
    ] = None
    rate_limit: Annotated[
        Rate | None,
        Option(
            "Calls of the API per second from one address, and five seconds' worth of them at once; further calls get 429.",
            "N",
            default="none",
        ),
    ] = None
    limits: Annotated[
        tuple[str, ...],
        Option(
            "Another limit than the default: `connections_per_client=100`; docs/deploying.md lists them.",
            "NAME=N",
            names=("--limit",),
        ),
    ] = ()
    shared_limits: Annotated[
        str | None,
        Option(
            "Count the requests of each address for several servers together, in a Redis (extra `redis`); without it each "
            "server counts its own.",
            "redis://HOST:6379/0",
        ),
    ] = None
    keep_uploads: Annotated[
        Duration | None,
        Option("Remove an upload this long after it was loaded: 7d, 12h or 30m.", "TIME", "they are kept"),
    ] = None
    proxies: Annotated[
        tuple[Network, ...],
        Option(
            "Address or network of a proxy before the server, which is trusted to name its clients (X-Forwarded-For, "
            "X-Forwarded-Proto); without it all people behind the proxy count as one.",
            "ADDRESS",
            names=("--proxy",),
        ),
    ] = ()
    allow_origins: Annotated[
        tuple[Origin, ...],
        Option(
            "Origin of pages elsewhere that may call the API, such as https://app.example; `*` for any.",
            "ORIGIN",
            names=("--allow-origin",),
        ),
    ] = ()
    log_json: Annotated[bool, Option("Log each request and each error as a line of JSON on standard error.")] = False


def serve(
    *,
    options: ServeOptions,
    mcp: Annotated[
        bool,
        Option(
            "Instead of the page and the API: the same calls as tools for an assistant, by the Model Context Protocol on "
            "standard input and output (extra `mcp`)."
        ),
    ] = False,
) -> None:
    """Serve a web page and an HTTP API that answer questions over tables and check claims.

    The API: POST /v1/check, /v1/ask, /v1/rank and /v1/verify; GET, POST and DELETE /v1/indexes; GET /healthz, /readyz, /metrics,
    /openapi.json, which describes the calls, and /docs, which shows them.

    lisax serve --corpus my_documents/
    lisax serve --index INDEX --mcp
    """
    if options.tier is not None and options.models:
        raise click.UsageError("--tier chooses a shipped labeller: leave it out with --model")
    from lisax.serve.start import ServeSettings, serve, serve_assistant

    (serve_assistant if mcp else serve)(ServeSettings(**vars(options)))
