"""Published models in one command, through a server that speaks the Hub's protocol; their weights are random."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lisax.cli import main
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters
from tests.hub_server import environment, files_of, serving
from tests.published import V1_0, V1_1, publish, vocabulary


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """Environment variables of a process that asks the server."""
    folder = tmp_path_factory.mktemp("hub")
    pieces = vocabulary(folder).path
    made = {
        "monot5-base-msmarco-10k": publish(folder / "monot5", V1_0, pieces, 1),
        "duot5-base-msmarco": publish(folder / "duot5", V1_0, pieces, 2),
        "MiniCheck-Flan-T5-Large": publish(folder / "minicheck", V1_1, pieces, 3),
        "unlisted": publish(folder / "unlisted", V1_1, pieces, 4),
    }
    (folder / "pages").mkdir()
    (folder / "pages" / "Harbour.txt").write_text("The harbour was opened in 1921. Anna opened it. It is big.\n")
    with serving({name: files_of(path) for name, path in made.items()}) as server:
        yield folder, os.environ | environment(server, folder / "home") | {"LISAX_CACHE": str(folder / "cache")}


def lisax(hub, *arguments):
    folder, variables = hub
    return subprocess.run(
        [sys.executable, "-m", "lisax", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
    )


CHECK = ("check", "The harbour was opened in 1921. Anna is big.", "--corpus", "pages")


def test_a_claim_is_checked_by_published_models(hub):
    done = lisax(
        hub,
        *(*CHECK, "--ranker", "hf:castorini/monot5-base-msmarco-10k"),
        *("--verifier", "hf:lytang/MiniCheck-Flan-T5-Large"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("SUPPORTS  ", "NOT SUPPORTED  ")) and "REFUTES" not in done.stdout
    assert "NOT SUPPORTED 0." in done.stdout and "Harbour, sentence" in done.stdout


def test_one_that_is_not_listed_is_told_its_prompt_and_a_pairwise_ranker_follows_another(hub):
    done = lisax(
        hub,
        *(*CHECK, "--ranker", "hf:castorini/monot5-base-msmarco-10k,hf:castorini/duot5-base-msmarco"),
        *("--verifier", "hf:owner/unlisted", "--prompt", "premise: {text} hypothesis: {claim}"),
        *("--label-words", "yes,no,true"),
    )
    assert done.returncode == 0, done.stderr
    assert "REFUTES 0." in done.stdout and "NOT ENOUGH INFO 0." in done.stdout


def test_the_list_and_a_model_of_it_say_job_and_licence(hub, capsys):
    assert main(["models", "list"]) == 0
    listed = capsys.readouterr().out
    assert "MiniCheck-Flan-T5: verify; licence: MIT" in listed and "hf:castorini/monot5-3b-msmarco" in listed
    shown = lisax(hub, "models", "show", "hf:lytang/MiniCheck-Flan-T5-Large").stdout
    assert "'predict: {text}</s>{claim}'" in shown and "encoder/layers_0/attention/query/kernel" in shown


@pytest.mark.slow
def test_a_published_model_is_where_training_starts(hub):
    folder, variables = hub
    sizes = {name: getattr(V1_1, name) for name in ("vocab_size", "emb_dim", "num_heads", "head_dim", "mlp_dim")}
    sizes |= {"num_encoder_layers": 2, "num_decoder_layers": 2}
    given = {
        "MIXTURE_OR_TASK_MODULE": "'tiny_task'",
        "MIXTURE_OR_TASK_NAME": "'first_word'",
        "TASK_FEATURE_LENGTHS": "{'inputs': 12, 'targets': 6}",
        "MODEL_DIR": f"'{folder / 'trained'}'",
        "INITIAL_CHECKPOINT_PATH": "'hf:castorini/unlisted'",
        "TRAIN_STEPS": 1,
        "BATCH_SIZE": 8,
        **{f"T5Config.{name}": size for name, size in sizes.items()},
    }
    done = lisax(
        (folder, variables | {"PYTHONPATH": str(Path(__file__).parents[1] / "training")}),
        *("train", "--gin_file=models/t5_1_1_tiny.gin", "--gin_file=runs/finetune.gin"),
        *(f"--gin.{name}={value}" for name, value in given.items()),
    )
    assert done.returncode == 0, done.stderr
    assert "hf:castorini/unlisted" in done.stderr
    trained, published = (
        load_parameters(ModelFolder.find(folder / "trained")),
        load_parameters(ModelFolder.find(folder / "unlisted")),
    )
    moved = trained["token_embedder"]["embedding"] - published["token_embedder"]["embedding"]
    assert 0 < np.abs(moved).max() < 0.1
