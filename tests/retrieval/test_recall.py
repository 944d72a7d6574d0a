from lisax.records import Claim
from lisax.retrieval.recall import recall


def test_any_page_and_complete_set():
    claims = [
        Claim("one", "", None, (("A_0",), ("B_1", "C_2"))),
        Claim("two", "", None, (("B_1", "C_2"), ("B_0", "D_0"))),
        Claim("nei", "", None, ()),
        Claim("lost", "", None, (("Z_0",),)),
    ]
    retrieved = {"one": ["X", "B", "A"], "two": ["B", "X", "D", "B"], "nei": ["A"]}
    assert recall(claims, retrieved, (1, 2, 3)) == {
        "recall_any@1": 1 / 3,
        "recall_any@2": 2 / 3,
        "recall_any@3": 2 / 3,
        "recall_complete@1": 0.0,
        "recall_complete@2": 0.0,
        "recall_complete@3": 2 / 3,
        "claims": 3,
    }


def test_without_evidence_there_is_nothing_to_report():
    assert recall([Claim("n", "")], {}) == {"claims": 0}
