import json
import random
import signal
import subprocess
import sys

import pytest

from lisax.errors import DataError, LisaxError
from lisax.retrieval import blocks
from lisax.retrieval import folder as folders
from lisax.retrieval.bm25 import Bm25Index, build
from lisax.retrieval.cells import CellIndex
from lisax.retrieval.folder import check, writing

DOCUMENTS = [("a", "one two"), ("b", "two three")]


def test_missing_and_damaged_indexes_are_told(tmp_path):
    with pytest.raises(DataError, match="no index here.*lisax index"):
        Bm25Index.open(tmp_path / "nowhere")
    folder = tmp_path / "index"
    build(DOCUMENTS, folder)
    assert check(folder) > 5
    written = (folder / "meta.json").read_text()
    with pytest.raises(DataError, match="no 'cells'"):
        CellIndex.open(folder)
    for broken, message in (
        (written.replace('"k1": 0.6', '"k1": 0.7'), "not as it was written"),
        (written.replace('"crc32"', '"sum"', 1), "damaged"),
        ("{", "damaged"),
        ("[]", "damaged"),
        (written.replace('"version": 1', '"version": 9'), "version 9"),
    ):
        (folder / "meta.json").write_text(broken)
        with pytest.raises(DataError, match=message):
            Bm25Index.open(folder)
    (folder / "meta.json").write_text(written)
    victim = next(folder.glob("bm25/*/indices.csc.index.npy"))
    content = victim.read_bytes()
    victim.write_bytes(content[:-1] + b"\x01")
    for read in (check, Bm25Index.open):
        with pytest.raises(DataError, match="is damaged.*lisax index check"):
            read(folder)
    victim.write_bytes(content[:-1])
    with pytest.raises(DataError, match="expected .* bytes"):
        Bm25Index.open(folder)
    victim.unlink()
    with pytest.raises(DataError, match="missing"):
        Bm25Index.open(folder)


@pytest.mark.parametrize("small", [blocks.SMALL, 0], ids=["compared when opened", "compared when read"])
def test_no_flipped_byte_changes_an_answer(tmp_path, monkeypatch, small):
    for module in (blocks, folders):
        monkeypatch.setattr(module, "BLOCK", 64)
        monkeypatch.setattr(module, "SMALL", small)
    draw = random.Random(0)
    words = [f"w{number}" for number in range(60)]
    build(
        [(f"page{number}", " ".join(draw.choices(words, k=12))) for number in range(80)], tmp_path, shard_documents=30
    )
    expected = Bm25Index.open(tmp_path).search(words[:9], 4)
    files = sorted(file for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_size)
    told = 0
    for number in range(180):
        file = draw.choice(files)
        content = file.read_bytes()
        at, changed = draw.randrange(len(content)), bytearray(content)
        changed[at : at + 1 + number % 8] = bytes(
            byte ^ 1 << draw.randrange(8) if number % 2 else 0 for byte in content[at : at + 1 + number % 8]
        )
        file.write_bytes(changed)
        try:
            assert Bm25Index.open(tmp_path).search(words[:9], 4) == expected, (file, at)
        except LisaxError:
            told += 1
        file.write_bytes(content)
    assert told > 60


def test_other_folders_and_files_are_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("words")
    with pytest.raises(DataError, match="something else"):
        build(DOCUMENTS, tmp_path / "mine")
    with pytest.raises(DataError, match="a file"):
        build(DOCUMENTS, tmp_path / "mine" / "thesis.txt")
    build(DOCUMENTS, tmp_path / "index")
    (tmp_path / "index" / "runs" / "deep").mkdir(parents=True)
    (tmp_path / "index" / "runs" / "deep" / "run.trec").write_text("kept")
    build(DOCUMENTS, tmp_path / "index")
    assert (tmp_path / "index" / "runs" / "deep" / "run.trec").read_text() == "kept"


def test_two_builders_exclude_each_other(tmp_path):
    with writing(tmp_path / "index"):
        with pytest.raises(LisaxError, match="another process"):
            build(DOCUMENTS, tmp_path / "index")


KILLED = """
import sys, time
from lisax.retrieval.bm25 import build
def documents():
    for i in range(10):
        yield f"n{i}", "text"
    print("ready", flush=True)
    time.sleep(60)
build(documents(), sys.argv[1], shard_documents=3)
"""


@pytest.mark.parametrize("there_before", [False, True])
def test_kill_9_leaves_no_half_index(tmp_path, there_before):
    folder = tmp_path / "index"
    if there_before:
        build(DOCUMENTS, folder)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    if there_before:
        assert len(Bm25Index.open(folder)) == 2
    else:
        with pytest.raises(DataError, match="no index here"):
            Bm25Index.open(folder)
    assert len(build([("again", "text")], folder)) == 1
    named = json.loads((folder / "meta.json").read_text())["components"]["bm25"]["files"]
    assert sorted(named) == sorted(str(path.relative_to(folder)) for path in folder.glob("bm25/*/*"))
