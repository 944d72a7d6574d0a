"""Exact match and recall against hand-made cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.metrics.open_qa import answer_spans, answered, exact_match, normalize, recall


def test_normalisation_is_squads():
    assert normalize(" The  Silver-Harbor, a novel! ") == "silverharbor novel"
    assert exact_match("the Tarn", ["tarn."]) and exact_match("5,000", ["5000"]) and not exact_match("Tarn", ["Tarns"])
    assert not exact_match("Tarn", [])


@pytest.mark.parametrize(
    ("text", "answers", "found"),
    [
        ("In 1971 and 19715", ["1971"], ["1971"]),
        ("TARN united, Tarn", ["Tarn"], ["TARN", "Tarn"]),
        ("5 , 000 ( approx . ) of 5,000", ["5,000 (approx.)", "5,000"], ["5 , 000 ( approx . )", "5,000"]),
        ("a Kraków b", ["Kraków"], ["Kraków"]),
        ("anything", ["", "..!"], []),
        ("anything", [], []),
    ],
)
def test_answers_are_found_as_whole_words(text, answers, found):
    assert [text[begin:end] for begin, end in answer_spans(text, answers)] == found


@given(st.text("ab, (.", max_size=12), st.text("ab, (.", min_size=1, max_size=4))
def test_what_is_found_says_what_was_asked(text, answer):
    for begin, end in answer_spans(text, [answer]):
        assert "".join(text[begin:end].split()) == "".join(answer.split())


def test_recall_counts_questions_with_an_answer_among_the_first():
    answers = {"a": ["x"], "b": ["y"], "c": ["z"], "d": []}
    texts = {"a": ["has x"], "b": ["no", "no", "y!"], "c": ["z"] * 0, "d": ["x"]}
    assert recall(answers, texts, (1, 2, 3)) == {"R@1": 0.25, "R@2": 0.25, "R@3": 0.5, "questions": 4}
    assert answered(answers, {"a": "X.", "b": "x"}) == {"exact_match": 0.25, "questions": 4}


def test_a_question_without_a_prediction_is_wrong():
    assert exact_match("", ["The The"])  # all articles
    assert answered({"a": ["The The"], "b": ["b"]}, {"b": "the B"}) == {"exact_match": 0.5, "questions": 2}
