"""Dates of edges: which attributes are read as events, and what they decide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.faithful.facts import render, without_title
from lisax.formats.examples import Passage
from lisax.formats.triples import Triples, raw_text
from lisax.records import Label
from lisax.temporal import judge
from lisax.temporal.attributes import NAMES, stated
from lisax.temporal.lexicon import WordKind

S, R = Label.SUPPORTS, Label.REFUTES


def edge(title: str, name: str, value: str, raw: bool = False) -> Passage:
    pair = Triples("g", title, ((name, value),))
    return Passage(f"{title}:graph#e0", title, raw_text(pair) if raw else render(pair))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("birth year", WordKind.BIRTH),
        ("born", WordKind.BIRTH),
        ("date of birth", WordKind.BIRTH),
        ("birth date", WordKind.BIRTH),
        ("year of death", WordKind.DEATH),
        ("released", WordKind.RELEASE),
        ("publication date", WordKind.RELEASE),
        ("inception", WordKind.FOUNDING),
        ("Formed", WordKind.FOUNDING),
        ("first ascent", WordKind.ASCENT),
        ("dissolved", WordKind.END),
    ],
)
@pytest.mark.parametrize("value", ["1884", "3 May 1884", "1884-05-03", "May 1884"])
def test_attributes_that_date_an_event(name, kind, value):
    for text in (
        edge("Ada Brook", name, value).text,
        edge("Ada Brook", name, value, raw=True).text,
        without_title(edge("Ada Brook", name, value).text, "Ada Brook"),
    ):
        found = stated(text)
        assert found.kind is kind and text[found.date.start : found.date.end] == value


@pytest.mark.parametrize(
    "text",
    [
        "Ada Brook: the birthplace is 1884 Street.",
        "birth year, unknown",
        "Ada Brook: the birth year is before 1884.",
        "year, 1884",
        "Ada Brook: the prize year is 1884.",
        "Tarn: the pupil is Ida Moe; the birth year is 1884.",
        "name, born | Ida Moe, 1884",
        "Her teacher's birth year is 1884.",
        "birth year of her teacher, 1884",
        "Ada Brook: the birth year is 1884 or 1885.",
        "",
        "born",
        "birth year, 1884 | death year, 1950",
    ],
)
def test_attributes_that_say_no_one_date(text):
    assert stated(text) is None


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("Ada Brook was born in 1884.", S),
        ("Ada Brook was born in 1890.", R),
        ("Ada Brook was born before 1900.", S),
        ("Ada Brook was born after Ida Moe.", R),
        ("Ada Brook is older than Ida Moe.", S),
        ("Ada Brook was founded in 1890.", None),
        ("Ida Moe's sister was born in 1890.", None),
        ("Ada Brook taught Ida Moe in 1890.", None),
        ("The film Harbour came out in 1965.", S),
        ("Harbour came out in 1970.", R),
    ],
)
def test_edges_decide_as_sentences_do(claim, label, raw):
    evidence = [
        edge("Ada Brook", "birth year", "1884", raw),
        edge("Harbour (film)", "released", "1965", raw),
        Passage("Ida_Moe_0", "Ida Moe", "Ida Moe was a painter who was born in 1890."),
    ]
    ruling = judge(claim, evidence)
    assert (ruling and ruling.label) == label


def test_the_reason_names_both_dates():
    said = judge(
        "Ada Brook was born after Ida Moe.",
        [edge("Ada Brook", "birth year", "1884"), edge("Ida Moe", "birth year", "1890", raw=True)],
    ).reason
    assert said == (
        "the evidence's 'birth … 1884' (1884) and 'birth … 1890' (1890) contradict the claim's "
        "'born … after Ida Moe' (1 January 1891 or later)"
    )


def test_an_edge_and_a_sentence_that_disagree_decide_nothing():
    said = Passage("Ada_Brook_0", "Ada Brook", "Ada Brook was born in 1885.")
    assert judge("Ada Brook was born in 1884.", [edge("Ada Brook", "birth year", "1884"), said]) is None


@given(st.sampled_from(sorted(NAMES)), st.integers(1000, 2020), st.integers(1000, 2020))
def test_the_year_alone_decides(name, year, claimed):
    ruling = judge(f"Ada Brook was born in {claimed}.", [edge("Ada Brook", name, str(year))])
    born = NAMES[name] is WordKind.BIRTH
    assert (ruling and ruling.label) == ((S if year == claimed else R) if born else None)


@given(st.text(max_size=40))
def test_any_text_is_read(text):
    found = stated(text)
    assert found is None or text[found.date.start : found.date.end].strip()
