"""Golden strings: the exact inputs of every family under both presets."""

from __future__ import annotations

import pytest

from lisax.formats.families import Family, encode
from lisax.formats.presets import PAPER, RELEASED, get
from lisax.records import Label, LisaxError
from lisax.sampling.examples import Example, Passage


def words(text: str) -> int:
    return len(text.split())


ONE = Passage("Tirol_Harbour_0", "Tirol Harbour", "It was\topened  in 1921 .")
TWO = Passage("Anna_Voss_3", "Anna Voss", "She designed the harbour .")
CLAIM = "Anna Voss designed Tirol Harbour."

GOLDEN = [
    (
        Family.RANK,
        PAPER,
        (ONE,),
        True,
        "Query: Anna Voss designed Tirol Harbour. Document: Tirol Harbour . It was opened in 1921 . Relevant:",
        "true",
    ),
    (
        Family.RANK_ENTITIES,
        PAPER,
        (ONE,),
        False,
        "Query: Anna Voss designed Tirol Harbour. Document: Tirol Harbour . It was opened in 1921 . "
        "Entity1: Anna Voss Entity2: Tirol Harbour Relevant:",
        "false",
    ),
    (
        Family.RANK_ENTITIES,
        RELEASED,
        (ONE,),
        True,
        "Query: Anna Voss designed Tirol Harbour. Document: Tirol Harbour . It was opened in 1921 . "
        "Entity1: Anna Voss Entity2: Tirol Harbour Relevant:",
        "true",
    ),
    (
        Family.LABEL_POINTWISE,
        PAPER,
        (TWO,),
        Label.SUPPORTS,
        "query: Anna Voss designed Tirol Harbour. sentence: Anna Voss . She designed the harbour . relevant:",
        "true",
    ),
    (
        Family.LABEL_POINTWISE,
        RELEASED,
        (TWO,),
        Label.REFUTES,
        "hypothesis: Anna Voss designed Tirol Harbour. sentence: Anna Voss . She designed the harbour .",
        "false",
    ),
    (
        Family.LABEL_LISTWISE,
        PAPER,
        (ONE, TWO),
        Label.NOT_ENOUGH_INFO,
        "query: Anna Voss designed Tirol Harbour. sentence1: Tirol Harbour . It was opened in 1921 . "
        "sentence2: Anna Voss . She designed the harbour . relevant:",
        "weak",
    ),
    (
        Family.LABEL_LISTWISE,
        RELEASED,
        (ONE, TWO),
        None,
        "hypothesis: Anna Voss designed Tirol Harbour. sentence1: Tirol Harbour . It was opened in 1921 . "
        "sentence2: Anna Voss . She designed the harbour .",
        "",
    ),
    (Family.LABEL_LISTWISE, PAPER, (), Label.SUPPORTS, "query: Anna Voss designed Tirol Harbour. relevant:", "true"),
    (Family.CLAIM_ONLY, PAPER, (ONE,), Label.REFUTES, "query: Anna Voss designed Tirol Harbour. relevant:", "false"),
    (Family.CLAIM_ONLY, RELEASED, (), Label.REFUTES, "hypothesis: Anna Voss designed Tirol Harbour.", "false"),
]


@pytest.mark.parametrize("family, preset, sentences, label, inputs, targets", GOLDEN)
def test_the_exact_text(family, preset, sentences, label, inputs, targets):
    example = Example("7", CLAIM, sentences, ("Anna Voss", "Tirol Harbour"), label)
    assert encode(example, family, preset=preset, max_tokens=512, count_tokens=words) == (inputs, targets, 0)
    assert encode(example, family, preset=preset, count_tokens=words).inputs == inputs


def test_a_sentence_without_a_title_stands_alone():
    example = Example("7", "Q", (Passage("d", "", "text"),), label=True)
    assert encode(example, Family.RANK, count_tokens=words).inputs == "Query: Q Document: text Relevant:"


def test_an_example_of_another_family_is_refused():
    with pytest.raises(LisaxError, match="one sentence, found 2"):
        encode(Example("7", CLAIM, (ONE, TWO), (), True), Family.RANK, count_tokens=words)
    with pytest.raises(LisaxError, match="wants true or false"):
        encode(Example("7", CLAIM, (ONE,), (), Label.SUPPORTS), Family.RANK, count_tokens=words)
    with pytest.raises(LisaxError, match="wants a verdict"):
        encode(Example("7", CLAIM, (ONE,), (), True), Family.LABEL_POINTWISE, count_tokens=words)


def test_an_unknown_preset_names_the_known_ones():
    assert get("released") is RELEASED
    with pytest.raises(LisaxError, match="paper, released"):
        get("papper")
