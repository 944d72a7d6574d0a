"""`--gin_search_paths` holds for all that a recipe names, and what is not there is said before a stage has run."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from lisax import world
from lisax.cli import main
from lisax.training import gin_files

# command, kind of recipe, the one that is included, models that it must name
PAPERS = [
    ("list5", "Recipe", "list5/scratch", ["rank_entities"]),
    ("open-tables", "TableRecipe", "open_tables/scratch", ["closed"]),
    ("cltr", "CltrRecipe", "cltr/scratch", ["parts"]),
    ("deseption", "PointerRecipe", "deseption/scratch", ["documents", "evidence"]),
    ("udt-qa", "QuestionRecipe", "udt_qa/scratch", ["retriever", "reader"]),
    ("verbalizer", "VerbalizerRecipe", "udt_qa/verbalizer_scratch", ["verbalize_t_f", "verbalize_t_f_id_t"]),
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command that finds gin files in `mine`, from a folder where there are none."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(paper: str, *more: str) -> int:
        found = f"--gin_search_paths={tmp_path}/other,{tmp_path}/mine"
        return main(["run", paper, f"--out={tmp_path}/out", "--gin_file=recipe.gin", found, *more])

    return run


@pytest.mark.parametrize("there", [False, True], ids=["the model's file is missing", "what it includes is missing"])
@pytest.mark.parametrize("paper, kind, base, models", PAPERS, ids=[paper for paper, *_ in PAPERS])
def test_a_missing_file_is_refused_at_the_start(run, tmp_path, capsys, paper, kind, base, models, there):
    if there:
        (tmp_path / "mine/model.gin").write_text("include 'size.gin'\n")
    train = dict.fromkeys(models, "model.gin")
    (tmp_path / "mine/recipe.gin").write_text(
        f"include 'experiments/{base}.gin'\n{kind}.initial = {{}}\n{kind}.train = {train}\n"
    )
    data = []
    if paper in ("list5", "verbalizer"):  # others would generate a world
        data = [f"--data={tmp_path}/world", *([f"--tables={tmp_path}"] if paper == "verbalizer" else [])]
        world.write(tmp_path / "world", 60, 0)
    assert run(paper, *data) == 1
    error = capsys.readouterr().err
    missing = "size.gin" if there else "model.gin"
    assert f"{kind}.train['{models[0]}'] is 'model.gin': there is no gin file '{missing}' here" in error
    assert str(tmp_path / "mine") in error and str(tmp_path / "other") in error
    assert not (tmp_path / "out").exists()


def test_a_missing_recipe_of_the_warm_up_is_refused_too(run, tmp_path, capsys):
    (tmp_path / "mine/recipe.gin").write_text(
        "include 'experiments/open_tables/scratch.gin'\nTableRecipe.warm_up = 'warm.gin'\n"
    )
    assert run("open-tables") == 1
    assert "TableRecipe.warm_up is 'warm.gin': there is no gin file 'warm.gin' here" in capsys.readouterr().err


def test_files_of_models_and_of_the_warm_up_are_found(run, tmp_path, monkeypatch):
    trained = {}

    def read_alone(gin_files_of_run, bindings, **_):
        with gin_files.configured("train", gin_files_of_run, bindings) as config:
            trained[str(Path(config.model_dir).relative_to(tmp_path / "out"))] = config.model.mlp_dim
            Path(config.model_dir).mkdir(parents=True)
        return SimpleNamespace(step=0, metrics={}, best=None)

    monkeypatch.setattr(gin_files, "run_gin", read_alone)
    world.write(tmp_path / "world", 60, seed=1)
    mine = tmp_path / "mine"
    (mine / "size.gin").write_text("network.T5Config.mlp_dim = 24\n")
    (mine / "model.gin").write_text("include 'experiments/list5/micro.gin'\ninclude 'size.gin'\n")
    recipe = (
        "include 'experiments/list5/scratch.gin'\nRecipe.train = {'rank_entities': 'model.gin'}\n"
        "Recipe.initial = {}\nRecipe.vocabulary_size = 600\nRecipe.warm_up_pages = 60\n"
    )
    (mine / "warm.gin").write_text(f"{recipe}Recipe.warm_up = None\n")
    (mine / "recipe.gin").write_text(f"{recipe}Recipe.warm_up = 'warm.gin'\n")
    assert run("list5", f"--data={tmp_path}/world", "--until=train.rank_entities") == 0
    assert trained == {"warm_up/models/rank_entities": 24, "models/rank_entities": 24}
