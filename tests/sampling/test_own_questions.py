"""Questions made of a collection's own tables."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.records import Table, split_cell_id
from lisax.sampling import own_questions as module
from lisax.sampling.own_questions import own_questions

CELLS = st.text("ab cd", max_size=12)
TABLES = st.lists(
    st.tuples(st.lists(CELLS, min_size=1, max_size=4), st.integers(0, 4), st.randoms()), min_size=1, max_size=4
).map(
    lambda made: [
        Table(
            f"t{i}",
            "",
            tuple(header),
            tuple(tuple(random.choice(["", " ", "x y", "1", "a b c d e f"]) for _ in header) for _ in range(rows)),
        )
        for i, (header, rows, random) in enumerate(made)
    ]
)


def words(text):
    return text.lower().rstrip("?").split()


@settings(max_examples=60)
@given(TABLES, st.integers(1, 30), st.integers(0, 3))
def test_questions_ask_for_a_cell_in_words_of_its_row_and_its_header(tables, count, seed):
    found = own_questions(tables, len(tables), count, seed)
    by_id = {table.id: table for table in tables}
    known = {word for text in (*module._OPENINGS, *module._JOINTS, *module._RELATIONS) for word in text.split()}
    assert len({question.id for question in found}) == len(found) <= count
    for question in found:
        (cell,) = question.evidence
        table, row, column = split_cell_id(cell)
        table = by_id[table]
        assert question.answers == (table.rows[row][column],) and question.answers[0].strip()
        others = [text for i, text in enumerate(table.rows[row]) if i != column]
        assert set(words(question.text)) <= known | set(words(" ".join((*table.header, *others))))
    assert found == own_questions(tables, len(tables), count, seed)
    askable = all(any(sum(map(bool, map(str.strip, row))) > 1 for row in table.rows) for table in tables)
    assert not askable or len(found) == count


def test_every_table_has_its_share_in_a_random_order():
    tables = [Table(f"t{i}", "", ("name", "year"), (("ab", "1"), ("cd", "2"))) for i in range(10)]
    asked = [split_cell_id(question.evidence[0])[0] for question in own_questions(tables, 10, 25, 0)]
    assert sorted(asked.count(table.id) for table in tables) == [2] * 5 + [3] * 5 and asked != sorted(asked)
    assert own_questions(tables, 10, 25, 1) != own_questions(tables, 10, 25, 0)
