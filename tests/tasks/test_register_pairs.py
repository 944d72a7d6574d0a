"""A user's dataset as tasks for pair scorers on an encoder: the same names, two texts and a class, a gin file of an adapter."""

from __future__ import annotations

import json

import pytest
import seqio
import small_encoder
import test_register_questions
from read_tasks import read, written
from test_register import CLAIMS, PAGES
from test_register_tables import CLAIMS as TABLE_CLAIMS
from test_register_tables import TABLES

from lisax import shipped
from lisax.cli import invoke
from lisax.errors import LisaxError
from lisax.files.writing import write_json_lines
from lisax.models.lora import Lora
from lisax.predict.opening import open_model
from lisax.tasks import sentence_data, table_data
from lisax.tasks.claim_dataset import ClaimDataset
from lisax.tasks.register import register, register_file
from lisax.training import gin_files
from lisax.training.export import export_adapter
from lisax.training.gin_files import bindings_of, run_gin
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import MODELS

pytestmark = pytest.mark.usefixtures("forget")


@pytest.fixture
def encoder(tmp_path):
    return small_encoder.write(tmp_path)


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "mine", {"pages": PAGES, "claims.train": CLAIMS[:9], "claims.dev": CLAIMS[9:]})


@pytest.fixture
def table_folder(tmp_path):
    return written(tmp_path / "tables", {"tables": TABLES, "claims.train": TABLE_CLAIMS})


def test_a_folder_gives_every_task_but_span_corruption(folder, encoder):
    mine = register("mine", folder=folder, vocabulary=encoder / "tokenizer.json")
    assert mine.on_encoder and mine.tasks == {variant: f"mine_{variant}" for variant in sentence_data.TASKS}
    assert "mine_span_corruption" not in seqio.TaskRegistry.names()
    rows = read("mine_rank", {"inputs": 64, "targets": 1})
    assert rows[0]["inputs_pretokenized"].startswith(b"Town 0 has 0 harbours. | Town 0 . Town 0 has 0 harbours")
    assert sorted({int(row["targets"][0]) for row in rows}) == [1, 2]
    rows = read("mine_label_listwise_infused", {"inputs": 64, "targets": 1})
    assert sorted({int(row["targets"][0]) for row in rows}) == [1, 2, 3]
    assert {len(row["inputs"]) for row in rows} == {64} and rows[0]["inputs"].tolist().count(3) == 2  # [SEP]


def test_tables_and_questions_are_pairs_too(table_folder, encoder, tmp_path):
    vocabulary = encoder / "tokenizer.json"
    tables = register("mine", folder=table_folder, vocabulary=vocabulary, columns=2)
    assert tables.tasks == {variant: f"mine_{variant}" for variant in table_data.STEMS}
    (first, *_) = read("mine_tables_closed", {"inputs": 100, "targets": 1})
    assert first["inputs_pretokenized"].startswith(b"Tirol United scored 40 goals under Tirol Coach 1 . | Seasons of")
    assert len(read("mine_tables_fusion_top3", {"inputs": 300, "targets": 3})[0]["inputs"]) == 300
    (row, *_) = map(json.loads, (table_folder / "mine_tasks/tables_closed.train.jsonl").open())
    assert len(row["tables"][0]["header"]) == 2
    task = seqio.get_mixture_or_task("mine_tables_closed")
    assert task.model_card({"inputs": 100})["columns"] == 2
    tables.write_gin(tmp_path / "tables.gin")
    text = (tmp_path / "tables.gin").read_text()
    assert "'mine_tables_closed'" in text and "LABELS = 3" in text and "minilm-tables in the place" in text
    tables.write_gin(tmp_path / "fusion.gin", "tables_fusion_top3")
    text = (tmp_path / "fusion.gin").read_text()
    assert "{'inputs': 384, 'targets': 3}" in text and "models/table_fusion.gin" in text and "LABELS" not in text


def test_parts_have_two_classes(tmp_path, encoder):
    asked = test_register_questions.QUESTIONS
    write_json_lines(tmp_path / "questions.train.jsonl", asked)
    write_json_lines(tmp_path / "tables.jsonl", test_register_questions.TABLES)
    files = {"questions": tmp_path / "questions.train.jsonl", "tables": tmp_path / "tables.jsonl"}
    mine = register("mine", **files, vocabulary=encoder / "tokenizer.json")
    assert set(mine.tasks) == {"rows", "columns", "parts"}
    assert {len(row["targets"]) for row in read("mine_rows", {"inputs": 64, "targets": 1})} == {1}
    mine.write_gin(tmp_path / "parts.gin")
    text = (tmp_path / "parts.gin").read_text()
    assert "'mine_parts'" in text and "LABELS = 2" in text and "{'inputs': 80, 'targets': 1}" in text


def test_an_adapter_is_trained_exported_and_trained_further(folder, encoder, tmp_path):
    mine = register("mine", folder=folder, vocabulary=encoder / "tokenizer.json")
    size = {f"encoder.EncoderConfig.{name}": value for name, value in small_encoder.SIZE.items()}

    def trained(variant, initial, out):
        mine.write_gin(tmp_path / "mine.gin", variant)
        values = {"MODEL_DIR": tmp_path / out, "INITIAL_CHECKPOINT_PATH": str(initial), "TRAIN_STEPS": 2}
        short = {"BATCH_SIZE": 4, "TASK_FEATURE_LENGTHS": {"inputs": 64, "targets": 1}}
        assert run_gin([tmp_path / "mine.gin"], bindings_of({**values, **short, **size})).step == 2
        return export_adapter(ModelFolder.find(tmp_path / out), tmp_path / f"{out}-adapter")

    first = trained("label_pointwise", encoder, "first")
    short = {"CHECKPOINT_PATH": tmp_path / "first", "TASK_FEATURE_LENGTHS": {"inputs": 64, "targets": 1}, **size}
    for verb in ("eval", "infer"):
        values = {f"{verb.upper()}_OUTPUT_DIR": tmp_path / verb, **short}
        bindings = [f"--gin_bindings={binding}" for binding in bindings_of(values)]
        assert invoke([verb, f"--gin_file={tmp_path / 'mine.gin'}", f"--gin_file=runs/{verb}.gin", *bindings]) == 0
    metrics = json.loads((tmp_path / "eval/mine_label_pointwise-dev.json").read_text())["metrics"]
    assert "accuracy" in metrics
    for line in (tmp_path / "infer/mine_label_pointwise-predict.jsonl").read_text().splitlines():
        shares = json.loads(line)["prediction"]
        assert list(shares) == ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
        assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
    model = open_model(trained("label_listwise_infused", first, "second"))
    assert model.card["text"]["labels"] == ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
    assert str(model.format) == "label_listwise"
    assert ModelFolder.find(tmp_path / "second").card.content["adapter"]["base"] == str(encoder)  # one adapter, not two
    ranker = open_model(trained("rank", first, "third"))
    assert ranker.card["text"]["labels"] == ["relevant", "not relevant"]


@pytest.mark.skipif(not MODELS["minilm"].is_there, reason="needs MiniLM's files: lisax models get minilm")
@pytest.mark.parametrize("name", ["minilm", "minilm-text"])
def test_an_encoder_is_known_by_its_name(folder, tmp_path, name):
    mine = register("mine", folder=folder, vocabulary=name)
    vocabulary = seqio.get_mixture_or_task("mine_rank").output_features["inputs"].vocabulary
    assert vocabulary.file == str(MODELS["minilm"].folder / "tokenizer.json")
    mine.write_gin(tmp_path / "mine.gin", "rank")
    assert json.loads((tmp_path / "mine.json").read_text())["vocabulary"] == name
    assert register_file(tmp_path / "mine.json") is mine
    given = {"MODEL_DIR": "out", "INITIAL_CHECKPOINT_PATH": str(shipped.labeller()), "TRAIN_STEPS": 2}
    with gin_files.configured("train", [tmp_path / "mine.gin"], bindings_of(given)) as config:
        assert config.model.labels == 2 and config.adapter == Lora()


def test_what_does_not_fit_is_said(folder, encoder, tmp_path):
    with pytest.raises(LisaxError, match="`preset` is a wording of T5's inputs, .*tokenizer.json is an encoder's"):
        register("mine", folder=folder, vocabulary=encoder / "tokenizer.json", preset="released")
    for columns in (0, "3", True):
        with pytest.raises(LisaxError, match="`columns` must be an integer from 1 on"):
            register("mine", folder=folder, vocabulary=encoder / "tokenizer.json", columns=columns)
    with pytest.raises(LisaxError, match="`columns` is for claims that tables decide: leave it out"):
        register("mine", folder=folder, vocabulary=encoder / "tokenizer.json", columns=2)
    with pytest.raises(
        LisaxError, match="`tables` must be a tables.jsonl or a folder of tables, found .*x.csv: give its"
    ):
        register("mine", claims={"train": "c.jsonl"}, tables=tmp_path / "x.csv", vocabulary="minilm")
    assert not (folder / "mine_tasks").exists()


def test_lists_for_a_labeller_that_reads_few_sentences(folder, encoder):
    vocabulary = encoder / "tokenizer.json"
    mine = register("mine", folder=folder, vocabulary=vocabulary, sentences=2)
    claims = {split: len(CLAIMS[part]) for split, part in (("train", slice(9)), ("dev", slice(9, None)))}
    assert mine.counts["label_listwise_infused"] == {"train": 4 * claims["train"], "dev": claims["dev"]}
    rows = [
        json.loads(line) for line in (folder / "mine_tasks/label_listwise_infused.train.jsonl").read_text().splitlines()
    ]
    assert {len(row["sentences"]) for row in rows} == {1, 2}
    task = seqio.get_mixture_or_task("mine_label_listwise_infused")
    assert task.model_card({"inputs": 64})["sentences"] == 2
    assert "sentences" not in seqio.get_mixture_or_task("mine_label_listwise").model_card({"inputs": 64})
    plain, short = (ClaimDataset("mine", folder=folder, vocabulary=vocabulary, sentences=n) for n in (None, 2))
    assert plain.fingerprint() != short.fingerprint()
    for sentences in (0, 6, "2", True):
        with pytest.raises(LisaxError, match="`sentences` is an integer from 1 to 5"):
            register("mine", folder=folder, vocabulary=vocabulary, sentences=sentences)


def test_the_same_folder_by_another_path_has_the_same_examples(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    relative, absolute = (ClaimDataset("mine", folder=path, vocabulary="minilm") for path in (folder.name, folder))
    assert relative.fingerprint() == absolute.fingerprint()


def test_a_setting_that_shapes_the_examples_makes_them_again(folder):
    claims = {split: folder / f"claims.{split}.jsonl" for split in ("train", "dev")}
    given = {"claims": claims, "corpus": folder / "pages.jsonl", "run": folder / "pages.jsonl"}
    settings = [
        {"vocabulary": "bytes"},
        {"seed": 1},
        {"contrasts": 90},
        {"skip_bad": True},
        {"labels": {"yes": "SUPPORTS"}},
        {"claims": {"train": claims["train"], "test": claims["dev"]}},
        {"run": None, "reranked": given["run"]},
    ]
    made = [ClaimDataset("mine", **{**given, **changed}).fingerprint() for changed in [{}, *settings]]
    assert len(set(made)) == len(made)
