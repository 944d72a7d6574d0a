"""Table fusion, pointers, a dual encoder and a span reader on an encoder of the BERT family, by gin: trained on tasks
whose vocabulary is its `tokenizer.json`, and used with the same token ids."""

import json

import numpy as np
import pytest
import seqio
import small_encoder
from applying import applied

from lisax.formats.examples import Passage, read_examples, write_examples
from lisax.formats.pointing import COLUMNS, PointerExample
from lisax.formats.reading import PassageView, QuestionExample
from lisax.formats.tables import TableExample, TableView
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.models import dual_encoder
from lisax.models.architectures import DualEncoderConfig, SpanReaderConfig
from lisax.predict import reader as reading
from lisax.predict.model import Model
from lisax.predict.reader import Reader
from lisax.predict.retriever import Retriever
from lisax.records import Label
from lisax.retrieval.dense_texts import Text
from lisax.retrieval.passages import Passage as Unit
from lisax.training.gin_files import bindings_of, configured, run_gin
from lisax.training.inference import infer
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_model

LABELS, ROOM, STEPS = list(Label), 48, 6


def claims(count, seed):
    """Of claims, tables with more rows than there is room for, and sentences."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        label, town = LABELS[i % 3], f"town {rng.integers(60)}"
        rows = tuple((f"Anna {n}", str(1900 + n)) for n in rng.integers(0, 60, 12))
        tables = tuple(TableView(f"t{i}_{j}", town, ("number", "opened"), rows[j * 4 :]) for j in range(3))
        sentences = tuple(Passage(f"P_{j}", town, f"The harbour was opened in {1900 + j}.") for j in range(3))
        claim = f"The harbour of {town} was opened in {1900 + i}."
        sets = ((i % 3,),) if label is not Label.NOT_ENOUGH_INFO else ()
        gold = (True, False, False)
        yield TableExample(str(i), claim, tables, label, gold), PointerExample(str(i), claim, sentences, label, sets)


def questions(count, seed):
    rng = np.random.default_rng(seed)
    for i in range(count):
        year = str(1900 + rng.integers(60))
        text = f"The harbour was opened in {year} by Anna Müller, number 7."
        spans = ((text.index(year), text.index(year) + len(year)),)
        passages = [PassageView(f"p{i}", f"town {i}", text, spans), PassageView(f"q{i}", "Anna", "by the harbour", ())]
        yield QuestionExample(str(i), f"When was the harbour of town {i} opened?", (year,), tuple(passages))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    small_encoder.write(folder)
    (folder / "examples").mkdir()
    for split, count in (("train", 24), ("dev", 5)):
        tables, pointers = zip(*claims(count, len(split)))
        asked = list(questions(count, len(split)))
        files = {"tables_top3": tables, "pointer_sentences": pointers, "pointer_documents": pointers}
        for name, examples in (files | {"retriever": asked, "reader": asked}).items():
            write_examples(folder / f"examples/{name}.{split}.jsonl", examples)
    return folder


@pytest.fixture(autouse=True)
def located(data, monkeypatch):
    monkeypatch.setenv("LISAX_DATA", str(data))
    monkeypatch.setenv("LISAX_VOCABULARY", str(data / "encoder/tokenizer.json"))


def trained(data, out, head, task, lengths, **values):
    """(MODEL_DIR, the gin files and bindings that `infer` takes too)"""
    sizes = [f"EncoderConfig.{name} = {value}" for name, value in small_encoder.SIZE.items()]
    of_task = sizes + bindings_of(
        {"MIXTURE_OR_TASK_MODULE": "tasks", "MIXTURE_OR_TASK_NAME": task, "TASK_FEATURE_LENGTHS": lengths} | values
    )
    of_training = bindings_of(
        {
            "MODEL_DIR": out,
            "BATCH_SIZE": 8,
            "TRAIN_STEPS": STEPS,
            "EVAL_PERIOD": STEPS,
            "EVAL_STEPS": 1,
            "LEARNING_RATE": 1e-2,
            "WARMUP_STEPS": 1,
            "INITIAL_CHECKPOINT_PATH": data / "encoder",
        }
    )
    files = ["models/minilm.gin", f"models/{head}.gin"]
    result = run_gin([*files, "runs/finetune_encoder.gin"], [*of_task, *of_training])
    assert np.isfinite(result.metrics["loss"]) and ModelFolder.find(out).card["vocabulary"]["file"] == "tokenizer.json"
    return files, of_task


def predictions(out, to, files, bindings):
    given = [*bindings, *bindings_of({"CHECKPOINT_PATH": str(out), "INFER_OUTPUT_DIR": str(to), "BATCH_SIZE": 4})]
    with configured("infer", [*files, "runs/infer.gin"], given) as config:
        return [json.loads(line) for line in infer(config).read_text().splitlines()]


def dev(task, lengths):
    """The features of the task's dev examples, in order."""
    dataset = seqio.get_mixture_or_task(task).get_dataset(lengths, split="dev", shuffle=False)
    return list(dataset.as_numpy_iterator())


def test_table_fusion(data, tmp_path):
    lengths = {"inputs": 3 * ROOM, "targets": 3}
    given = trained(data, tmp_path / "model", "table_fusion", "tables_fusion_top3", lengths)
    rows = predictions(tmp_path / "model", tmp_path / "infer", *given)
    model = Model.open(tmp_path / "model")
    scores = model.probabilities(list(read_examples(data / "examples/tables_top3.dev.jsonl", TableExample)))
    np.testing.assert_allclose(scores.probabilities, [row["prediction"] for row in rows], atol=1e-5)
    np.testing.assert_allclose(scores.attention, [row["attention"] for row in rows], atol=1e-5)
    # Claim and table stand between [CLS] and [SEP], and a [SEP] between them; what is too long fills the room.
    inputs = dev("tables_fusion_top3", lengths)[0]["inputs"].reshape(3, ROOM)
    ends = [int(np.count_nonzero(row)) for row in inputs]
    assert [row[0] for row in inputs] == [2] * 3 and [row[end - 1] for row, end in zip(inputs, ends)] == [3] * 3
    assert [np.count_nonzero(row == 3) for row in inputs] == [2] * 3 and max(ends) == ROOM
    assert ModelFolder.find(tmp_path / "model").card["text"]["pairs"] is True


@pytest.mark.parametrize(
    ("task", "relation"),
    [("pointer_sentences", "sequence"), pytest.param("pointer_documents", "none", marks=pytest.mark.slow)],
)
def test_pointers(data, tmp_path, task, relation):
    lengths = {"inputs": 3 * ROOM, "targets": 3 * COLUMNS}
    small = {"steps": 4, "hidden": 16, "hops": 1, "beam_size": 2}  # and a step more than there are candidates
    values = {"RELATION": relation, **{f"PointerConfig.{name}": value for name, value in small.items()}}
    given = trained(data, tmp_path / "model", "evidence_pointer", task, lengths, **values)
    rows = predictions(tmp_path / "model", tmp_path / "infer", *given)
    found = Model.open(tmp_path / "model").probabilities(
        list(read_examples(data / f"examples/{task}.dev.jsonl", PointerExample))
    )
    assert found.pointers.tolist() == [row["prediction"] for row in rows]
    np.testing.assert_allclose(found.shares, [row["shares"] for row in rows], atol=1e-5)
    np.testing.assert_allclose(found.labels, [row["labels"] for row in rows], atol=1e-5)


def test_a_dual_encoder(data, tmp_path):
    lengths = {"inputs": 5 * 24, "targets": 2}
    values = {"NORMALIZED": True, "TEMPERATURE": 0.05}
    trained(data, tmp_path / "model", "dual_encoder", "questions_retrieve", lengths, **values)
    inputs = np.stack([row["inputs"] for row in dev("questions_retrieve", lengths)])
    texts = dual_encoder.split(inputs, 2)
    model, parameters = load_model(ModelFolder.find(tmp_path / "model"), DualEncoderConfig)
    question_vectors, passage_vectors = applied(
        model, parameters, texts.questions, texts.passages.reshape(-1, texts.passages.shape[-1])
    )
    retriever = Retriever(tmp_path / "model")
    examples = list(read_examples(data / "examples/retriever.dev.jsonl", QuestionExample))
    np.testing.assert_allclose(retriever.questions([one.question for one in examples]), question_vectors, atol=1e-5)
    passages = [Text(view.title, view.text) for one in examples for view in one.passages]
    np.testing.assert_allclose(retriever.passages(passages), passage_vectors, atol=1e-5)


def test_a_span_reader(data, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "SPANS", 1)  # an answer's probability is then that of one place
    task = "questions_point_top1"
    lengths = {"inputs": 80, "targets": 4}
    trained(data, tmp_path / "model", "span_reader", task, lengths, PASSAGES=1)
    model, parameters = load_model(ModelFolder.find(tmp_path / "model"), SpanReaderConfig)
    vocabulary, reader = open_vocabulary(data / "encoder/tokenizer.json"), Reader(tmp_path / "model")
    examples = list(read_examples(data / "examples/reader.dev.jsonl", QuestionExample))
    rows = dev(task, lengths)
    all_logits = np.asarray(applied(model, parameters, np.stack([row["inputs"] for row in rows])))
    for row, logits, example in zip(rows, all_logits, examples, strict=True):
        # The target is the year, after [CLS] and the question.
        (first, last), _ = row["targets"].reshape(2, 2)
        assert vocabulary.decode(row["inputs"][first : last + 1]).replace(" ", "") == example.answers[0]
        shares = np.exp(logits - np.logaddexp.reduce(logits, axis=0))
        view = example.passages[0]
        passage = Unit(view.id, view.title, view.text, ("u",), (0,))
        ((answer,),) = reader.read([(example.question, [passage])], answers=1)
        context = example.question.join(("question: ", f" title: {view.title} context: "))
        _, places = vocabulary.encode_with_places(context + view.text)
        begin, end = (len(context) + place for place in (answer.place.begin, answer.place.end))
        first, last = places.tokens_of(begin, end)
        assert answer.probability == pytest.approx(shares[first, 0] * shares[last, 1], rel=1e-4)
        assert answer.text == view.text[answer.place.begin : answer.place.end]
