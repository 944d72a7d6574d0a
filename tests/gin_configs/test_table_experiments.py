"""The experiments of open tables are whole: they parse, are what their names say, and fit their tasks."""

import pytest

from lisax.models.architectures import FusionConfig, T5Config
from lisax.papers.list5 import recipe as list5
from lisax.papers.open_tables.recipe import TableRecipe, task_of
from lisax.training.gin_files import GIN_CONFIGS, configured
from lisax.training.model_kinds import kind_of

FOLDER = GIN_CONFIGS / "experiments" / "open_tables"
SHARED = (
    *("fusion_common_large", "fusion_common_micro", "minilm_fusion_common"),
    *("tables_common_large", "scratch_micro", "world_micro"),
)
RECIPES = ("minilm", "minilm_fusion", "minilm_warmup", "paper_large", "scratch", "world", "world_closed")
FUSION = {
    **{f"minilm_fusion_{objective}": (objective, 2) for objective in ("joint", "reranking", "ternary", "uniform")},
    **{f"minilm_fusion_{objective}_no_attention": (objective, 0) for objective in ("joint", "uniform")},
}
ENCODERS = {"minilm_closed": "pair", "minilm_claim_only": "pair"} | dict.fromkeys(FUSION, "table_fusion")
SENTENCES = "sentences_first"  # a recipe of LisT5
MODELS = sorted(
    path.stem for path in FOLDER.glob("*.gin") if path.stem not in (*SHARED, *RECIPES, *ENCODERS, SENTENCES)
)


@pytest.mark.parametrize("name", MODELS)
def test_a_models_file_needs_only_what_is_given_on_the_command_line(name):
    given = ["MODEL_DIR = 'out'", "VOCAB_SIZE = 256"]
    fusion, large = name.startswith("fusion"), name.endswith("_large")
    if large:
        given += ["INITIAL_CHECKPOINT_PATH = 'given'"]
    else:
        given += ["MIXTURE_OR_TASK_NAME = 'given'", "TASK_FEATURE_LENGTHS = {'inputs': 96, 'targets': 3}"]
    with configured("train", [FOLDER / f"{name}.gin"], given) as config:
        pass
    assert type(config.model) is (FusionConfig if fusion else T5Config)
    assert config.model.backbone.vocab_size == 256
    assert config.total_steps or config.relative_steps
    lengths, objective = config.train_data.task_feature_lengths, kind_of(config.model).objective
    objective.check(config.model, config.loss, lengths, config.train_data.pack)
    assert config.checkpoint.save.best_metric in objective.metrics
    if large:
        assert config.model.backbone.emb_dim == 1024 and config.train_data.batch_size == 32
        task = name.removesuffix("_large").removesuffix("_no_attention")
        assert config.train_data.mixture_or_task_name == (f"tables_fusion_{task.split('_')[2]}" if fusion else task)
    if fusion:
        assert config.model.objective == name.split("_")[1]
        assert config.model.heads == (0 if "no_attention" in name else 2)
        if large:
            assert objective.text_length(config.model, lengths) == 512 and f"_top{lengths['targets']}_" in name
            schedule = config.trainer.learning_rate_fn
            rates = [float(schedule(step)) for step in (0, 15_000, 30_000, 45_000, 60_000)]
            assert rates == pytest.approx([1e-8, 2.5e-6, 5e-6, 2.5e-6, 1e-8], rel=1e-3)


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoders_file_trains_an_adapter_of_it(name):
    given = [
        "MODEL_DIR = 'out'",
        "INITIAL_CHECKPOINT_PATH = 'minilm'",
        f"MIXTURE_OR_TASK_NAME = 'tables_pair_{name.removeprefix('minilm_')}'",
        "TASK_FEATURE_LENGTHS = {'inputs': 96, 'targets': 1}",
    ]
    with configured("train", [FOLDER / f"{name}.gin"], given) as config:
        assert (config.model.kind, config.model.backbone.emb_dim) == (ENCODERS[name], 384)
        assert config.model.labels == (3 if ENCODERS[name] == "pair" else None)
        assert config.adapter.rank == 8 and config.total_steps
        if name in FUSION:
            assert (config.model.objective, config.model.heads) == FUSION[name] and config.model.vectors_once


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipes_files_exist(name):
    recipe = TableRecipe.read([FOLDER / f"{name}.gin"], ["T5_CHECKPOINT = 'a'"] if name == "paper_large" else [])
    for model, path in recipe.train.items():
        text = (GIN_CONFIGS / path).read_text()
        assert "MIXTURE_OR_TASK_NAME" not in text or f"MIXTURE_OR_TASK_NAME = '{task_of(model)}'" in text
    starts = {start.removeprefix("warm_up/") for start in recipe.initial.values() if start.startswith("warm_up/")}
    if recipe.warm_up:
        read = list5.Recipe.read if recipe.warm_up_pipeline == "list5" else TableRecipe.read
        assert starts <= read([recipe.warm_up]).train.keys()


def test_sentences_come_first():
    assert "label_pointwise" in list5.Recipe.read([FOLDER / f"{SENTENCES}.gin"]).train
