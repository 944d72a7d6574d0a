from hypothesis import given
from hypothesis import strategies as st

from lisax.retrieval.fusion import alternate

RANKED = st.lists(st.sampled_from("abcdefghij"), unique=True)


@given(RANKED, RANKED, st.integers(0, 25))
def test_rules(first, second, k):
    merged = alternate(first, second, k)
    union = set(first) | set(second)
    assert len(merged) == len(set(merged)) == min(k, len(union))
    assert set(merged) <= union
    assert merged == alternate(first, second, 100)[:k]
    if first and k:
        assert merged[0] == first[0]
    # Where one list alone gave the items, their order is kept.
    for own, other in ((first, second), (second, first)):
        alone = [item for item in merged if item not in other]
        assert alone == [item for item in own if item not in other][: len(alone)]
    # An item is never later than twice its rank in either list.
    for ranked in (first, second):
        for rank, item in enumerate(ranked, start=1):
            assert item in merged[: 2 * rank] or 2 * rank > k
