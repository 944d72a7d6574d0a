"""Folds of CLTR: every question is held out once, in any order of the questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.papers.cltr.folds import FoldData, deal
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.cltr.run import Cltr
from lisax.records import Question
from lisax.world import write


@given(st.integers(2, 6), st.integers(0, 60), st.randoms())
def test_each_question_is_held_out_once_in_folds_of_like_size(count, more, random):
    questions = [Question(f"q{i}", "?") for i in range(count + more)]
    made = list(deal(questions, count))
    assert sorted(q.id for _, held_out in made for q in held_out) == sorted(q.id for q in questions)
    assert all(sorted([*train, *held_out], key=questions.index) == questions for train, held_out in made)
    sizes = [len(held_out) for _, held_out in made]
    assert len(made) == count and max(sizes) - min(sizes) <= 1
    shuffled = random.sample(questions, len(questions))
    assert [set(held_out) for _, held_out in deal(shuffled, count)] == [set(held_out) for _, held_out in made]
    for folds in (1, len(questions) + 1):
        with pytest.raises(LisaxError, match=f"found {folds} folds and {len(questions)} questions"):
            next(deal(questions, folds))


def test_another_deal_of_the_same_files_is_other_data(tmp_path):
    write(tmp_path / "data", 20)
    data = open_folder(tmp_path / "data")
    questions = list(data.questions("train"))

    def files(count):
        fold = FoldData(data, *next(deal(questions, count)))
        return Cltr(fold, tmp_path / "out", CltrRecipe()).data_files

    assert files(2) == files(2) != files(3)
    assert len(files(2)) == len(Cltr(data, tmp_path / "out", CltrRecipe()).data_files) + 1
