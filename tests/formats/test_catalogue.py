"""Every format is one entry, complete and found by its name."""

import copy
import pickle

import pytest

from lisax.errors import LisaxError
from lisax.formats.catalogue import FORMATS, format_named
from lisax.formats.examples import Example, Passage
from lisax.formats.labelling import CLAIM_ONLY, LABEL_POINTWISE
from lisax.formats.parts import TABLE_OPERATION
from lisax.formats.presets import PAPER
from lisax.formats.ranking import RANK
from lisax.formats.tables import TABLE_FUSION, TABLES, TableExample
from lisax.formats.verbalizing import VERBALIZE
from lisax.records import Label


def test_names_are_those_of_files_and_checkpoints():
    assert list(FORMATS) == [
        *("rank", "rank_entities", "label_pointwise", "label_listwise", "claim_only"),
        *("tables", "table_fusion", "table_parts", "table_operation", "verbalize"),
        *("point_documents", "point_sentences", "retrieve", "read", "point"),
    ]
    assert all(format_named(name) is entry and str(entry) == name for name, entry in FORMATS.items())
    with pytest.raises(LisaxError, match="there is no format 'ranks'; there are rank, rank_entities"):
        format_named("ranks")


def test_a_copy_of_an_entry_is_the_entry():
    for entry in FORMATS.values():
        assert pickle.loads(pickle.dumps(entry)) is entry and copy.deepcopy(entry) is entry


def test_cards_are_as_they_were_written():
    seen = RANK.card(PAPER, 64)
    assert seen == {"text": {"family": "rank", "preset": "paper", "max_tokens": 64, "words": ["true", "false"]}}
    described = {
        "family": "tables",
        "preset": "paper",
        "max_tokens": 64,
        "words": ["true", "false", "weak"],
        "tables": 3,
    }
    assert TABLES.card(PAPER, 64, 3)["text"] == described
    found = TABLE_FUSION.card(PAPER, 64, 3)["text"]
    assert found == {"family": "table_fusion", "preset": "paper", "max_tokens": 64, "tables": 3}
    assert TABLE_OPERATION.card(PAPER, 64)["text"]["words"] == "none max min count sum average".split()


def test_what_does_not_fit_a_format_is_refused():
    passage = Passage("a_0", "A", "It is .")
    with pytest.raises(LisaxError, match="claim 7: label True does not fit .* wants a verdict"):
        LABEL_POINTWISE.encode(Example("7", "C", (passage,), label=True), count_tokens=len)
    with pytest.raises(LisaxError, match="one sentence, found 2"):
        LABEL_POINTWISE.encode(Example("7", "C", (passage, passage), label=Label.SUPPORTS), count_tokens=len)
    with pytest.raises(LisaxError, match="the format 'tables' takes TableExample, found Example"):
        TABLES.encode(Example("7", "C", label=Label.SUPPORTS), count_tokens=len)
    with pytest.raises(LisaxError, match="an input for each table: `encode_each` gives them"):
        TABLE_FUSION.encode(TableExample("7", "C"), count_tokens=len)
    with pytest.raises(LisaxError, match="the format 'table_fusion' has no label words: its answers are table classes"):
        TABLE_FUSION.words(PAPER)
    with pytest.raises(LisaxError, match="the format 'verbalize' takes VerbalExample"):
        VERBALIZE.encode(Example("7", "C"), count_tokens=len)
    # A claim without evidence may be an example of sentences or of tables.
    texts = {CLAIM_ONLY.encode(one, count_tokens=len).inputs for one in (Example("7", "C"), TableExample("7", "C"))}
    assert texts == {"query: C relevant:"}
