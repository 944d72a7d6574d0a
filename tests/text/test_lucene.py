"""Terms of Lucene: what Lucene 9.9.1 itself gave for these texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.text import lucene

GIVEN = [
    (
        "The U.S. economy's 3.5 % possibly grew to 1,000,000 in 2001;2002",
        "u. economi 3.5 possibl grew 1,000,000 2001;2002",
    ),
    ("L'Oréal’s d'Arc geology_of_oil __ _x_ _", "l'oréal d'arc geology_of_oil _x_"),
    ("naïve Straße İstanbul ΟΔΟΣ", "naïv straße istanbul οδοσ"),
    ("example.com/a:b x:y 12:30 a.b.c. O'Neil's 'quoted'", "example.com a:b x:y 12 30 a.b.c o'neil quot"),
    ("東京タワーへ 한국어 ภาษาไทย", "東 京 タワー へ 한국어 ภาษาไทย"),
    ("👍🏽 👩‍👩‍👧 🇩🇪🇫🇷 ★ 5\ufe0f\u20e3 ™", "👍🏽 👩‍👩‍👧 🇩🇪 🇫🇷 ★ 5\ufe0f\u20e3 ™"),
    ("שב\"כ ג' ", "שב\"כ ג'"),
    ("cafe\u0301 café soft\xadhyphen zero\u200bwidth", "cafe\u0301 café soft\xadhyphen zero width"),
    ("10\u202f000 ‿ x", "10\u202f000 x"),  # a narrow blank joins, a tie alone is no word
    ("generalization relational universities skies dying news howe", "gener relat univers ski dy new how"),
    ("+49 (0)30-1234 C++ AT&T Spider-Man 1990s 20th", "49 0 30 1234 c t spider man 1990 20th"),
    ("It was not such a 's", "s"),
]


def terms(text):
    return [term for word in lucene.words(text) if (term := lucene.term(word))]


@pytest.mark.parametrize(("text", "expected"), GIVEN)
def test_terms_are_lucenes(text, expected):
    assert " ".join(terms(text)) == expected


@given(st.text("abS1 .,:;'_-\"\n"))
def test_both_patterns_find_the_same_words_of_ascii(text):
    assert lucene._ASCII.findall(text) == lucene._unicode().findall(text)


def test_words_end_after_255_characters():
    assert [len(word) for word in lucene.words("x" * 600 + "y.z")] == [255, 255, 93]
    assert lucene.words("é" * 300 + " a") == ["é" * 255, "é" * 45, "a"]
    assert lucene.words("_" * 300) == [] and lucene.words("_" * 300 + "a")[-1].endswith("a")


def test_lengths_are_kept_in_a_byte():
    lengths = np.array([0, 1, 24, 39, 40, 41, 42, 55, 56, 57, 60, 100, 1000, 100_000])
    # What `SmallFloat.byte4ToInt(SmallFloat.intToByte4(length))` gives.
    expected = [0, 1, 24, 39, 40, 40, 42, 54, 56, 56, 60, 96, 984, 98328]
    assert lucene.kept_lengths(lengths).tolist() == expected
