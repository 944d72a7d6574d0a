"""The written world: same bytes for a seed, disjoint splits, consistent ids."""

from __future__ import annotations

import json

import pytest

import lisax.world


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    lisax.world.write(folder, 300, seed=3)
    return folder


def test_same_seed_gives_same_bytes(world, tmp_path):
    lisax.world.write(tmp_path / "again", 300, seed=3)
    lisax.world.write(tmp_path / "other", 300, seed=4)
    for path in sorted(world.iterdir()):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    assert (world / "pages.jsonl").read_bytes() != (tmp_path / "other" / "pages.jsonl").read_bytes()


def test_evidence_ids_exist(world):
    known = {f"{page['id']}_{n}" for page in rows(world / "pages.jsonl") for n in range(len(page["sentences"]))}
    for split in ("train", "dev", "test"):
        for claim in rows(world / f"claims.{split}.jsonl"):
            assert (claim["label"] == "NOT ENOUGH INFO") == (not claim["evidence"])
            assert all(i in known for evidence_set in claim["evidence"] for i in evidence_set)
