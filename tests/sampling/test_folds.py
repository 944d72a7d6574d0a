"""Folds: every question held out once, groups together, the same whatever the order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.records import Question
from lisax.sampling.folds import by_table, folds


def questions_of(tables):
    return [Question(f"q{i}", "?", ("a",), (f"t{table}#r0c{i}",)) for i, table in enumerate(tables)]


@given(st.integers(2, 6), st.integers(0, 60), st.integers(0, 3), st.randoms())
def test_each_question_is_held_out_once_in_folds_of_like_size(count, more, seed, random):
    questions = questions_of(range(count + more))
    made = folds(questions, count, seed=seed)
    assert sorted(q.id for fold in made for q in fold.held_out) == sorted(q.id for q in questions)
    assert all(sorted([*train, *held_out], key=questions.index) == questions for train, held_out in made)
    sizes = [len(fold.held_out) for fold in made]
    assert len(made) == count and max(sizes) - min(sizes) <= 1
    shuffled = random.sample(questions, len(questions))
    assert [set(fold.held_out) for fold in folds(shuffled, count, seed=seed)] == [set(f.held_out) for f in made]


@given(st.lists(st.integers(0, 9), min_size=5).filter(lambda tables: len(set(tables)) >= 3))
def test_a_table_is_never_on_both_sides(tables):
    for train, held_out in folds(questions_of(tables), 3, group=by_table):
        assert held_out and not set(map(by_table, train)) & set(map(by_table, held_out))


def test_another_seed_gives_other_folds_and_too_few_groups_are_refused():
    questions = questions_of(range(40))
    assert folds(questions, seed=0) == folds(questions, seed=0) != folds(questions, seed=1)
    with pytest.raises(LisaxError, match="found 5 folds and 4 groups"):
        folds(questions[:4])
    with pytest.raises(LisaxError, match="found 1 folds"):
        folds(questions, 1)
    assert by_table(Question("q", "?")) == "q" and by_table(Question("q", "?", (), ("t7",))) == "t7"


def test_a_large_group_leaves_the_small_ones_to_the_other_fold():
    made = folds(questions_of([0] * 6 + [1, 2, 3, 4, 5, 6]), 2, group=by_table)
    assert sorted(len({by_table(question) for question in fold.held_out}) for fold in made) == [1, 6]
