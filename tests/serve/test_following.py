"""A served folder: its documents answer, and changes of its files count."""

import shutil
import time

import pytest
from small_page import caller

from lisax.errors import LisaxError
from lisax.serve import following
from lisax.serve.contents import contents
from lisax.serve.following import Followed, Renewal


@pytest.fixture
def served(tmp_path, page):
    folder = tmp_path / "town papers"
    folder.mkdir()
    (folder / "tarn.txt").write_text("Tarn is a town.")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    followed = Followed(folder, page.library, page.engine.forget)
    yield folder, page, followed
    followed.close()


def texts(page, followed, query):
    (found,) = page.engine.find_many(followed.corpus, [query])
    return [one.text for one in found]


def test_files_are_followed(served):
    folder, page, followed = served
    assert page.library.get("town-papers") is followed.corpus
    assert texts(page, followed, "What is Tarn?") == ["Tarn is a town."]
    first = followed.corpus.index.parent
    followed.start()
    time.sleep(0.5)  # until the watch has begun
    (folder / "tarn.txt").write_text("Tarn is a city.")
    (folder / "ostra.csv").write_text("town,people\nOstra,900\n")
    wait_for(lambda: texts(page, followed, "What is Tarn?")[:1], ["Tarn is a city."])
    assert contents(page.engine, followed.corpus) == [(1, "page"), (1, "table")]
    assert followed.corpus.id == "town-papers" and not first.exists()


def wait_for(found, wanted):
    until = time.monotonic() + 20
    while found() != wanted and time.monotonic() < until:
        time.sleep(0.05)
    assert found() == wanted


def test_a_file_that_is_added_before_the_watch_begins_is_seen(served):
    folder, page, followed = served
    (folder / "ostra.txt").write_text("Ostra is a port.")
    followed.start()
    wait_for(lambda: "Ostra is a port." in texts(page, followed, "What is Ostra?"), True)


@pytest.mark.parametrize("how", ["moved", "switched", "made again"])
def test_a_folder_that_is_replaced_is_followed(tmp_path, served, how):
    folder, page, followed = served
    other = tmp_path / "other"
    other.mkdir()
    (other / "tarn.txt").write_text("Tarn is a port.")
    if how == "switched":
        folder.rename(tmp_path / "first")
        folder.symlink_to(tmp_path / "first")
    followed.start()
    time.sleep(0.5)  # until the watch has begun
    if how == "switched":
        (tmp_path / "link").symlink_to(other)
        (tmp_path / "link").rename(folder)
    elif how == "moved":
        folder.rename(tmp_path / "away")
        other.rename(folder)
    else:
        shutil.rmtree(folder)
        shutil.copytree(other, folder)
    wait_for(lambda: texts(page, followed, "What is Tarn?"), ["Tarn is a port."])
    (folder / "tarn.txt").write_text("Tarn is a city.")
    wait_for(lambda: texts(page, followed, "What is Tarn?"), ["Tarn is a city."])


def test_an_update_that_fails_is_tried_again_without_a_further_change(served, monkeypatch, caplog):
    folder, page, followed = served
    put, failures = page.library.put, iter([OSError(28, "No space left on device", name) for name in "ab"])

    def fails_twice(*given, **more):
        for failure in failures:
            raise failure
        return put(*given, **more)

    monkeypatch.setattr(page.library, "put", fails_twice)
    monkeypatch.setattr(following, "POLL_SECONDS", 0.1)
    followed.start()
    (folder / "tarn.txt").write_text("Tarn is a city.")
    wait_for(lambda: texts(page, followed, "What is Tarn?"), ["Tarn is a city."])
    assert caplog.text.count("is served as it was: [Errno 28] No space left on device: 'a'") == 1
    assert caplog.text.count("No space left") == 1


def test_a_state_folder_that_is_away_for_a_while_ends_no_thread(tmp_path, served, monkeypatch, caplog):
    folder, page, followed = served
    monkeypatch.setattr(following, "POLL_SECONDS", 0.1)
    renewal = Renewal(page.library, page.engine.forget)
    followed.start()
    client = caller(page)
    (tmp_path / "state").rename(tmp_path / "away")
    (folder / "tarn.txt").write_text("Tarn is a city.")
    for _ in range(2):
        renewal.look()
        assert [client.get(path).status_code for path in ("/readyz", "/healthz")] == [503, 200]
    wait_for(lambda: f"{folder} is served as it was" in caplog.text, True)
    (tmp_path / "away").rename(tmp_path / "state")
    renewal.look()
    assert client.get("/readyz").status_code == 200
    wait_for(lambda: texts(page, followed, "What is Tarn?"), ["Tarn is a city."])
    assert caplog.text.count("indexes and uploads cannot be looked at: ") == 1


def test_what_was_not_read_is_in_the_api_and_on_the_page(served):
    _, page, followed = served
    (described,) = (one for one in page.service.indexes()["indexes"] if one["id"] == followed.corpus.id)
    found = described["files"]
    skipped = ({"file": "picture.png", "why": ".png", "detail": ""},)
    assert found == {"files": 2, "read": 1, "skipped": skipped, "notes": ()}
    assert followed.corpus.notes[:2] == ("read 1 of 2 files; skipped 1 .png", "not read: picture.png: .png")
    with pytest.raises(LisaxError, match="Only an uploaded corpus can be removed"):
        page.library.remove(followed.corpus.id)


def test_warnings_about_files_are_logged_when_they_are_read_again(served, caplog):
    folder, _, followed = served
    (folder / "towns.csv").write_text("town,people\nTarn,900\nOrm\n")
    followed.update()
    assert "rows that are shorter than the others (padded): 1, first at towns.csv" in caplog.messages


def test_a_folder_that_has_nothing_left_is_served_as_it_was(served, caplog):
    folder, page, followed = served
    before = followed.corpus
    (folder / "tarn.txt").unlink()
    followed.update()
    assert followed.corpus is before and texts(page, followed, "What is Tarn?") == ["Tarn is a town."]
    assert "is served as it was" in caplog.text


def test_a_dataset_and_a_file_are_no_folder_of_documents(served):
    folder, page, _ = served
    (folder / "more").mkdir()
    (folder / "more/pages.jsonl").write_text('{"id": "Olin", "title": "Olin", "sentences": ["Olin is a town."]}\n')
    for path, said in (("none", "no such folder"), ("tarn.txt", "found a file"), ("more", r"dataset \(plain\): serve")):
        with pytest.raises(LisaxError, match=said):
            Followed(folder / path, page.library, page.engine.forget)
