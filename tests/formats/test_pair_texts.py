"""Golden pairs: the form of two texts of each format that has one, and its ids in MiniLM's vocabulary."""

import dataclasses

import pytest

from lisax.errors import LisaxError
from lisax.formats.catalogue import FORMATS
from lisax.formats.examples import Example, Passage
from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.parts import TABLE_PARTS, PartExample, PartKind
from lisax.formats.pointing import POINT_DOCUMENTS, POINT_SENTENCES, PointerExample
from lisax.formats.presets import PAPER, RELEASED
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.formats.tables import TABLE_FUSION, TABLES, TableExample, TableView
from lisax.formats.vocabulary_file import TokenizerVocabulary
from lisax.records import Label
from lisax.weights.pretrained import MODELS

FIRST, SECOND = Passage("A_1", "Alfa", "It  is a town ."), Passage("B_2", "", "It has no title .")
ONE = Example("1", " Alfa is\ta town", (FIRST,), ("Alfa", " ", "Town"), True)
LIST = Example("1", "Alfa is a town", (FIRST, SECOND), (), Label.SUPPORTS)

QUESTION = "Which  club won in 1921?"
ROW = PartExample(
    "q", QUESTION, "t#r0", PartKind.ROW, ("year", "club", "note", ""), ("1921", "Tirol\tUnited ", " ", "54"), True
)
COLUMN = PartExample("q", QUESTION, "t#c1", PartKind.COLUMN, ("club",), ("Tirol United", "", "Varn", "Varn"), False)
CUP = TableView("cup", "Cup", ("year", "club"), (("1920", "Varn"), ("1922", "Tirol"), ("1921", " Tirol ")))
EMPTY = TableView("empty", "", ("year",), ())
BOX = TableView("box", "Varn", ("Born", "Club", "Won", ""), (("1901", "Tirol United ", "1921,  1922", "x"),))
TOLD = TableExample("1", "Varn won with Tirol", (BOX,), Label.SUPPORTS, (True,))
WON = TableExample("1", "Tirol  won in 1921", (CUP, EMPTY), Label.SUPPORTS, (True, False))


@pytest.mark.parametrize(
    ("text_format", "example", "pair"),
    [
        (RANK, ONE, ("Alfa is a town", "Alfa . It is a town .")),
        (RANK_ENTITIES, ONE, ("Alfa is a town Entity1: Alfa Entity2: Town", "Alfa . It is a town .")),
        (LABEL_LISTWISE, LIST, ("Alfa is a town", "Alfa . It is a town . It has no title .")),
        (CLAIM_ONLY, LIST, ("Alfa is a town", "")),
        (TABLE_PARTS, ROW, ("Which club won in 1921?", "year : 1921 * club : Tirol United * : 54")),
        (TABLE_PARTS, COLUMN, ("Which club won in 1921?", "club * Tirol United * Varn * Varn")),
        # Computed facts, then the row with both words, the one that has the word of two, and the others.
        (
            TABLES,
            WON,
            (
                "Tirol won in 1921",
                "Cup . 3 rows . club is Tirol and year is 1921 in 1 row . club is Tirol and year over 1921 in 1 row , "
                "under 1921 in 0 rows . club is Tirol in 2 rows . year over 1921 in 1 row , under 1921 in 1 row . year is 1921 ; club is Tirol . year is 1922 ; "
                "club is Tirol . year is 1920 ; club is Varn .",
            ),
        ),
        # Of a table of one row the cells, those first that share words with the claim.
        (TABLES, TOLD, ("Varn won with Tirol", "Varn . Club is Tirol United . Won is 1921, 1922 . Born is 1901 . x .")),
        (CLAIM_ONLY, WON, ("Tirol won in 1921", "")),
    ],
)
def test_texts(text_format, example, pair):
    assert text_format.pair(example) == text_format.pair(example, preset=PAPER) == pair


def test_ids_in_minilms_vocabulary():
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's vocabulary: lisax models get minilm")
    vocabulary = TokenizerVocabulary(MODELS["minilm"].folder / "tokenizer.json")
    asked = [101, 2029, 2252, 2180, 1999, 4885, 1029, 102]
    row = [2095, 1024, 4885, 1008, 2252, 1024, 14841, 13153, 2142, 1008, 1024, 5139, 102]
    column = [2252, 1008, 14841, 13153, 2142, 1008, 13075, 2078, 1008, 13075, 2078, 102]
    for example, known in ((ROW, row), (COLUMN, column)):
        pair = vocabulary.encode_pair(*TABLE_PARTS.pair(example))
        assert pair.ids == [*asked, *known] and pair.types == [0] * len(asked) + [1] * len(known)
    # What does not fit goes from the end of the tables.
    cut = [101, 14841, 13153, 2180, 1999, 4885, 102, 2452, 1012, 1017, 10281, 1012, 2252, 2003, 14841, 102]
    assert vocabulary.encode_pair(*TABLES.pair(WON), 16).ids == cut


def test_texts_of_each():
    """The second text is that which a pair scorer reads of the same sentence or table alone."""
    candidates = PointerExample("1", " Alfa is\ta town", (FIRST, SECOND), Label.SUPPORTS, ((0,),))
    found = POINT_SENTENCES.pair_of_each(candidates)
    assert found == [("Alfa is a town", "Alfa . It is a town ."), ("Alfa is a town", "It has no title .")]
    seen = POINT_SENTENCES.pair_of_each(candidates)[0]
    assert seen == LABEL_POINTWISE.pair(Example("1", candidates.claim, (FIRST,), (), Label.SUPPORTS))
    assert POINT_DOCUMENTS.pair_of_each(candidates) == [("Alfa is a town", "Alfa"), ("Alfa is a town", "")]
    of_each = TABLE_FUSION.pair_of_each(WON)
    assert of_each[1] == ("Tirol won in 1921", "")
    alone = dataclasses.replace(WON, tables=(CUP,), gold=(True,))
    assert [of_each[0]] == TABLE_FUSION.pair_of_each(alone) == [TABLES.pair(alone)]


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
    assert TABLES.pair_card(PAPER, 128, 1)["text"]["tables"] == 1
    assert "tables" not in CLAIM_ONLY.pair_card(PAPER, 128, 0)["text"]
    assert RANK.pair_card(PAPER, 128)["text"]["labels"] == ["relevant", "not relevant"]
    for text_format in FORMATS.values():
        assert text_format.pairs is None or text_format.each or len(text_format.answer.classes) > 1
    assert TABLE_FUSION.card(PAPER, 64, 5, pairs=True)["text"]["pairs"] is True
    assert "pairs" not in TABLE_FUSION.card(PAPER, 64, 5)["text"]


def test_what_does_not_fit_is_told():
    with pytest.raises(LisaxError, match="the format 'table_fusion' has no form of two texts"):
        TABLE_FUSION.pair(WON)
    with pytest.raises(LisaxError, match="the format 'tables' has no form of two texts for each of several"):
        TABLES.pair_of_each(WON)
    with pytest.raises(LisaxError, match="label .* does not fit the format 'rank'"):
        RANK.pair(LIST)
