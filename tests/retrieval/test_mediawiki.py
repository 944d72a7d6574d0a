import email.utils
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse

import pytest

from lisax.records import DataError, LisaxError
from lisax.retrieval.mediawiki import Manners, MediaWiki, retry_after_seconds


def found(*titles):
    return 200, {}, {"query": {"search": [{"title": title} for title in titles]}}


@pytest.fixture
def wiki(tmp_path):
    """(client, answers to give in turn, requests received, seconds the client slept)."""
    answers, requests, slept = [], [], []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = parse_qs(urlparse(self.path).query)
            requests.append(({name: values[0] for name, values in asked.items()}, dict(self.headers)))
            status, headers, body = answers.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    client = MediaWiki(
        tmp_path / "cache.sqlite",
        f"http://127.0.0.1:{server.server_port}/w/api.php",
        Manners(timeout_seconds=2, attempts=3, between_requests_seconds=0.05),
        sleep=slept.append,
    )
    yield client, answers, requests, slept
    server.shutdown()
    server.server_close()


def test_a_search_asks_once_and_politely(wiki, tmp_path):
    client, answers, requests, slept = wiki
    answers.append(found("Rome", "Ancient Rome"))
    assert client.search('"Rome" -is: old?', 10) == ["Rome", "Ancient Rome"]
    asked, headers = requests[0]
    assert asked["srsearch"] == "Rome is old" and asked["srlimit"] == "10" and asked["maxlag"] == "5"
    assert headers["User-Agent"].startswith("LisaX/")
    assert client.search('"Rome" -is: old?', 10) == ["Rome", "Ancient Rome"] and len(requests) == 1
    offline = MediaWiki(tmp_path / "cache.sqlite", client.url)
    assert offline.search("Rome is old", 10) == ["Rome", "Ancient Rome"] and len(requests) == 1
    assert client.search("?!", 10) == [] and len(requests) == 1
    answers.append(found("Rome"))
    assert client.search("Rome is old", 1) == ["Rome"]
    assert len(slept) == 1 and 0 < slept[0] <= 0.05  # two requests are spaced


def test_busy_servers_are_waited_for(wiki):
    client, answers, requests, slept = wiki
    answers += [(429, {"Retry-After": "7"}, b""), (503, {}, b""), found("Rome")]
    assert client.search("Rome") == ["Rome"]
    assert [seconds for seconds in slept if seconds >= 0.5] == [7.0, 2.0]
    answers += [(200, {"Retry-After": "5"}, {"error": {"code": "maxlag", "info": "lagged"}}), found()]
    assert client.search("Nothing") == [] and len(requests) == 5


def test_what_never_works_is_told(wiki):
    client, answers, requests, _ = wiki
    answers += [(500, {}, b"")] * 3
    with pytest.raises(LisaxError, match="3 attempts .HTTP 500.*without `--mediawiki`"):
        client.search("Rome")
    for answer, message in (
        ((404, {}, b"gone"), "HTTP 404: gone"),
        ((200, {}, b"<html>"), "api.php"),
        ((200, {}, {"query": {}}), "api.php"),
        ((200, {}, {"error": {"code": "badvalue", "info": "no"}}), "badvalue: no"),
    ):
        answers.append(answer)
        with pytest.raises(LisaxError, match=message):
            client.search("Rome")
    assert len(requests) == 7
    answers.append(found("Rome"))
    assert client.search("Rome") == ["Rome"]  # failures are not cached


def test_offline_is_told(tmp_path):
    client = MediaWiki(
        tmp_path / "cache.sqlite", "http://127.0.0.1:9/api.php", Manners(attempts=2), sleep=lambda seconds: None
    )
    with pytest.raises(LisaxError, match="offline"):
        client.search("Rome")
    with pytest.raises(LisaxError, match="cannot be asked"):
        MediaWiki(tmp_path / "cache.sqlite", "nonsense").search("Rome")
    (tmp_path / "broken").write_bytes(b"no database, certainly" * 50)
    with pytest.raises(DataError, match="cache"):
        MediaWiki(tmp_path / "broken")


def test_retry_after():
    headers = (None, "", "12", "-3", "soon", "99999")
    assert [retry_after_seconds(header) for header in headers] == [0, 0, 12, 0, 0, 300]
    assert 50 < retry_after_seconds(email.utils.formatdate(time.time() + 60, usegmt=True)) <= 60
