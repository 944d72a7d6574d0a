"""An index that is built again while it is served."""

import dataclasses
import re
import threading
import time

import pytest
from fastapi.testclient import TestClient
from small_page import caller

from lisax.records import Document, Sentence
from lisax.retrieval import documents
from lisax.serve import following
from lisax.serve.following import Renewal, later


def build(folder, what: str) -> None:
    """An index of forty pages about towns."""
    towns = [f"Town{number}" for number in range(40)]
    documents.build_index((Document(one, one, (Sentence(one, 0, f"{one} is a {what}."),)) for one in towns), folder)


@pytest.fixture
def served(tmp_path, opened, monkeypatch):
    """(the index folder, its page, its renewal), over an index of villages."""
    monkeypatch.setattr(following, "QUIET_SECONDS", 0.0)
    build(tmp_path / "towns", "village")
    page = opened(tmp_path / "towns")
    (corpus,) = page.library
    page.engine.open(corpus)
    page.library.opening = page.engine.open
    return tmp_path / "towns", page, Renewal(page.library, later(page.engine.forget, 0.5))


def ask(client: TestClient) -> str:
    """All that a call answers about a town."""
    answer = client.post("/v1/rank", json={"claim": "What is Town7?", "index": "towns", "k": 3})
    assert answer.status_code == 200, answer.text
    return " ".join(one["text"] for one in answer.json()["evidence"])


def test_no_request_is_lost_and_each_is_answered_from_one_version(served):
    folder, page, renewal = served
    client, answers, ends = caller(page), [], threading.Event()

    def ask_on():
        while not ends.is_set():
            answers.append(ask(client))

    threads = [threading.Thread(target=ask_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for what in ("city", "capital"):
            build(folder, what)
            before = len(answers)
            while len(answers) < before + 6:  # the old files are gone, and the new version is not yet open
                time.sleep(0.01)
            assert what not in answers[-1]
            renewal.update()
            while what not in answers[-1]:
                time.sleep(0.01)
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    assert all(sum(what in one for what in ("village", "city", "capital")) == 1 for one in answers)


def test_a_question_that_was_asked_before_is_answered_from_the_old_version(served):
    folder, page, renewal = served
    (old,) = page.library
    build(folder, "city")
    renewal.update()
    (new,) = page.library
    read = [page.engine.find_many(one, ["What is Town7?"])[0][0].text for one in (old, new)]
    assert read == ["Town7 is a village.", "Town7 is a city."]
    until = time.monotonic() + 20
    while page.engine._opened.keys() & {("sentences", old.edition)} and time.monotonic() < until:
        time.sleep(0.05)
    assert {edition for _, edition in page.engine._opened} == {new.edition}  # it does not stay for ever


def test_health_metrics_and_page_have_the_version_that_is_open(served):
    folder, page, renewal = served
    client = caller(page)

    def shown() -> list[str]:
        (corpus,) = page.library
        (described,) = client.get("/v1/indexes").json()["indexes"]
        assert client.get("/readyz").json()["indexes"] == [described["version"]] == [corpus.version]
        gauge = re.escape(f'lisax_index_made_seconds{{index="towns",version="{corpus.version}"}} ')
        assert float(re.search(f"{gauge}(.+)", client.get("/metrics").text)[1]) == corpus.made
        assert f"version {corpus.version}" in client.get("/corpora").text
        return [corpus.version, corpus.made]

    first = shown()
    time.sleep(0.01)
    build(folder, "city")
    assert shown() == first
    renewal.update()
    assert all(one != other for one, other in zip(first, shown()))


def test_an_index_that_is_not_whole_waits(served, caplog):
    folder, page, renewal = served
    (old,) = page.library
    build(folder, "city")
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    largest = max(kept, key=lambda path: len(kept[path]))
    largest.write_bytes(b"")
    renewal.update()
    renewal.update()
    assert [*page.library] == [old] and caplog.text.count("is served as it was") == 1
    (folder / "meta.json").rename(folder / "elsewhere")
    renewal.update()
    assert [*page.library] == [old] and page.engine.find_many(old, ["What is Town7?"])[0]
    (folder / "elsewhere").rename(folder / "meta.json")
    largest.write_bytes(kept[largest])
    renewal.update()
    (new,) = page.library
    assert new.version != old.version and new.id == old.id


def test_an_index_that_lacks_a_component_for_now_is_waited_for(served, monkeypatch):
    folder, page, renewal = served
    (old,) = page.library
    build(folder, "city")

    page.library._set(dataclasses.replace(old, components=old.components | {"vectors"}))
    renewal.update()
    assert next(iter(page.library)).version == old.version
    monkeypatch.setattr(following, "LACKING_SECONDS", 0.0)
    renewal.update()
    assert next(iter(page.library)).version != old.version
