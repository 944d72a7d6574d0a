"""Claims and questions are held out by page or table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.records import Claim, Label, Question
from lisax.sampling.splits import held_out, source_of, sources


def claim(number: int, page: str | None, text: str = "It is old.") -> Claim:
    sets = () if page is None else ((f"{page}_{number % 3}",),)
    return Claim(str(number), text, Label.SUPPORTS if sets else Label.NOT_ENOUGH_INFO, sets)


@pytest.mark.parametrize(
    "unit, source",
    [
        ("Finding_Dory_12", "Finding_Dory"),
        ("towns#r1c2", "towns"),
        ("towns#r1", "towns"),
        ("Q42#e3", "Q42"),
        ("2-1570.html.csv", "2-1570.html.csv"),
    ],
)
def test_a_unit_belongs_to_its_page_table_or_graph(unit, source):
    assert source_of(unit) == source


def test_a_claim_without_evidence_belongs_to_the_page_with_the_longest_name_in_it():
    claims = [
        claim(1, "Tarn"),
        claim(2, "Tarn_Hill_-LRB-novel-RRB-"),
        claim(3, None, "The tarn hill was sold."),
        claim(4, None, "In Tarn hills are rare."),
        claim(5, None, "Ostra is a town."),
    ]
    found = [source for _, source in sources(claims)]
    assert found == ["Tarn", "Tarn_Hill_-LRB-novel-RRB-", "Tarn_Hill_-LRB-novel-RRB-", "Tarn", "5"]


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60), st.floats(0.01, 0.99))
def test_a_page_is_held_out_with_all_of_its_claims(pages, share):
    claims = [claim(i, f"Page{'ABCDEFGHIJKLM'[page]}") for i, page in enumerate(pages)]
    held = held_out(claims, share)
    assert 0 < len(held) < len(claims)
    by_page = {}
    for one in claims:
        by_page.setdefault(one.gold_ids[0].rpartition("_")[0], set()).add(one.id in held)
    if len(by_page) > 1:
        assert all(len(sides) == 1 for sides in by_page.values())
    # No more than a page beyond the share.
    assert len(held) < share * len(claims) + max(map(pages.count, pages))
    assert held_out(reversed(claims), share) == held or len(by_page) == 1


def test_questions_are_held_out_by_table():
    questions = [Question(str(i), "who?", ("a",), (f"t{i // 4}#r{i % 4}c0",)) for i in range(40)]
    held = held_out(questions, 0.2)
    assert len(held) == 8
    assert len({question.evidence[0].partition("#")[0] for question in questions if question.id in held}) == 2


def test_by_id_each_is_by_itself():
    claims = [claim(i, "Tarn" if i % 2 else "Ostra") for i in range(200)]
    held = held_out(claims, 0.3, "id")
    assert 30 < len(held) < 90 and held_out(claims[::-1], 0.3, "id") == held
    assert {claim.gold_ids[0][0] for claim in claims if claim.id in held} == {"T", "O"}
