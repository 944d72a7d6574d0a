"""FEVER's escapes and Unicode forms."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.text import titles


@pytest.mark.parametrize(
    "title, page",
    [
        ("Moana (2016 film)", "Moana_-LRB-2016_film-RRB-"),
        ("Star Trek: Discovery", "Star_Trek-COLON-_Discovery"),
        ("[sic] {x}", "-LSB-sic-RSB-_-LCB-x-RCB-"),
        ("José Ferrer", "José_Ferrer"),
        ("Half-LIFE", "Half-LIFE"),
    ],
)
def test_titles_and_ids(title, page):
    assert titles.title_to_id(title) == page
    assert titles.id_to_title(page) == title


def test_both_unicode_forms_meet():
    decomposed = unicodedata.normalize("NFD", "José_Ferrer")
    assert decomposed != "José_Ferrer"
    assert titles.page_id(decomposed) == "José_Ferrer"
    assert titles.title_to_id(decomposed) == "José_Ferrer"


@given(st.text())
def test_an_id_is_stable_and_has_no_white_space(text):
    page = titles.page_id(text)
    assert not any(character.isspace() for character in page)
    assert titles.page_id(page) == page
    assert titles.title_to_id(titles.id_to_title(titles.title_to_id(text))) is not None


@given(st.text())
def test_one_line_is_stable(text):
    line = titles.one_line(text)
    assert "\n" not in line and "\t" not in line
    assert titles.one_line(line) == line


def test_unescape_writes_brackets_out():
    assert titles.unescape("a -LRB- b -RRB- -LSB- c -RSB- d-COLON- -LRB") == "a ( b ) [ c ] d: -LRB"
