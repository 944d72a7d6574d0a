"""Folds: every question is held out once, in any order of the questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.records import Question
from lisax.sampling.folds import folds


def questions_of(count):
    return [Question(f"q{i}", "?") for i in range(count)]


@given(st.integers(2, 6), st.integers(0, 60), st.integers(0, 3), st.randoms())
def test_each_question_is_held_out_once_in_folds_of_like_size(count, more, seed, random):
    questions = questions_of(count + more)
    made = folds(questions, count, seed=seed)
    assert sorted(q.id for fold in made for q in fold.held_out) == sorted(q.id for q in questions)
    assert all(sorted([*train, *held_out], key=questions.index) == questions for train, held_out in made)
    sizes = [len(fold.held_out) for fold in made]
    assert len(made) == count and max(sizes) - min(sizes) <= 1
    shuffled = random.sample(questions, len(questions))
    assert [set(fold.held_out) for fold in folds(shuffled, count, seed=seed)] == [set(f.held_out) for f in made]


def test_another_seed_gives_other_folds_and_too_few_questions_are_refused():
    questions = questions_of(40)
    assert folds(questions, seed=0) == folds(questions, seed=0) != folds(questions, seed=1)
    with pytest.raises(LisaxError, match="found 5 folds and 4 questions"):
        folds(questions[:4])
    with pytest.raises(LisaxError, match="found 1 folds"):
        folds(questions, 1)
