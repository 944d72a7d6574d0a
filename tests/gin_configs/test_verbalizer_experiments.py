"""The experiments of UDT-QA's verbalizer are whole: they parse, are what their names say, and fit their tasks."""

import pytest

from lisax.papers.verbalizer.recipe import VerbalizerRecipe
from lisax.sampling.verbal_examples import STEMS
from lisax.training.gin_files import GIN_CONFIGS, configured
from lisax.training.model_kinds import kind_of

FOLDER = GIN_CONFIGS / "experiments" / "udt_qa"


@pytest.mark.parametrize(
    "name, steps",
    [("verbalizer_t_large", 39143), ("verbalizer_t_f_large", 34447), ("verbalizer_t_f_id_t_large", 68894)],
)
def test_the_papers_models(name, steps):
    given = ["MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = 'given'", "VOCAB_SIZE = 256"]
    with configured("train", [FOLDER / f"{name}.gin"], given) as config:
        pass
    assert config.relative_steps == steps and config.train_data.batch_size == 8 and config.random_seed == 42
    assert config.train_data.mixture_or_task_name == name.removesuffix("_large").replace("verbalizer", "verbalize")
    assert config.train_data.task_feature_lengths == {"inputs": 384, "targets": 384}
    assert float(config.trainer.learning_rate_fn(0)) == pytest.approx(3e-5) and config.model.emb_dim == 1024
    kind_of(config.model).objective.check(config.model, config.loss, config.train_data.task_feature_lengths, False)


def test_the_micro_model():
    given = ["MODEL_DIR = 'out'", "VOCAB_SIZE = 256", "MIXTURE_OR_TASK_NAME = 'given'"]
    with configured("train", [FOLDER / "verbalizer_micro.gin"], given) as config:
        pass
    assert config.total_steps and config.checkpoint.save.best_metric in kind_of(config.model).objective.metrics


@pytest.mark.parametrize("name", ["verbalizer_scratch", "verbalizer_paper"])
def test_a_recipes_files_exist(name):
    recipe = VerbalizerRecipe.read([str(FOLDER / f"{name}.gin")])
    assert recipe.models == STEMS and all((GIN_CONFIGS / path).is_file() for path in recipe.train.values())
