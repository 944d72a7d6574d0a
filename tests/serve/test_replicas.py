"""Several servers on one state folder, and rates that they share in a real Redis."""

import threading

import pytest
from engines import redis
from fastapi.testclient import TestClient
from small_page import Browser, open_page

from lisax.cli import main
from lisax.serve import start
from lisax.serve.app import create
from lisax.serve.following import Followed
from lisax.serve.limits import Limits


@pytest.fixture
def two(tmp_path, index, made):
    """`two(…)`: pages on one state folder."""
    pages = []

    def two(**options):
        pages.extend(open_page(tmp_path / "state", index, made, **options) for _ in range(2))
        return pages[-2:]

    yield two
    for page in pages:
        page.close()


def test_uploads_and_removals_are_seen_by_the_other_server(two):
    first, second = two()
    dropped = []
    first.library.dropped = dropped.append
    browsers = [Browser(page) for page in (first, second)]
    browsers[0].key()
    browsers[1].cookies = browsers[0].cookies  # one visitor
    for here, there in (browsers, browsers[::-1]):
        sent = here.fill("/corpora", name="Towns", files={"files": ("towns.txt", b"Tarn is a town.")})
        assert sent.status_code == 200
        (upload,) = (corpus for corpus in first.library if corpus.uploaded)
        assert "Towns" in there.get("/corpora").text
        assert there.ask("Tarn", "search", upload.id).status_code == 200
        assert there.fill(f"/corpora/{upload.id}/remove").status_code == 200
        assert "Towns" not in here.get("/corpora").text and not list(first.library.folder.glob("towns*"))
        assert dropped.pop().id == upload.id


def test_a_server_that_starts_leaves_the_indexes_of_anothers_folders(tmp_path, two, index, made):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "tarn.txt").write_text("Tarn is a town.")
    first, second = two()
    served = [Followed(folder, page.library, page.engine.forget) for page in (first, second)]
    later = open_page(tmp_path / "state", index, made)
    for page, followed in zip((first, second), served):
        ((found,),) = page.engine.find_many(followed.corpus, ["What is Tarn?"])
        assert found.text == "Tarn is a town." and followed.corpus.id == "papers"
    assert served[0].corpus.index != served[1].corpus.index
    later.close()


def test_servers_that_start_together_have_one_secret(tmp_path):
    found, begin = set(), threading.Barrier(8)

    def open_one():
        begin.wait()
        found.add(start._secret(tmp_path))

    threads = [threading.Thread(target=open_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1


# --- Shared rates ----------------------------------------------------------------------------------


@pytest.fixture
def storage(tmp_path):
    """`storage()`: a connection to a Redis, as each server has its own."""
    pytest.importorskip("redis", reason="no client of Redis: make peers")
    from lisax.serve.rates import open_storage

    with redis(tmp_path / "redis") as url:
        yield lambda: open_storage(url)


def test_a_client_has_one_rate_at_two_servers(two, storage):
    limits = Limits(requests_burst=3, requests_per_second=0.01, calls_per_second=1.0)
    pages = [create(two(limits=limits, storage=storage())[0]) for _ in range(2)]
    with (
        TestClient(pages[0], base_url="http://localhost") as one,
        TestClient(pages[1], base_url="http://localhost") as two_,
    ):
        assert [client.get("/feedback").status_code for client in (one, two_, one)] == [200, 200, 200]
        refused = two_.get("/feedback")
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 10
        found = [client.get("/v1/indexes").status_code for client in (one, two_, one, two_, one, two_)]
        assert found == [200] * 5 + [429]


def test_tokens_are_guessed_at_two_servers_no_faster_than_at_one(two, storage):
    limits = Limits(requests_burst=4, requests_per_second=0.01)
    pages = [create(two(limits=limits, storage=storage(), token="right")[0]) for _ in range(2)]
    with (
        TestClient(pages[0], base_url="http://localhost") as one,
        TestClient(pages[1], base_url="http://localhost") as two_,
    ):

        def status(client, token):
            return client.get("/v1/indexes", headers={"authorization": f"Bearer {token}"}).status_code

        assert [status(client, "right") for client in (one, two_) * 4] == [200] * 8
        assert [status(client, "wrong") for client in (one, two_) * 2] == [401] * 4
        assert status(one, "right") == status(two_, "wrong") == 429


def test_without_redis_each_server_counts_on_its_own(tmp_path, two, caplog):
    pytest.importorskip("redis", reason="no client of Redis: make peers")
    from lisax.serve.rates import open_storage

    limits = Limits(requests_burst=3, requests_per_second=0.01)
    with redis(tmp_path / "redis") as url:
        page, _ = two(limits=limits, storage=open_storage(url))
        client = TestClient(create(page), base_url="http://localhost")
        client.__enter__()
        assert client.get("/feedback").status_code == 200
    assert [client.get("/feedback").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert caplog.text.count("Redis cannot be reached") == 1
    client.__exit__(None, None, None)


def test_other_storages_are_refused(tmp_path, index, capsys):
    pytest.importorskip("redis", reason="no client of Redis: make peers")
    arguments = [
        "serve",
        f"--index={index}",
        f"--state={tmp_path}",
        "--port=0",
        "--shared-limits=memcached://localhost",
    ]
    assert main(arguments) == 1 and "expected a Redis as redis://" in capsys.readouterr().err
