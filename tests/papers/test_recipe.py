"""What a recipe refuses, before anything is made."""

import pytest

from lisax.errors import LisaxError
from lisax.papers.list5.recipe import Recipe


def test_an_error_has_no_calls_of_gin():
    with pytest.raises(LisaxError, match="^Recipe.hops must be 1 or 2, found 3$"):
        Recipe.read(["experiments/list5/scratch.gin"], ["Recipe.hops = 3"])
