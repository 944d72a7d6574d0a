"""The verbalizer's tasks: what an example becomes, what is left out, what a model's card says."""

from __future__ import annotations

import json

import pytest
import seqio

from lisax.formats.triples import Triples
from lisax.formats.verbalizing import Encoder, marker_ids
from lisax.formats.vocabulary import EOS_ID, train_vocabulary
from lisax.tasks import verbalizing
from lisax.tasks.example_tasks import Options
from lisax.tasks.vocabularies import SentencePieces

ROWS = [
    {
        "id": "a",
        "title": "Ana María",
        "pairs": [["born", "1815"]],
        "text": "Ana María was born in 1815.",
        "texts": ["Ana María was born in 1815.", "She was born in 1815."],
    },
    {"id": "b", "title": "Ana", "pairs": [["born", "1815 " * 30]], "text": "Ana."},
]


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "dev.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    vocabulary = train_vocabulary(["ana maria was born in 1815 she"] * 20, tmp_path / "spiece.model", 120)
    name = f"verbalize_{tmp_path.name.replace('-', '_')}"
    pieces = SentencePieces(tmp_path / "spiece.model")
    yield verbalizing.add(name, lambda split: path, Options(("dev",), pieces)), vocabulary
    seqio.TaskRegistry.remove(name)


def test_an_example_is_what_inference_encodes(task):
    task, vocabulary = task
    first, second = task.get_dataset(None, "dev", shuffle=False).as_numpy_iterator()
    encoder = Encoder(vocabulary.encode, marker_ids(vocabulary.size))
    assert first["inputs"].tolist() == [*encoder.inputs(Triples("a", "Ana María", (("born", "1815"),))), EOS_ID]
    assert first["inputs"][0] == vocabulary.sentinel_id(0)
    assert first["inputs_pretokenized"].decode() == "<H> [title] <T> ana maria <H> born <T> 1815"
    assert vocabulary.decode(first["targets"]) == "ana maria was born in 1815."
    assert task.postprocess_fn("x", example=first, is_target=True) == ROWS[0]["texts"]
    assert task.postprocess_fn("said", example=second) == "said"
    assert task.metric_fns[0]([ROWS[0]["texts"]], ["she was born in 1815."])["bleu"] == pytest.approx(1)


def test_an_example_that_does_not_fit_is_left_out(task):
    found = list(task[0].get_dataset({"inputs": 24, "targets": 40}, "dev", shuffle=False).as_numpy_iterator())
    assert [row["id"].decode() for row in found] == ["a"]
    assert list(task[0].get_dataset({"inputs": 2, "targets": 40}, "dev", shuffle=False).as_numpy_iterator()) == []


def test_the_card_says_lengths_and_markers(task):
    task, vocabulary = task
    card = task.model_card({"inputs": 48, "targets": 40})["text"]
    assert (card["family"], card["max_tokens"], card["target_tokens"]) == ("verbalize", 48, 40)
    assert card["markers"]["<T>"] == vocabulary.sentinel_id(1)


def test_a_wrong_line_is_told(tmp_path):
    (tmp_path / "dev.jsonl").write_text('{"id": "a", "title": "t", "pairs": [["x"]], "text": "t"}\n')
    task = verbalizing.add(
        "verbalize_wrong", lambda split: tmp_path / "dev.jsonl", Options(("dev",), seqio.ByteVocabulary())
    )
    try:
        with pytest.raises(Exception, match="a line is not an example of it"):
            list(task.get_dataset(None, "dev", shuffle=False).as_numpy_iterator())
    finally:
        seqio.TaskRegistry.remove("verbalize_wrong")
    assert task.model_card({"inputs": 1, "targets": 1}) == {}
