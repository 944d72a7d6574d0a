import pytest

from lisax.errors import LisaxError
from lisax.records import Claim, Document, Label, Sentence
from lisax.retrieval.parameter_search import grid_search


def test_the_best_pair_of_parameters_finds_most(tmp_path):
    long, short = "fox " * 3 + "word " * 60, "fox " + "other " * 3
    pages = [Document(id, id, (Sentence(id, 0, text),)) for id, text in (("long", long), ("short", short))]
    claims = [Claim("1", "a fox", Label.SUPPORTS, (("long_0",),)), Claim("2", "a fox", Label.NOT_ENOUGH_INFO)]
    tried = grid_search(pages, claims, (0.6, 1.2), (1.0, 0.0), 1, tmp_path / "index")
    assert len(tried) == 4 and [(one.b, one.recall[1]) for one in tried] == [(0.0, 1), (0.0, 1), (1.0, 0), (1.0, 0)]
    assert [one.k1 for one in tried] == [0.6, 1.2, 0.6, 1.2]
    with pytest.raises(LisaxError, match="no held-out claim has evidence"):
        grid_search(pages, claims[1:], (0.6,), (0.5,), 1, tmp_path / "index")
