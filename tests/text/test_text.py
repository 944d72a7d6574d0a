"""Words, folding and dates: what other rooms rely on, and where the two foldings differ on purpose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.text.dates import MONTH_NUMBERS, MONTHS, find_dates, whole_date
from lisax.text.folding import fold, fold_word
from lisax.text.tokens import tokens
from lisax.text.words import shared_words, stemmer, word_spans, words


@pytest.mark.parametrize(
    "written, for_models, for_indexes",
    [
        ("Müller's", "muller's", "muller"),
        ("U.S.", "u.s.", "us"),
        ("Ørsted", "orsted", "orsted"),
        ("2½", "2 1/2", "21⁄2"),
        ("STRASSE", "strasse", "strasse"),
        ("Straße", "strasse", "strasse"),
        ("Łódź", "lodz", "lodz"),
    ],
)
def test_the_two_foldings(written, for_models, for_indexes):
    assert (fold(written), fold_word(written)) == (for_models, for_indexes)


@given(st.text())
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


def test_words_keep_single_letters_and_join_acronyms():
    assert words("Malcolm X's U.S. visit, 1964–65") == ["malcolm", "x", "us", "visit", "1964", "65"]


@given(st.text(alphabet="aB é.'’ 19-"))
def test_spans_are_the_words_as_written(text):
    for word, start, end in word_spans(text):
        assert fold_word(text[start:end]) == word


def test_stems_are_snowballs():
    assert [stemmer()(word) for word in ("running", "studies", "generously")] == ["run", "studi", "generous"]


@pytest.mark.parametrize(
    "text, dates",
    [
        ("born 15 march 1932 or march 15th, 1932", [(1932, 3, 15), (1932, 3, 15)]),
        ("1932-03-15, sept. 1940, may of 1941", [(1932, 3, 15), (1940, 9, 0), (1941, 5, 0)]),
        ("32 march 1932, 1932-13-01, march 15, 1932.", [(1932, 3, 15)]),
        ("on 30.06.2024 and 1.7.1999.", [(2024, 6, 30), (1999, 7, 1)]),
        ("06.30.2024, 1.2.3.2024, 12.05.2024.1, 12.05.20245", []),
        ("13/6/2007, 6/13/2007, 7/7/2007, 6/1/2007", [(2007, 6, 13), (2007, 6, 13), (2007, 7, 7)]),
        ("in 1932", []),
    ],
)
def test_dates_within_a_text(text, dates):
    found = list(find_dates(text))
    assert [date for date, _, _ in found] == dates
    assert all(text[start:end].strip() for _, start, end in found)


@pytest.mark.parametrize(
    "text, date",
    [
        ("1 may 1921", (1921, 5, 1)),
        ("1921-05-01", (1921, 5, 1)),
        ("may 1", (None, 5, 1)),
        ("may 1921", (1921, 5, None)),
        ("1921", None),
        ("in may 1921", None),
        ("mayor 1921", None),
    ],
)
def test_texts_that_are_a_date(text, date):
    assert whole_date(text) == date


def test_months_are_numbered_by_name_and_short_forms():
    assert len(MONTHS) == 12 and MONTH_NUMBERS["december"] == MONTH_NUMBERS["dec"] == 12
    assert MONTH_NUMBERS["sept"] == MONTH_NUMBERS["sep"] == 9


def test_shared_words_that_all_texts_have_count_least():
    texts = ["Orm and Tarn", "the Orm", "Orm", "tarn's Orm", ""]
    assert shared_words("Is the Orm in TÁRN?", texts) == pytest.approx([1 / 4 + 1 / 2, 1 + 1 / 4, 1 / 4, 3 / 4, 0])
    assert shared_words("", ["a"]) == [0] and shared_words("a", []) == []


def test_texts_with_words_as_rare_share_equally_in_any_order_of_a_set():
    """A sum in the order of a set has other last digits for other words, and so another order of texts in each run."""
    counts = (3, 7, 11, 13, 17, 19, 23)
    first, second = (" ".join(f"{letter}{count}" for count in counts) for letter in "ab")
    others = [f"{letter}{count}" for letter in "ab" for count in counts for _ in range(count - 1)]
    for salt in range(50):
        texts = [text.replace("a", f"x{salt}y").replace("b", f"z{salt}w") for text in (first, second, *others)]
        shares = shared_words(" ".join(texts[:2]), texts)
        assert shares[0] == shares[1]


def test_tokens_keep_the_marks_of_a_word():
    assert [token.word for token in tokens("हिन्दी भाषा, 1815")] == ["हिन्दी", "भाषा", ",", "1815"]
    found = [token.word for token in tokens("E\u0301lan’s x\u0308 mid-1990s")]
    assert found == ["e\u0301lan", "'s", "x\u0308", "mid", "1990s"]
