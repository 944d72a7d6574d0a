"""Which rows and columns teach: of gold tables, thinned, and of tables that were retrieved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.parts import PartKind
from lisax.records import Question, Table
from lisax.sampling.part_negatives import WINDOW, examples

TABLES = {f"t{i}": Table(f"t{i}", "", ("a", "b"), tuple((f"{i}.{j}", "x") for j in range(6))) for i in range(4)}
QUESTION = Question("q", "which?", ("1.2",), ("Page_3", "t1#r2c0", "t1#r4c0", "t2#r0c1"))
RETRIEVED = ("t3", "t1", "t0", "gone")


def made(kind=PartKind.ROW, **options):
    return list(examples([(QUESTION, RETRIEVED)], kind, TABLES.get, **options))


def test_the_papers_examples_are_all_parts_of_the_gold_table():
    assert [(e.unit_id, e.label) for e in made()] == [(f"t1#r{i}", i in (2, 4)) for i in range(6)]
    assert [(e.unit_id, e.label) for e in made(PartKind.COLUMN)] == [("t1#c0", True), ("t1#c1", False)]


def test_more_gold_tables_and_negative_ones():
    found = made(gold_tables=2, negative_tables=9)
    assert {e.unit_id.partition("#")[0] for e in found} == {"t0", "t1", "t2", "t3"}
    assert {e.unit_id for e in found if e.label} == {"t1#r2", "t1#r4", "t2#r0"}


def test_tables_far_down_are_no_negatives():
    far = [f"none{i}" for i in range(WINDOW)] + ["t3"]
    assert {
        e.unit_id[:2] for e in examples([(QUESTION, far)], PartKind.ROW, TABLES.get, negative_tables=WINDOW + 1)
    } == {"t1"}


@given(st.integers(0, 8), st.integers(0, 5))
def test_thinning_keeps_what_is_true_and_draws_the_same_again(negatives, seed):
    found = made(negative_parts=negatives, negative_tables=3, seed=seed)
    own = [e for e in found if e.unit_id.startswith("t1")]
    assert {e.unit_id for e in own if e.label} == {"t1#r2", "t1#r4"}
    assert len(own) == 2 + min(negatives, 4) and len(found) == len(own) + 2 * min(negatives, 6)
    assert found == made(negative_parts=negatives, negative_tables=3, seed=seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_questions_are_drawn_for_apart(seed):
    other = Question("other", "which?", (), ("t2#r0c0",))
    together = list(
        examples([(other, RETRIEVED), (QUESTION, RETRIEVED)], PartKind.ROW, TABLES.get, negative_parts=2, seed=seed)
    )
    assert together[-len(made(negative_parts=2, seed=seed)) :] == made(negative_parts=2, seed=seed)
