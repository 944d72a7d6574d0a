"""What a recipe refuses, before anything is made."""

import pytest

from lisax.errors import LisaxError
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.deseption.recipe import PointerRecipe
from lisax.papers.list5.recipe import Recipe
from lisax.papers.open_tables.recipe import TableRecipe
from lisax.papers.udt_qa.recipe import QuestionRecipe


def test_an_error_has_no_calls_of_gin():
    with pytest.raises(LisaxError, match="^Recipe.hops must be 1 or 2, found 3$"):
        Recipe.read(["experiments/list5/scratch.gin"], ["Recipe.hops = 3"])


@pytest.mark.parametrize(
    "recipe, folder, setting",
    [
        *((Recipe, "list5", setting) for setting in ("candidates", "train_candidates", "documents", "train_claims")),
        *((Recipe, "list5", setting) for setting in ("report_claims", "validation_claims", "vocabulary_size")),
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
