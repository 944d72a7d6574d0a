"""The experiments of DeSePtion are whole: they parse, are what their names say, and have the paper's hyperparameters."""

import pytest

from lisax.models.architectures import PointerConfig, T5Config
from lisax.papers.deseption.recipe import TASKS, PointerRecipe
from lisax.papers.list5 import recipe as list5
from lisax.training.gin_files import GIN_CONFIGS, configured
from lisax.training.model_kinds import kind_of
from lisax.training.optimizers import Adagrad

FOLDER = GIN_CONFIGS / "experiments" / "deseption"
SIZES = {"micro": 32, "base": 768, "large": 1024}
RELATIONS = {"documents": "none", "evidence": "sequence", "evidence_set": "set", "evidence_reinforced": "set"}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("model", TASKS)
def test_a_models_file_needs_only_what_is_given_on_the_command_line(model, size):
    given = ["MODEL_DIR = 'out'", "VOCAB_SIZE = 256"]
    points = model not in ("titles", "labels")
    if size == "micro":
        given += ["MIXTURE_OR_TASK_NAME = 'given'", "TASK_FEATURE_LENGTHS = {'inputs': 96, 'targets': 16}"]
    else:
        given += ["INITIAL_CHECKPOINT_PATH = 'given'"]
    with configured("train", [FOLDER / f"{model}_{size}.gin"], given) as config:
        pass
    assert type(config.model) is (PointerConfig if points else T5Config)
    assert config.model.backbone.emb_dim == SIZES[size] and (config.total_steps or config.relative_steps)
    objective, lengths = kind_of(config.model).objective, config.train_data.task_feature_lengths
    objective.check(config.model, config.loss, lengths, config.train_data.pack)
    assert config.checkpoint.save.best_metric in objective.metrics
    if points:
        assert config.model.relation == RELATIONS[model]
        assert config.model.reward_weight == (1 if model == "evidence_reinforced" else 0)
    if size != "micro":
        assert config.train_data.mixture_or_task_name == TASKS[model]
    if points and size != "micro":
        assert config.optimizer == Adagrad(global_norm_clip_threshold=2.0) and config.train_data.batch_size == 16
        assert float(config.trainer.learning_rate_fn(1000)) == pytest.approx(0.01) and config.patience == 100
        assert (config.model.hidden, config.model.hops, config.model.beam_size, config.model.steps) == (200, 3, 5, 5)
        assert not config.model.train_encoder and config.model.pointer_weight == 1
        assert objective.text_length(config.model, lengths) == (64 if model == "documents" else 128)


@pytest.mark.parametrize("model", RELATIONS)
def test_a_pointer_on_minilm_is_an_adapter_of_it(model):
    recipe = PointerRecipe.read([FOLDER / "minilm.gin"])
    assert recipe.train.keys() == recipe.initial.keys() == RELATIONS.keys()
    given = ["MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = 'minilm'", "MIXTURE_OR_TASK_NAME = 'given'"]
    given += ["TASK_FEATURE_LENGTHS = {'inputs': 96, 'targets': 16}"]
    with configured("train", [recipe.train[model]], given) as config:
        assert (config.model.backbone.emb_dim, config.model.relation, config.adapter.rank) == (384, RELATIONS[model], 8)
        assert config.model.vectors_once
        assert config.checkpoint.save.best_metric in kind_of(config.model).objective.metrics


@pytest.mark.parametrize("name", ["world", "scratch", "paper_base"])
def test_a_recipes_files_exist(name):
    recipe = PointerRecipe.read([FOLDER / f"{name}.gin"], ["T5_CHECKPOINT = 'a'"] if name == "paper_base" else [])
    assert recipe.train.keys() == TASKS.keys()
    assert all((GIN_CONFIGS / path).is_file() for path in recipe.train.values())
    starts = {start.removeprefix("warm_up/") for start in recipe.initial.values() if start.startswith("warm_up/")}
    assert starts <= (list5.Recipe.read([recipe.warm_up]).train.keys() if recipe.warm_up else set())
