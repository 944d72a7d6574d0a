"""The temporal step: every rule on small claims, when it must not rule, and a world's dates manipulated."""

import json
import random
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.corpora import open_folder
from lisax.formats.examples import Passage
from lisax.records import Label
from lisax.temporal import judge, parse
from lisax.text.articles import capitalised
from lisax.text.numbers import number_words, ordinal_words
from lisax.world.claims import WorldEvidence
from lisax.world.writing import neighbourhoods, write
from tests.tables import table

S, R = Label.SUPPORTS, Label.REFUTES
ADA = Passage("Ada_Brook_0", "Ada Brook", "Ada Jane Brook ( 5 February 1748 -- 28 January 1798 ) was a composer .")
MILL = Passage("Red_Mill_3", "Red Mill", "The company was founded in Oslo on June 4 , 1992 by Ida Moe .")
FILM = Passage("Harbour_(film)_0", "Harbour (film)", "Harbour is a 1965 Danish drama film starring Ida Moe .")
BAND = Passage("The_Larks_1", "The Larks", "They formed in late 1990 and have been on the Dale list since 1995 .")
IDA = Passage(
    "Ida_Moe_0", "Ida Moe", "Ida Moe ( born 3 May 1940 ) is a founder , and in 1952 , she won the Oak Prize ."
)
FIRM = Passage("Red_Mill_0", "Red Mill", "Red Mill is a Danish shipping company .")  # so `the company` is it
EVERYTHING = (ADA, FIRM, MILL, FILM, BAND, IDA)


@pytest.mark.parametrize(*table(__file__, "rules"))
def test_rules(claim, label, rules):
    ruling = judge(claim, EVERYTHING)
    assert (ruling and str(ruling.label), ruling and " ".join(ruling.rules)) == (label, rules)


@pytest.mark.parametrize("claim", ["Red Mill was founded in 1980.", "Red Mill was founded in 1992."])
def test_evidence_that_disagrees_or_doubts_decides_nothing(claim):
    other = Passage("Red_Mill_5", "Red Mill", "Red Mill was founded in 1985 .")
    assert judge(claim, [MILL, FIRM]) is not None
    assert judge(claim, [MILL, FIRM, other]) is None
    assert judge(claim, [Passage("Red_Mill_3", "Red Mill", "It was supposedly founded in 1992 .")]) is None
    assert judge(claim, [Passage("Red_Mill_3", "Red Mill", "Its rival Blue Mill was founded in 1992 .")]) is None
    assert judge(claim, []) is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Pier ( 1985 ) is the second film of the series .", R),
        ("Pier ( 1985 ) is a town .", None),
        ("Pier is the 1985 winner of a prize .", None),
        ("Pier is a series that ran in the late 1960s and early 1970s .", None),
        ("Its second series came out in 1985 .", None),
        ("Pier released its album in 1985 .", None),
    ],
)
def test_dates_of_works(text, label):
    ruling = judge("Pier was released in 1990.", [Passage("Pier_0", "Pier", text)])
    assert (ruling and ruling.label) == label


TOM = Passage("Tom_Reed_0", "Tom Reed", "Tom Reed ( born 3 May 1950 ) is a painter .")


@pytest.mark.parametrize(
    ("claim", "text", "label"),
    [
        ("Ann Lee was born in 1940.", "She married Tom Reed , who was born in 1950 .", None),
        ("Ann Lee was born in 1940.", "Ann Lee is an actress from Osk who was born in 1941 .", R),
        ("Ann Lee, who was born in 1940, sang.", "Ann Lee ( born 1941 ) sang .", R),
        ("Ann Lee was taught by Tom Reed, a painter who was born in 1950.", "Ann Lee ( born 1941 ) sang .", None),
        ("Ann Lee married Tom Reed, who sang and was born in 1960.", "Ann Lee ( born 1960 ) sang .", R),  # of Tom Reed
        ("Ann Lee is the home of a club that was founded in 1930.", "Ann Lee was founded in 1820 .", None),
        (
            "Tom Reed's pupil Jo was born in 1960 and had Ann Lee as teacher.",
            "The teacher of Jo was born in 1941 .",
            None,
        ),
        ("Jo was born in 1960 and had Ann Lee as teacher.", "The teacher of Jo was born in 1941 .", None),
    ],
)
def test_dates_of_another_in_the_sentence_decide_nothing(claim, text, label):
    ruling = judge(claim, [Passage("Ann_Lee_2", "Ann Lee", text), TOM])
    assert (ruling and ruling.label) == label


def test_two_pages_of_one_name_decide_only_the_claim_that_says_which():
    novel = Passage("Harbour_(novel)_0", "Harbour (novel)", "Harbour is a 1950 novel by Ada Brook .")
    assert judge("Harbour was released in 1965.", [FILM, novel]) is None
    assert judge("The film Harbour was released in 1965.", [FILM, novel]).label is S
    assert judge("The novel Harbour came out in 1965.", [FILM, novel]).label is R


def test_a_ruling_says_what_a_person_needs_to_check_it():
    row = judge("Red Mill was founded 4 years before 2005.", EVERYTHING).row()
    assert row == {
        "label": "REFUTES",
        "rules": ["offset", "in"],
        "reason": "the evidence's 'founded … on June 4 , 1992' (4 June 1992) contradicts the claim's "
        "'founded … 4 years before 2005' (2001)",
        "claim": {"predicate": "founded", "words": "4 years before 2005", "days": ["2001-01-01", "2001-12-31"]},
        "evidence": [
            {
                "id": "Red_Mill_3",
                "predicate": "founded",
                "words": "on June 4 , 1992",
                "days": ["1992-06-04", "1992-06-04"],
            }
        ],
        "shared": ["mill", "red"],
    }
    assert json.loads(json.dumps(row)) == row


@given(st.integers(1000, 2100), st.integers(1000, 2100))
def test_before_in_and_after_part_all_years(stated, claimed):
    evidence = [Passage("Red_Mill_3", "Red Mill", f"It was founded in {stated} .")]
    words = ("before", "in", "after")
    found = [word for word in words if judge(f"Red Mill was founded {word} {claimed}.", evidence).label is S]
    assert found == ["before" if stated < claimed else "in" if stated == claimed else "after"]


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_judged_without_an_error(claim, text):
    judge("Ada Brook was born in 1750 " + claim, [Passage("Ada_Brook_0", "Ada Brook", text), ADA])


def manipulated(year: int, holds: bool, rng: random.Random) -> list[str]:
    """Seven ways to say a year, or another one at least ten years off."""
    said = year if holds else year + rng.choice((-1, 1)) * rng.randint(12, 30)
    near, far, count = rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 9)
    ordinal = ordinal_words((year - 1) // 100 + (1 if holds else rng.choice((0, 2, 3))))
    ahead = near if holds else -near
    ways = [
        f"in {said}",
        f"before {year + ahead}",
        f"after {year - ahead}",
        f"between {said - near} and {said + far}",
        f"{count} years before {said + count}",
        f"{number_words(count)} years after {said - count}",
    ]
    # `the 1900s` may be a decade or a century, and 1900 lies in either century.
    ways += [f"in the {said // 10}0s"] if said % 100 >= 10 else []
    return ways + ([f"in the {ordinal} century"] if year % 100 else [])


def test_no_claim_of_a_world_is_ruled_on_wrongly(tmp_path):
    write(tmp_path, 960, seed=7)
    data = open_folder(tmp_path)
    documents = list(data.documents())
    passages = {
        document.id: [Passage(s.id, document.title, s.text) for s in document.sentences] for document in documents
    }
    undated, right, wrong = 0, Counter(), []
    for claim in data.claims("train"):
        # All that the pages say that have the evidence or that the claim names: more than a verifier would be given.
        pages = {unit.rpartition("_")[0] for unit in claim.gold_ids}
        pages |= {document.id for document in documents if document.title.partition(" (")[0] in claim.text}
        ruling = judge(claim.text, [passage for page in passages if page in pages for passage in passages[page]])
        undated += not parse(claim.text)
        if ruling is not None:
            right[bool(parse(claim.text))] += ruling.label is claim.label
            if ruling.label is not claim.label:
                wrong.append((claim.text, claim.label))
    assert not wrong and undated >= 1000
    assert right[True] > 150 and right[False] > 20  # with dates, and comparing events


def test_a_worlds_dates_manipulated_are_judged_right():
    rng, judged, right, by_role, wrong = random.Random(0), 0, 0, 0, []
    for _, place, written in neighbourhoods(144, seed=5):
        evidence = WorldEvidence(place, written)
        passages = {
            s.id: Passage(s.id, page.entity.title, s.text) for page in written for s in page.document().sentences
        }
        for facts in place.facts:
            for fact in facts.values():
                units = evidence.ids(fact)
                phrases = [phrase for phrase in fact.relation.claim if "in {o}" in phrase]
                if fact.relation.draw != "year" or not units:
                    continue
                gold = rng.choice(units)
                page = gold.rpartition("_")[0]
                # The page that has it, and what the claim's own page says that it is.
                beside = [unit for unit in passages if unit.rpartition("_")[0] == page]
                beside += [unit for unit in passages if unit == f"{fact.subject.page}_0"]
                for holds in (True, False):
                    for way in manipulated(fact.number, holds, rng):
                        claim = f"{capitalised(fact.subject.mention)} {rng.choice(phrases).replace('in {o}', way)}."
                        ruling = judge(claim, [passages[unit] for unit in dict.fromkeys((gold, *beside))])
                        expected = S if holds else R
                        if ruling is not None and ruling.label is not expected:
                            wrong.append(claim)
                        # `The winner of the Siege of Osk was born in 1885`: no page says who that is.
                        if re.match("The [a-z]+ of ", passages[gold].text):
                            by_role += 1
                        else:
                            judged += 1
                            right += ruling is not None and ruling.label is expected
    assert judged > 1000 and not wrong and right / judged >= 0.99 and by_role
