"""The pointing tasks: their texts, numbers, and what a model reads of them in inference."""

from __future__ import annotations

import numpy as np
import pytest
import seqio
from read_tasks import read

import lisax.tasks.pointer
from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage, write_examples
from lisax.formats.pointing import COLUMNS, POINT_DOCUMENTS, POINT_SENTENCES, PointerExample
from lisax.formats.vocabulary import SentencePieceVocabulary, train_vocabulary
from lisax.records import Label

PAGES = tuple(Passage(name, f"Page {name}", "") for name in "abc")
SENTENCES = tuple(Passage(f"{name}_0", f"Page {name}", f"sentence {name}") for name in "abc")
EXAMPLES = {
    "pointer_documents": [PointerExample("1", "a claim", PAGES, Label.SUPPORTS, ((2,), (0, 1)))],
    "pointer_sentences": [
        PointerExample("1", "a claim", SENTENCES, Label.REFUTES, ((0, 2),)),
        PointerExample("2", "another", SENTENCES[:1], Label.NOT_ENOUGH_INFO),
    ],
}


pytestmark = pytest.mark.usefixtures("located")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    train_vocabulary(
        ["a claim another Query: Document: Page sentence Relevant: query: relevant:"] * 20, folder / "spiece.model", 90
    )
    for name, examples in EXAMPLES.items():
        write_examples(folder / f"examples/{name}.train.jsonl", examples)
    write_examples(
        folder / "examples/pointer_titles.train.jsonl",
        [Example("1", "a claim", (Passage("a", "", "Page a"),), label=True)],
    )
    write_examples(
        folder / "examples/pointer_labels.train.jsonl", [Example("1", "a claim", SENTENCES[:1], label=Label.REFUTES)]
    )
    return folder


def test_texts_are_those_of_the_pairs_that_come_first():
    count = {"count_tokens": len}
    (document,), (sentence, _) = EXAMPLES.values()
    assert POINT_DOCUMENTS.encode_each(document, **count)[0].inputs == "Query: a claim Document: Page a Relevant:"
    found = POINT_SENTENCES.encode_each(sentence, **count)[0].inputs
    assert found == "query: a claim sentence: Page a . sentence a relevant:"
    for name, of_pair in (("pointer_titles", "pointer_documents"), ("pointer_labels", "pointer_sentences")):
        (pair,), (example, *_) = read(name, {"inputs": 64, "targets": 2}), EXAMPLES[of_pair]
        text_format = lisax.tasks.pointer.POINTER_TASKS[of_pair]
        assert pair["inputs_pretokenized"].decode() == text_format.encode_each(example, **count)[0].inputs
    with pytest.raises(LisaxError, match="an input for each candidate"):
        POINT_DOCUMENTS.encode(document, **count)


@pytest.mark.parametrize("name", lisax.tasks.pointer.POINTER_TASKS)
def test_features(name, folder):
    vocabulary, k, length = SentencePieceVocabulary(folder / "spiece.model"), 4, 60
    rows = read(name, {"inputs": k * length, "targets": k * COLUMNS})
    for row, example in zip(rows, EXAMPLES[name], strict=True):
        texts = lisax.tasks.pointer.POINTER_TASKS[name].encode_each(
            example, max_tokens=length, count_tokens=vocabulary.count
        )
        expected = np.zeros((k, length), np.int32)
        for i, text in enumerate(texts):
            ids = [*vocabulary.encode(text.inputs), 1]
            expected[i, : len(ids)] = ids
        assert (row["inputs"].reshape(k, length) == expected).all() and row["inputs"].dtype == np.int32
        targets = row["targets"].reshape(k, COLUMNS)
        assert (targets[len(texts) :] == 0).all() and (targets[: len(texts), 0] > 1).all()
        found = [int(np.argmax(targets[:, 1] == step)) for step in range(1, len(example.pointers) + 1)]
        assert found == list(example.pointers)
        assert row["targets_pretokenized"].decode().split() == list(map(str, example.pointers))
    card = seqio.get_mixture_or_task(name).model_card({"inputs": k * length, "targets": k * COLUMNS})
    assert card["text"] == {
        "family": str(lisax.tasks.pointer.POINTER_TASKS[name]),
        "preset": "paper",
        "max_tokens": length,
        "candidates": k,
    }


def test_recall_of_pointers():
    task = seqio.get_mixture_or_task("pointer_sentences")
    rows = read("pointer_sentences", {"inputs": 240, "targets": 4 * COLUMNS})
    targets = [task.postprocess_fn("", example=row, is_target=True) for row in rows]
    assert targets[0]["sets"] == [{0, 2}] and targets[1]["sets"] == []
    (metric,) = task.predict_metric_fns
    assert metric(targets, [[2, 1, 0], [0, -1, -1]]) == {"pointed_recall": 1.0}
    assert metric(targets, [[2, 1], [0]]) == {"pointed_recall": 0.0}


def test_lengths_that_do_not_fit_are_told():
    for lengths in (None, {"inputs": 240, "targets": 30}, {"inputs": 241, "targets": 32}):
        with pytest.raises(Exception, match=r"must be \{'inputs': k \* L, 'targets': k \* 8\}"):
            read("pointer_sentences", lengths)
    with pytest.raises(Exception, match="claim '1' has 3 candidates, TASK_FEATURE_LENGTHS has room for 2"):
        read("pointer_sentences", {"inputs": 120, "targets": 16})
