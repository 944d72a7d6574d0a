"""A served folder: its documents answer, and changes of its files count."""

import time

import pytest
from small_page import open_page

from lisax.errors import LisaxError
from lisax.serve.contents import contents
from lisax.serve.following import Followed


@pytest.fixture
def served(tmp_path, index, made):
    folder = tmp_path / "town papers"
    folder.mkdir()
    (folder / "tarn.txt").write_text("Tarn is a town.")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    page = open_page(tmp_path / "state", index, made)
    followed = Followed(folder, page.library, page.engine.forget)
    yield folder, page, followed
    followed.close()
    page.close()


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
    until = time.monotonic() + 20
    while texts(page, followed, "What is Tarn?") != ["Tarn is a city."] and time.monotonic() < until:
        time.sleep(0.1)
    assert texts(page, followed, "What is Tarn?") == ["Tarn is a city."]
    assert contents(page.engine, followed.corpus) == [(1, "page"), (1, "table")]
    assert followed.corpus.id == "town-papers" and not first.exists()


def test_what_was_not_read_is_in_the_api_and_on_the_page(served):
    _, page, followed = served
    (described,) = (one for one in page.service.indexes()["indexes"] if one["id"] == followed.corpus.id)
    found = described["files"]
    assert found == {"files": 2, "read": 1, "skipped": ({"file": "picture.png", "why": ".png", "detail": ""},)}
    assert followed.corpus.notes[:2] == ("read 1 of 2 files; skipped 1 .png", "not read: picture.png: .png")
    with pytest.raises(LisaxError, match="Only an uploaded corpus can be removed"):
        page.library.remove(followed.corpus.id)


def test_a_folder_that_has_nothing_left_is_served_as_it_was(served, caplog):
    folder, page, followed = served
    before = followed.corpus
    (folder / "tarn.txt").unlink()
    followed.update()
    assert followed.corpus is before and texts(page, followed, "What is Tarn?") == ["Tarn is a town."]
    assert "is served as it was" in caplog.text
    with pytest.raises(LisaxError, match="no such folder"):
        Followed(folder / "none", page.library, page.engine.forget)
