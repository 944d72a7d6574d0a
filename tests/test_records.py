"""Records and their ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax import records
from lisax.errors import DataError


@given(st.text(min_size=1), st.integers(0, 10**9 - 1))
def test_a_sentence_id_splits_at_its_last_underscore(page, number):
    assert records.split_sentence_id(records.sentence_id(page, number)) == (page, number)


@pytest.mark.parametrize("unit", ["Page", "Page_", "_3", "Page_x", "Page_-1", "Page_²", "", "P_" + "9" * 5000, "T#r1"])
def test_what_is_no_sentence_id_is_refused(unit):
    with pytest.raises(DataError, match="not a sentence id"):
        records.split_sentence_id(unit)


@pytest.mark.parametrize("value", ["", "a b", "a\tb", "a\u00a0b", True, None, 1.5, ["a"]])
def test_bad_ids_are_refused(value):
    with pytest.raises(DataError, match="p:1: field 'id'"):
        records.check_id(value, path="p", line=1)


def test_gold_ids_keep_the_order_of_first_appearance():
    claim = records.Claim("1", "c", None, (("b_1", "a_0"), ("a_0", "c_2")))
    assert claim.gold_ids == ("b_1", "a_0", "c_2")
