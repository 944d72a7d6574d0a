"""The tasks over tables: their texts, the features of the fusion model, and what a batch of them looks like."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import seqio
import small_tokenizers
from all_batches import eval_batches
from read_tasks import read

import lisax.tasks.tables
from lisax.formats.examples import write_examples
from lisax.formats.labelling import CLAIM_ONLY
from lisax.formats.tables import TABLE_FUSION, TABLES, TableExample, TableView
from lisax.formats.vocabulary import SentencePieceVocabulary, train_vocabulary
from lisax.formats.vocabulary_file import TokenizerVocabulary
from lisax.models.pair import FIRST
from lisax.records import Label
from lisax.training.data import DatasetConfig, check_dataset

VIEWS = [
    TableView(f"t{i}", f"Table {i}", ("year", "goals"), tuple((str(1900 + r), str(r)) for r in range(3 * i)))
    for i in range(4)
]
LABELS = [Label.SUPPORTS, Label.REFUTES, Label.NOT_ENOUGH_INFO, None]
# Three tables a claim, but for the last claims, which have two and none.
EXAMPLES = [
    TableExample(str(i), f"claim {i}", tuple(VIEWS[:3]), label, (False, True, False)) for i, label in enumerate(LABELS)
]
EXAMPLES += [
    TableExample("few", "claim", tuple(VIEWS[2:]), Label.SUPPORTS, (True, False)),
    TableExample("none", "claim", (), Label.REFUTES, ()),
]


pytestmark = pytest.mark.usefixtures("located")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    train_vocabulary(["claim query table row is year goals relevant Table"] * 20, folder / "spiece.model", 90)
    for stem, examples in (
        (
            "tables_closed",
            [TableExample(e.claim_id, e.claim, VIEWS[1:2], e.label, (True,)) for e in EXAMPLES if e.label],
        ),
        (
            "tables_one",
            [TableExample(e.claim_id, e.claim, e.tables[:1], e.label, e.gold[:1]) for e in EXAMPLES if e.label],
        ),
        ("tables_top3", EXAMPLES),
        ("tables_top5", EXAMPLES),
        ("tables_top10", EXAMPLES),
    ):
        write_examples(folder / f"examples/{stem}.train.jsonl", examples)
    return folder


@pytest.mark.parametrize("name", lisax.tasks.tables.TEXT_TASKS)
def test_text_tasks_encode_what_they_print(name, folder):
    vocabulary = SentencePieceVocabulary(folder / "spiece.model")
    rows = [row for row in read(name, {"inputs": 80, "targets": 2}) if row["targets_pretokenized"]]
    assert len(rows) == 5
    for row in rows:
        text = row["inputs_pretokenized"].decode()
        assert row["inputs"].tolist() == [*vocabulary.encode(text), 1] and len(row["inputs"]) <= 80
        assert row["targets"].tolist() == [vocabulary.piece_id(row["targets_pretokenized"].decode()), 1]
        assert text.startswith("query: claim") and text.endswith("relevant:")
        assert ("table1:" in text) == (name != lisax.tasks.tables.CLAIM_ONLY_TASK and bool(row["sentence_ids"]))
    assert [row["targets_pretokenized"] for row in rows[:3]] == [b"true", b"false", b"weak"]


def test_dropped_rows_are_counted_and_told():
    name = "tables_top3"
    task = seqio.get_mixture_or_task(name)
    for length in (40, 1000):
        rows = read(name, {"inputs": length, "targets": 2})
        texts = [row["inputs_pretokenized"].decode() for row in rows]
        there = sum(text.count("row ") for text in texts)
        targets = [
            task.postprocess_fn(row["targets_pretokenized"].decode(), example=row, is_target=True) for row in rows
        ]
        figures = {k: v for function in task.predict_metric_fns for k, v in function(targets, ["true"] * 6).items()}
        assert figures["dropped_rows"] == 4 * (0 + 3 + 6) + (6 + 9) - there and (there == 51) == (length == 1000)
        assert figures["label_accuracy"] == 2 / 6


def test_fusion_features(folder):
    vocabulary = SentencePieceVocabulary(folder / "spiece.model")
    k, length = 3, 70
    rows = read("tables_fusion_top3", {"inputs": k * length, "targets": k})
    found = [row["targets"].tolist() for row in rows]
    assert found == [[1, 2, 1], [1, 3, 1], [1, 1, 1], [0, 0, 0], [2, 1, 0], [0, 0, 0]]
    for row, example in zip(rows, EXAMPLES, strict=True):
        assert row["inputs"].dtype == row["targets"].dtype == np.int32 and row["inputs"].shape == (k * length,)
        texts = TABLE_FUSION.encode_each(example, max_tokens=length, count_tokens=vocabulary.count)
        expected = np.zeros((k, length), np.int32)
        for i, text in enumerate(texts):
            ids = [*vocabulary.encode(text.inputs), 1]
            expected[i, : len(ids)] = ids
        assert (row["inputs"].reshape(k, length) == expected).all()
        assert row["inputs_pretokenized"].decode().split("\n") == ([text.inputs for text in texts] or [""])
        assert row["dropped_rows"] == sum(sum(text.dropped) for text in texts)
        assert row["table_ids"].decode().split() == example.unit_ids and row["label"].decode() == (example.label or "")
    assert rows[0]["targets_pretokenized"] == b"irrelevant true irrelevant" and any(row["dropped_rows"] for row in rows)


def test_a_batch_has_weight_where_there_is_a_class():
    config = DatasetConfig("tables_fusion_top3", {"inputs": 210, "targets": 3}, batch_size=8, module="tasks")
    check_dataset(config, 704, "train")
    (batch,) = eval_batches(config)
    assert batch["encoder_input_tokens"].shape == (8, 210) and batch["decoder_target_tokens"].shape == (8, 3)
    assert (batch["decoder_loss_weights"] == (batch["decoder_target_tokens"] > 0)).all()
    assert batch["decoder_target_tokens"].tolist()[:2] == [[1, 2, 1], [1, 3, 1]]
    assert not batch["encoder_input_tokens"].reshape(8, 3, 70)[4, 2].any()


def test_lengths_that_do_not_fit_are_told():
    for lengths in (None, {"inputs": 200, "targets": 3}, {"inputs": 200}):
        with pytest.raises(Exception, match=r"must be \{'inputs': k \* L, 'targets': k\}"):
            read("tables_fusion_top3", lengths)
    with pytest.raises(Exception, match="claim '0' has 3 tables, TASK_FEATURE_LENGTHS has room for 2"):
        read("tables_fusion_top3", {"inputs": 200, "targets": 2})


def test_fusion_figures():
    task = seqio.get_mixture_or_task("tables_fusion_top3")
    rows = read("tables_fusion_top3", {"inputs": 210, "targets": 3})
    targets = [task.postprocess_fn("", example=row, is_target=True) for row in rows]
    assert targets[4]["gold"] == [True, False] and targets[4]["tables"] == ["t2", "t3"]
    joint = np.array([[0.1, 0.1], [0.5, 0.1], [0.1, 0.1]])  # the second table, true
    ternary = np.array([[0.8, 0.1, 0.1], [0.4, 0.1, 0.5], [0.9, 0.1, 0.0]])  # the second table, false
    first = np.array([[0.6, 0.4], [0, 0], [0, 0]])
    predictions = [joint, ternary, joint, joint, first, np.zeros((3, 2))]
    figures = {k: v for function in task.predict_metric_fns for k, v in function(targets, predictions).items()}
    # Of the four claims that are true or false, the last has no table.
    assert figures["label_accuracy"] == 1 and figures["table_accuracy"] == 1
    predictions[0], predictions[4] = ternary, np.array([[0, 0], [0.9, 0.1], [0, 0]])
    figures = task.predict_metric_fns[0](targets, predictions)
    assert figures == {"label_accuracy": 0.75, "table_accuracy": pytest.approx(2 / 3)}


def test_a_bad_line_names_its_field(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("LISAX_VOCABULARY", str(folder / "spiece.model"))
    monkeypatch.setenv("LISAX_DATA", str(tmp_path))
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/tables_closed.train.jsonl").write_text('{"claim_id": "1", "claim": "c", "tables": [3]}\n')
    with pytest.raises(Exception, match=r"'tables_closed': a line is not an example of it: field 'tables\[0\]'"):
        read("tables_closed", {"inputs": 80, "targets": 2})


def test_pairs_are_the_same_examples_as_two_texts(folder, monkeypatch):
    vocabulary = TokenizerVocabulary(small_tokenizers.wordpiece(folder / "tokenizer.json"))
    monkeypatch.setenv("LISAX_VOCABULARY", str(vocabulary.path))
    labelled = [example for example in EXAMPLES if example.label]
    read_tables = {"closed": VIEWS[1:2], "one": None, "claim_only": ()}
    for name, tables in read_tables.items():
        for row, example in zip(read(f"tables_pair_{name}", {"inputs": 40, "targets": 1}), labelled, strict=True):
            seen = dataclasses.replace(example, tables=example.tables[:1] if tables is None else tuple(tables), gold=())
            pair = (CLAIM_ONLY if name == "claim_only" else TABLES).pair(seen)
            assert row["inputs"].tolist() == vocabulary.encode_pair(*pair, 40).ids
            assert row["targets"].tolist() == [FIRST + list(Label).index(example.label)]
    lengths = {"inputs": 40, "targets": 1}
    for name, number in (("closed", 1), ("closed_and_wrong", 1), ("top3", 3), ("claim_only", None)):
        card = seqio.get_mixture_or_task(f"tables_pair_{name}").model_card(lengths)["text"]
        assert card.get("tables") == number
        assert card["family"] == ("claim_only" if number is None else "tables")
