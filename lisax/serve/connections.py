"""uvicorn's HTTP protocol with limits: connections in all and per client, and a timeout for each wait.

Connections beyond a limit get an answer, and are not reset before their clients have read it. The connections of a
trusted proxy are not counted per client.

The head of a request must arrive in time, and so must its body (the guard answers 408); the client must also take the
answer in time. Late clients are disconnected, so that they do not hold places that others wait for.
"""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Collection

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from lisax.serve.guard import Network, client_of, is_within
from lisax.serve.limits import Limits
from lisax.serve.problems import is_api, problem

SENTENCE = "There are too many connections at once. Try again in a moment."
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: %b\r\nretry-after: 5\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b"
)


def server(
    app: ASGIApp, limits: Limits, log_config: dict | None = None, proxies: Collection[Network] = ()
) -> uvicorn.Server:
    """The server. When it is stopped, running requests are still answered; new connections are refused."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            access_log=False,
            **({"log_level": "warning"} if log_config is None else {"log_config": log_config}),
            server_header=False,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=round(limits.answer_seconds),
            http=patient(limits, proxies),
            ws="none",
            proxy_headers=False,
        )
    )


class Refused(asyncio.Protocol):
    """A connection beyond a limit. It is answered when its request begins; the rest of the request is read and dropped,
    since closing a connection with unread bytes resets it, and the client might not see the answer."""

    def __init__(self, transport: asyncio.Transport, limits: Limits, others: dict[Refused, None]):
        self._transport, self._others, self._is_told = transport, others, False
        self._ending = asyncio.get_running_loop().call_later(limits.body_seconds, transport.abort)
        if len(others) >= limits.connections_refused:
            next(iter(others))._transport.abort()  # the oldest
        others[self] = None
        transport.set_protocol(self)

    def data_received(self, data: bytes) -> None:
        if not self._is_told:
            self._is_told = True
            self._transport.write(refusal(data))
            self._transport.write_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ending.cancel()
        self._others.pop(self, None)


def refusal(request: bytes) -> bytes:
    """The answer to a request that begins so: JSON for the API, else a sentence."""
    path = request.partition(b" ")[2].partition(b" ")[0].decode("latin-1")
    body, media = f"{SENTENCE}\n".encode(), b"text/plain; charset=utf-8"
    if is_api(path):
        body, media = problem({}, 503, SENTENCE).body, b"application/json"
    return REFUSAL % (media, len(body), body)


def patient(limits: Limits, proxies: Collection[Network] = ()) -> type[H11Protocol]:
    """The protocol class; its connections are counted together, and per client unless a proxy opened them."""
    open_by: collections.Counter[str] = collections.Counter()
    refused: dict[Refused, None] = {}
    longest = max(limits.answer_seconds, limits.upload_seconds) + limits.body_seconds

    class Patient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:
            address = (transport.get_extra_info("peername") or ("",))[0]
            self._client = client_of(address)
            too_many = open_by[self._client] >= limits.connections_per_client and not is_within(address, proxies)
            if too_many or len(self.connections) >= limits.connections:
                Refused(transport, limits, refused)
                return
            super().connection_made(transport)
            self._deadline: asyncio.TimerHandle | None = None
            open_by[self._client] += 1
            self._wait(limits.head_seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._deadline.cancel()
            open_by[self._client] -= 1
            if not open_by[self._client]:
                del open_by[self._client]

        def handle_events(self) -> None:
            """Handles arrived data: each head starts a new cycle, whose answer has its own timeout."""
            before = self.cycle
            super().handle_events()
            if self.cycle is not before:
                self._wait(longest)

        def on_response_complete(self) -> None:
            # If a request was refused before it arrived completely, the rest of it is read and dropped.
            refused = self.conn.their_state is h11.SEND_BODY
            self._wait(limits.body_seconds if refused else limits.head_seconds)
            super().on_response_complete()

        def _wait(self, seconds: float) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = self.loop.call_later(seconds, self._end)

        def _end(self) -> None:
            if self.transport.get_write_buffer_size() and not self.transport.is_closing():
                self.transport.close()  # once the answer is taken, which has a timeout too
                self._deadline = self.loop.call_later(longest, self.transport.abort)
            else:
                self.transport.abort()

    return Patient
