"""Golden strings: the exact inputs of every text_format under both presets."""

import pytest

from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage
from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.presets import PAPER, RELEASED, get
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.records import Label


def words(text: str) -> int:
    return len(text.split()) + 1


ONE = Passage("Tirol_Harbour_0", "Tirol Harbour", "It was\topened  in 1921 .")
TWO = Passage("Anna_Voss_3", "Anna Voss", "She designed the harbour .")
CLAIM = "Anna Voss designed Tirol Harbour."

WITH_ENTITIES = (
    f"Query: {CLAIM} Document: Tirol Harbour . It was opened in 1921 . "
    "Entity1: Anna Voss Entity2: Tirol Harbour Relevant:"
)
ONLY = "sentence: Anna Voss . She designed the harbour ."
LISTED = "sentence1: Tirol Harbour . It was opened in 1921 . sentence2: Anna Voss . She designed the harbour ."
GOLDEN = [
    (RANK, PAPER, (ONE,), True, f"Query: {CLAIM} Document: Tirol Harbour . It was opened in 1921 . Relevant:", "true"),
    (RANK_ENTITIES, PAPER, (ONE,), False, WITH_ENTITIES, "false"),
    (RANK_ENTITIES, RELEASED, (ONE,), True, WITH_ENTITIES, "true"),
    (LABEL_POINTWISE, PAPER, (TWO,), Label.SUPPORTS, f"query: {CLAIM} {ONLY} relevant:", "true"),
    (LABEL_POINTWISE, RELEASED, (TWO,), Label.REFUTES, f"hypothesis: {CLAIM} {ONLY}", "false"),
    (LABEL_LISTWISE, PAPER, (ONE, TWO), Label.NOT_ENOUGH_INFO, f"query: {CLAIM} {LISTED} relevant:", "weak"),
    (LABEL_LISTWISE, RELEASED, (ONE, TWO), None, f"hypothesis: {CLAIM} {LISTED}", ""),
    (LABEL_LISTWISE, PAPER, (), Label.SUPPORTS, f"query: {CLAIM} relevant:", "true"),
    (CLAIM_ONLY, PAPER, (ONE,), Label.REFUTES, f"query: {CLAIM} relevant:", "false"),
    (CLAIM_ONLY, RELEASED, (), Label.REFUTES, f"hypothesis: {CLAIM}", "false"),
]


@pytest.mark.parametrize("text_format, preset, sentences, label, inputs, targets", GOLDEN)
def test_the_exact_text(text_format, preset, sentences, label, inputs, targets):
    example = Example("7", CLAIM, sentences, ("Anna Voss", "Tirol Harbour"), label)
    assert text_format.encode(example, preset=preset, max_tokens=512, count_tokens=words) == (inputs, targets, 0)
    assert text_format.encode(example, preset=preset, count_tokens=words).inputs == inputs


def test_a_sentence_without_a_title_stands_alone():
    example = Example("7", "Q", (Passage("d", "", "text"),), label=True)
    assert RANK.encode(example, count_tokens=words).inputs == "Query: Q Document: text Relevant:"


def test_an_unknown_preset_names_the_known_ones():
    assert get("released") is RELEASED
    with pytest.raises(LisaxError, match="paper, released"):
        get("papper")
