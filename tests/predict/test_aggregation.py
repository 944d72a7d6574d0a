"""From probabilities of rows, columns and operations to answers; the threshold; figures."""

import json

import numpy as np
import pytest

from lisax.corpora.answer_cells import value_of
from lisax.errors import LisaxError
from lisax.formats import presets
from lisax.formats.parts import TABLE_OPERATION, TABLE_PARTS
from lisax.formats.vocabulary import REQUIRED_WORDS, train_vocabulary
from lisax.papers.cltr.operations import accepted
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.predict.aggregation import THRESHOLD, Aggregator, fit_threshold, line
from lisax.predict.answerer import CellAnswerer
from lisax.predict.model import Model
from lisax.predict.table_answers import TableScores
from lisax.predict.verifier import verifier_of
from lisax.records import Operation, Question, Table
from lisax.weights.model_card import ModelCard

TABLE = Table("t", "", ("year", "goals"), (("1921", "1,000"), ("1922", "n/a"), ("1923", "0.1"), ("1924", "7")))
SCORES = TableScores(TABLE, 1.0, np.float32([0.6, 0.7, 0.8, 0.1]), np.float32([0.2, 0.9]))
CHOSEN = ["t#r0c1", "t#r1c1", "t#r2c1"]


class Says:
    """Stands in for `LabelScorer`: the word of an operation stands in its question."""

    def __init__(self, pieces):
        self.pieces = pieces

    def logits(self, tokens):
        return np.array([[9.0 * (piece in ids) for piece in self.pieces] for ids in tokens], np.float32)


@pytest.fixture(scope="module")
def open_with(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "spiece.model"
    vocabulary = train_vocabulary(
        ["query: header: year goals relevant:"] * 20, path, 120, [*REQUIRED_WORDS, *Operation]
    )

    def opened(text_format=TABLE_OPERATION) -> Model:
        card = text_format.card(presets.PAPER, 40) | {"architecture": {"vocab_size": vocabulary.size}}
        return Model.of_words(lambda pieces, _: Says(pieces), vocabulary, ModelCard(path.parent, card))

    return opened


@pytest.mark.parametrize(
    "operation, text, cells, left_out",
    [
        ("count", "3", CHOSEN, 0),
        ("sum", "1000.1", CHOSEN[::2], 1),
        ("average", "500.05", CHOSEN[::2], 1),
        ("max", "1000", CHOSEN[::2], 1),
        ("min", "0.1", CHOSEN[::2], 1),
    ],
)
def test_the_best_column_in_the_rows_that_reach_the_threshold(open_with, operation, text, cells, left_out):
    (answer,) = Aggregator(open_with(), 0.5).answers(f"{operation} goals", [SCORES])
    assert (answer.operation, answer.text, answer.cell) == (operation, text, "t#r2c1") and answer.probability > 0.99
    row = line("q", [answer])
    assert (
        row["answers"] == [text]
        and row["tables"][0].items()
        >= {"value": text, "cells": cells, "left_out": left_out, "operation": operation, "table": "t"}.items()
    )
    assert json.loads(json.dumps(row)) == row


@pytest.mark.parametrize("question, threshold", [("none goals", 0.5), ("sum goals", 0.9)])
def test_without_an_operation_or_rows_the_best_cell_answers(open_with, question, threshold):
    (answer,) = Aggregator(open_with(), threshold).answers(question, [SCORES])
    assert answer.aggregate is None and answer.text == "0.1" and "value" not in answer.row()
    assert Aggregator(open_with(), threshold).answers(question, []) == []


def test_a_row_of_totals_is_left_out(open_with):
    of = Table("t", "", ("team", "goals"), (("Orm", "3"), ("Lund", "4"), ("Total", "7")))
    scores = TableScores(of, 1.0, np.float32([0.7, 0.8, 0.9]), np.float32([0.2, 0.9]))
    (answer,) = Aggregator(open_with(), 0.5).answers("sum goals", [scores])
    assert answer.text == "7" and answer.row()["cells"] == ["t#r0c1", "t#r1c1"]


def test_another_format_is_refused(open_with):
    with pytest.raises(LisaxError, match="operations need one of 'table_operation'"):
        Aggregator(open_with(TABLE_PARTS))
    with pytest.raises(LisaxError, match="chooses operations .*; a labeller is wanted here"):
        verifier_of(open_with())


def test_the_threshold_separates_right_rows_from_others():
    assert fit_threshold([]) == THRESHOLD
    held = [([0.1, 0.3, 0.35], {1, 2}), ([0.2, 0.9, 0.31], {1, 2})]
    assert fit_threshold(held) == pytest.approx(0.3)
    # None better than the one that is always tried.
    assert fit_threshold([([0.6, 0.4], {0})]) == THRESHOLD


def test_what_is_right():
    tables = {"t": TABLE}
    operands = Question("q", "Q", operation=Operation.SUM, operands=("t#r0c1", "t#r2c1"))
    assert accepted(operands, tables.get) == {value_of("1000.1")}
    assert accepted(Question("q", "Q", ("1,000", "x")), tables.get) == {("number", 1000.0), ("text", "x")}


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"train": {"aggregation": "a.gin"}}, "a model for aggregation without the other finds no cell"),
        ({"train": {"rows": "a.gin", "aggregation": "a.gin"}}, "finds no cell"),
        ({"aggregation_threshold": 2.0}, "must lie between 0 and 1, found 2.0"),
    ],
)
def test_recipes_that_cannot_be(fields, message):
    with pytest.raises(LisaxError, match=message):
        CltrRecipe(**fields)
    whole = CltrRecipe(models={"rows": "a", "columns": "b", "aggregation": "c"})
    assert whole.aggregates and whole.scorers == ("rows", "columns") and not CltrRecipe().aggregates


def test_the_reason_counts_cells(open_with):
    class Tables:
        confidence = None

        def answer(self, *_):
            return [SCORES]

    reasons = [
        CellAnswerer(Tables(), Aggregator(open_with(), threshold)).ask("max goals")[0].reason
        for threshold in (0.5, 0.75)
    ]
    assert reasons == ["the max of 2 cells", "the max of 1 cell"]
