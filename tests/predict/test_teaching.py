"""Examples with what a teacher reads in them."""

import pytest

from lisax.errors import DataError, LisaxError
from lisax.formats.examples import Example, Passage, read_examples, write_examples
from lisax.predict.model import Model
from lisax.predict.teaching import open_teaching
from lisax.records import Label

EXAMPLES = [
    Example(str(i), "Vova Brugard was born in Torimoor.", (Passage("p", "Vova Brugard", text),), (), Label.SUPPORTS)
    for i, text in enumerate(("She was born in Torimoor.", "She was born in Ostra."))
]


def test_they_have_its_probabilities_and_are_written_and_read_with_them(bundles, tmp_path):
    teacher = Model.open(bundles["listwise"])
    made = open_teaching(bundles["listwise"])(EXAMPLES)
    for one, before, shares in zip(made, EXAMPLES, teacher.probabilities(EXAMPLES), strict=True):
        assert one.taught == pytest.approx(shares, abs=1e-3) and one.claim == before.claim and one.label is before.label
    write_examples(tmp_path / "examples.jsonl", [*made, EXAMPLES[0]])
    assert list(read_examples(tmp_path / "examples.jsonl")) == [*made, EXAMPLES[0]]


@pytest.mark.parametrize("shares", ["[0.5, 0.5]", "[0.5, 0.6, 7]", '["a", 0, 0]'])
def test_what_is_no_probability_is_an_error(tmp_path, shares):
    write_examples(tmp_path / "examples.jsonl", EXAMPLES[:1])
    text = (tmp_path / "examples.jsonl").read_text()
    (tmp_path / "examples.jsonl").write_text(text.replace('"label"', f'"taught": {shares}, "label"'))
    with pytest.raises(DataError, match=r"examples.jsonl:1: field 'taught'"):
        list(read_examples(tmp_path / "examples.jsonl"))


def test_a_ranker_teaches_no_labels(bundles):
    with pytest.raises(LisaxError, match="a teacher labels claims"):
        open_teaching(bundles["ranker"])
