import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import DataError
from lisax.records import Table
from lisax.retrieval import record_store
from lisax.retrieval.table_store import TableStore

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@st.composite
def tables(draw):
    ids = draw(st.lists(st.text("abcé", min_size=1, max_size=4), min_size=1, max_size=6, unique=True))
    made = []
    for name in ids:
        width = draw(st.integers(0, 3))
        row, maybe = st.tuples(*[texts] * width), st.none() | texts
        fields = (texts, row, st.lists(row, max_size=3).map(tuple), texts, maybe, maybe)
        made.append(Table(name, *map(draw, fields)))
    return made


@settings(max_examples=40)
@given(tables(), st.integers(1, 3))
def test_what_is_stored_is_read_back_in_order(tmp_path_factory, made, part):
    limit, record_store.PART_RECORDS = record_store.PART_RECORDS, part
    try:
        store = TableStore.build(iter(made), tmp_path_factory.mktemp("store"))
    finally:
        record_store.PART_RECORDS = limit
    assert list(store) == made and len(store) == len(made)
    assert [store.get(table.id) for table in made] == made
    assert store.get("nowhere") is None


def test_a_store_without_tables_is_refused(tmp_path):
    with pytest.raises(DataError, match="no tables to store"):
        TableStore.build([], tmp_path)
