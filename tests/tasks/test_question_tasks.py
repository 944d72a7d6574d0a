"""The tasks over questions: what a batch of the retriever and of the readers holds."""

from __future__ import annotations

import numpy as np
import pytest
import seqio
from all_batches import eval_batches

import lisax.tasks.questions
from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.formats.examples import write_examples
from lisax.formats.reading import POINT, READ, RETRIEVE, PassageView, QuestionExample
from lisax.formats.vocabulary import EOS_ID, SentencePieceVocabulary, train_vocabulary
from lisax.models import dual_encoder
from lisax.models.architectures import SpanReaderConfig, T5Config
from lisax.tasks.example_tasks import Options
from lisax.tasks.vocabularies import SentencePieces
from lisax.training.data import DatasetConfig, check_dataset, model_card
from lisax.training.losses import Loss
from lisax.training.train_config import TrainConfig, check

TEXT = "Tarn has 18 inns and 5,000 dwellers, of whom 18 are smiths."
SPANS = ((9, 11), (45, 47))
EXAMPLES = [
    QuestionExample(
        f"q{i}",
        "How many inns has Tarn?",
        ("18", "eighteen"),
        (PassageView("text:Tarn:0", "Tarn", TEXT, SPANS), PassageView("text:Orm:0", "Orm", "Orm is a town.")),
    )
    for i in range(3)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    train_vocabulary(
        [f"question: How many inns has Tarn? title: Tarn context: {TEXT} Orm is a town"] * 20,
        folder / "spiece.model",
        150,
    )
    write_examples(folder / "examples.jsonl", EXAMPLES)
    vocabulary = SentencePieces(folder / "spiece.model")
    for name, kind, encode, k in (
        ("made_retrieve", RETRIEVE, lisax.tasks.questions.retriever_batch, 0),
        ("made_point_top2", POINT, _row(POINT), 2),
        ("made_read_top2", READ, _row(READ), 2),
    ):
        options = Options(vocabulary=vocabulary)
        lisax.tasks.questions.add(name, kind, lambda split: folder / "examples.jsonl", encode, k, options)
    yield folder
    for name in ("made_retrieve", "made_point_top2", "made_read_top2"):
        seqio.TaskRegistry.remove(name)


def _row(kind):
    return lambda example, vocabulary, lengths: lisax.tasks.questions.reader_row(
        example, vocabulary, lengths, kind=kind, k=2
    )


def batch(name, inputs, targets):
    config = DatasetConfig(name, {"inputs": inputs, "targets": targets}, "dev", 3)
    check_dataset(config, 512, "dev")
    (found,) = eval_batches(config)
    return found


def test_a_retrievers_row_is_a_question_and_its_passages(folder):
    vocabulary = SentencePieceVocabulary(folder / "spiece.model")
    found = batch("made_retrieve", 5 * 24, 2)
    questions, passages = dual_encoder.split(found["encoder_input_tokens"], 2)
    assert vocabulary.decode(questions[0]) == "How many inns has Tarn?"
    assert [vocabulary.decode(row) for row in passages[0]] == [f"Tarn . {TEXT}", "Orm . Orm is a town."]
    np.testing.assert_array_equal(found["decoder_target_tokens"], [[2, 1]] * 3)
    config = DatasetConfig("made_retrieve", {"inputs": 120, "targets": 2}, "train", 3)
    assert model_card(config)["text"] == {"family": "retrieve", "max_tokens": 48, "question_tokens": 24}


def test_a_reader_of_another_number_of_passages_is_told(folder, tmp_path):
    def check_model(passages):
        t5 = T5Config(
            vocab_size=512, emb_dim=8, num_heads=1, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=8
        )
        dataset = DatasetConfig("made_point_top2", {"inputs": 96, "targets": 4}, "train", 8)
        config = TrainConfig(
            SpanReaderConfig(t5, passages), str(tmp_path), dataset, total_steps=1, loss=Loss(z_loss=0.0)
        )
        check(config, Partitioner.over_all_devices())

    check_model(2)
    with pytest.raises(LisaxError, match="has 2 passages a question, and the model reads 1: set PASSAGES=2"):
        check_model(1)


def test_a_pointing_readers_targets_are_the_places_of_the_answers(folder):
    vocabulary, room = SentencePieceVocabulary(folder / "spiece.model"), 96
    found = batch("made_point_top2", 2 * room, 6)
    inputs, targets = found["encoder_input_tokens"][0], found["decoder_target_tokens"][0]
    assert vocabulary.decode(inputs[:room]) == f"question: How many inns has Tarn? title: Tarn context: {TEXT}"
    spans = targets.reshape(-1, 2)
    assert [vocabulary.decode(inputs[begin : end + 1]) for begin, end in spans[:2]] == ["18", "18"]
    assert spans[2].tolist() == [0, 0] and spans[0, 0] < spans[1, 0]
    # Where the text is cut, an answer after the cut is none.
    short = next(n for n in range(20, 90) if batch_room(n, vocabulary) == 1)
    found = batch("made_point_top2", 2 * short, 6)
    assert (found["decoder_target_tokens"][0].reshape(-1, 2)[1:] == 0).all()


def batch_room(room, vocabulary):
    _, targets = lisax.tasks.questions.reader_row(
        EXAMPLES[0], vocabulary, {"inputs": 2 * room, "targets": 6}, kind=POINT, k=2
    )
    return int((targets.reshape(-1, 2)[:, 0] > 0).sum())


def test_a_generating_readers_target_is_the_first_answer(folder):
    vocabulary = SentencePieceVocabulary(folder / "spiece.model")
    found = batch("made_read_top2", 2 * 96, 6)
    assert vocabulary.decode(found["decoder_target_tokens"][0]) == "18" and EOS_ID in found["decoder_target_tokens"][0]
    with pytest.raises(LisaxError, match="TASK_FEATURE_LENGTHS"):
        next(eval_batches(DatasetConfig("made_read_top2", {"inputs": 192, "targets": 0}, "dev", 3)))
