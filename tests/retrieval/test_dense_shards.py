"""Shards of an index's vectors: the bytes of one process, interruption, what is missing."""

import shutil

import numpy as np
import pytest
from test_dense import Made, made

from lisax.errors import DataError
from lisax.retrieval import dense, dense_shards, mixed
from lisax.retrieval.folder import check, read_components
from lisax.retrieval.passages import Source


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", 16)
    sources = {Source.TEXT: made(Source.TEXT, 70), Source.TABLE: made(Source.TABLE, 30)}
    return mixed.build_index(sources, tmp_path / "index").folder


def files_of(folder):
    """The bytes of the vectors' files, in their order, and the digests of the components."""
    components = {name: one for name, one in read_components(folder).items() if name.startswith("dense-")}
    return [(folder / file).read_bytes() for one in components.values() for file in one["files"]], [
        one["digest"] for one in components.values()
    ]


@pytest.mark.parametrize("bits", [None, 16, 8])
@pytest.mark.parametrize("shards", [1, 3, 16])
def test_shards_have_the_bytes_of_one_process(folder, tmp_path, shards, bits):
    whole, copy = (shutil.copytree(folder, tmp_path / name) for name in ("whole", "copy"))
    assert dense.encode_index(whole, Made(), bits=bits) == 100
    told = []
    for shard in range(shards, 0, -1):  # in any order, some of them on another machine
        place = folder if shard % 2 else copy
        left = dense_shards.to_encode(place, Made(), shard, shards, bits=bits)
        done = dense_shards.encode_shard(place, Made(), shard, shards, told.append, bits=bits)
        assert done == left and dense_shards.to_encode(place, Made(), shard, shards, bits=bits) == 0
    assert sum(told) == 100
    if (copy / "shards").exists():
        shutil.copytree(copy / "shards", folder / "shards", dirs_exist_ok=True)
    assert dense_shards.join(folder, Made(), bits=bits) == 100
    assert files_of(folder) == files_of(whole) and not (folder / "shards").exists()
    assert check(folder) == check(whole) and dense.to_encode(folder, "m") == 0
    assert dense_shards.join(folder, Made()) == 100  # as it is


def test_only_new_texts_are_encoded(folder):
    dense.encode_index(folder, Made(), bits=16)
    mixed.remove_source(Source.TABLE, folder)
    mixed.add_sources({Source.TABLE: made(Source.TABLE, 40)}, folder)
    assert [dense_shards.encode_shard(folder, Made(), shard, 2) for shard in (1, 2)] == [16, 24]
    assert dense_shards.join(folder, Made()) == 110
    assert np.load(next(folder.glob("dense-table/*/vectors.npy"))).dtype == np.float16  # as the index had them


def test_a_missing_or_broken_block_changes_nothing(folder):
    assert dense_shards.encode_shard(folder, Made(), 1, 2) == 32 + 16
    before = (folder / "meta.json").read_bytes()
    with pytest.raises(DataError, match="of 3 of 5 blocks of 'text' are missing, the first that of texts 33 to 48"):
        dense_shards.join(folder, Made())
    with pytest.raises(KeyboardInterrupt):
        dense_shards.encode_shard(folder, Made(fails_after=2), 2, 2)
    with pytest.raises(DataError, match="of 1 of 5 blocks"):
        dense_shards.join(folder, Made())
    told = []
    assert dense_shards.encode_shard(folder, Made(), 2, 2, told.append) == 52 and sum(told) == 52 - 32
    broken = sorted(folder.glob("shards/text-*/*.npy"))[1]
    broken.write_bytes(broken.read_bytes()[:-1])  # copied in part
    with pytest.raises(DataError, match="the first that of texts 17 to 32"):
        dense_shards.join(folder, Made())
    with pytest.raises(DataError, match="of 5 of 5 blocks"):
        dense_shards.join(folder, Made("other"))
    assert (folder / "meta.json").read_bytes() == before
    assert dense_shards.to_encode(folder, Made(), 1, 2) == 16
    dense_shards.encode_shard(folder, Made(), 1, 2)
    assert dense_shards.join(folder, Made()) == 100


def test_without_links_a_block_is_copied(folder, monkeypatch):
    def link(source, target):
        raise OSError("no links here")

    dense_shards.encode_shard(folder, Made(), 1, 1)
    monkeypatch.setattr("os.link", link)
    assert dense_shards.join(folder, Made()) == 100 and len(dense.DenseIndex.open(folder).names) == 2
