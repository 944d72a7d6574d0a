"""The suite that is shipped, and files of a user's own."""

import json
import re
from collections import Counter, defaultdict

import pytest

from lisax.errors import DataError
from lisax.predict.probing import SHIPPED, read_suite
from lisax.records import LABELS, Label

CASE = {"capability": "by and to", "claim": "Rents rose to 50.", "evidence": ["Rents rose by 50."], "label": "REFUTES"}


@pytest.fixture(scope="module")
def cases():
    return read_suite()


def by_capability(cases):
    found = defaultdict(list)
    for case in cases:
        found[case.claim.kind].append(case)
    return found


def claim_alone(cases):
    """The accuracy of the most frequent label of each claim's text."""
    labels = defaultdict(Counter)
    for case in cases:
        labels[case.claim.text][case.claim.label] += 1
    return sum(max(counts.values()) for counts in labels.values()) / len(cases)


def test_it_has_many_cases_of_many_capabilities_in_many_wordings(cases):
    parts = by_capability(cases)
    assert len(parts) >= 30
    for name, part in parts.items():
        assert len(part) >= 40, name
        assert len({case.claim.text for case in part}) >= 20, name
        shapes = {re.sub(r"[A-Z]\w+|[\d,]+", "_", case.claim.text) for case in part}
        assert len(shapes) >= 10, name
    # A capability's cases stand together, and no other has one of its claims.
    assert [name for name in parts for _ in parts[name]] == [case.claim.kind for case in cases]
    claims = Counter(text for part in parts.values() for text in {case.claim.text for case in part})
    assert [*claims.values()] == [1] * len(claims)


def test_labels_are_balanced(cases):
    counts = Counter(case.claim.label for case in cases)
    assert all(0.3 < counts[label] / len(cases) < 0.37 for label in LABELS)
    for name, part in by_capability(cases).items():
        assert min(Counter(case.claim.label for case in part)[label] for label in LABELS) >= 10, name


def test_the_claim_alone_gives_nothing_away(cases):
    assert claim_alone(cases) < 0.4
    for name, part in by_capability(cases).items():
        assert claim_alone(part) <= 0.5, name


def test_names_begin_with_letters_that_the_training_contrasts_do_not_use(cases):
    """Fillings of the suite begin with N to Z, so that a model is not trained on them."""
    texts = {case.claim.text for case in cases}
    texts |= {text for case in cases for one in case.evidence for text in (one.text, one.source)}
    # A capital that begins no sentence begins a name.
    inside = Counter(name for text in texts for name in re.findall(r"(?<=[a-z,] )[A-Z]\w+", text))
    assert len(inside) > 100 and min(inside) >= "N", sorted(inside)[:5]


def test_a_sentence_may_have_a_title(cases):
    case = next(case for case in cases if case.claim.kind == "titles that a pronoun needs")
    assert case.evidence[0].source and case.evidence[0].source not in case.evidence[0].text
    assert case.evidence[0].unit == f"{case.claim.id}_0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "FALSE"}, "field 'label': expected SUPPORTS, REFUTES, NOT ENOUGH INFO; found 'FALSE'"),
        ({"evidence": []}, "field 'evidence': expected at least one sentence"),
        ({"evidence": ["Rents rose.", " "]}, "field 'evidence[1].text': expected a text that is not empty, found ' '"),
        ({"evidence": [{"text": "x"}]}, "field 'evidence[0]': expected a sentence, or an object of title and text"),
        ({"evidence": [{"title": 7, "text": "x"}]}, "field 'evidence[0].title': expected a text that is not empty"),
        ({"claim": ""}, "field 'claim': expected a text that is not empty, found ''"),
        ({"verdict": "x"}, "field 'verdict': expected only capability, claim, evidence, label"),
        (
            {"claim": "Rents  rose to 50.", "label": "SUPPORTS"},
            "field 'claim': line 1 has this claim with this evidence",
        ),
    ],
)
def test_an_error_names_file_line_and_field(tmp_path, change, message):
    row = {"capability": "by and to", "claim": "Rents sank.", "evidence": ["Rents rose by 50."], "label": "REFUTES"}
    row = {name: value for name, value in (row | change).items() if value is not ...}
    path = tmp_path / "mine.jsonl"
    path.write_text(f"{json.dumps(CASE)}\n\n{json.dumps(row)}\n")
    with pytest.raises(DataError) as error:
        read_suite(path)
    assert str(error.value).startswith(f"{path}:3: {message}")


def test_every_line_is_read_with_its_line_as_id(tmp_path):
    path = tmp_path / "mine.jsonl"
    with_title = CASE | {"evidence": [{"title": "Rents", "text": "They  rose by\n50."}]}
    path.write_text(f"\n{json.dumps(CASE)}\n{json.dumps(with_title)}\n")
    first, second = read_suite(path)
    assert (first.claim.id, first.claim.label, first.claim.kind) == ("2", Label.REFUTES, "by and to")
    assert (second.evidence[0].source, second.evidence[0].text) == ("Rents", "They rose by 50.")
    assert SHIPPED.is_file()
