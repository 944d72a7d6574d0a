"""Where sentences end."""

import pytest

from lisax.text import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tarn is a town. It has an inn.", ["Tarn is a town.", "It has an inn."]),
        ("Dr. J. Velin left the U.S. in 1950. She sang!", ["Dr. J. Velin left the U.S. in 1950.", "She sang!"]),
        ('She said "No." Then she left. 3 came.', ['She said "No."', "Then she left.", "3 came."]),
        ("It is 3.5 m wide, e.g. Here it is.", ["It is 3.5 m wide, e.g. Here it is."]),
        ("a list, i.e. one. two", ["a list, i.e. one. two"]),
        ("What? Élan came.", ["What?", "Élan came."]),
        ("", []),
    ],
)
def test_plain_sentences(text, expected):
    assert sentences.split_sentences(text) == expected
