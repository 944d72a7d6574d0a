"""Rows and columns as text: the exact strings, and budgets that never lose the question or the closing word."""

import pytest
from counters import COUNTERS, SPIECE
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.formats.parts import TABLE_OPERATION, TABLE_PARTS, OperationExample, PartExample, PartKind
from lisax.formats.presets import PAPER, RELEASED
from lisax.formats.vocabulary import SentencePieceVocabulary, single_pieces
from lisax.records import Operation

QUESTION = "Which  club won in 1921?"
ROW = PartExample(
    "q1", QUESTION, "t#r0", PartKind.ROW, ("year", "club", "note", ""), ("1921", "Tirol\tUnited ", " ", "54"), True
)
COLUMN = PartExample("q1", QUESTION, "t#c1", PartKind.COLUMN, ("club",), ("Tirol United", "", "Varn", "Varn"), False)


@pytest.mark.parametrize(
    "example, inputs, targets",
    [
        (ROW, "query: Which club won in 1921? row: year : 1921 | club : Tirol United | : 54 relevant:", "true"),
        (COLUMN, "query: Which club won in 1921? column: club | Tirol United | Varn | Varn relevant:", "false"),
    ],
)
def test_the_exact_text(example, inputs, targets):
    for limit in (None, 512):
        assert TABLE_PARTS.encode(example, max_tokens=limit, count_tokens=COUNTERS["words"]) == (inputs, targets, 0)
    released = inputs.replace("query:", "hypothesis:").removesuffix(" relevant:")
    assert TABLE_PARTS.encode(example, preset=RELEASED, count_tokens=COUNTERS["words"]).inputs == released


def test_the_exact_text_of_a_header():
    example = OperationExample("q1", QUESTION, "t", ("year", "", "club  name"), Operation.AVERAGE)
    inputs = "query: Which club won in 1921? header: year | club name relevant:"
    for limit in (None, 512):
        found = TABLE_OPERATION.encode(example, max_tokens=limit, count_tokens=COUNTERS["words"])
        assert found == (inputs, "average", 0)
    released = TABLE_OPERATION.encode(example, preset=RELEASED, count_tokens=COUNTERS["words"])
    assert released.inputs == "hypothesis: Which club won in 1921? header: year | club name"


def test_every_operation_has_a_word_and_a_letter():
    words = "none max min count sum average".split()
    assert [PAPER.target(operation) for operation in Operation] == words
    letters = PAPER.with_initials()
    assert len(set(letters.operation_words)) == 6 and letters.label_words == ("t", "f", "w")
    if "T5" in COUNTERS:
        assert len(set(single_pieces(words, SentencePieceVocabulary(SPIECE).encode))) == 6


def test_what_is_cut_first_in_a_header():
    def header(limit):
        example = OperationExample("q1", "q r", "t", ("h one two", "", "i j", "k"))
        text = TABLE_OPERATION.encode(example, max_tokens=limit, count_tokens=COUNTERS["words"]).inputs
        return text.removeprefix("query: ").removesuffix(" relevant:")

    assert header(14) == "q r header: h one two | i j | k"
    assert header(13) == "q r header: h one | i j | k"
    assert header(12) == header(11) == "q r header: h | i | k"
    assert header(10) == header(9) == "q r header: h | i" and header(7) == "q r header: h"
    assert header(6) == "q r header:" and header(5) == "q header:"
    with pytest.raises(LisaxError, match="3 tokens do not hold"):
        header(3)


def test_examples_that_are_not_of_the_family_are_refused():
    with pytest.raises(LisaxError, match="wants an operation"):
        TABLE_OPERATION.encode(ROW, count_tokens=len)
    with pytest.raises(LisaxError, match="wants true or false"):
        TABLE_PARTS.encode(OperationExample("7", "Q", "t", ("h",), Operation.SUM), count_tokens=len)


def encoded(question, kind, header, cells, limit=None, count=COUNTERS["words"]):
    example = PartExample("q1", question, "t#r0", kind, tuple(header), tuple(cells))
    return TABLE_PARTS.encode(example, max_tokens=limit, count_tokens=count).inputs


def at(limit, kind=PartKind.ROW, header=("h one", "i", "j"), cells=("a b c", "d e", "f")):
    text = encoded("q r", kind, header, cells, limit)
    return text.removeprefix("query: ").removesuffix(" relevant:")


def test_what_is_cut_first_in_a_row():
    assert at(21) == "q r row: h one : a b c | i : d e | j : f"
    assert at(20) == "q r row: h one : a b | i : d e | j : f"
    assert at(19) == at(18) == "q r row: h one : a | i : d | j : f"
    assert at(17) == at(14) == "q r row: h one : a | i : d"
    assert at(13) == at(10) == "q r row: h one : a"
    assert at(9) == "q r row: h one :" and at(8) == "q r row: h one" and at(7) == "q r row: h" and at(6) == "q r row:"
    assert at(5) == "q row:"
    with pytest.raises(LisaxError, match="3 tokens do not hold"):
        at(3)


def test_what_is_cut_first_in_a_column():
    def column(limit):
        return at(limit, PartKind.COLUMN, ("h one",), ("a b c", "", "d e", "f"))

    assert column(18) == column(17) == "q r column: h one | a b c | d e | f"
    assert column(16) == "q r column: h one | a b | d e | f"
    assert column(15) == column(14) == "q r column: h one | a | d | f"
    assert column(13) == column(12) == "q r column: h one | a | d"
    assert column(11) == column(10) == "q r column: h one | a"
    assert column(8) == "q r column: h one" and column(7) == "q r column: h" and column(5) == "q column:"


words = st.lists(st.text("ab1é漢", min_size=1, max_size=6), max_size=5).map(" ".join)


@settings(max_examples=80)
@pytest.mark.parametrize("counter", COUNTERS)
@given(
    question=words,
    cells=st.lists(st.tuples(words, words), max_size=12),
    kind=st.sampled_from(PartKind),
    limit=st.integers(60, 220),
)
def test_every_input_fits_and_keeps_the_question_and_the_closing_word(counter, question, cells, kind, limit):
    count = COUNTERS[counter]
    header, values = [name for name, _ in cells], [value for _, value in cells]
    if kind is PartKind.COLUMN:
        header = header[:1] or ["h"]
    text = encoded(question, kind, header, values, limit, count)
    assert count(text) <= limit
    assert text.endswith("relevant:") and f"{kind}:" in text
    template = " ".join(f"query: {question} {kind}: relevant:".split())
    if count(template) <= limit:
        assert text.startswith(" ".join(f"query: {question} {kind}:".split()))
    whole = encoded(question, kind, header, values, count=count)
    assert text == whole or count(whole) > limit
    filled = [i for i, value in enumerate(values) if value]
    kept_header = [header[i] for i in filled] if kind is PartKind.ROW else header
    assert whole == encoded(question, kind, kept_header, [values[i] for i in filled], count=count)
