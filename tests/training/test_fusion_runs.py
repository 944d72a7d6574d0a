"""Table fusion through the engine: trained, resumed, started from a T5, scored, exported."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from applying import applied
from checkpoint_files import assert_same, parameters_of
from fusion_task import LENGTH, MODEL, T5, TABLES, batch_of, config
from memory_task import restoring, saved

from lisax import cli
from lisax.devices.loop import TOKENS_PER_BATCH
from lisax.errors import LisaxError
from lisax.models.architectures import from_description
from lisax.models.fields import OBJECTIVES
from lisax.models.t5 import initialize
from lisax.models.table_fusion import probabilities
from lisax.models.table_truth import relevance, truth
from lisax.scoring.claims import FusionScorer
from lisax.training.gin_files import bindings_of, run_gin
from lisax.training.losses import Loss
from lisax.training.objectives import Fusion
from lisax.training.optimizers import AdamW
from lisax.training.schedules import Schedule
from lisax.training.train import Trainer, train
from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import flatten
from lisax.weights.model_folder import ModelFolder

LEARNING = {"trainer": Trainer(learning_rate_fn=Schedule("constant", 0.01)), "optimizer": AdamW(), "log_period": 100}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Six steps without interruption."""
    return train(config(tmp_path_factory.mktemp("whole"), 6))


def test_a_run_logs_its_metrics_and_describes_itself(whole):
    assert set(whole.metrics) == {"loss", "accuracy", "table_accuracy"}
    logged = [row for row in read_train_log(whole.model_dir) if row["kind"] == "train"]
    assert {"table_accuracy", "learning_rate", "tokens_per_second"} <= set(logged[-1])
    card = ModelFolder.find(whole.model_dir).card
    assert card["architecture"]["kind"] == "table_fusion"
    assert from_description(card["architecture"]) == MODEL


def test_a_plain_t5_starts_encoder_and_embedding_and_the_head_is_fresh(tmp_path, capfd):
    plain, start = saved(tmp_path / "t5", T5), tmp_path / "n"
    # Another layout than ours, read array by array; ours is in the test below.
    assert cli.main(["checkpoint", "export", f"{tmp_path}/t5", "--format=t5x-native", f"--out={start}"]) == 0
    frozen = Trainer(learning_rate_fn=lambda step: 0.0)
    result = train(config(tmp_path / "out", 8, trainer=frozen, checkpoint=restoring(start)))
    said = capfd.readouterr().err
    assert "has only the backbone: fusion begins fresh" in said and "starts at step 7" in said
    assert "fresh optimizer" in said
    fresh = flatten(initialize(MODEL))
    for name, leaf in flatten(result.parameters).items():
        if name.startswith("fusion/"):  # drawn in one program, and here array by array
            np.testing.assert_allclose(leaf, fresh[name], rtol=1e-6, atol=1e-7, err_msg=name)
        else:
            np.testing.assert_array_equal(leaf, plain[name], err_msg=name)


def test_scanned_layers_start_from_a_plain_t5_too(tmp_path):
    plain = saved(tmp_path / "t5", T5)
    result = train(
        config(
            tmp_path / "out",
            8,
            trainer=Trainer(learning_rate_fn=lambda step: 0.0),
            model=MODEL.replaced(scan_layers=True),
            checkpoint=restoring(tmp_path / "t5"),
        )
    )
    scanned = flatten(result.parameters)["encoder/encoder/mlp/wo/kernel"]
    np.testing.assert_array_equal(scanned[:, 0], plain["encoder/layers_0/mlp/wo/kernel"])


def test_another_fusion_model_gives_its_head_as_well(whole, tmp_path):
    result = train(
        config(tmp_path, 7, trainer=Trainer(learning_rate_fn=lambda step: 0.0), checkpoint=restoring(whole.model_dir))
    )
    assert_same(result.parameters, whole.parameters)


def test_what_only_the_other_tables_tell_is_learned_by_attention(tmp_path):
    seeing = train(config(tmp_path / "attention", 150, **LEARNING)).metrics
    assert seeing["table_accuracy"] > 0.95 and seeing["accuracy"] > 0.95
    alone = train(config(tmp_path / "alone", 150, model=dataclasses.replace(MODEL, heads=0), **LEARNING)).metrics
    assert alone["table_accuracy"] > 0.95 and alone["accuracy"] < 0.65


# --- Scoring -------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_scoring_is_the_forward_pass_of_training(objective, monkeypatch):
    monkeypatch.setitem(TOKENS_PER_BATCH, jax.default_backend(), 64)
    model = dataclasses.replace(MODEL, objective=objective)
    parameters, batch = initialize(model, 1), batch_of(5, rows=24)
    tables = batch["encoder_input_tokens"].reshape(24, TABLES, LENGTH)
    scorer = FusionScorer(model, parameters, texts=TABLES, max_tokens=LENGTH)
    scores = scorer.probabilities([[list(map(int, row)) for row in rows] for rows in tables])
    fused = applied(model, parameters, tables)
    np.testing.assert_allclose(scores.probabilities, probabilities(objective, fused), atol=1e-5)
    np.testing.assert_allclose(scores.attention, fused.attention, atol=1e-5)
    sums = jax.jit(Fusion().__call__, static_argnums=(0, 3))(model, parameters, batch, Loss(z_loss=0.0), None)
    gold = batch["decoder_target_tokens"] > 1
    if objective != "uniform":  # whose tables are all alike
        right = relevance(scores.probabilities).argmax(-1) == gold.argmax(-1)
        assert float(sums["right_tables"]) == right.sum()
    truths = truth(scores.probabilities)
    said = truths[:, 0] > truths[:, 1]
    assert float(sums["right_verdicts"]) == (said == (batch["decoder_target_tokens"] == 2).any(-1)).sum()


def test_claims_of_fewer_tables_and_other_lengths_in_any_order(monkeypatch):
    monkeypatch.setitem(TOKENS_PER_BATCH, jax.default_backend(), 128)
    parameters, rng = initialize(MODEL, 1), np.random.default_rng(0)
    claims = [
        [[*map(int, rng.integers(2, 60, rng.integers(0, 20))), 1] for _ in range(rng.integers(0, 4))] for _ in range(13)
    ]
    scorer = FusionScorer(MODEL, parameters, texts=TABLES, max_tokens=24)
    whole = scorer.probabilities(claims)
    backwards = scorer.probabilities(claims[::-1])
    np.testing.assert_allclose(backwards.probabilities[::-1], whole.probabilities, atol=1e-5)
    np.testing.assert_allclose(backwards.attention[::-1], whole.attention, atol=1e-5)
    for claim, shares in zip(claims, whole.probabilities):
        assert (shares[len(claim) :] == 0).all() and (shares[: len(claim)] > 0).all()
    empty = scorer.probabilities([])
    assert empty.probabilities.shape == (0, 3, 2) and empty.attention.shape == (0, 2, 3, 3)
    with pytest.raises(LisaxError, match="4 tables was given to a scorer of at most 3"):
        scorer.probabilities([[[1]] * 4])
    with pytest.raises(LisaxError, match="an input of 25 tokens"):
        scorer.probabilities([[[4] * 24 + [1]]])


# --- Files ---------------------------------------------------------------------------------


def test_checkpoints_are_shown_converted_and_scored(whole, tmp_path, capsys):
    claims = [[[2, 9, 1], [3, 8, 1]]]
    expected = FusionScorer(MODEL, whole.parameters, texts=TABLES, max_tokens=LENGTH).probabilities(claims)
    assert cli.main(["checkpoint", "show", str(whole.model_dir)]) == 0
    export = ["checkpoint", "export", str(whole.model_dir)]
    assert cli.main([*export, "--format=t5x-native", f"--out={tmp_path}/native"]) == 0
    assert_same(parameters_of(tmp_path / "native"), parameters_of(whole.model_dir))
    for path in (whole.model_dir, tmp_path / "native"):
        found = FusionScorer.open(ModelFolder.find(path), texts=TABLES, max_tokens=LENGTH).probabilities(claims)
        np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    saved(tmp_path / "t5", T5)
    with pytest.raises(LisaxError, match="is not a table fusion"):
        FusionScorer.open(ModelFolder.find(tmp_path / "t5"), texts=TABLES, max_tokens=LENGTH)
    assert cli.main([*export, "--format=huggingface", f"--out={tmp_path}/hf"]) == 1
    assert "is a table fusion, built on a backbone" in capsys.readouterr().err and not (tmp_path / "hf").exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"TASK_FEATURE_LENGTHS": {"inputs": 16, "targets": 3}}, "number of tables, and must divide"),
        ({"PACK": True}, "tables cannot be packed"),
        ({"LABEL_SMOOTHING": 0.1}, "neither Z_LOSS nor LABEL_SMOOTHING"),
        ({"OBJECTIVE": "both"}, "objective must be"),
    ],
)
def test_mistakes_are_sentences(tmp_path, fields, message):
    with pytest.raises(LisaxError, match=message):
        run_gin(GIN, bindings_of(TINY | {"MODEL_DIR": tmp_path / "out", "TRAIN_STEPS": 2} | fields))


GIN = ["models/t5_1_1_tiny.gin", "models/table_fusion.gin", "runs/pretrain.gin"]
TINY = {
    "MIXTURE_OR_TASK_MODULE": "tiny_fusion_task",
    "MIXTURE_OR_TASK_NAME": "tiny_fusion",
    "BATCH_SIZE": 8,
    "TASK_FEATURE_LENGTHS": {"inputs": TABLES * LENGTH, "targets": TABLES},
    "VOCAB_SIZE": 384,
    "PACK": False,
    "T5Config.num_encoder_layers": 1,
    "T5Config.num_decoder_layers": 1,
}


def test_a_seqio_task_is_trained_evaluated_and_predicted_from_gin(tmp_path):
    flags = [f"--gin_bindings={binding}" for binding in bindings_of(TINY)]
    of_task = [flag for flag in flags if "PACK" not in flag]
    files = [f"--gin_file={name}" for name in GIN[:2]]
    run = ["--gin_file=runs/pretrain.gin", *flags, f"--gin.MODEL_DIR={tmp_path}/out", "--gin.TRAIN_STEPS=3"]
    assert cli.main(["train", *files, *run]) == 0
    given = [*files, f"--gin.CHECKPOINT_PATH={tmp_path}/out"]
    assert cli.main(["eval", *given, "--gin_file=runs/eval.gin", *of_task, f"--gin.EVAL_OUTPUT_DIR={tmp_path}"]) == 0
    metrics = json.loads((tmp_path / "tiny_fusion-dev.json").read_text())["metrics"]
    assert set(metrics) == {"loss", "accuracy", "table_accuracy", "shares"} and metrics["shares"] == pytest.approx(1)
    assert cli.main(["infer", *given, "--gin_file=runs/infer.gin", *of_task, f"--gin.INFER_OUTPUT_DIR={tmp_path}"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "tiny_fusion-predict.jsonl").read_text().splitlines()]
    assert len(rows) == 11 and np.shape(rows[0]["prediction"]) == (TABLES, 2)
    assert np.shape(rows[0]["attention"]) == (2, TABLES, TABLES)
