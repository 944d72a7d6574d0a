"""What a recipe refuses, before anything is made."""

import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from lisax import world
from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.papers.base import REPORT, TRAIN
from lisax.papers.cltr.questions import QuestionPipeline
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.deseption.recipe import PointerRecipe
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.run import List5
from lisax.papers.list5.selection import SelectionPipeline
from lisax.papers.open_tables.recipe import TableRecipe
from lisax.papers.settings import View, value_of
from lisax.papers.udt_qa.recipe import QuestionRecipe
from lisax.records import Question

ENCODER = {"backbone": "minilm"}
RANKER, LABELLER = {"train": {"rank_entities": "a.gin"}}, {"train": {"label_listwise": "a.gin"}}
PARTS, POINTERS = {"train": {"parts": "a.gin"}}, {"train": {"documents": "a.gin", "evidence": "b.gin"}}


def test_an_error_has_no_calls_of_gin():
    with pytest.raises(LisaxError, match="^Recipe.hops must be 1 or 2, found 3$"):
        Recipe.read(["experiments/list5/scratch.gin"], ["Recipe.hops = 3"])


@pytest.mark.parametrize(
    "recipe, settings, told",
    [
        (Recipe, {"train": {"label_listwise": "a.gin"}}, "must name a gin file for 'rank_entities'"),
        (Recipe, {**ENCODER, "train": {"base": "a.gin"}}, "names base, which is for T5"),
        (Recipe, {**ENCODER, **LABELLER, "warm_up": "a.gin"}, "brings its own vocabulary and needs no warm-up"),
        (Recipe, {**RANKER, "retriever": "minilm"}, "in the place of a backbone's vectors: name a backbone"),
        (Recipe, {**RANKER, "method": "google"}, "method must be one of bm25, titles, both, mediawiki"),
        (Recipe, {**RANKER, "k1_grid": (0.5,)}, "k1_grid and Recipe.b_grid go together"),
        (Recipe, {**RANKER, "k1": -5.0}, "Recipe.k1 must be at least 0, found -5.0"),
        (Recipe, {**RANKER, "b_grid": (0.5, 7)}, re.escape("Recipe.b_grid must lie between 0 and 1, found (0.5, 7)")),
        (
            Recipe,
            {**RANKER, "ranking_window": (40, 1)},
            "ranking_window must be two ranks, the first and the last, from 1",
        ),
        (Recipe, {**RANKER, "base_window": (0, 3)}, "base_window must be two ranks"),
        (Recipe, {**RANKER, "base_window": (1, 2, 3)}, "base_window must be two ranks"),
        (Recipe, {**RANKER, "seed": -1}, "Recipe.seed must be at least 0, found -1"),
        (Recipe, {**RANKER, "infused_lists": -1}, "Recipe.infused_lists must be at least 0"),
        (Recipe, {**RANKER, "vocabulary_size": 3}, "Recipe.vocabulary_size must be at least"),
        (Recipe, {**RANKER, "preset": "nope"}, "Recipe.preset must be 'paper' or .*found 'nope'"),
        (Recipe, {**RANKER, "contrasts": -1}, "contrasts must be at least 0, found -1"),
        (Recipe, {**RANKER, "written": -2}, "written must be at least 0, found -2"),
        (Recipe, {**ENCODER, **LABELLER, "reranked": 0}, "Recipe.reranked must be at least 1, found 0"),
        (CltrRecipe, {"models": {"own": "x", "parts": "y"}}, "names 'own', which others start from"),
        (
            CltrRecipe,
            {**ENCODER, "train": {"parts": "a.gin", "aggregation": "b.gin"}},
            "'aggregation', which is for T5",
        ),
        (CltrRecipe, {**ENCODER, **PARTS, "warm_up": "a.gin"}, "CltrRecipe.backbone brings its own vocabulary"),
        (CltrRecipe, {**PARTS, "scored": 0}, "scored must be at least 1"),
        (CltrRecipe, {"train": {"retriever": "a.gin"}}, "a 'retriever' is trained, on a backbone"),
        (CltrRecipe, {**ENCODER, "models": {"retriever": "a"}}, "a 'retriever' is trained, on a backbone"),
        (CltrRecipe, {**PARTS, "models": {"parts": "a"}}, "'parts' is to be trained and is given as well"),
        (CltrRecipe, {**PARTS, "question_tokens": 0}, "question_tokens must be at least 1"),
        (TableRecipe, {"train": {"joint_top4": "a"}}, "TableRecipe.train names joint_top4"),
        (TableRecipe, {"strategy": "bm25"}, "no strategy is named"),
        (TableRecipe, {"entities": "all"}, "must be 'spans' or 'linked'"),
        (TableRecipe, {"wording": "spoken"}, "TableRecipe.wording must be 'lemmatised' or 'written', found 'spoken'"),
        (TableRecipe, {"columns": 0}, "at least 1"),
        (TableRecipe, {**ENCODER, "vocabulary": "spiece.model"}, "backbone brings its own vocabulary"),
        (TableRecipe, {**ENCODER, "train": {"claim_only": "a.gin"}, "teacher": "x"}, "teaches the model 'closed'"),
        (TableRecipe, {**ENCODER, "train": {"claim_only": "a.gin"}, "written": 9}, "learned by the model 'closed'"),
        (TableRecipe, {"written": -1}, "written must be at least 0, found -1"),
        (TableRecipe, {"wrong_tables": 2}, "wrong_tables must lie between 0 and 1, found 2"),
        (PointerRecipe, {"train": {"pairs": "a"}}, "PointerRecipe.train names pairs"),
        (PointerRecipe, {"train": {"documents": "a"}}, "file for 'evidence'"),
        (PointerRecipe, {**POINTERS, "documents": 40}, "from 1 to the 30 candidates"),
        (PointerRecipe, {"attacked_share": 1.0}, "attacked_share must be"),
        (PointerRecipe, {"attacked_claims": 0}, "attacked_claims must be"),
        (PointerRecipe, {**POINTERS, "sentences": 0}, "sentences must be at least 1"),
        (
            PointerRecipe,
            {**ENCODER, "train": {**POINTERS["train"], "titles": "c.gin"}},
            "names titles, which is for T5",
        ),
        (
            QuestionRecipe,
            {"train": {"reader": "a.gin"}},
            "unless method is 'bm25' or there is a backbone, for 'retriever'",
        ),
        (QuestionRecipe, {"train": {"retriever": "x"}}, "a gin file for 'reader'"),
        (QuestionRecipe, {"train": {"writer": "x"}}, "names writer"),
        (QuestionRecipe, {"indexes": ("raw",)}, "must hold 'text'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(recipe, settings, told):
    with pytest.raises(LisaxError, match=told):
        recipe(**settings)


@pytest.mark.parametrize(
    "setting, told",
    [
        ("method = 'magic'", "found 'magic'"),
        ("passages = 7", "one of 1, 5, 10, 20, 50, 100, found 7"),
        ("train = {'reader': 'x', 'retriever_second': 'y'}", "name it too"),
    ],
)
def test_settings_of_questions(setting, told):
    with pytest.raises(LisaxError, match=told):
        QuestionRecipe.read(["experiments/udt_qa/world.gin"], [f"QuestionRecipe.{setting}"])


@pytest.mark.parametrize(
    "recipe, folder, setting",
    [
        *((Recipe, "list5", setting) for setting in ("candidates", "train_claims", "negative_rounds", "max_tokens")),
        (TableRecipe, "open_tables", "report_claims"),
        (CltrRecipe, "cltr", "report_questions"),
        (PointerRecipe, "deseption", "candidates"),
        (QuestionRecipe, "udt_qa", "train_questions"),
    ],
)
@pytest.mark.parametrize("value", [0, -5])
def test_counts_are_at_least_one(recipe, folder, setting, value):
    with pytest.raises(LisaxError, match=f"{recipe.__name__}.{setting} must be at least 1, found {value}$"):
        recipe.read([f"experiments/{folder}/scratch.gin"], [f"{recipe.__name__}.{setting} = {value}"])


def settings_of_rankings(recipe):
    """The settings that the ranking of training claims reads, with their values."""
    seen = {}
    run = SimpleNamespace(recipe=View(recipe, seen.setdefault), model_dir=Path, _rank_by=lambda *_: None)
    SelectionPipeline._rank(run, "rank_entities", TRAIN)
    return {setting: value_of(recipe, setting) for setting in seen}


def settings_of_questions(recipe):
    seen = {}
    found = {REPORT: {"q": Question("q", "Who?", evidence=("t#r0c0",))}}
    run = SimpleNamespace(recipe=View(recipe, seen.setdefault), _by_role=lambda _: found, _answered=print)
    run.data = SimpleNamespace(folder="data")
    inspect.getattr_static(QuestionPipeline, "questions")._compute(run)
    return {setting: value_of(recipe, setting) for setting in seen}


@pytest.mark.parametrize(
    "made, settings_of, some, more",
    [
        (
            Recipe,
            settings_of_rankings,
            ("rank_entities", "label_listwise"),
            ("rank_entities", "label_listwise", "label_pointwise"),
        ),
        (CltrRecipe, settings_of_questions, ("parts",), ("rows", "columns")),
    ],
)
def test_what_was_ranked_or_read_serves_another_model_too(made, settings_of, some, more):
    found, again = (settings_of(made(**ENCODER, train=dict.fromkeys(names, "a.gin"))) for names in (some, more))
    assert found and found == again


@pytest.mark.parametrize(
    "binding, message",
    [
        (
            "TRAIN_STEPS = 5",
            "TRAIN_STEPS is set and Recipe does not read it. Recipe.train takes the settings of a model's",
        ),
        ("train.eval_period = 5", "train.eval_period is set and Recipe does not read it"),
        ("Recipe.documents = [1", "Recipe.documents = [1: a bracket or a quote is not closed"),
        ("Recipe.documents = %FOO", "the macro FOO is read and nothing sets it. Give --gin.FOO=…"),
        ("Recipe.ranking_window = 5", "Recipe.ranking_window must be a list of whole numbers, found 5"),
        (
            "Recipe.train = {'rank_entities': ('x.gin',)}",
            "train['rank_entities'] must be a gin file, or a pair of it and",
        ),
        (
            "Recipe.train = {'rank_entities': None}",
            "train['rank_entities'] must be a gin file, or a pair of it and values",
        ),
        ("Recipe.initial = {'rank_entities': 5}", "Recipe.initial['rank_entities'] must be a text, found 5"),
    ],
)
def test_a_mistake_in_a_recipe_is_named(binding, message):
    with pytest.raises(LisaxError, match=re.escape(message)):
        Recipe.read(["experiments/list5/scratch.gin"], [binding])


def test_a_setting_that_a_macro_gives_is_read(tmp_path):
    (tmp_path / "mine.gin").write_text("include 'experiments/list5/scratch.gin'\nRecipe.documents = %MINE\n")
    assert Recipe.read([tmp_path / "mine.gin"], ["MINE = 7"]).documents == 7


@pytest.mark.parametrize("model, start", [("rank_entities", "label_listwise"), ("base", "base")])
def test_a_model_starts_from_one_that_is_trained_before_it(tmp_path, model, start):
    world.write(tmp_path / "data", 20)
    train = dict.fromkeys(("base", "rank_entities", "label_listwise"), "experiments/list5/micro.gin")
    run = List5(open_folder(tmp_path / "data"), tmp_path / "out", Recipe(train=train, initial={model: start}))
    with pytest.raises(LisaxError, match=f"train.{model} waits for train.{start}, which does not come before it"):
        run.plan()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"vocabulary": "missing.model"}, "Recipe.vocabulary: missing.model: no such vocabulary"),
        ({"initial": {"rank_entities": "missing"}}, "Recipe.initial['rank_entities'] is 'missing', which is neither a"),
        ({"initial": {"rank_entities": "base"}}, "Recipe.train does not name it"),
        (
            {"labeller": "nope"},
            "Recipe.labeller is 'nope', which is neither a checkpoint or bundle nor a name of `lisax",
        ),
        ({"zero_shot": "bm25,nope"}, "Recipe.zero_shot is 'nope'"),
        (
            {"TRAIN_STEP": 20},
            "['rank_entities']: gin: the macro TRAIN_STEP is set and nothing reads it. Did you mean T",
        ),
        ({"TRAIN_STEPS": "x"}, "(set by TRAIN_STEPS) must be a whole number, found 'x'"),
        ({"TRAIN_STEPS": 0}, "Recipe.train['rank_entities']: TRAIN_STEPS must be at least 1, found 0"),
    ],
)
def test_wrong_inputs_are_named_before_any_stage(settings, message):
    values = {name: settings.pop(name) for name in [*settings] if name.isupper()}
    train = {"rank_entities": ("experiments/list5/micro.gin", values)}
    Recipe(train={"rank_entities": "experiments/list5/micro.gin"}, labeller="minilm-text").check_inputs()
    with pytest.raises(LisaxError, match=re.escape(message)):
        Recipe(train=train, **settings).check_inputs()


@pytest.mark.parametrize(
    "recipe, name",
    [(QuestionRecipe, "udt_qa/world"), (CltrRecipe, "cltr/world"), (PointerRecipe, "deseption/world")]
    + [(TableRecipe, "open_tables/world"), (Recipe, "list5/minilm")],
)
def test_recipes_of_ours_have_no_wrong_input(recipe, name):
    recipe.read([f"experiments/{name}.gin"]).check_inputs()
