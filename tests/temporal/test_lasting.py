"""What lasted and what happened several times: the rules that are named, and the days that a ruling shows."""

import pytest

from lisax.formats.examples import Passage
from lisax.records import Label
from lisax.temporal import judge

S, R = Label.SUPPORTS, Label.REFUTES
MAYOR = "Foo was mayor from 1956 to 1964 ."
WINNER = "Foo won the Oak Cup three times , in 1974 , 1976 and 1979 ."
RULED = [
    ("was mayor in 1960", MAYOR, S, ("lasting", "in")),
    ("was mayor in 1970", MAYOR, R, ("lasting", "in")),
    ("served as mayor in 1960", MAYOR, S, ("lasting", "in")),
    ("was mayor until 1964", MAYOR, S, ("lasting", "until")),
    ("was mayor until 1970", MAYOR, R, ("lasting", "until")),
    ("was mayor from 1950 to 1964", MAYOR, R, ("lasting", "in")),
    ("was mayor throughout 1960", MAYOR, S, ("lasting", "in")),
    ("was mayor for eight years", MAYOR, S, ("lasting", "length")),
    ("was mayor for nine years", MAYOR, None, ()),
    ("was mayor for twenty years", MAYOR, R, ("lasting", "length")),
    ("was mayor for more than a decade", MAYOR, R, ("lasting", "length")),
    ("was not mayor in 1970", MAYOR, S, ("not", "lasting", "in")),
    ("was mayor in 1960", "Foo served as the 44th mayor from 1956 to 1964 .", S, ("lasting", "in")),
    ("was mayor in 1970", "Foo served as the 44th mayor from 1956 to 1964 .", None, ()),  # or again, as the 46th
    ("was mayor in 1960", "Foo served as deputy mayor from 1956 to 1964 .", None, ()),
    ("won the Oak Cup in 1976", WINNER, S, ("several", "in")),
    ("won the Oak Cup in 1974 and 1979", WINNER, S, ("several", "in")),
    ("won the Oak Cup in 1977", WINNER, R, ("several", "in")),
    ("died in 1950", "Foo was king from 1930 until his death in 1950 .", S, ("in",)),
    ("was dissolved in 1960", "Foo operated from 1930 to 1950 , when it was dissolved .", R, ("in",)),
]


WAR = "The Oak War lasted from 1939 to 1945 ."
ENDS = [
    ("began in 1941", WAR, R),
    ("began in 1939", WAR, S),
    ("ended in 1945", WAR, S),
    ("ended after 1950", WAR, R),
    ("ended in 1945", "The Oak War was a war that lasted from 1939 to 1945 .", S),
    ("began in 1941", "The Oak War was fought from 1939 to 1945 .", R),
    ("began in 1939", "The Oak War lasted from before 1940 to 1945 .", None),
    ("began in 1937", "The Oak War was fought from 1939 to 1945 in Oslo .", None),
    ("began in 1937", "The Oak War was fought in Oslo from 1939 to 1945 .", None),
    ("began in 1937", "The siege lasted from 1939 to 1945 .", None),
    ("began in Oslo in 1937", WAR, None),
]


@pytest.mark.parametrize(("said", "text", "label"), ENDS)
def test_what_lasted_began_and_ended(said, text, label):
    ruling = judge(f"The Oak War {said}.", [Passage("Oak_War_1", "Oak War", text)])
    assert (ruling and ruling.label) is label


def test_a_title_that_begins_with_an_article_is_a_subject():
    passage = Passage("A_View_0", "A View", "A View ( 1985 ) is a spy film .")
    assert judge("A View was released before 1980.", [passage]).label is R
    found = judge("A View was released before 1980.", [Passage("A_View_1", "A View", "A sequel came out in 1985 .")])
    assert found is None


@pytest.mark.parametrize(("said", "text", "label", "rules"), RULED, ids=[row[0] for row in RULED])
def test_rules(said, text, label, rules):
    ruling = judge(f"John Foo {said}.", [Passage("John_Foo_1", "John Foo", text)])
    found = (ruling.label, ruling.rules) if ruling else (None, ())
    assert found == (label, rules)


def test_a_sentence_with_another_date_of_it_leaves_it_open():
    found = [Passage("John_Foo_1", "John Foo", MAYOR)]
    assert judge("John Foo was mayor in 1970.", found).label is R
    again = Passage("John_Foo_2", "John Foo", "In 1968 he became mayor again .")
    assert judge("John Foo was mayor in 1970.", [*found, again]) is None


def test_a_ruling_shows_the_whole_of_what_lasted():
    row = judge("John Foo was mayor in 1970.", [Passage("John_Foo_1", "John Foo", MAYOR)]).row()
    assert row["evidence"][0]["days"] == ["1956-01-01", "1964-12-31"]
    assert row["evidence"][0]["words"] == ("from 1956 to 1964")
    assert "contradicts the claim's 'was … in 1970' (1970)" in row["reason"]
