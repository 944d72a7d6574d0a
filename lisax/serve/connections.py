"""uvicorn's HTTP protocol with limits: connections per client, and a timeout for each wait.

The head of a request must arrive in time, and so must its body (the guard answers 408); the client must also take the
answer in time. Late clients are disconnected, so that they do not hold places that others wait for.
"""

from __future__ import annotations

import asyncio
import collections

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from lisax.serve.guard import client_of
from lisax.serve.limits import Limits

_SENTENCE = b"There are too many connections at once. Try again in a moment.\n"
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 5\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(_SENTENCE), _SENTENCE)
)


def server(app: ASGIApp, limits: Limits, log_config: dict | None = None) -> uvicorn.Server:
    """The server. When it is stopped, running requests are still answered; new connections are refused."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            access_log=False,
            **({"log_level": "warning"} if log_config is None else {"log_config": log_config}),
            server_header=False,
            limit_concurrency=limits.connections,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=round(limits.answer_seconds),
            http=patient(limits),
            ws="none",
            proxy_headers=False,
        )
    )


def patient(limits: Limits) -> type[H11Protocol]:
    """The protocol class; its connections are counted together."""
    open_by: collections.Counter[str] = collections.Counter()
    longest = max(limits.answer_seconds, limits.upload_seconds) + limits.body_seconds

    class Patient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._deadline: asyncio.TimerHandle | None = None
            self._client = client_of((transport.get_extra_info("peername") or ("",))[0])
            open_by[self._client] += 1
            self._wait(limits.head_seconds)
            if open_by[self._client] > limits.connections_per_client:
                transport.write(REFUSAL)
                transport.close()

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
