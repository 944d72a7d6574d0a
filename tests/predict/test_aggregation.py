"""From probabilities of rows, columns and operations to answers; aggregates of cells, exact against fractions."""

import decimal
import json
import statistics
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.corpora.answer_cells import exact_number, value_of
from lisax.errors import LisaxError
from lisax.formats import presets
from lisax.formats.parts import TABLE_OPERATION, TABLE_PARTS
from lisax.formats.vocabulary import REQUIRED_WORDS, train_vocabulary
from lisax.papers.cltr.operations import accepted
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.predict.aggregation import DECIMALS, THRESHOLD, Aggregator, aggregate, fit_threshold, line
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


numbers = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=None).map(
    lambda number: f"{number:f}"
)
cell = st.one_of(
    numbers,
    st.integers(-(10**40), 10**40).map(str),
    st.sampled_from(["0.1", "-0.30", "$1,200.50", "39†", "", "n/a", "+7"]),
)
cells = st.lists(cell, min_size=1, max_size=12)


def named(texts):
    return {f"t#r{i}c0": text for i, text in enumerate(texts)}


EXACT = {Operation.MAX: max, Operation.MIN: min, Operation.SUM: sum, Operation.AVERAGE: statistics.mean}


def ends(fraction: Fraction) -> bool:
    rest = fraction.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


@pytest.mark.parametrize("operation", EXACT)
@given(texts=cells)
def test_values_are_those_of_fractions(operation, texts):
    values = [Fraction(number) for text in texts if (number := exact_number(text)) is not None]
    found = aggregate(operation, named(texts))
    if not values:
        assert found is None
        return
    wanted = EXACT[operation](values)
    assert len(found.cells) == len(values) and found.left_out == len(texts) - len(values)
    if ends(wanted):
        assert Fraction(found.value) == Fraction(found.text.removesuffix(" $")) == wanted
    else:
        assert operation is Operation.AVERAGE
        assert abs(Fraction(found.value) - wanted) <= Fraction(1, 2 * 10**DECIMALS)
        assert -found.value.as_tuple().exponent == DECIMALS


@pytest.mark.parametrize("operation", [*EXACT, Operation.COUNT])
@given(texts=cells, data=st.data())
def test_the_order_of_cells_does_not_matter(operation, texts, data):
    found = aggregate(operation, named(texts))
    other = aggregate(operation, dict(data.draw(st.permutations(list(named(texts).items())))))
    assert (found is None) == (other is None)
    if found is not None:
        assert (found.value, found.text, set(found.cells)) == (other.value, other.text, set(other.cells))


def test_nothing_gives_nothing_and_counts_are_of_cells():
    for operation in [*EXACT, Operation.COUNT]:
        assert aggregate(operation, {}) is None
    assert aggregate(Operation.SUM, named(["n/a", ""])) is None
    assert aggregate(Operation.COUNT, named(["n/a", "7"])).text == "2"
    with pytest.raises(LisaxError, match="'none' makes nothing"):
        aggregate(Operation.NONE, named(["1"]))


@pytest.mark.parametrize(
    "operation, texts, text",
    [
        (Operation.SUM, ["0.1", "0.2"], "0.3"),
        (Operation.AVERAGE, ["1", "2", "2"], "1.666666666667"),
        (Operation.AVERAGE, ["1", "2"], "1.5"),
        (Operation.MAX, ["9", "1,000", "none"], "1000"),
        (Operation.MIN, ["-3", "2"], "-3"),
        (Operation.SUM, ["-0"], "0"),
        (Operation.MAX, ["1.5m", "900k", "20k"], "1500000"),
        (Operation.MIN, ["−5", "−12", "3"], "-12"),
        (Operation.SUM, ["(500)", "1,200"], "700"),
        (Operation.SUM, ["12,5", "1.234"], "1246.5"),
        (Operation.AVERAGE, ["5 goals", "2 goals"], "3.5"),
    ],
)
def test_values_in_digits_whatever_the_callers_context(operation, texts, text):
    with decimal.localcontext(decimal.Context(prec=2)):
        found = aggregate(operation, named(texts))
        assert found.text == text and found.value == Decimal(text)


def test_measures_are_added_in_the_unit_of_the_first_and_left_out_among_numbers():
    found = aggregate(Operation.SUM, named(["2 km", "900 m", "n/a"]))
    assert (found.text, found.left_out) == ("2.9 km", 1)
    assert aggregate(Operation.MAX, named(["900 m", "2 km"])).text == "2000 m"
    assert aggregate(Operation.SUM, named(["1 ft", "1 in", "1 m"])).text.startswith("4.3641")
    assert aggregate(Operation.SUM, named(["2 km", "3 kg", "7"])).text == "7"


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (["$1.20", "$3.00"], "4.2 $"),
        (["$1,200.50", "−0.50"], "1200 $"),
        (["5 €", "€-2"], "3 €"),
        (["12 %", "0.5 %"], "12.5 %"),
        (["€5", "$7"], None),
        (["5 €", "1 %"], None),
    ],
)
def test_sums_of_money_and_of_percentages_have_their_unit(texts, text):
    found = aggregate(Operation.SUM, named(texts))
    assert (found and found.text) == text
