import email.utils
import gzip
import resource
import time

import pytest

from lisax.errors import DataError, LisaxError
from lisax.retrieval.entities import OfflineSpotter
from lisax.retrieval.mediawiki import CONTACT, Manners, MediaWiki, entity_queries, retry_after_seconds, user_agent
from tests.wiki_server import dripping, pages, serving
from tests.wiki_server import titles as found


@pytest.fixture(autouse=True)
def contact(monkeypatch):
    monkeypatch.setenv(CONTACT, "me@example.org")


@pytest.fixture
def wiki(tmp_path):
    """(client, answers to give in turn, requests received, seconds the client slept)."""
    answers, slept = [], []
    with serving(lambda asked: answers.pop(0)) as (url, requests):
        client = MediaWiki(
            tmp_path / "cache.sqlite",
            url,
            Manners(timeout_seconds=2, attempts=3, between_requests_seconds=0.45),
            sleep=slept.append,
        )
        yield client, answers, requests, slept


def test_a_search_asks_once_and_politely(wiki, tmp_path):
    client, answers, requests, slept = wiki
    answers.append(found("Rome", "Ancient Rome"))
    assert client.search('"Rome" -is: old?', 10) == ["Rome", "Ancient Rome"]
    asked, headers = requests[0]
    assert asked["srsearch"] == "Rome is old" and asked["srlimit"] == "10" and asked["maxlag"] == "5"
    assert headers["User-Agent"].startswith("LisaX/") and "(me@example.org)" in headers["User-Agent"]
    assert client.search('"Rome" -is: old?', 10) == ["Rome", "Ancient Rome"] and len(requests) == 1
    offline = MediaWiki(tmp_path / "cache.sqlite", client.url)
    assert offline.search("Rome is old", 10) == ["Rome", "Ancient Rome"] and len(requests) == 1
    assert client.search("?!", 10) == [] and len(requests) == 1
    answers.append(found("Rome"))
    assert client.search("Rome is old", 1) == ["Rome"]
    assert len(slept) == 1 and 0 < slept[0] <= 0.45  # two requests are spaced


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
    headers = (None, "", "12", "-3", "soon", "99999", "nan", "inf", "1e999", "Mon, 99999999999 Jan 2030 00:00:00 GMT")
    assert [retry_after_seconds(header) for header in headers] == [0, 0, 12, 0, 0, 300, 0, 0, 0, 0]
    assert retry_after_seconds("9" * 10_000) == 300
    assert 50 < retry_after_seconds(email.utils.formatdate(time.time() + 60, usegmt=True)) <= 60


def test_without_a_contact_nothing_is_sent(wiki, monkeypatch):
    client, answers, requests, _ = wiki
    for wrong in ("", "me", "me@example.org\nX-Other: 1", "mé@example.org"):
        monkeypatch.setenv(CONTACT, wrong)
        with pytest.raises(LisaxError, match="set LISAX_CONTACT to your e-mail address or the URL"):
            client.search("Rome")
    assert not requests
    monkeypatch.setenv(CONTACT, "https://example.org/project")
    assert user_agent().startswith("LisaX/") and "https://example.org/project" in user_agent()
    answers.append(found("Rome"))
    assert client.search("Rome") == ["Rome"]
    monkeypatch.delenv(CONTACT)
    assert client.search("Rome") == ["Rome"]  # from the cache


def test_introductions_come_best_first_with_their_revisions(wiki):
    client, answers, requests, _ = wiki
    answers.append(
        pages(("Rome", "Rome is a city."), ("Rome (disambiguation)", "Rome may be"), ("List of Romes", "a"), ("Roma", "Roma"),
              ("Romulus", ""), disambiguation="Roma")
    )  # fmt: skip
    (rome,) = client.introductions("Rome", 7)
    assert (rome.title, rome.text, rome.url) == ("Rome", "Rome is a city.", "https://wiki.example/wiki/Rome")
    assert rome.revision_url == client.url.replace("api.php", "index.php?oldid=1001")
    asked, _ = requests[0]
    assert asked["generator"] == "search" and asked["gsrsearch"] == "Rome" and asked["gsrlimit"] == "7"
    answers += [pages(("Rome", "a"), ("Veii", "b")), pages()]
    assert [page.title for page in client.introductions("Rome", 50)] == ["Rome", "Veii"]
    assert requests[1][0]["gsrlimit"] == requests[1][0].get("exlimit").replace("max", "20")
    assert client.introductions("Xqz") == [] and client.introductions("?!") == [] and len(requests) == 3
    status, headers, body = pages(("Rome", ""))
    del body["query"]["pages"][0]["extract"]
    answers.append((status, headers, body))
    with pytest.raises(LisaxError, match="TextExtracts"):
        client.introductions("Ostia")


def test_old_answers_are_asked_for_again(wiki, tmp_path):
    client, answers, requests, _ = wiki
    answers += [found("Rome"), found("Roma")]
    assert client.search("Rome") == ["Rome"]
    impatient = MediaWiki(tmp_path / "cache.sqlite", client.url, Manners(max_age_seconds=0.0))
    time.sleep(0.01)
    assert impatient.search("Rome") == ["Roma"] and len(requests) == 2
    day = MediaWiki(tmp_path / "cache.sqlite", client.url, Manners(max_age_seconds=86_400.0))
    assert day.search("Rome") == ["Roma"] and len(requests) == 2


def test_limits_are_told(wiki, capsys):
    client, answers, _, _ = wiki
    answers += [(429, {"Retry-After": "30"}, b"")] * 3
    with pytest.raises(LisaxError, match="limits requests, so wait some minutes"):
        client.search("Rome")
    assert "the next attempt is in 30 s" in capsys.readouterr().err


def test_a_wiki_is_asked_for_entities():
    spotter = OfflineSpotter()
    assert entity_queries("Marie Curie was born in Warsaw.", spotter) == ["Marie Curie", "Warsaw"]
    assert entity_queries("The red fox eats grapes.", spotter) == ["red fox eats grapes"]
    assert entity_queries("It was.", spotter) == []


PAGE = {"title": "Rome", "index": 1, "extract": "A city.", "fullurl": "https://w.example/Rome", "lastrevid": 7}
TYPES = [
    *([name, 7] for name in ("title", "extract", "fullurl")),
    *(["lastrevid", value] for value in ("7", 1e999)),
    ["index", None],
    ["fullurl", "javascript:alert(1)"],
    ["fullurl", "http://["],
]


@pytest.mark.parametrize(("field", "value"), TYPES)
def test_fields_of_another_type_are_refused(wiki, field, value):
    client, answers, _, _ = wiki
    answers.append((200, {}, {"query": {"pages": [PAGE | {field: value}, PAGE]}}))
    with pytest.raises(LisaxError, match=f"something else than a MediaWiki search result .*{field}.*api.php"):
        client.introductions("Rome")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"query": []}', b'{"query": {"search": [1]}}', b'{"error": {"code": 1}}',
    ],
)  # fmt: skip
def test_what_is_no_result_is_refused(wiki, body):
    client, answers, _, _ = wiki
    answers.append((200, {}, body))
    with pytest.raises(LisaxError, match="something else than a MediaWiki search result"):
        client.search("Rome")


def test_long_answers_are_not_read(wiki):
    client, answers, _, _ = wiki
    packed = gzip.compress(b" " * (100 << 20), 1)
    for headers, body in (({}, b" " * (100 << 20)), ({"Content-Encoding": "gzip"}, packed)):
        answers.append((200, headers, body))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(LisaxError, match="answered with more than 8 MB, which is not read"):
            client.search("Rome")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 << 10


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_byte_now_and_then_is_not_waited_for(tmp_path, part):
    with dripping(b"HTTP/1.1 200 OK\r\n" + (b"" if part == "headers" else b"Content-Length: 1000\r\n\r\n")) as url:
        client = MediaWiki(tmp_path / "cache.sqlite", url, Manners(timeout_seconds=0.5))
        began = time.monotonic()
        with pytest.raises(LisaxError, match="has not answered completely within 0.5 seconds"):
            client.search("Rome")
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("location", ["http://[", "file:///etc/passwd", "http://x:99999/", "/w/api.php"])
def test_a_redirect_to_no_address_is_refused(wiki, location):
    client, answers, _, _ = wiki
    answers += [(302, {"Location": location}, b"")] * 4
    with pytest.raises(LisaxError, match="cannot be asked|redirects more than 3 times"):
        client.search("Rome")


def test_a_redirect_is_followed(wiki):
    client, answers, requests, _ = wiki
    answers += [(302, {"Location": "/w/other.php?a=b"}, b""), found("Rome")]
    assert client.search("Rome") == ["Rome"] and requests[1][0] == {"a": "b"}
