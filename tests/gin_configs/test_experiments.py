"""Every experiment's gin file is whole: it parses, and names only what exists."""

from pathlib import Path

import pytest

from lisax.errors import LisaxError
from lisax.papers.list5.recipe import Recipe
from lisax.planning.plan_search import Setting
from lisax.training.gin_files import GIN_CONFIGS, configured

FOLDER = GIN_CONFIGS / "experiments" / "list5"
RECIPES = (
    "demo",
    "given",
    "scratch",
    "warm_up",
    "label_variants",
    "paper_xl",
    "minilm",
    "minilm_demo",
    "minilm_ranker",
)
SHARED = ("scratch_micro", "world_micro", "paper_common_xl")
ENCODERS = ("minilm_label", "minilm_claim_only", "minilm_demo_label", "minilm_demo_claim_only", "minilm_rerank")
MODELS = sorted(path.stem for path in FOLDER.glob("*.gin") if path.stem not in (*RECIPES, *SHARED, *ENCODERS))
CHECKPOINTS = ["MSMARCO_CHECKPOINT = 'a'", "T5_CHECKPOINT = 'b'"]


@pytest.mark.parametrize("name", MODELS)
def test_a_models_file_needs_only_what_is_given_on_the_command_line(name):
    given = ["MODEL_DIR = 'out'", "VOCAB_SIZE = 256"]
    if name.endswith("_micro"):
        given += ["MIXTURE_OR_TASK_NAME = 'list5_rank'", "TASK_FEATURE_LENGTHS = {'inputs': 64, 'targets': 2}"]
    else:
        given += ["INITIAL_CHECKPOINT_PATH = 'given'"]
    with configured("train", [FOLDER / f"{name}.gin"], given) as config:
        assert config.total_steps or config.relative_steps
        assert config.model.vocab_size == 256
        expected = (0.0, 0.1) if name.endswith("_micro") else (0.1,)
        assert config.model.dropout_rate in expected
    if name.endswith("_xl"):
        assert (config.model.emb_dim, config.model.num_encoder_layers, config.train_data.batch_size) == (1024, 24, 128)
        found = Setting.of(config)  # as the file's head was planned
        assert found == Setting(4, True, False, "attention", None, 2)
        assert "13.6 GiB a core" in (FOLDER / f"{name}.gin").read_text()


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoders_file_trains_an_adapter_of_it(name):
    given = [
        "MODEL_DIR = 'out'",
        "INITIAL_CHECKPOINT_PATH = 'minilm'",
        "MIXTURE_OR_TASK_NAME = 'list5_pair_claim_only'",
    ]
    given += ["TASK_FEATURE_LENGTHS = {'inputs': 64, 'targets': 1}"]
    with configured("train", [FOLDER / f"{name}.gin"], given) as config:
        labels = 2 if name == "minilm_rerank" else 3
        assert (config.model.kind, config.model.labels, config.model.backbone.emb_dim) == ("pair", labels, 384)
        assert (config.adapter.rank, config.adapter.scale) == (8, 2.0) and config.total_steps in (
            20,
            152,
            240,
            608,
            770,
        )


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipes_files_exist(name):
    recipe = Recipe.read([FOLDER / f"{name}.gin"], CHECKPOINTS if name == "paper_xl" else [])
    for path in [*recipe.train.values(), *([recipe.warm_up] if recipe.warm_up else [])]:
        assert (GIN_CONFIGS / path).is_file(), path
    if recipe.warm_up:
        made = Recipe.read([recipe.warm_up]).train
        assert {start.removeprefix("warm_up/") for start in recipe.initial.values()} <= made.keys()


def test_the_paper_recipe_asks_for_its_checkpoints():
    with pytest.raises(LisaxError, match="MSMARCO_CHECKPOINT"):
        Recipe.read([Path(FOLDER / "paper_xl.gin")])
