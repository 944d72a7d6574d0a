"""CLTR's tasks over the data folder: rows, columns and the mixture of both."""

from __future__ import annotations

import collections
import itertools

import pytest
import read_tasks
import seqio
import small_tokenizers

import lisax.tasks.parts
from lisax.errors import LisaxError
from lisax.formats.examples import read_examples, write_examples
from lisax.formats.parts import TABLE_PARTS, PartExample, PartKind
from lisax.formats.vocabulary import REQUIRED_WORDS, SentencePieceVocabulary, train_vocabulary
from lisax.formats.vocabulary_file import TokenizerVocabulary
from lisax.models.pair import FIRST
from lisax.records import Operation, Question, Table
from lisax.sampling import part_examples

TABLES = [
    Table(f"t{i}", "", ("year", "club"), tuple((str(1900 + r), f"Club {i} {r}") for r in range(4))) for i in range(3)
]
LENGTHS = {"inputs": 48, "targets": 2}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    train_vocabulary(
        ["query row column year club Club relevant"] * 20, tmp_path / "spiece.model", 110, [*REQUIRED_WORDS, *Operation]
    )
    examples = [
        example
        for i, table in enumerate(TABLES)
        for example in part_examples.parts_of(f"q{i}", f"Which club in {1900 + i}?", table, [f"t{i}#r{i}c1"])
    ]
    for kind in PartKind:
        write_examples(
            tmp_path / "examples" / part_examples.file_name(kind, "train"),
            (example for example in examples if example.kind is kind),
        )
    monkeypatch.setenv("LISAX_DATA", str(tmp_path))
    monkeypatch.delenv("LISAX_VOCABULARY", raising=False)
    return tmp_path


def read(name):
    return read_tasks.read(name, LENGTHS)


@pytest.mark.parametrize("name, relevant", [("cltr_rows", "t0#r0 t1#r1 t2#r2"), ("cltr_columns", "t0#c1 t1#c1 t2#c1")])
def test_tasks_encode_what_they_print(folder, name, relevant):
    vocabulary = SentencePieceVocabulary(folder / "spiece.model")
    rows = read(name)
    assert len(rows) == {"cltr_rows": 12, "cltr_columns": 6}[name]
    assert " ".join(row["sentence_ids"].decode() for row in rows if row["relevant"]) == relevant
    for row in rows:
        text = row["inputs_pretokenized"].decode()
        assert row["inputs"].tolist() == [*vocabulary.encode(text), 1] and len(row["inputs"]) <= 48
        assert text.startswith("query: Which club in 19") and text.endswith("relevant:")
        assert row["targets"].tolist() == [vocabulary.piece_id("true" if row["relevant"] else "false"), 1]


def test_the_mixture_has_as_many_of_both(folder):
    options = {"split": "train", "shuffle": False, "seed": 0, "passthrough_features": ["sentence_ids"]}
    dataset = seqio.get_mixture_or_task("cltr_parts").get_dataset(LENGTHS, num_epochs=None, **options)
    rows = itertools.islice(dataset.as_numpy_iterator(), 400)
    kinds = collections.Counter("#r" in row["sentence_ids"].decode() for row in rows)
    assert 120 < kinds[True] < 280
    card = seqio.get_mixture_or_task("cltr_rows").model_card(LENGTHS)
    assert card["text"]["family"] == "table_parts" and card["text"]["max_tokens"] == 48


def test_pairs_are_the_same_examples_as_two_texts(folder, monkeypatch):
    monkeypatch.setenv("LISAX_VOCABULARY", str(small_tokenizers.wordpiece(folder / "tokenizer.json")))
    vocabulary = TokenizerVocabulary(folder / "tokenizer.json")
    for name in ("rows", "columns"):
        rows, records = (
            read(f"cltr_pair_{name}"),
            read_examples(folder / "examples" / part_examples.file_name(PartKind(name[:-1]), "train"), PartExample),
        )
        for row, example in zip(rows, records, strict=True):
            pair = TABLE_PARTS.pair(example)
            assert row["inputs"].tolist() == vocabulary.encode_pair(*pair, LENGTHS["inputs"]).ids
            assert row["inputs_pretokenized"].decode() == " | ".join(pair)
            assert row["targets"].tolist() == [FIRST + (not example.label)]
    task = seqio.get_mixture_or_task("cltr_pair_rows")
    card = task.model_card(LENGTHS)["text"]
    assert card["family"] == "table_parts" and card["labels"] == ["relevant", "not relevant"]
    found = {"cltr_pair_rows", "cltr_pair_columns"}
    assert found == {task.name for task in seqio.get_mixture_or_task("cltr_pair_parts").tasks}


def test_headers_are_answered_by_the_word_of_an_operation(folder):
    questions = [
        Question(f"q{i}", "How many?", evidence=(f"t{i}",), operation=operation)
        for i, operation in enumerate((Operation.COUNT, None, Operation.NONE))
    ]
    path = folder / "examples" / part_examples.operations_file("train")
    assert write_examples(path, part_examples.operations(questions, {table.id: table for table in TABLES}.get)) == 2
    vocabulary = SentencePieceVocabulary(folder / "spiece.model")
    rows = read("cltr_aggregation")
    found = [(row["inputs_pretokenized"].decode(), row["sentence_ids"].decode()) for row in rows]
    assert found == [("query: How many? header: year | club relevant:", table) for table in ("t0", "t2")]
    assert [row["targets"].tolist() for row in rows] == [[vocabulary.piece_id(word), 1] for word in ("count", "none")]
    card = seqio.get_mixture_or_task("cltr_aggregation").model_card(LENGTHS)["text"]
    assert card["family"] == "table_operation" and card["words"] == "none max min count sum average".split()


def test_a_task_without_its_file_says_where_it_looked(folder):
    (folder / "examples/parts_rows.train.jsonl").unlink()
    with pytest.raises(LisaxError, match="'cltr_rows' reads .*parts_rows.train.jsonl, which does not exist"):
        read("cltr_rows")
    assert set(lisax.tasks.parts.VARIANTS) == {"rows", "columns", "parts"}
