"""An index in a cluster is served, with nothing of it on this machine; the cluster may go away and come back."""

import dataclasses

import pytest
from small_page import Browser, caller, shown, words

from lisax.records import Document, Sentence, Table
from lisax.retrieval import cluster_client, elastic
from lisax.retrieval.cluster import fill_cluster
from lisax.serve import following
from lisax.serve.following import Renewal, later
from lisax.serve.library import Library
from lisax.serve.limits import Limits
from tests.small_cluster import ELASTICSEARCH, OPENSEARCH, Cluster, stand_in

AT = "http://host:9200/towns"


@dataclasses.dataclass
class Towns:
    """A corpus of pages about towns, and a table."""

    what: str
    folder: str = "towns"

    def documents(self):
        for number in range(40):
            name = f"Town{number}"
            yield Document(name, name, (Sentence(name, 0, f"{name} is a {self.what}."),))

    def tables(self):
        return (Table("ports", "Ports", ("port", "year"), (("Yarrowhaven", "1871"),)),)

    def graphs(self):
        return ()


@pytest.fixture(params=[ELASTICSEARCH, OPENSEARCH])
def server(request, monkeypatch):
    found = Cluster(request.param)
    monkeypatch.setattr(elastic, "FIRST_WAIT", 0)
    monkeypatch.setattr(following, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(following, "CLUSTER_POLLS", 1)
    monkeypatch.setattr(cluster_client, "connect", lambda url, **_: stand_in(found))
    fill(found, "village")
    return found


def fill(server, what, of="documents", at=AT):
    fill_cluster(Towns(what), of, at, corpus_print=[what], replace=True)


@pytest.fixture
def page(server, opened):
    page = opened(AT)
    page.library.opening = page.engine.open
    return page


def ask(client, index="towns", **more):
    return client.post("/v1/rank", json={"claim": "What is Town7?", "index": index, "k": 3, **more})


def texts(answer):
    assert answer.status_code == 200, answer.text
    return [one["text"] for one in answer.json()["evidence"]]


def test_claims_and_searches_are_answered_from_the_cluster(page):
    client, browser = caller(page), Browser(page)
    assert texts(ask(client))[0] == "Town7 is a village."
    checked = client.post("/v1/check", json={"claim": "Town7 is a village.", "index": "towns"}).json()
    assert checked["evidence"][0]["text"] == "Town7 is a village."
    assert "40 pages" in words(shown(browser.get("/")))
    found = browser.ask("Town7 is a village.", "claim", "towns")
    assert found.status_code == 200 and "Town7 is a village." in words(shown(found))
    source = browser.get("/sources/towns/text?unit=Town7_0")
    assert "Town7 is a village." in words(shown(source))
    (given,) = client.get("/v1/indexes").json()["indexes"]
    assert given["id"] == "towns" and "check" in given["calls"] and "host" not in str(given)
    assert client.get("/readyz").json()["indexes"] == [given["version"]]


def test_text_and_whole_tables_are_served_from_one_address(tmp_path, server, opened, monkeypatch):
    fill(server, "city", "whole", at="http://host:9200/mixed")
    page = opened("http://host:9200/mixed")
    client, browser = caller(page), Browser(page)
    assert texts(ask(client, "mixed"))[0] == "Town7 is a city."
    assert "40 pages, 1 table" in words(shown(browser.get("/")))
    found = browser.ask("Town7 is a city.", "claim", "mixed")
    assert found.status_code == 200 and "Town7 is a city." in words(shown(found))
    assert "Town7 is a city." in words(shown(browser.get("/sources/mixed/passages?unit=Town7_0")))
    assert "Yarrowhaven" in words(shown(browser.get("/sources/mixed/tables?unit=ports")))
    (corpus,) = page.library
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "cache"))
    page.engine.open(corpus)
    assert page.engine.table_index(corpus).search("Yarrowhaven is a port.", 1)[0].unit == "ports"


def test_while_the_cluster_is_away_a_request_gets_503_and_others_are_answered(tmp_path, server, page, index):
    page.library._corpora |= {one.id: one for one in Library([index], tmp_path / "other" / "corpora", Limits())}
    client, browser = caller(page), Browser(page)
    renewal = Renewal(page.library, later(page.engine.forget, 0.5))
    before = texts(ask(client))
    server.is_away = True
    for claim in ("What is Town9?", "What is Town11?"):
        answer = client.post("/v1/rank", json={"claim": claim, "index": "towns"})
        assert answer.status_code == 503 and int(answer.headers["retry-after"]) > 0
        assert "cluster that holds these documents cannot be reached" in answer.json()["error"]["message"]
        assert "host" not in answer.text and "9200" not in answer.text
        renewal.update()  # the second is refused without asking the cluster
    asked = len(server.requests)
    assert ask(client).status_code == 503 and len(server.requests) == asked
    refused = browser.ask("Is Town12 a village?", "claim", "towns")
    assert refused.status_code == 503 and "cannot be reached" in words(shown(refused))
    ready = client.get("/readyz")
    assert ready.status_code == 503 and "the cluster of an index cannot be reached" in ready.text
    assert client.get("/healthz").status_code == 200 and ask(client, "index").status_code == 200
    stream = client.post(
        "/v1/rank", json={"claims": ["What is Town9?"], "index": "towns"}, headers={"accept": "application/x-ndjson"}
    )
    assert stream.status_code == 503
    server.is_away = False
    renewal.update()
    assert client.get("/readyz").status_code == 200 and texts(ask(client)) == before


def test_a_replaced_index_is_opened_while_it_is_served(server, page):
    client = caller(page)
    renewal = Renewal(page.library, later(page.engine.forget, 0.5))
    (old,) = client.get("/readyz").json()["indexes"]
    assert texts(ask(client))[0] == "Town7 is a village."
    renewal.update()
    assert client.get("/readyz").json()["indexes"] == [old]
    fill(server, "city")
    renewal.update()
    assert texts(ask(client))[0] == "Town7 is a city." and client.get("/readyz").json()["indexes"] != [old]


def test_an_index_keeps_its_id_at_another_address(server, opened):
    first, moved = opened(AT), opened("http://other:9200/towns")
    fill(server, "port", at="http://host:9200/ports")
    third = opened("http://host:9200/ports")
    assert [one.id for page in (first, moved, third) for one in page.library] == ["towns", "towns", "ports"]


def test_a_cluster_that_is_away_at_the_start_is_an_error(server, opened):
    server.is_away = True
    with pytest.raises(cluster_client.Unreachable, match="the cluster's index 'towns'"):
        opened(AT)
