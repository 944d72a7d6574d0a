"""The experiments of CLTR are whole: they parse, have the paper's settings, and fit their tasks."""

import pytest

from lisax.papers.cltr.recipe import MODELS, OWN, RETRIEVER, CltrRecipe
from lisax.training.gin_files import GIN_CONFIGS, configured
from lisax.training.optimizers import AdamW

FOLDER = GIN_CONFIGS / "experiments" / "cltr"
LARGE = [f"{model}_{size}" for model in MODELS if model not in (OWN, RETRIEVER) for size in ("base", "large")]
MICRO = ["parts_micro", "rows_micro", "columns_micro", "aggregation_micro", "parts_world_micro", "own_micro"]
RECIPES = [
    "minilm",
    "minilm_retriever",
    "paper_large",
    "scratch",
    "scratch_aggregation",
    "transfer",
    "warm_up",
    "world",
    "world_aggregation",
    "world_micro",
]


def test_every_file_is_known_here():
    assert {path.stem for path in FOLDER.glob("*.gin")} == {
        *(*LARGE, *MICRO, *RECIPES),
        *("common_large", "common_micro", "minilm_parts", "minilm_table_retriever"),
    }


@pytest.mark.parametrize("name", LARGE)
def test_large_models_have_the_papers_settings(name):
    with configured(
        "train", [FOLDER / f"{name}.gin"], ["MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = 'given'"]
    ) as config:
        assert config.model.emb_dim == (768 if name.endswith("base") else 1024)
    data = config.train_data
    assert (data.batch_size, data.task_feature_lengths["inputs"]) == (128, 512)
    assert data.mixture_or_task_name == f"cltr_{name.partition('_')[0]}"
    assert isinstance(config.optimizer, AdamW) and float(config.trainer.learning_rate_fn(1000)) == pytest.approx(2.5e-5)
    assert config.total_steps is None and config.relative_steps


@pytest.mark.parametrize("name", MICRO)
def test_micro_models_get_their_task_from_the_pipeline(name):
    given = [
        "MODEL_DIR = 'out'",
        "VOCAB_SIZE = 256",
        "MIXTURE_OR_TASK_NAME = 'cltr_parts'",
        "TASK_FEATURE_LENGTHS = {'inputs': 96, 'targets': 2}",
    ]
    with configured("train", [FOLDER / f"{name}.gin"], given) as config:
        assert config.model.emb_dim == 32 and config.total_steps
        assert (config.checkpoint.save.best_metric, config.checkpoint.save.best_mode) == ("loss", "min")


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipes_files_exist(name):
    recipe = CltrRecipe.read([FOLDER / f"{name}.gin"], ["T5_CHECKPOINT = 'a'"] if name == "paper_large" else [])
    assert all((GIN_CONFIGS / path).is_file() for path in recipe.train.values())
    if recipe.warm_up:
        starts = {start.removeprefix("warm_up/") for start in recipe.initial.values() if start.startswith("warm_up/")}
        warm_up = CltrRecipe.read([recipe.warm_up])
        assert starts <= warm_up.train.keys() and warm_up.max_tokens == recipe.max_tokens
    assert recipe.aggregates == name.endswith("_aggregation")
    assert bool(recipe.scorers) == (name not in ("transfer", "minilm_retriever"))


def test_the_encoders_file_trains_an_adapter_of_it():
    given = [
        "MODEL_DIR = 'out'",
        "INITIAL_CHECKPOINT_PATH = 'minilm'",
        "MIXTURE_OR_TASK_NAME = 'cltr_pair_parts'",
        "TASK_FEATURE_LENGTHS = {'inputs': 96, 'targets': 1}",
    ]
    with configured("train", [FOLDER / "minilm_parts.gin"], given) as config:
        assert (config.model.kind, config.model.labels, config.model.backbone.emb_dim) == ("pair", 2, 384)
        assert config.adapter.rank == 8 and config.total_steps


def test_the_retrievers_file_trains_cosines_by_an_adapter():
    given = [
        "MODEL_DIR = 'out'",
        "INITIAL_CHECKPOINT_PATH = 'minilm'",
        "MIXTURE_OR_TASK_NAME = 'questions_retrieve'",
        "TASK_FEATURE_LENGTHS = {'inputs': 672, 'targets': 3}",
    ]
    with configured("train", [FOLDER / "minilm_table_retriever.gin"], given) as config:
        assert config.model.kind == "dual_encoder" and config.model.normalized and config.model.tied
        assert config.adapter.rank == 8 and config.total_steps
