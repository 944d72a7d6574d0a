"""The graph of stages of every recipe that is brought along, over a small world."""

import pytest

from lisax import world
from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.papers.cltr.run import Cltr
from lisax.papers.deseption.run import Deseption
from lisax.papers.list5.run import List5
from lisax.papers.open_tables.run import OpenTables
from lisax.papers.udt_qa.run import UdtQa

T5 = "T5_CHECKPOINT = 'a'"
QUESTIONS = ["BASE_CHECKPOINT = 'a'", "LARGE_CHECKPOINT = 'b'", "VERBALIZER = 'c'", "VOCABULARY = 'd'"]
RECIPES = [
    *((List5, f"list5/{name}", []) for name in "demo minilm_demo minilm scratch label_variants warm_up".split()),
    (List5, "list5/given", ["Recipe.labeller = 'minilm-text'"]),
    (List5, "list5/paper_xl", ["MSMARCO_CHECKPOINT = 'b'", T5]),
    (List5, "list5/demo", ["Recipe.attacks = True", "Recipe.attacked_share = 0.2", "Recipe.hops = 2"]),
    (List5, "list5/demo", ["Recipe.fuse_bm25 = True", "Recipe.temporal = True"]),
    *((OpenTables, f"open_tables/{name}", []) for name in ("scratch", "world", "world_closed")),
    (OpenTables, "open_tables/paper_large", [T5]),
    *((Cltr, f"cltr/{name}", []) for name in "scratch scratch_aggregation world world_aggregation warm_up".split()),
    (Cltr, "cltr/paper_large", [T5]),
    (Cltr, "cltr/transfer", ["CltrRecipe.models = {'rows': 'a', 'columns': 'b', 'aggregation': 'c'}"]),
    *((Deseption, f"deseption/{name}", []) for name in ("scratch", "world")),
    (Deseption, "deseption/paper_base", [T5, "PointerRecipe.hops = 1", "PointerRecipe.attacks = False"]),
    *((UdtQa, f"udt_qa/{name}", []) for name in ("scratch", "world")),
    (UdtQa, "udt_qa/paper", QUESTIONS),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world.write(folder, 60, 0, mixed_evidence=True, aggregations_per_table=1)
    return open_folder(folder)


@pytest.mark.parametrize(("pipeline", "name", "bindings"), RECIPES, ids=str)
def test_every_recipe_has_a_graph_whose_models_can_be_trained(data, tmp_path, pipeline, name, bindings):
    recipe = pipeline.recipe_class.read([f"experiments/{name}.gin"], bindings)
    run = pipeline(data, tmp_path / "out", recipe)
    for model in run.recipe.train:
        before = run.before(f"train.{model}")
        assert "vocabulary" in before and any(stage.startswith(("examples", "own")) for stage in before)
        assert ("warm_up" in before) >= run.recipe.initial.get(model, "").startswith("warm_up/")
    assert not (tmp_path / "out").exists()
    with pytest.raises(LisaxError, match="no stage 'predictt'; its stages are .*" + list(run.graph)[-1]):
        pipeline(data, tmp_path / "out", recipe, until="predictt")
