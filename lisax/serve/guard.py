"""Checks every request: its sender, host name, size and rate.

- The Host header must be an address, localhost or a given name: a foreign name that points here (DNS rebinding) is
  refused.
- Beyond loopback a token is required, first in the address or as a Bearer header, then as a cookie.
- Requests that change something must come from one of our own forms: same origin, and the session's hidden field. The
  API also answers pages of the origins that are allowed (`api_origins`).
- Bodies are limited in size and time, clients in requests per second.

Behind a trusted proxy (`Rules.proxies`) the client is the address that the proxy names.

The reason of a refusal is a sentence, or JSON from the API, whose probes (`/healthz`, `/readyz`) are open.

Not Starlette's middleware, which takes 0.05 ms per request to our 0.2: TrustedHostMiddleware refuses addresses that are
not listed, RequestBodyLimitMiddleware has one size and no timeout, and there is none for the rest.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import hashlib
import hmac
import ipaddress
import re
import secrets
import socket
import time
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit

from limits.aio.storage import Storage
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lisax.serve.limits import Limits
from lisax.serve.problems import ID, PROBES, is_api, problem
from lisax.serve.rates import Rate
from lisax.serve.visitors import Visitor

SAFE_METHODS = frozenset({"GET", "HEAD"})
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
INDEXES = "/v1/indexes"
UPLOADS = frozenset({"/corpora", "/corpora/preview", INDEXES})
CALLS_BURST_SECONDS = 5  # calls of the API that a client may make at once, in seconds of its rate
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.ASCII)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def client_of(address: str) -> str:
    """The client that an address counts for: the address itself, or for IPv6 its /64 network, all of which one machine
    may have."""
    if (found := _address(address)) is None:
        return address
    return str(found if found.version == 4 else ipaddress.ip_network((found, 64), strict=False))


def is_within(address: str, networks: Iterable[Network]) -> bool:
    return (found := _address(address)) is not None and any(found in one for one in networks)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None if it is not one. A socket for both versions of IP gives an address of IPv4 as one of IPv6."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (found.version == 6 and found.ipv4_mapped) or found


@dataclasses.dataclass(frozen=True)
class Rules:
    """`token`: None if everyone who can connect may ask. `more_tokens`: further ones, each for a group of people.
    `operator`: the token that also removes uploads of others. `names`: further names of the page in the network. `proxies`:
    networks whose X-Forwarded headers are believed. `origins`: pages elsewhere that may call the API. `storage`: counts
    requests for several servers; None: this one counts its own."""

    secret: bytes
    token: str | None = None
    names: frozenset[str] = frozenset()
    limits: Limits = Limits()
    proxies: tuple[Network, ...] = ()
    origins: frozenset[str] = frozenset()
    storage: Storage | None = None
    operator: str | None = None
    more_tokens: tuple[str, ...] = ()

    @property
    def tokens(self) -> tuple[str, ...]:
        return () if self.token is None else (self.token, *self.more_tokens)

    def knows(self, host: str) -> bool:
        """Whether a Host header may be ours. An IP address cannot be rebound."""
        found = _HOST.fullmatch(host.lower())
        if found is None:
            return False
        name = found[1].strip("[]")
        try:
            ipaddress.ip_address(name)
            return True
        except ValueError:
            own = {"localhost", *self.names} | ({socket.gethostname().lower()} if self.token else set())
            return name in own

    def allows(self, origin: str | None) -> bool:
        """Whether the API may be called from pages of an origin, as its header gives it."""
        return origin is not None and not self.origins.isdisjoint({origin, "*"})

    def sealed(self, purpose: str, value: str) -> str:
        return hmac.new(self.secret, f"{purpose}:{value}".encode(), hashlib.sha256).hexdigest()


class Guard:
    """ASGI middleware. Requests that pass have `session` (their form key) and `visitor` in `scope["state"]`."""

    def __init__(self, app: ASGIApp, rules: Rules):
        self.app, self.rules = app, rules
        # Ports of a host share their cookies: another server there has names of its own, and servers on one state
        # folder, which may take turns behind a proxy, have the same.
        self._id = rules.sealed("cookies", "")[:8]
        limits = rules.limits

        rate = functools.partial(Rate, shared=rules.storage)
        self._requests = rate("requests", limits.requests_burst, limits.requests_per_second)
        self._changes = rate("changes", limits.changes_burst, limits.changes_per_second)
        self._tokens = rate("tokens", limits.requests_burst, limits.requests_per_second)
        self._calls = None
        if (calls := limits.calls_per_second) is not None:
            self._calls = rate("calls", max(1, round(calls * CALLS_BURST_SECONDS)), calls)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["path"] in PROBES:
            await self.app(scope, receive, send)
            return
        headers, cookies = Headers(scope=scope), _cookies(scope)
        session = cookies.get(self._cookie("session"), "")
        is_new = not 20 <= len(session) <= 100
        session = secrets.token_urlsafe(24) if is_new else session
        # A call without a cookie is of no session: its answer sets none.
        visitor = self._visitor(headers, cookies, "" if is_new and is_api(scope["path"]) else session)
        scope.setdefault("state", {}).update(session=self.rules.sealed("form", session), visitor=visitor)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    given.setdefault(name, value)
                if is_new and not is_api(scope["path"]):
                    given.append("set-cookie", self._set_cookie(scope, "session", session))
            await send(message)

        refusal = await self._refusal(scope, headers, visitor)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
        else:
            await self.app(scope, self._limited(scope, headers, receive), send_guarded)

    async def _refusal(self, scope: Scope, headers: Headers, visitor: Visitor) -> Response | None:
        rules, changes = self.rules, scope["method"] not in SAFE_METHODS
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not rules.knows(hosts[0]):
            return _sentence(
                scope,
                421,
                "This page does not answer under that name. Open it by the address that "
                "`lisax serve` printed, or start it with --name.",
            )
        client = client_of((scope.get("client") or ("",))[0])
        if seconds := await self._wait(scope, client, changes):
            return _too_much(scope, seconds)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        offered, is_known = dict(query).get("token", ""), bool(visitor.token or visitor.operator)
        if rules.token is not None and (seconds := await self._tokens.peek(client)):
            return _too_much(scope, seconds)  # tokens that come faster than these are not looked at: they are guesses
        is_right = any(_same(offered, token) for token in rules.tokens)
        if offered and not changes and not is_api(scope["path"]):
            if not visitor.operator and rules.operator is not None and _same(offered, rules.operator):
                return self._let_in(scope, query, "operator", offered)
            if is_known and is_right and visitor.token != self._owner(offered):
                return self._let_in(scope, query, "token", offered)
        if rules.token is not None and not is_known:
            await self._tokens.wait(client)
            if is_api(scope["path"]):
                told = "This needs the token of `lisax serve`, as the header Authorization: Bearer TOKEN."
                return _sentence(scope, 401, told, {"www-authenticate": "Bearer"})
            if changes or not is_right:
                return _sentence(
                    scope,
                    401,
                    "This page needs the token that `lisax serve` printed: open the address that ends in ?token=…",
                )
            return self._let_in(scope, query, "token", offered)
        is_allowed = is_api(scope["path"]) and not _stores(scope) and rules.allows(headers.get("origin"))
        if changes and not is_allowed and not _is_own(headers, hosts[0]):
            return _sentence(scope, 403, "That came from another page than this one, and was not done.")
        return None

    async def _wait(self, scope: Scope, client: str, changes: bool) -> float:
        """Seconds until the client may ask this; the page and the API have rates of their own."""
        if is_api(scope["path"]):
            waits = 0.0 if self._calls is None else await self._calls.wait(client)
            return waits or (await self._changes.wait(client) if changes and _stores(scope) else 0.0)
        return await self._requests.wait(client) or (await self._changes.wait(client) if changes else 0.0)

    def _let_in(self, scope: Scope, query: list[tuple[str, str]], kind: str, token: str) -> Response:
        """Sets the cookie of a token, and redirects to the address without it."""
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        response = RedirectResponse("/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else ""), 303)
        response.headers.append("set-cookie", self._set_cookie(scope, kind, self.rules.sealed(kind, token)))
        return response

    def _visitor(self, headers: Headers, cookies: dict[str, str], session: str) -> Visitor:
        """The sender of a request. A token comes as a Bearer header or as a cookie."""
        rules = self.rules

        def given(kind: str, token: str) -> bool:
            cookie = cookies.get(self._cookie(kind), "")
            return any([_same(cookie, rules.sealed(kind, token)), _same(_bearer(headers), token)])

        token = next((token for token in rules.tokens if given("token", token)), None)
        return Visitor(
            session and rules.sealed("owner", f"session {session}"),
            self._owner(token) if token else "",
            rules.operator is not None and given("operator", rules.operator),
        )

    def _owner(self, token: str) -> str:
        """The id of all holders of a token."""
        return self.rules.sealed("owner", f"token {token}")

    def _limited(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        limits = self.rules.limits
        path = scope["path"]
        most = limits.upload_bytes if path in UPLOADS else limits.call_bytes if is_api(path) else limits.form_bytes
        left, began, ended = most, time.monotonic(), False
        length = headers.get("content-length", "0")
        too_large = HTTPException(413, f"That is more than the {most >> 10:,} KiB that are taken here.")

        async def receive_limited() -> Message:
            nonlocal left, ended
            if ended:
                return await receive()
            if re.fullmatch(r"[0-9]+", length) and int(length[:20]) > most:
                raise too_large
            # A client that drips bytes holds a place for seconds, not for as long as a slow upload may take.
            earned = limits.body_grace_seconds + (most - left) / limits.body_bytes_per_second
            until = began + min(limits.body_seconds, earned)
            try:
                message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
            except TimeoutError:
                closing = {"connection": "close"}  # else the rest of the body would be waited for
                raise HTTPException(408, "The request did not arrive in time.", closing) from None
            left -= len(message.get("body", b""))
            ended = message["type"] != "http.request" or not message.get("more_body")
            if left < 0:
                raise too_large
            return message

        return receive_limited

    def _cookie(self, name: str) -> str:
        return f"lisax_{name}_{self._id}"

    def _set_cookie(self, scope: Scope, name: str, value: str) -> str:
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        return f"{self._cookie(name)}={value}; Path=/; HttpOnly; SameSite=Lax{secure}"


def spellings(proxies: Iterable[Network]) -> list[str]:
    """The networks as text; those of IPv4 also as a socket for both versions gives them, `::ffff:10.0.0.1`."""
    mapped = (f"::ffff:{one.network_address}/{96 + one.prefixlen}" for one in proxies if one.version == 4)
    return [*map(str, proxies), *mapped]


def api_origins(app: ASGIApp, origins: Iterable[str]) -> ASGIApp:
    """Starlette's CORS middleware for the paths of the API; the page's forms are for its own origin."""
    shared = CORSMiddleware(
        app,
        allow_origins=sorted(origins),
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", ID],
        expose_headers=["retry-after", ID],
    )

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        is_shared = scope["type"] == "http" and is_api(scope["path"])
        await (shared if is_shared else app)(scope, receive, send)

    return choose


def _is_own(headers: Headers, host: str) -> bool:
    """Whether the browser states that one of our forms sent this. Clients that state nothing have no cookies of ours
    either."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # not an address
        return False


def _stores(scope: Scope) -> bool:
    """Whether a call that changes something loads or removes documents, as the page's forms do."""
    return scope["path"].startswith(INDEXES)


def _bearer(headers: Headers) -> str:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else ""


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _cookies(scope: Scope) -> dict[str, str]:
    """The cookies of a request, parsed as browsers send them: malformed cookies of another server on this host hide
    none of ours."""
    cookies: dict[str, str] = {}
    for name, value in scope["headers"]:
        if name == b"cookie":
            cookies |= cookie_parser(value.decode("latin-1"))
    return cookies


def _sentence(scope: Scope, status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    if is_api(scope["path"]):
        return problem(scope, status, text, headers=headers)
    return PlainTextResponse(text + "\n", status, headers)


def _too_much(scope: Scope, seconds: float) -> Response:
    whole = str(max(1, round(seconds + 0.5)))
    return _sentence(scope, 429, "That was too much at once. Try again in a moment.", {"retry-after": whole})
