"""Golden pairs: the form of two texts of each format that has one."""

from __future__ import annotations

import pytest

from lisax.formats.catalogue import FORMATS
from lisax.formats.examples import Example, Passage
from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.presets import PAPER, RELEASED
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.records import Label, LisaxError

FIRST, SECOND = Passage("A_1", "Alfa", "It  is a town ."), Passage("B_2", "", "It has no title .")
ONE = Example("1", " Alfa is\ta town", (FIRST,), ("Alfa", " ", "Town"), True)
LIST = Example("1", "Alfa is a town", (FIRST, SECOND), (), Label.SUPPORTS)


@pytest.mark.parametrize(
    ("text_format", "example", "pair"),
    [
        (RANK, ONE, ("Alfa is a town", "Alfa . It is a town .")),
        (RANK_ENTITIES, ONE, ("Alfa is a town Entity1: Alfa Entity2: Town", "Alfa . It is a town .")),
        (LABEL_LISTWISE, LIST, ("Alfa is a town", "Alfa . It is a town . It has no title .")),
        (CLAIM_ONLY, LIST, ("Alfa is a town", "")),
    ],
)
def test_texts(text_format, example, pair):
    assert text_format.pair(example) == text_format.pair(example, preset=PAPER) == pair


def test_each_preset_has_its_separator():
    pointwise = Example("1", "Alfa is a town", (FIRST,), (), Label.REFUTES)
    assert LABEL_POINTWISE.pair(pointwise).second == "Alfa . It is a town ."
    assert LABEL_POINTWISE.pair(pointwise, preset=RELEASED).second == f"Alfa{RELEASED.title_separator}It is a town ."


def test_cards_name_the_classes():
    assert LABEL_LISTWISE.pair_card(PAPER, 256) == {
        "text": {
            "family": "label_listwise",
            "preset": PAPER.name,
            "max_tokens": 256,
            "labels": ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"],
        }
    }
    assert RANK.pair_card(PAPER, 128)["text"]["labels"] == ["relevant", "not relevant"]
    for text_format in FORMATS.values():
        assert text_format.pairs is None or len(text_format.answer.classes) > 1


def test_what_does_not_fit_is_told():
    with pytest.raises(LisaxError, match="the format 'tables' has no form of two texts"):
        FORMATS["tables"].pair(LIST)
    with pytest.raises(LisaxError, match="takes one sentence, found 2"):
        LABEL_POINTWISE.pair(LIST)
    with pytest.raises(LisaxError, match="label .* does not fit the format 'rank'"):
        RANK.pair(LIST)
