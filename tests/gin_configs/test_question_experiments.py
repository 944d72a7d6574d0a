"""The gin files of question answering are whole: they parse, and name only what exists."""

from __future__ import annotations

import pytest

from lisax.models.architectures import DualEncoderConfig, ReaderConfig, SpanReaderConfig
from lisax.papers.list5.recipe import Recipe
from lisax.papers.udt_qa.recipe import QuestionRecipe
from lisax.training.gin_files import GIN_CONFIGS, configured

FOLDER = GIN_CONFIGS / "experiments" / "udt_qa"
KINDS = {
    "retriever_micro": DualEncoderConfig,
    "retriever_second_micro": DualEncoderConfig,
    "span_reader_micro": SpanReaderConfig,
    "reader_micro": ReaderConfig,
    "retriever_base": DualEncoderConfig,
    "retriever_second_base": DualEncoderConfig,
    "span_reader_large": SpanReaderConfig,
    "reader_large": ReaderConfig,
}
REQUIRED = ["BASE_CHECKPOINT = 'a'", "LARGE_CHECKPOINT = 'b'", "VERBALIZER = 'c'", "VOCABULARY = 'd'"]


@pytest.mark.parametrize("name", KINDS)
def test_a_models_file_needs_only_what_the_pipeline_gives(name):
    given = [
        "MODEL_DIR = 'out'",
        "VOCAB_SIZE = 256",
        "MIXTURE_OR_TASK_NAME = 'questions_retrieve'",
        "TASK_FEATURE_LENGTHS = {'inputs': 800, 'targets': 2}",
    ]
    if not name.endswith("_micro"):
        given.append("INITIAL_CHECKPOINT_PATH = 'given'")
    with configured("train", [FOLDER / f"{name}.gin"], given) as config:
        assert type(config.model) is KINDS[name] and config.model.backbone.vocab_size == 256
        assert config.total_steps or config.relative_steps
        assert name.startswith("reader") or config.loss.z_loss == 0.0


@pytest.mark.parametrize("name", ["world", "scratch", "paper"])
def test_a_recipes_files_exist_and_agree_with_it(name):
    recipe = QuestionRecipe.read([FOLDER / f"{name}.gin"], REQUIRED if name == "paper" else [])
    for path in [*recipe.train.values(), *([recipe.claims] if recipe.claims else [])]:
        assert (GIN_CONFIGS / path).is_file(), path
    if recipe.warm_up:
        made = Recipe.read([recipe.warm_up]).train
        assert {start.removeprefix("warm_up/") for start in recipe.initial.values()} <= made.keys()
    given = [
        "MODEL_DIR = 'out'",
        "VOCAB_SIZE = 256",
        "MIXTURE_OR_TASK_NAME = 'x'",
        "INITIAL_CHECKPOINT_PATH = 'y'",
        "TASK_FEATURE_LENGTHS = {'inputs': 800, 'targets': 2}",
    ]
    with configured("train", [recipe.train["reader"]], given) as config:
        assert config.model.passages == recipe.passages


@pytest.mark.parametrize(("name", "vectors"), [("minilm_zero_shot", False), ("minilm", True)])
def test_models_on_minilm_are_adapters_of_it(name, vectors):
    recipe = QuestionRecipe.read([FOLDER / f"{name}.gin"])
    assert recipe.backbone == "minilm" and ("retriever" in recipe.train) == vectors
    given = ["MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = 'minilm'", "MIXTURE_OR_TASK_NAME = 'x'"]
    given += ["TASK_FEATURE_LENGTHS = {'inputs': 960, 'targets': 2}"]
    for model, path in recipe.train.items():
        with configured("train", [path], given) as config:
            assert type(config.model) is (SpanReaderConfig if model.startswith("reader") else DualEncoderConfig)
            assert config.model.backbone.emb_dim == 384 and config.adapter.rank == 8
            assert model != "reader" or config.model.passages == recipe.passages


def test_a_users_data_is_used_whole():
    """What the world's recipe withholds and leaves out is the world's."""
    recipe, world = (QuestionRecipe.read([FOLDER / f"{name}.gin"]) for name in ("scratch", "world"))
    assert (recipe.withheld_pages, recipe.report_claims, recipe.checked_claims) == (0.0, None, None)
    assert (world.withheld_pages, world.report_claims, world.checked_claims) == (0.3, 1000, 2500)
    assert world.train == recipe.train and world.passages == recipe.passages
