"""What a labeller reads of a ranking: the same sentences when it learns and when it is used."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.ranking import RANK
from lisax.predict.index import Index
from lisax.predict.joining import join
from lisax.predict.judging import verifying
from lisax.predict.ranker import SentenceRanker
from lisax.predict.verdicts import Evidence
from lisax.predict.verifier import Labeller
from lisax.records import Claim, Document, Hit, Label, Sentence
from lisax.sampling import examples, pointer_examples

CLAIM = Claim("1", "Ada Brook composed.", Label.NOT_ENOUGH_INFO)


class Reader:
    """In the place of a model: notes what it is given to read."""

    calibration = sentences = None
    pairs = False

    def __init__(self, text_format):
        self.format, self.read = text_format, []

    def probabilities(self, rows):
        self.read += rows
        return np.full((len(rows), 3), 1 / 3)


class Known(Index):
    """Units of a look-up."""

    def __init__(self, lookup):
        self.lookup = lookup

    def _read(self, unit, score, claim):
        found = self.lookup(unit)
        return found and Evidence(unit, found.text, found.title, score=score)


def page(texts):
    """A page with empty sentences, and a ranking of all its sentences, of one that it lacks and of another page's."""
    document = Document("P", "Page", tuple(Sentence("P", n, text) for n, text in enumerate(texts)))
    units = [*(sentence.id for sentence in document.sentences), f"P_{len(texts) + 3}", "Q_0"]
    return examples.lookup_in([document]), units


@given(st.lists(st.sampled_from(["", "It is said .", "It is ."]), max_size=40), st.randoms())
def test_the_first_sentences_are_the_same_in_training_and_in_use(texts, random):
    lookup, units = page(texts)
    random.shuffle(units)
    learned = next((e.unit_ids for e in examples.infused([CLAIM], {"1": units}, lookup)), [])
    assert learned == [unit for unit in units if lookup(unit)][:5]
    run = {"1": [Hit("1", unit, rank, 1 / rank) for rank, unit in enumerate(units, start=1)]}
    for text_format in (LABEL_LISTWISE, LABEL_POINTWISE):
        model = Reader(text_format)
        (verdict,) = verifying(Labeller(model), run, Known(lookup))([CLAIM])
        read = [one.unit for one in verdict.evidence]
        assert [unit for example in model.read for unit in example.unit_ids] == read == learned
        assert [one.score for one in verdict.evidence] == [1 / (units.index(unit) + 1) for unit in learned]
    pointed = next(iter(pointer_examples.as_used([CLAIM], {"1": units}, lookup, lambda claim: (), 5)))
    assert [candidate.id for candidate in pointed.candidates] == learned


def test_a_verdict_names_the_sentences_that_its_probabilities_are_from():
    lookup, units = page(["It is said ."] * 5)
    run = {"1": [Hit("1", unit, rank, 1 / rank) for rank, unit in enumerate(units, start=1)]}
    model = Reader(LABEL_LISTWISE)
    model.sentences, model.leading = 2, 0
    (verdict,) = verifying(Labeller(model), run, Known(lookup))([CLAIM])
    assert {unit for example in model.read for unit in example.unit_ids} == {"P_0", "P_1"}
    assert len(verdict.evidence) == 5 and verdict.to_dict()["read_units"] == ["P_0", "P_1"]
    assert "the probabilities are from 1 and 2" in verdict._repr_html_()
    assert str(verdict).endswith("\n  the probabilities are from 1 and 2")
    table = dataclasses.replace(verdict, evidence=(Evidence("T", "Table"),), read=None)
    assert join([verdict, table]).read_units == ["P_0", "P_1"] and table.read_units == ["T"]
    (verdict,) = verifying(Labeller(Reader(CLAIM_ONLY)), run, Known(lookup))([CLAIM])
    assert verdict.read_units == [] and str(verdict).endswith("\n  the probabilities are from the claim")


@pytest.mark.parametrize("empty", [0, 5, 11, 60])
def test_sentences_without_text_take_no_place(empty):
    lookup, units = page([""] * empty + ["It is said ."] * 7)
    model = Reader(LABEL_LISTWISE)
    run = {"1": [Hit("1", unit, rank, 1.0) for rank, unit in enumerate(units, start=1)]}
    verifying(Labeller(model), run, Known(lookup))([CLAIM])
    assert [example.unit_ids for example in model.read] == [[f"P_{empty + n}" for n in range(5)]]
    ranker = SimpleNamespace(format=RANK, probabilities=lambda rows: np.ones((len(rows), 2)))
    candidates = Known(lookup).evidence(units, 6)
    (found,) = SentenceRanker(ranker).rank_many([CLAIM.text], [candidates])
    assert [one.unit for one in found] == [f"P_{empty + n}" for n in range(6)]
