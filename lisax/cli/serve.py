"""`lisax serve`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import click

from lisax.cli.check import Aggregate, Tier
from lisax.cli.verbs import Built, Count, Indexed, Local, Option, Port, Probability, Rate


class NetworkAt(click.ParamType):
    """An IP address, or a network of them."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            from lisax.serve.guard import network

            return network(value)
        except ValueError:
            self.fail(f"expected an address (10.0.0.1) or a network (10.0.0.0/8), found {value!r}", param, ctx)


class OriginOf(click.ParamType):
    """The origin of pages, as browsers name it: without a path."""

    name = "origin"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value != "*" and not re.fullmatch(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?", value):
            self.fail(f"expected an origin such as https://app.example, without a path, found {value!r}", param, ctx)
        return value


def _host(text: str) -> str:
    """The name of a host, as the header Host has it."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        raise click.BadParameter(
            f"expected a host name such as check.example, without a port, found {text!r}; a browser sends the letters of "
            "other alphabets as xn--…"
        )
    return text


class DurationOf(click.ParamType):
    """A time in days, hours or minutes, as seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"([1-9][0-9]{0,5})([dhm])", value)
        if found is None:
            self.fail(f"expected days, hours or minutes, such as 7d, 12h or 30m, found {value!r}", param, ctx)
        return int(found[1]) * {"d": 86_400, "h": 3_600, "m": 60}[found[2]]


Duration = Annotated[float, DurationOf()]
Network, Origin, Host = Annotated[Any, NetworkAt()], Annotated[str, OriginOf()], Annotated[str, Built("name", _host)]
Indexes = Annotated[
    tuple[Indexed, ...],
    Option(
        "An index of `lisax index tables` (questions), `cells` (claims over tables), `documents` (claims over text) or "
        "`mixed` (both, over text, tables and graphs), or the address of one of `lisax index cluster`.",
        "INDEX",
    ),
]
Folders = Annotated[
    tuple[Local, ...],
    Option("A folder of documents of any type: indexed at the start, and again when its files change.", "DIR"),
]
State = Annotated[Local, Option("Folder for feedback, uploaded tables and models trained from the page.", "DIR")]
STATE = Path("lisax-page")


def serve(
    *,
    model: Annotated[
        tuple[Local, ...],
        Option(
            "A bundle or a MODEL_DIR, used as its format allows: scorers of rows and columns (one model or two), a "
            "ranker (also minilm), a labeller, a model of tables; for an index of passages a reader, and the retriever "
            "given to `lisax index vectors`.",
            "DIR",
            default="the checker that ships, for claims over text",
        ),
    ] = (),
    tier: Tier = None,
    index: Indexes = (),
    corpus: Folders = (),
    state: State = STATE,
    host: Annotated[
        str,
        Option(
            "Address to listen on. Any but a loopback address requires a token: LISAX_TOKEN, or else a printed one.",
            "ADDRESS",
        ),
    ] = "127.0.0.1",
    port: Annotated[Port, Option("Port; 0 picks a free one.")] = 8765,
    name: Annotated[
        tuple[Host, ...], Option("A further host name of the page, as it appears in a browser's address bar.", "NAME")
    ] = (),
    pool: Annotated[Count, Option("Tables scored per question.")] = 20,
    keep: Annotated[Count, Option("Tables or answers to show.")] = 5,
    aggregate: Aggregate = "any",
    temporal: Annotated[
        bool,
        Option(
            "Let the dates of claim and evidence decide if they can, as `lisax verify --temporal` does; the page "
            "shows which dates decided."
        ),
    ] = True,
    min_confidence: Annotated[
        Probability | None,
        Option(
            "Label a claim NOT ENOUGH INFO, and answer a question with `no answer here`, if the likeliest label or "
            "answer has a lower probability; the page shows this.",
            default="none for claims; for questions over tables as fitted by `lisax run cltr`",
        ),
    ] = None,
    rate_limit: Annotated[
        Rate | None,
        Option(
            "Calls of the API per second from one address, and five seconds' worth of them at once; further calls get 429.",
            "N",
            default="none",
        ),
    ] = None,
    limit: Annotated[
        tuple[str, ...],
        Option("Another limit than the default: `connections_per_client=100`; docs/deploying.md lists them.", "NAME=N"),
    ] = (),
    shared_limits: Annotated[
        str | None,
        Option(
            "Count the requests of each address for several servers together, in a Redis (extra `redis`); without it each "
            "server counts its own.",
            "redis://HOST:6379/0",
        ),
    ] = None,
    keep_uploads: Annotated[
        Duration | None,
        Option("Remove an upload this long after it was loaded: 7d, 12h or 30m.", "TIME", "they are kept"),
    ] = None,
    proxy: Annotated[
        tuple[Network, ...],
        Option(
            "Address or network of a proxy before the server, which is trusted to name its clients (X-Forwarded-For, "
            "X-Forwarded-Proto); without it all people behind the proxy count as one.",
            "ADDRESS",
        ),
    ] = (),
    allow_origin: Annotated[
        tuple[Origin, ...],
        Option("Origin of pages elsewhere that may call the API, such as https://app.example; `*` for any.", "ORIGIN"),
    ] = (),
    log_json: Annotated[bool, Option("Log each request and each error as a line of JSON on standard error.")] = False,
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
    if tier is not None and model:
        raise click.UsageError("--tier chooses a shipped labeller: leave it out with --model")
    from lisax.serve.start import ServeSettings, serve, serve_assistant

    settings = ServeSettings(
        model,
        index,
        state,
        corpus,
        host,
        port,
        name,
        pool,
        keep,
        aggregate,
        temporal,
        min_confidence,
        rate_limit,
        limit,
        proxy,
        allow_origin,
        shared_limits,
        log_json,
        tier=tier,
        keep_uploads=keep_uploads,
    )
    (serve_assistant if mcp else serve)(settings)
