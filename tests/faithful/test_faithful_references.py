"""What the check refuses of corrupted references, and of the references themselves."""

import random
import tracemalloc

import pytest

from lisax.corpora import open_folder
from lisax.faithful.facts import Facts
from lisax.formats.triples import Triples
from tests.faithful.corrupted import DATA, KINDS, PER_KIND, corrupted, references

TOWN = Triples(
    "t", "Tarnby", (("population", "5210"), ("area", "312"), ("leader name", "Ida Moe"), ("country", "Norland"))
)
LIFE = Triples("l", "Ada Brook", (("birth date", "1884"), ("death date", "1951"), ("birth place", "Orm")))
BOOK = Triples("b", "Red Mill", (("author", "Ida Moe"), ("publisher", "Pell Press"), ("number of pages", "200")))
HALL = Triples("h", "Orm Hall", (("height (in metres)", "30"), ("not located in", "Pell")))


@pytest.mark.parametrize(
    "unit, text",
    [
        (TOWN, "Tarnby, in Norland, has a population of 5210 and an area of 312. Its leader is Ida Moe."),
        (TOWN, "Ida Moe leads Tarnby in Norland, whose area is 312 and whose population is 5210."),
        (TOWN, "Tarnby is led by Ida Moe. It is located in Norland, covers an area of 312 and has 5210 inhabitants."),
        (LIFE, "Ada Brook was born in Orm in 1884 and died in 1951."),
        (LIFE, "Born in 1884 in Orm, Ada Brook died in 1951."),
        (BOOK, "Ida Moe wrote Red Mill, which was published by Pell Press and has 200 pages."),
        (BOOK, "Red Mill, with 200 pages, was written by Ida Moe. Pell Press published it."),
        (HALL, "Orm Hall is 30 metres in height and is not located in Pell."),
        (HALL, "Orm Hall, which isn't located in Pell, has a height of 30."),
    ],
)
def test_what_the_data_say_in_other_words_is_faithful(unit, text):
    assert Facts(unit).judge(text) == ((), ())


@pytest.mark.parametrize(
    "unit, text, invented",
    [
        (LIFE, "Ada Brook was not born in Orm in 1884 and died in 1951.", ("not",)),
        (LIFE, "Ada Brook wasn't born in Orm in 1884; she died in 1951.", ("n't",)),
        (BOOK, "Ida Moe wrote half of Red Mill, published by Pell Press with 200 pages.", ("half",)),
        (BOOK, "Ida Moe wrote Red Mill, published by Pell Press with twice 200 pages.", ("twice",)),
        (BOOK, "Ida Moe and Zorvan Uld wrote Red Mill, published by Pell Press with 200 pages.", ("zorvan", "uld")),
        (LIFE, "Zorvan Uld knew Ada Brook, who was born in Orm in 1884 and died in 1951.", ("zorvan", "uld")),
        (LIFE, "Ada Brook, an Orman Uldish singer, was born in Orm in 1884 and died in 1951.", ("orman", "uldish")),
    ],
)
def test_what_the_data_do_not_say_is_refused(unit, text, invented):
    assert set(invented) & set(Facts(unit).judge(text).invented)


def test_a_lost_negation_is_found():
    assert Facts(HALL).judge("Orm Hall is 30 metres in height and is located in Pell.").lost == ("not",)


WEBNLG = DATA / "webnlg"


@pytest.mark.skipif(not WEBNLG.is_dir(), reason="no ../shared/data/webnlg")
def test_corrupted_references_are_refused_and_references_are_not():
    records = list(open_folder(WEBNLG).data_texts("dev"))
    made = corrupted(records)
    assert list(made) == list(KINDS) and all(len(members) == PER_KIND for members in made.values())
    caught = {
        kind: sum(not Facts(one.triples).judge(one.text).faithful for one in members) for kind, members in made.items()
    }
    assert sum(caught.values()) >= 0.95 * len(KINDS) * PER_KIND, caught
    assert min(caught.values()) >= 0.7 * PER_KIND, caught
    pairs = references(records)
    passed = sum(Facts(triples).judge(text).faithful for triples, text in pairs)
    # 1,714 of 2,268 pass where only strings are compared.
    assert passed >= 1714 - 0.05 * len(pairs)


def test_the_corrupted_references_are_always_the_same():
    if not WEBNLG.is_dir():
        pytest.skip("no ../shared/data/webnlg")
    records = list(open_folder(WEBNLG).data_texts("dev"))[:200]
    assert corrupted(records, 3) == corrupted(records, 3)


def test_a_long_cell_takes_little_memory():
    story = " ".join(random.Random(0).choices(["Mara", "Olin", "Tessa", "Vova"], k=600))
    tracemalloc.start()
    try:
        Facts(Triples("t", "Tarnby", (("story", story),)))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
