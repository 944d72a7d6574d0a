"""Every experiment's gin file is whole: it parses, names only what exists, and has the paper's settings."""

from __future__ import annotations

import pytest

from lisax.errors import LisaxError
from lisax.models.lora import Lora
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.deseption.recipe import TASKS, PointerRecipe
from lisax.papers.list5.recipe import Recipe
from lisax.papers.open_tables.recipe import TableRecipe, task_of
from lisax.papers.recipe import file_and_bindings
from lisax.papers.udt_qa.recipe import QuestionRecipe
from lisax.papers.verbalizer.recipe import VerbalizerRecipe
from lisax.planning.plan_search import Setting
from lisax.sampling.verbal_examples import STEMS
from lisax.training.gin_files import GIN_CONFIGS, bindings_of, configured
from lisax.training.model_kinds import kind_of
from lisax.training.optimizers import Adagrad, AdamW
from lisax.weights.interop.adapters import lora_of
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import is_named

FOLDER = GIN_CONFIGS / "experiments"
NAMES = {
    Recipe: "demo given label_variants minilm minilm_demo minilm_ranker minilm_taught mpnet paper_xl scratch warm_up",
    CltrRecipe: "minilm minilm_retriever paper_large scratch scratch_aggregation transfer warm_up world "
    "world_aggregation world_micro",
    PointerRecipe: "minilm paper_base scratch world",
    TableRecipe: "minilm minilm_fusion minilm_taught minilm_warmup mpnet paper_large scratch world world_closed world_micro",
    QuestionRecipe: "minilm minilm_zero_shot paper scratch world",
}
FOLDERS = dict(zip(NAMES, ("list5", "cltr", "deseption", "open_tables", "udt_qa")))
RECIPES = {f"{FOLDERS[recipe]}/{name}": recipe for recipe, names in NAMES.items() for name in names.split()}
RECIPES |= {"udt_qa/claims_micro": Recipe}
RECIPES |= {f"udt_qa/verbalizer_{name}": VerbalizerRecipe for name in ("paper", "scratch")}
# What others include.
SHARED = {"list5/adapter", "list5/world_micro", "open_tables/scratch_micro"}
SHARED |= {f"udt_qa/{name}" for name in ("minilm_questions", "questions_common_base", "questions_micro")}
WIDTHS = {"_micro": 32, "_base": 768, "_large": 1024, "_xl": 1024, "minilm_": 384, "mpnet_": 768}
# Of a model whose file does not give TASK_FEATURE_LENGTHS: two tables or passages, a class, numbers of two candidates.
INPUTS, TARGETS = 4800, {"evidence_pointer": 16, "pair": 1}
REQUIRED = [
    f"{name} = '{name}'"
    for name in "T5_CHECKPOINT MSMARCO_CHECKPOINT BASE_CHECKPOINT LARGE_CHECKPOINT VERBALIZER VOCABULARY".split()
]
RELATIONS = {"documents": "none", "evidence": "sequence", "evidence_set": "set", "evidence_reinforced": "set"}


def read(name):
    """A recipe, with what it asks for."""
    text = (FOLDER / f"{name}.gin").read_text()
    given = [line for line in REQUIRED if f"{line.split()[0]} = %gin.REQUIRED" in text]
    return RECIPES[name].read([FOLDER / f"{name}.gin"], given)


def config_of(model, *more):
    """A model's configuration, with what the pipeline gives."""
    gin_file, bindings = file_and_bindings(model)
    given = ["MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = 'given'", "VOCAB_SIZE = 256"]
    text = (GIN_CONFIGS / gin_file).read_text()
    if "MIXTURE_OR_TASK_NAME = " not in text:
        given += ["MIXTURE_OR_TASK_NAME = 'given'"]
    if "TASK_FEATURE_LENGTHS = " not in text:
        given += [f"TASK_FEATURE_LENGTHS = {{'inputs': {INPUTS}, 'targets': 2}}"]
    with configured("train", [gin_file], [*bindings_of(bindings), *given, *more]) as config:
        return config


def check(model, config):
    """Whether a model can learn from its batches and choose its checkpoints."""
    objective = kind_of(config.model).objective
    lengths = config.train_data.task_feature_lengths
    if lengths["inputs"] == INPUTS:
        targets = TARGETS.get(config.model.kind, 2)
        lengths = lengths | {"targets": targets + config.model.labels if config.loss.teacher else targets}
    objective.check(config.model, config.loss, lengths, config.train_data.pack)
    assert config.checkpoint.save.best_metric in (None, *objective.metrics)
    assert config.total_steps or config.relative_steps
    assert config.model.backbone.vocab_size == 256 or config.adapter
    stem = file_and_bindings(model)[0].rpartition("/")[2].removesuffix(".gin")
    width = next(width for mark, width in WIDTHS.items() if stem.startswith(mark) or f"_{stem}".endswith(mark))
    assert config.model.backbone.emb_dim == (64 if stem == "verbalizer_micro" else width)
    if stem.startswith(("minilm_", "mpnet_")):
        rank = file_and_bindings(model)[1].get("lora.Lora.rank", 14 if stem.startswith("mpnet_") else 8)
        assert config.adapter.like(None) == Lora(rank, 2.0 * rank)


def test_every_file_is_known_here():
    models = {file_and_bindings(model)[0] for name in RECIPES for model in read(name).train.values()}
    # A reader that generates its answers is tried against one that points to them; no recipe has it.
    models |= {"experiments/udt_qa/reader_micro.gin"}
    found = {str(path.relative_to(FOLDER)).removesuffix(".gin") for path in FOLDER.glob("*/*.gin")}
    named = {model.removeprefix("experiments/").removesuffix(".gin") for model in models}
    assert found == {*RECIPES, *SHARED, *named}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipes_models_can_be_trained_and_what_it_starts_from_is_made(name):
    recipe = read(name)
    for name, model in recipe.train.items():
        config = config_of(model)
        check(model, config)
        if is_named(start := recipe.initial.get(name, "")) and (shipped := ModelFolder.find(start)).has_card:
            adapter = lora_of(open_checkpoint(shipped, alone=True))
            assert config.adapter.like(adapter) == adapter  # it is trained further, and no second one above it
    if getattr(recipe, "claims", None):
        assert Recipe.read([recipe.claims]).train
    if getattr(recipe, "warm_up", None):
        other = getattr(recipe, "warm_up_pipeline", "") == "list5" or isinstance(
            recipe, (PointerRecipe, QuestionRecipe)
        )
        warm_up = (Recipe if other else type(recipe)).read([recipe.warm_up])
        starts = {start.removeprefix("warm_up/") for start in recipe.initial.values() if start.startswith("warm_up/")}
        assert starts <= warm_up.train.keys()
        assert not isinstance(recipe, CltrRecipe) or warm_up.max_tokens == recipe.max_tokens


@pytest.mark.parametrize(
    "name",
    "cltr/model_large deseption/pairs_base deseption/pointer_base list5/model_xl open_tables/fusion_large "
    "open_tables/tables_large udt_qa/verbalizer_large".split(),
)
def test_a_papers_model_needs_only_what_is_given_on_the_command_line(name):
    with configured(
        "train", [FOLDER / f"{name}.gin"], ["MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = 'given'"]
    ) as config:
        check(f"experiments/{name}.gin", config_of(f"experiments/{name}.gin"))
        assert config.train_data.mixture_or_task_name and config.train_data.task_feature_lengths


def test_the_paper_recipe_asks_for_its_checkpoints():
    with pytest.raises(LisaxError, match="MSMARCO_CHECKPOINT"):
        Recipe.read([FOLDER / "list5" / "paper_xl.gin"])


def test_list5_has_the_papers_settings():
    train = read("list5/paper_xl").train
    for name, model in train.items():
        config = config_of(model)
        found = (config.model.num_encoder_layers, config.train_data.batch_size, config.model.dropout_rate)
        assert found == (24, 128, 0.1)
        rate = 1e-4 if name.startswith("rank") else 1e-3
        assert float(config.trainer.learning_rate_fn(1000)) == pytest.approx(rate)
        assert Setting.of(config) == Setting(1, True, True, "values", None, 1)  # as the file's head was planned
    assert "14.6 GiB a core" in (FOLDER / "list5" / "model_xl.gin").read_text()


def test_cltr_has_the_papers_settings():
    for model, steps in zip(read("cltr/paper_large").train.values(), (3779, 915), strict=True):
        config = config_of(model)
        data = config.train_data
        assert (data.batch_size, data.task_feature_lengths["inputs"], config.relative_steps) == (128, 512, steps)
        assert isinstance(config.optimizer, AdamW)
        assert float(config.trainer.learning_rate_fn(1000)) == pytest.approx(2.5e-5)


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe is CltrRecipe])
def test_what_cltr_answers_with(name):
    recipe = read(name)
    assert recipe.aggregates == name.endswith("_aggregation")
    assert bool(recipe.scorers) == (name not in ("cltr/transfer", "cltr/minilm_retriever"))


@pytest.mark.parametrize("name", ["minilm", "paper_base", "scratch"])
def test_deseptions_pointers_are_what_their_names_say(name):
    recipe = read(f"deseption/{name}")
    assert recipe.train.keys() == recipe.initial.keys() == (RELATIONS if name == "minilm" else TASKS).keys()
    for model, relation in RELATIONS.items():
        config = config_of(recipe.train[model])
        pointer = config.model
        assert pointer.relation == relation
        assert pointer.reward_weight == (1 if model == "evidence_reinforced" else 0)
        if name == "minilm":
            assert pointer.vectors_once
        if name == "paper_base":
            assert config.optimizer == Adagrad(global_norm_clip_threshold=2.0) and config.train_data.batch_size == 16
            assert float(config.trainer.learning_rate_fn(1000)) == pytest.approx(0.01) and config.patience == 100
            assert (pointer.hidden, pointer.hops, pointer.beam_size, pointer.steps) == (200, 3, 5, 5)
            assert not pointer.train_encoder and pointer.pointer_weight == 1


@pytest.mark.parametrize("name", ["minilm_fusion", "paper_large", "scratch", "world"])
def test_fusion_models_are_what_their_names_say(name):
    for model, file in read(f"open_tables/{name}").train.items():
        if task_of(model).startswith("tables_fusion"):
            config = config_of(file)
            assert config.model.objective == model.split("_")[0]
            assert config.model.heads == (0 if model.endswith("_no_attention") else 2)
            if name == "paper_large":
                schedule = config.trainer.learning_rate_fn
                rates = [float(schedule(step)) for step in (0, 15_000, 30_000, 45_000, 60_000)]
                assert rates == pytest.approx([1e-8, 2.5e-6, 5e-6, 2.5e-6, 1e-8], rel=1e-3)
                assert config.train_data.batch_size == 32
            if name == "minilm_fusion":
                assert config.model.vectors_once


@pytest.mark.parametrize("name", ["minilm", "minilm_zero_shot", "paper", "scratch", "world"])
def test_readers_read_the_recipes_passages(name):
    recipe = read(f"udt_qa/{name}")
    assert config_of(recipe.train["reader"]).model.passages == recipe.passages
    if "reader_first" in recipe.train:
        assert config_of(recipe.train["reader_first"]).model.passages == 1


def test_a_users_questions_are_used_whole():
    """What the world's recipe withholds and leaves out is the world's."""
    recipe, world = read("udt_qa/scratch"), read("udt_qa/world")
    assert (recipe.withheld_pages, recipe.report_claims, recipe.checked_claims) == (0.0, None, None)
    assert (world.withheld_pages, world.report_claims, world.checked_claims) == (0.3, 1000, 2500)
    assert world.train == recipe.train and world.passages == recipe.passages


def test_the_verbalizer_has_the_papers_settings():
    recipe = read("udt_qa/verbalizer_paper")
    assert recipe.models == STEMS
    for model, steps in zip(STEMS, (39143, 34447, 68894), strict=True):
        config = config_of(recipe.train[model])
        assert (config.relative_steps, config.train_data.batch_size, config.random_seed) == (steps, 8, 42)
        assert config.train_data.task_feature_lengths == {"inputs": 384, "targets": 384}
        assert float(config.trainer.learning_rate_fn(0)) == pytest.approx(3e-5)
