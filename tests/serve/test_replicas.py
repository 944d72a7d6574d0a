"""Several servers on one state folder, and rates that they share in a real Redis."""

import threading

import pytest
from engines import redis
from small_page import Browser, caller

from lisax.cli import main
from lisax.serve import start
from lisax.serve.following import Followed
from lisax.serve.limits import Limits


def test_uploads_and_removals_are_seen_by_the_other_server(opened):
    first, second = opened(), opened()
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


def test_a_server_that_starts_leaves_the_indexes_of_anothers_folders(tmp_path, opened):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "tarn.txt").write_text("Tarn is a town.")
    first, second = opened(), opened()
    served = [Followed(folder, page.library, page.engine.forget) for page in (first, second)]
    opened()
    for page, followed in zip((first, second), served):
        ((found,),) = page.engine.find_many(followed.corpus, ["What is Tarn?"])
        assert found.text == "Tarn is a town." and followed.corpus.id == "papers"
    assert served[0].corpus.index != served[1].corpus.index


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
    assert [len(secret) for secret in found] == [32] and (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


# --- Shared rates ----------------------------------------------------------------------------------


@pytest.fixture
def storage(tmp_path):
    """`storage()`: a connection to a Redis, as each server has its own."""
    pytest.importorskip("redis", reason="no client of Redis: make peers")
    from lisax.serve.rates import open_storage

    with redis(tmp_path / "redis") as url:
        yield lambda: open_storage(url)


def test_a_client_has_one_rate_at_two_servers(opened, storage):
    limits = Limits(requests_burst=3, requests_per_second=0.01, calls_per_second=1.0)
    first, second = (caller(opened(limits=limits, storage=storage())) for _ in range(2))
    with first as one, second as two:
        assert [client.get("/feedback").status_code for client in (one, two, one)] == [200, 200, 200]
        refused = two.get("/feedback")
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 10
        found = [client.get("/v1/indexes").status_code for client in (one, two, one, two, one, two)]
        assert found == [200] * 5 + [429]


def test_tokens_are_guessed_at_two_servers_no_faster_than_at_one(opened, storage):
    limits = Limits(requests_burst=4, requests_per_second=0.01)
    first, second = (caller(opened(limits=limits, storage=storage(), token="right")) for _ in range(2))
    with first as one, second as two:

        def status(client, token):
            return client.get("/v1/indexes", headers={"authorization": f"Bearer {token}"}).status_code

        assert [status(client, "right") for client in (one, two) * 4] == [200] * 8
        assert [status(client, "wrong") for client in (one, two) * 2] == [401] * 4
        assert status(one, "right") == status(two, "wrong") == 429


def test_without_redis_each_server_counts_on_its_own(tmp_path, opened, caplog):
    pytest.importorskip("redis", reason="no client of Redis: make peers")
    from lisax.serve.rates import open_storage

    limits = Limits(requests_burst=3, requests_per_second=0.01)
    with redis(tmp_path / "redis") as url:
        client = caller(opened(limits=limits, storage=open_storage(url)))
        client.__enter__()
        assert client.get("/feedback").status_code == 200
    assert [client.get("/feedback").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert caplog.text.count("Redis cannot be reached") == 1
    client.__exit__(None, None, None)


def test_other_storages_are_refused(tmp_path, index, capsys):
    pytest.importorskip("redis", reason="no client of Redis: make peers")
    given = [f"--index={index}", f"--state={tmp_path}", "--port=0", "--shared-limits=memcached://localhost"]
    assert main(["serve", *given]) == 1 and "expected a Redis as redis://" in capsys.readouterr().err
