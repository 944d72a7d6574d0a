"""Many and slow clients, over real sockets: who wants too much or is late is let go, and others are answered."""

import asyncio
import contextlib
import ipaddress
import json
import socket
import threading
import time

import pytest
from small_page import served

from lisax.serve.app import create
from lisax.serve.limits import Limits

HALF = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: "
WHOLE = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
POST = (
    b"POST /ask HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-www-form-urlencoded\r\n"
    b"content-length: 1000\r\n\r\nx"
)


def connected(port: int, client: str, sent: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(client, 0))
    with contextlib.suppress(ConnectionError):
        made.sendall(sent)
    return made


def received(connection: socket.socket) -> bytes:
    """All until its end."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def test_three_hundred_half_sent_requests_keep_nobody_else_out(opened):
    limits = Limits()
    with served(create(opened()), limits) as port, contextlib.ExitStack() as stack:
        held = [stack.enter_context(connected(port, "127.0.0.2", HALF)) for _ in range(300)]
        began = time.monotonic()
        with connected(port, "127.0.0.3", WHOLE) as other:
            assert received(other).startswith(b"HTTP/1.1 200")
        assert time.monotonic() - began < 5
        refusals = [received(connection) for connection in held[-50:]]
        assert all(answer.startswith(b"HTTP/1.1 503") and b"retry-after: 5" in answer for answer in refusals)
        assert time.monotonic() - began < limits.head_seconds


@pytest.mark.parametrize(("path", "media"), [("/ask", b"text/plain"), ("/v1/check", b"application/json")])
def test_a_connection_too_many_is_answered_and_not_reset_whatever_it_sends(opened, path, media):
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4000000\r\n\r\n".encode()
    limits = Limits(connections_per_client=2)
    with served(create(opened()), limits) as port, contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(connected(port, "127.0.0.2", HALF))
        for _ in range(4):
            with socket.create_connection(("127.0.0.1", port), 20, ("127.0.0.2", 0)) as more:
                more.sendall(head)
                more.sendall(bytes(4_000_000))  # raises ConnectionError if it is reset
                answer = b"".join(iter(lambda: more.recv(1 << 16), b""))
            head_of_answer, _, body = answer.partition(b"\r\n\r\n")
            assert head_of_answer.startswith(b"HTTP/1.1 503") and b"retry-after: 5" in head_of_answer
            assert media in head_of_answer and b"too many connections" in body
            assert media != b"application/json" or json.loads(body)["error"]["status"] == 503


def test_of_connections_too_many_the_oldest_makes_room_and_a_proxy_may_have_more(opened):
    limits = Limits(connections_per_client=1, connections_refused=2, connections=4)
    proxies = (ipaddress.ip_network("127.0.0.3"),)
    app = create(opened())
    with served(app, limits, proxies) as port, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connected(port, "127.0.0.2", b"")) for _ in range(4)]
        assert received(silent[1]) == b""  # the first has its place, and of three too many this is the oldest
        for connection in silent[2:]:
            connection.sendall(WHOLE)
            assert received(connection).startswith(b"HTTP/1.1 503")
        of_proxy = [stack.enter_context(connected(port, "127.0.0.3", HALF)) for _ in range(3)]
        with connected(port, "127.0.0.4", WHOLE) as other:  # the fifth of four in all
            assert received(other).startswith(b"HTTP/1.1 503")
        of_proxy[0].close()
        time.sleep(0.2)
        with connected(port, "127.0.0.3", WHOLE) as again:
            assert received(again).startswith(b"HTTP/1.1 200")


def test_places_are_free_again_when_their_time_is_over(opened):
    limits = Limits(head_seconds=0.5, connections_per_client=3)
    with served(create(opened()), limits) as port, contextlib.ExitStack() as stack:
        for connection in [stack.enter_context(connected(port, "127.0.0.2", HALF)) for _ in range(3)]:
            assert received(connection) == b""
        with connected(port, "127.0.0.2", WHOLE) as again:
            assert received(again).startswith(b"HTTP/1.1 200")


def test_a_head_that_drips_is_cut_off(opened):
    with served(create(opened()), Limits(head_seconds=0.5)) as port:
        began = time.monotonic()
        with connected(port, "127.0.0.2", HALF) as slow, contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 20:
                slow.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - began < 10


def test_who_drips_a_body_gives_the_place_back_long_before_a_slow_upload_has_to(opened):
    limits = Limits(body_grace_seconds=0.3)
    page = opened(limits=limits)
    with served(create(page), limits) as port, connected(port, "127.0.0.2", POST) as slow:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 20:
                slow.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - began < 10
    sent = POST + b"x" * 999
    with served(create(page), limits) as port, connected(port, "127.0.0.2", sent[:-500]) as steady:
        time.sleep(0.35)  # past the grace, at a rate that is enough
        steady.sendall(sent[-500:])
        assert received(steady).startswith(b"HTTP/1.1 403")  # it is whole, and of no form of ours


def test_an_answer_that_nobody_takes_is_given_up():
    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(64):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})

    limits = Limits(answer_seconds=0.4, upload_seconds=0.4, body_seconds=0.1)
    with served(application, limits) as port, connected(port, "127.0.0.2", WHOLE) as lazy:
        time.sleep(2)
        assert len(received(lazy)) < 64 << 20


def test_what_is_being_answered_when_the_server_stops_is_answered():
    began = threading.Event()

    async def application(scope, receive, send):
        if scope["type"] != "http":
            raise RuntimeError("there is no lifespan")
        began.set()
        await asyncio.sleep(1)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    with served(application, Limits()) as port:
        asked = connected(port, "127.0.0.2", WHOLE)
        assert began.wait(20)
    with asked:  # the server has stopped
        assert received(asked).endswith(b"ok")


def test_a_client_that_leaves_a_batch_leaves_no_work(opened, monkeypatch):
    page, begun, left, seen = opened(), threading.Event(), threading.Event(), []
    answered = page.engine.check_many

    def counted(corpus, source, claims, tier):
        seen.extend(claims)
        begun.set()
        assert left.wait(20)
        return answered(corpus, source, claims, tier)

    monkeypatch.setattr(page.engine, "check_many", counted)
    body = json.dumps({"claims": ["Mara Velin lived in Tarn ."] * 200}).encode()
    head = b"POST /v1/check HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    with served(create(page), Limits()) as port:
        client = connected(port, "127.0.0.1", head % len(body) + body)
        assert begun.wait(20)
        client.close()
        time.sleep(0.2)  # until the server has seen it
        left.set()
        while page.worker.waiting:
            time.sleep(0.01)
    assert len(seen) < 50
