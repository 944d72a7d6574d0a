"""Rows and columns of a table as examples: labels from answer cells, ids, and files that read back equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.formats.parts import OperationExample, PartExample, PartKind
from lisax.records import Operation, Question, Table, cell_id
from lisax.sampling.part_examples import WINDOW, examples, operations, parts_of

TABLE = Table("t", "Clubs", ("year", "club", "note"), (("1921", "Tirol", ""), ("", " ", ""), ("1923", "Varn", "")))


def test_all_rows_then_all_columns_but_for_empty_ones():
    parts = list(parts_of("q", "Who?", TABLE, ["t#r2c1", "other#r0c0"]))
    assert [(part.unit_id, part.label) for part in parts] == [
        ("t#r0", False),
        ("t#r2", True),
        ("t#c0", False),
        ("t#c1", True),
    ]
    assert parts[1] == PartExample("q", "Who?", "t#r2", PartKind.ROW, TABLE.header, ("1923", "Varn", ""), True)
    assert parts[3] == PartExample("q", "Who?", "t#c1", PartKind.COLUMN, ("club",), ("Tirol", " ", "Varn"), True)
    assert parts[3].unit_ids == ["t#c1"]
    assert {part.label for part in parts_of("q", "Who?", TABLE)} == {None}
    assert {part.label for part in parts_of("q", "Who?", TABLE, [])} == {False}


def test_what_is_no_cell_is_refused():
    with pytest.raises(LisaxError, match="'t#r2' is not the id of a cell"):
        list(parts_of("q", "Who?", TABLE, ["t#r2"]))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3))))
def test_a_part_is_true_exactly_where_a_cell_lies_in_it(places):
    table = Table("a#r1c1", "", ("x",) * 4, (("v",) * 4,) * 6)
    parts = {part.unit_id: part.label for part in parts_of("q", "Q", table, [cell_id("a#r1c1", *p) for p in places])}
    assert len(parts) == 10
    assert {unit for unit, label in parts.items() if label} == {
        f"a#r1c1#{part}" for i, j in places for part in (f"r{i}", f"c{j}")
    }


# --- Which rows and columns teach: of gold tables, thinned, and of tables that were retrieved -----------

TABLES = {f"t{i}": Table(f"t{i}", "", ("a", "b"), tuple((f"{i}.{j}", "x") for j in range(6))) for i in range(4)}
QUESTION = Question("q", "which?", ("1.2",), ("Page_3", "t1#r2c0", "t1#r4c0", "t2#r0c1"))
RETRIEVED = ("t3", "t1", "t0", "gone")


def made(kind=PartKind.ROW, gold_tables=1, **options):
    return list(examples([(QUESTION, RETRIEVED)], kind, TABLES.get, gold_tables=gold_tables, **options))


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
        e.unit_id[:2]
        for e in examples([(QUESTION, far)], PartKind.ROW, TABLES.get, gold_tables=1, negative_tables=WINDOW + 1)
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
    options = {"gold_tables": 1, "negative_parts": 2, "seed": seed}
    together = list(examples([(other, RETRIEVED), (QUESTION, RETRIEVED)], PartKind.ROW, TABLES.get, **options))
    assert together[-len(made(**options)) :] == made(**options)


def test_hard_parts_share_most_with_the_question():
    table = Table("t", "", ("town", "river"), (("Tarn", "Orm"), ("Ostra", "Orm"), ("Varn", "Ilm"), ("Tarn", "Ilm")))
    question = Question("q", "Which river flows through Tarn beside the Orm?", (), ("t#r0c1",))
    options = {"gold_tables": 1, "negative_parts": 0, "hard_parts": 1}

    def kept(kind, **more):
        return [e.unit_id for e in examples([(question, ())], kind, {"t": table}.get, **(options | more))]

    # Rows 1 and 3 share one word each, the last the one that fewer rows have as well.
    assert kept(PartKind.ROW) == ["t#r0", "t#r1"] and kept(PartKind.ROW, hard_parts=2) == ["t#r0", "t#r1", "t#r3"]
    assert kept(PartKind.COLUMN) == ["t#c0", "t#c1"]
    assert len(kept(PartKind.ROW, negative_parts=2)) == 4


def test_operations_are_learned_of_questions_whose_operation_and_table_are_known():
    questions = [
        Question("a", "A?", evidence=("t2#r0c0", "t1#r0c0"), operation=Operation.MAX),
        Question("b", "B?", evidence=("page_3", "t1"), operation=Operation.COUNT),
        Question("c", "C?", evidence=("t3#r0c0",)),
        Question("d", "D?", evidence=("v",), operation=Operation.SUM),
    ]
    asked = []
    assert list(operations(questions, lambda table: asked.append(table) or TABLES.get(table))) == [
        OperationExample("a", "A?", "t2", ("a", "b"), Operation.MAX),
        OperationExample("b", "B?", "t1", ("a", "b"), Operation.COUNT),
    ]
    assert asked == ["t2", "page_3", "t1", "v"]
