"""Who may ask: names, tokens, forms of our own, limits; and the headers of every answer."""

import asyncio
import re
import time

import pytest
from small_page import Browser, last_answers

from lisax.errors import LisaxError
from lisax.serve.guard import Guard, Rules, client_of, is_loopback
from lisax.serve.limits import Limits, changed
from lisax.serve.rates import Rate


@pytest.mark.parametrize("host", ["", "evil.example:8000", "127.0.0.1.evil.example", "[::1", "user@localhost"])
def test_foreign_names_are_refused(opened, host):
    response = Browser(opened()).get("/", headers={"host": host})
    assert response.status_code == 421 and "lisax serve" in response.text


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000", "tables.example"])
def test_addresses_and_given_names_are_ours(opened, host):
    assert Browser(opened(names=frozenset({"tables.example"}))).get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://[", "http://\u2100.example", "null", "//"])
def test_an_origin_that_is_no_address_is_not_ours(opened, origin):
    response = Browser(opened()).post("/ask", headers={"origin": origin.encode()})
    assert response.status_code == 403


def test_a_client_is_an_address_or_a_network():
    assert client_of("10.0.0.7") == client_of("::ffff:10.0.0.7") == "10.0.0.7"
    assert client_of("2001:db8::1") == client_of("2001:db8::2:3:4:5%eth0") != client_of("2001:db8:0:1::1")
    assert client_of("") == "" and client_of("testclient") == "testclient"


def test_loopback():
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


def test_what_every_answer_says(opened):
    browser = Browser(opened())
    for address in ("/", "/nothing", "/static/x"):
        headers = browser.get(address).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'" and "http" not in str(policy)
        assert headers["x-content-type-options"] == "nosniff"
    cookie = Browser(opened()).get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie


def test_a_token_lets_in_once_it_was_shown(opened):
    browser = Browser(opened(token="right-token"), host="192.168.1.7:8000", follow_redirects=False)
    for address, headers in (
        ("/", {}),
        ("/?token=wrong", {}),
        ("/?token=", {}),
        ("/answers/x", {}),
        ("/", {"authorization": "Bearer wrong"}),
        ("/", {"authorization": "Basic right-token"}),
        ("/", {"cookie": "lisax_token_00000000=right-token"}),
    ):
        response = browser.get(address, headers=headers)
        assert response.status_code == 401 and "right-token" not in response.text
    for scheme in ("Bearer", "bearer"):
        assert browser.get("/", headers={"authorization": f"{scheme} right-token"}).status_code == 200
    entered = browser.get("/feedback?page=1&token=right-token")
    assert entered.status_code == 303 and entered.headers["location"] == "/feedback?page=1"
    assert "right-token" not in entered.headers["set-cookie"] and "HttpOnly" in entered.headers["set-cookie"]
    assert browser.get("/feedback").status_code == 200
    # The address is never one that leads elsewhere.
    fresh = Browser(opened(token="right-token"), follow_redirects=False)
    assert fresh.get("http://127.0.0.1:8000//evil.example/?token=right-token").headers["location"].startswith("/evil")


def test_the_holder_of_a_token_comes_with_another(opened):
    browser = Browser(opened(token="right-token", more_tokens=("other-token",)), follow_redirects=False)
    browser.get("/?token=right-token")
    for token, status in (("right-token", 200), ("wrong", 200), ("other-token", 303), ("other-token", 200)):
        answer = browser.get(f"/?token={token}")
        assert answer.status_code == status and ("set-cookie" in answer.headers) == (status == 303)
    assert browser.get("/?token=right-token").status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://127.0.0.1:9000"},
    ],
)
def test_forms_of_other_pages_change_nothing(opened, headers):
    page = opened()
    browser = Browser(page)
    fields = {"form_key": browser.key(), "text": "what?", "kind": "question", "corpus": "index"}
    assert browser.post("/ask", data=fields, headers=headers).status_code == 403
    assert browser.post("/ask", data=fields, headers={"origin": "http://127.0.0.1:8000"}).status_code == 200


def test_a_form_needs_the_key_of_its_own_session(opened):
    page = opened()
    one, other = Browser(page), Browser(page)
    fields = {"text": "what?", "kind": "question", "corpus": "index"}
    for key in ("", "x", "é", other.key()):
        response = one.post("/ask", data={"form_key": key, **fields})
        assert response.status_code == 403 and "another session" in response.text
    assert one.ask("what?").status_code == 200 and len(last_answers(page.store, 10)) == 1
    training = ("/training", "/training/stop", "/training/1/use", "/training/1/go-on")
    for address in ("/corpora", "/corpora/index/remove", *training, "/feedback/1/remove", "/answers/x/feedback"):
        assert one.post(address, data=fields).status_code == 403


@pytest.mark.parametrize("foreign", ['prefs={"dark":"yes"}', "a b=c", "é=é"])
def test_cookies_of_other_servers_of_this_host_hide_none_of_ours(opened, foreign):
    browser = Browser(opened(token="right-token"))
    browser.get("/?token=right-token")
    ours = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    browser.cookies.clear()
    headers = {"cookie": f"{foreign}; {ours}".encode()}
    key = re.search('name="form_key" value="([0-9a-f]+)"', browser.get("/corpora", headers=headers).text)[1]
    fields = {"form_key": key, "text": "what?", "kind": "question", "corpus": "index"}
    assert browser.post("/ask", data=fields, headers=headers, follow_redirects=False).status_code == 303


def test_too_many_requests_wait(opened):
    page = opened(limits=Limits(changes_burst=2, changes_per_second=0.01))
    browser = Browser(page)
    statuses = [browser.ask("what?").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = browser.fill("/ask")
    # The windows of 200 s begin with the clock, so that a part of one is left.
    assert 0 < int(refused.headers["retry-after"]) <= 200 and browser.get("/").status_code == 200


def test_tokens_cannot_be_guessed_quickly(opened):
    """Nor by the API, whose calls have no rate of their own unless one is asked for."""
    browser = Browser(opened(limits=Limits(requests_burst=5, requests_per_second=0.01), token="right-token"))

    def status(token):
        return browser.get("/v1/indexes", headers={"authorization": f"Bearer {token}"}).status_code

    assert [status("right-token") for _ in range(10)] == [200] * 10
    assert [status("wrong") for _ in range(6)] == [401] * 5 + [429]
    assert status("right-token") == 429


def test_a_client_gets_its_rate_and_waits_as_long_as_it_is_told():
    async def run():
        rate, begin = Rate("test", 4, 4.0), time.monotonic()
        assert [await rate.wait("a") for _ in range(4)] == [0] * 4 and await rate.wait("b") == 0
        seconds = await rate.wait("a")
        assert 0 < seconds <= 2 and await rate.peek("a") > 0
        await asyncio.sleep(seconds)
        assert await rate.peek("a") == await rate.wait("a") == 0
        granted = 5
        while time.monotonic() < begin + 3:
            granted += await rate.wait("a") == 0
            await asyncio.sleep(0.02)
        assert 8 <= granted <= 4 + 4 * 3 + 1

    asyncio.run(run())


def asgi(messages, seconds=5.0, **scope):
    """Status and body of an application that reads the whole body, behind the guard."""

    async def application(scope, receive, send):
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        body = await Request(scope, receive).body()
        await PlainTextResponse(str(len(body)))(scope, receive, send)

    async def receive():
        if not messages:
            await asyncio.sleep(60)
        return messages.pop(0)

    async def run():
        from starlette.exceptions import HTTPException

        async def send(message):
            sent.append(message)

        try:
            guard = Guard(application, Rules(b"s", limits=Limits(form_bytes=10, body_seconds=seconds)))
            await guard(request | scope, receive, send)
        except HTTPException as error:
            return error.status_code
        return sent[0]["status"]

    request = {"type": "http", "method": "POST", "path": "/ask", "query_string": b"", "client": ("127.0.0.1", 1)}
    request["headers"] = [(b"host", b"127.0.0.1")]
    sent: list = []
    return asyncio.run(run())


def test_bodies_are_counted_as_they_come():
    def part(size, more):
        return {"type": "http.request", "body": b"x" * size, "more_body": more}

    assert asgi([part(4, True), part(6, False)]) == 200
    assert asgi([part(4, True), part(4, True), part(4, True)]) == 413
    assert asgi([part(4, True)], seconds=0.05) == 408  # the rest never comes
    headers = [(b"host", b"127.0.0.1"), (b"content-length", b"11")]
    assert asgi([part(1, False)], headers=headers) == 413
    assert asgi([part(1, False)], headers=[(b"host", b"a"), (b"host", b"127.0.0.1")]) == 421


def test_pages_of_an_allowed_origin_may_call_the_api_and_nothing_else(opened):
    there = {"origin": "https://app.example", "sec-fetch-site": "cross-site"}
    asks = there | {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    browser = Browser(opened(origins=frozenset({"https://app.example"}), token="right"))
    asked = browser.options("/v1/verify", headers=asks)
    assert asked.status_code == 200 and asked.headers["access-control-allow-origin"] == "https://app.example"
    body = {"claim": "Mara Velin lived in Tarn .", "evidence": ["Mara Velin"]}
    answer = browser.post("/v1/verify", json=body, headers=there | {"authorization": "Bearer right"})
    assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-credentials" not in answer.headers
    refused = browser.post("/v1/verify", json=body, headers=there)
    assert refused.status_code == 401 and refused.headers["access-control-allow-origin"] == "https://app.example"
    other = {"origin": "https://evil.example", "sec-fetch-site": "cross-site", "authorization": "Bearer right"}
    assert browser.post("/v1/verify", json=body, headers=other).status_code == 403
    assert browser.options("/v1/verify", headers=asks | {"origin": "https://evil.example"}).status_code == 400
    form = browser.post("/ask", headers=there | {"authorization": "Bearer right"})
    assert form.status_code == 403 and "access-control-allow-origin" not in form.headers
    anywhere = Browser(opened(origins=frozenset({"*"})))
    assert anywhere.post("/v1/verify", json=body, headers=other).status_code == 200


def test_cookies_are_those_of_a_state_folder_on_any_port():
    one, same, other = (Guard(None, Rules(secret))._cookie("session") for secret in (b"a", b"a", b"b"))
    assert one == same != other


def test_limits_are_changed_by_their_names():
    made = changed(Limits(), ["connections_per_client=100", "requests_per_second=0.5", "calls_per_second=20"])
    assert made == Limits(connections_per_client=100, requests_per_second=0.5, calls_per_second=20.0)
    for wrong in ("connexions=1", "connections", "connections=", "connections=-1", "connections=1.5", "table=1",
                  "answer_seconds=nan", "answer_seconds=inf", "call_items=9"):  # fmt: skip
        with pytest.raises(LisaxError, match="--limit"):
            changed(Limits(), [wrong])
