"""Where sentences end."""

import re
from pathlib import Path

import pytest

from lisax.text.sentences import split_paragraphs, split_sentences

GOLDEN = Path(__file__).with_name("sentences.txt")


def golden():
    """(kind, text, sentences, whether it is known to fail) of each line."""
    kind = None
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind = line[3:].partition(":")[0]
        elif line and not line.startswith("# "):
            fails, line = line.startswith("! "), line.removeprefix("! ")
            text = line.replace(" | ", " ").replace("|", "")
            yield kind, text, re.split(r" \| |\|", line), fails


def test_the_golden_set():
    cases = list(golden())
    assert len(cases) > 550 and len({kind for kind, *_ in cases}) == 36
    wrong = [text for _, text, sentences, _ in cases if split_sentences(text) != [one.strip() for one in sentences]]
    assert wrong == [text for _, text, _, fails in cases if fails]
    assert len(wrong) <= 0.02 * len(cases)


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
        (" \n", []),
        ("One.\tTwo.\nThree.", ["One.", "Two.", "Three."]),
    ],
)
def test_plain_sentences(text, expected):
    assert split_sentences(text) == expected


def test_no_text_is_lost():
    for _, text, *_ in golden():
        assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


def test_paragraphs_broken_over_lines():
    text = "Velin was born in\nTarn. She\nsang.\n \nHer sister\n\n\nNo. 5\nburned"
    assert split_paragraphs(text) == ["Velin was born in Tarn.", "She sang.", "Her sister", "No. 5 burned"]
    assert split_paragraphs("E\u0301lan.\u2028Orm.") == ["Élan.", "Orm."]
