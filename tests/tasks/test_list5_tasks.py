"""The tasks known at import: what they read, what they give, and what they say when files are missing."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import read_tasks
import seqio

import lisax.tasks
from lisax.errors import LisaxError
from lisax.files.writing import write_json, write_json_lines
from lisax.formats import ranking
from lisax.formats.examples import Example, Passage, write_examples
from lisax.formats.vocabulary import SentencePieceVocabulary, train_vocabulary
from lisax.records import Label
from lisax.tasks import example_tasks, locations
from lisax.tasks.vocabularies import ByteVocabulary, SentencePieces

LENGTHS = {"inputs": 64, "targets": 4}
PASSAGES = [
    Passage(f"P_{i}", f"Page {i}", f"the sentence number {i} says something about harbours .") for i in range(5)
]
RANK = [
    Example(str(i // 2), f"claim {i // 2}", (PASSAGES[i % 5],), ("Page 1", "Page 2"), i % 2 == 0) for i in range(40)
]
LISTS = [
    Example(str(i), f"claim {i}", tuple(PASSAGES), (), label)
    for i, label in enumerate([Label.SUPPORTS, Label.REFUTES, Label.NOT_ENOUGH_INFO] * 4)
]


pytestmark = pytest.mark.usefixtures("located")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    train_vocabulary(
        [f"{p.title} {p.text} claim query sentence relevant" for p in PASSAGES] * 20, folder / "spiece.model", 120
    )
    write_examples(folder / "examples/rank.train.jsonl", RANK)
    for variant in ("label_pointwise", "label_listwise", "label_listwise_infused", "claim_only"):
        rows = (
            LISTS
            if "listwise" in variant
            else [Example(e.claim_id, e.claim, e.sentences[:1], (), e.label) for e in LISTS]
        )
        write_examples(folder / f"examples/{variant}.train.jsonl", rows)
    (folder / "msmarco").mkdir()
    (folder / "msmarco/triples.train.tsv").write_text("query one\tgood passage\tbad passage\nquery two\tgood\tbad\n")
    write_json_lines(folder / "examples/text.train.jsonl", ({"text": p.text} for p in PASSAGES * 20))
    return folder


def read(name, lengths=LENGTHS, **options):
    return read_tasks.read(name, lengths, **options)


VARIANTS = "rank rank_entities label_pointwise label_listwise label_listwise_infused claim_only".split()
NAMES = [*(f"list5_{variant}" for variant in VARIANTS), "msmarco_rank"]


@pytest.mark.parametrize("name", NAMES)
def test_each_task_encodes_what_it_prints_and_ends_in_EOS(name, folder):
    vocabulary = SentencePieceVocabulary(folder / "spiece.model")
    rows = read(name)
    assert rows
    for row in rows:
        assert row["inputs"].dtype == row["targets"].dtype == np.int32
        assert row["inputs"].tolist() == [*vocabulary.encode(row["inputs_pretokenized"].decode()), 1]
        assert row["targets"].tolist() == [vocabulary.piece_id(row["targets_pretokenized"].decode()), 1]
        assert len(row["inputs"]) <= 64
        assert row["inputs_pretokenized"].lower().endswith(b"relevant:")


def test_ranking_texts_and_ids():
    first = read("list5_rank_entities", None)[0]
    assert first["inputs_pretokenized"].decode() == (
        "Query: claim 0 Document: Page 0 . the sentence number 0 says something about harbours . "
        "Entity1: Page 1 Entity2: Page 2 Relevant:"
    )
    assert first["claim_id"] == b"0" and first["sentence_ids"] == b"P_0" and bool(first["relevant"])
    assert b"Entity" not in read("list5_rank", None)[0]["inputs_pretokenized"]
    second = read("msmarco_rank", None)[1]["inputs_pretokenized"]
    assert second == b"Query: query one Document: bad passage Relevant:"


def test_the_preset_of_gin_is_obeyed():
    import gin

    with gin.unlock_config():
        gin.parse_config("lisax_format.preset = 'released'")
    try:
        assert read("list5_claim_only")[0]["inputs_pretokenized"] == b"hypothesis: claim 0"
    finally:
        gin.clear_config()


def test_order_depends_on_the_seed_alone():
    def claims(seed):
        return [row["sentence_ids"] + row["claim_id"] for row in read("list5_rank", shuffle=True, seed=seed)]

    assert claims(1) == claims(1) != claims(2)
    assert sorted(claims(1)) == sorted(claims(2))


def test_lengths_that_hold_no_text_end_in_one_sentence(capfd):
    from all_batches import eval_batches

    from lisax.training.data import DatasetConfig, examples, train_source

    config = DatasetConfig("list5_rank", {"inputs": 5, "targets": 4}, batch_size=4)
    capfd.readouterr()
    for read_all in (eval_batches, examples, lambda config: train_source(config)(0)):
        with pytest.raises(LisaxError, match="5 tokens do not hold even the empty template"):
            list(read_all(config))
    assert capfd.readouterr().err == ""
    assert len(list(examples(dataclasses.replace(config, task_feature_lengths=LENGTHS)))) == len(RANK)


def test_mixtures_have_the_rates_of_the_numbers_of_lines():
    mixture = seqio.Mixture(
        "by_lines",
        [("list5_rank", seqio.mixing_rate_num_examples), ("list5_span_corruption", seqio.mixing_rate_num_examples)],
    )
    assert [mixture.get_rate(task) for task in mixture.tasks] == [len(RANK), 100]


MIXTURES = ["list5_span_corruption_rank", "list5_label_infused_pointwise", "msmarco_list5_rank"]


@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures_give_batches_of_a_model(name):
    dataset = seqio.get_dataset(
        name,
        {"inputs": 64, "targets": 32},
        seqio.EncDecFeatureConverter(pack=True),
        dataset_split="train",
        shuffle=True,
        seed=1,
        num_epochs=None,
        verbose=False,
    )
    batch = next(dataset.take(6).batch(6).as_numpy_iterator())
    assert batch["encoder_input_tokens"].shape == (6, 64) and batch["decoder_target_tokens"].shape == (6, 32)


def test_metrics_get_the_words_and_the_claims():
    task = seqio.get_mixture_or_task("list5_rank")
    rows = read("list5_rank")
    targets = [task.postprocess_fn("true" if row["relevant"] else "false", example=row, is_target=True) for row in rows]
    predictions = [task.postprocess_fn("true", example=row, is_target=False) for row in rows]
    assert task.predict_metric_fns[0](targets, predictions) == {"accuracy": 0.5}
    scores = [-0.1] * len(rows)
    assert task.score_metric_fns[0](targets, scores)["map@5"] == 1.0


def test_every_task_can_be_cached_before_lengths_are_known():
    for name in [*NAMES, "list5_span_corruption"]:
        task = seqio.get_mixture_or_task(name)
        assert task.supports_caching and not task.requires_caching
        source = task.source.get_dataset("train", shuffle=False, seed=1)
        records = list(task.preprocess_precache(source).as_numpy_iterator())
        assert records and all(set(record) == {"line"} and json.loads(record["line"]) for record in records)


def cache(task, folder):
    """The task's training split in seqio's cache layout, written without Beam."""
    import tensorflow as tf

    out = folder / task.name
    out.mkdir(parents=True)
    rows = list(task.preprocess_precache(task.source.get_dataset("train", shuffle=False, seed=1)))
    with tf.io.TFRecordWriter(str(out / "train.tfrecord-00000-of-00001")) as writer:
        for row in rows:
            writer.write(seqio.dict_to_tfexample({k: v.numpy() for k, v in row.items()}).SerializeToString())
    described = {
        "num_shards": 1,
        "features": {"line": {"shape": [], "dtype": "string"}},
        "seqio_version": seqio.__version__,
    }
    write_json(out / "info.train.json", described)
    (out / "stats.train.json").write_text(json.dumps({"examples": len(rows)}))
    (out / "COMPLETED").touch()


def use_cache(monkeypatch, folder):
    monkeypatch.setattr(seqio.utils, "_GLOBAL_CACHE_DIRECTORIES", [str(folder)])


@pytest.mark.parametrize("name", ["list5_rank_entities", "list5_label_listwise"])
def test_a_cached_task_gives_the_same_examples_at_any_length(name, tmp_path, monkeypatch):
    plain = read(name, {"inputs": 70, "targets": 4}), read(name, {"inputs": 110, "targets": 4})
    cache(seqio.get_mixture_or_task(name), tmp_path)
    use_cache(monkeypatch, tmp_path)
    for lengths, expected in zip((70, 110), plain):
        found = read(name, {"inputs": lengths, "targets": 4}, use_cached=True)
        assert [row["inputs_pretokenized"] for row in found] == [row["inputs_pretokenized"] for row in expected]
        assert max(len(row["inputs"]) for row in found) <= lengths


@pytest.mark.slow
def test_seqios_own_command_caches_a_task(tmp_path, folder, monkeypatch):
    pytest.importorskip("apache_beam")
    write_examples(tmp_path / "data/examples/rank.train.jsonl", RANK)
    write_examples(tmp_path / "data/examples/rank.dev.jsonl", RANK[:4])
    environment = os.environ | {"LISAX_DATA": str(tmp_path / "data"), "LISAX_VOCABULARY": str(folder / "spiece.model")}
    # Beam's DirectRunner may look for a binary on the network; this runner is what it falls back to.
    options = "--module_import=tasks --tasks=list5_rank --min_shards=2 --pipeline_options=--runner=FnApiRunner".split()
    command = [sys.executable, "-m", "seqio.scripts.cache_tasks_main", *options, f"--output_cache_dir={tmp_path}/cache"]
    subprocess.run(
        command, cwd=Path(__file__).parents[2], env=environment, check=True, capture_output=True, timeout=300
    )
    expected = sorted(row["inputs_pretokenized"] for row in read("list5_rank"))
    use_cache(monkeypatch, tmp_path / "cache")
    assert sorted(row["inputs_pretokenized"] for row in read("list5_rank", use_cached=True)) == expected


def test_missing_places_and_files_are_told(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("LISAX_VOCABULARY", str(folder / "spiece.model"))
    monkeypatch.setenv("LISAX_DATA", str(tmp_path))
    with pytest.raises(LisaxError, match=r"'list5_rank' reads .*rank.train.jsonl, which does not exist"):
        read("list5_rank")
    monkeypatch.setenv("LISAX_VOCABULARY", str(tmp_path / "no.model"))
    with pytest.raises(LisaxError, match="no vocabulary at .*no.model"):
        locations.vocabulary_path()
    monkeypatch.delenv("LISAX_DATA")
    monkeypatch.delenv("LISAX_VOCABULARY")
    with pytest.raises(LisaxError, match="LISAX_DATA"):
        locations.data_folder()
    with pytest.raises(LisaxError, match="LISAX_VOCABULARY"):
        locations.vocabulary_path()


def test_vocabularies_compare_and_pickle(folder):
    import copy
    import pickle

    given = SentencePieces(folder / "spiece.model")
    default = lisax.tasks.vocabularies.default_vocabulary()
    assert given == default == copy.deepcopy(default) == pickle.loads(pickle.dumps(given))
    assert given.vocab_size == SentencePieceVocabulary(folder / "spiece.model").size
    assert given.encode("the harbours") == SentencePieceVocabulary(folder / "spiece.model").encode("the harbours")


def test_the_default_vocabulary_follows_the_locations(folder, tmp_path, monkeypatch):
    default = lisax.tasks.vocabularies.default_vocabulary()
    before = default.vocab_size
    other = train_vocabulary(["another corpus of claims and evidence"] * 20, tmp_path / "other.model", 70)
    monkeypatch.setenv("LISAX_VOCABULARY", str(other.path))
    assert default.vocab_size == other.size != before
    assert default.encode("evidence") == other.encode("evidence")


def test_a_byte_task_writes_initials(folder):
    name = "test_byte_rank"
    example_tasks.add(
        name,
        ranking.RANK,
        locations.in_data_folder("examples/rank.{split}.jsonl"),
        example_tasks.Options(("train",), ByteVocabulary()),
    )
    try:
        rows = read(name, {"inputs": 90, "targets": 2})
        assert {row["targets_pretokenized"] for row in rows} == {b"t", b"f"}
        assert all(len(row["inputs"]) <= 90 and row["inputs_pretokenized"].endswith(b"Relevant:") for row in rows)
    finally:
        seqio.TaskRegistry.remove(name)
