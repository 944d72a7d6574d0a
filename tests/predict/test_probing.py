"""What a probe shows of verifiers whose verdicts are known; the suite that is shipped, and files of a user's own."""

import json
import re
from collections import Counter, defaultdict

import pytest

from lisax.errors import DataError, LisaxError
from lisax.predict.probing import SHIPPED, Case, probe, read_suite
from lisax.predict.verdicts import Evidence, Verdict
from lisax.predict.verifier import Verifier
from lisax.records import LABELS, Claim, Label

S, R, N = Label.SUPPORTS, Label.REFUTES, Label.NOT_ENOUGH_INFO


class Fixed(Verifier):
    """Gives each claim the label and the probability that its evidence names; of two labels without `three`."""

    def __init__(self, three=True):
        self.three = three

    def verify(self, claim, evidence=()):
        label, share = evidence[0].text.split(":")
        rest = (1 - float(share)) / 2
        shares = {one: float(share) if one == label else rest for one in (S, R, N) if self.three or one is not R}
        return Verdict(claim.text, Label(label), shares, tuple(evidence))


def case(line, capability, gold, verdict, share=0.8):
    evidence = (Evidence(f"{line}_0", f"{verdict}:{share}", "Tarn"),)
    return Case(Claim(str(line), f"claim {line}", gold, kind=capability), evidence)


CASES = [
    case(1, "roles", S, S),
    case(2, "roles", R, R),
    case(3, "roles", N, N),
    case(4, "roles", N, S, 0.6),
    case(5, "years", R, N, 0.5),
    case(6, "years", R, S, 0.9),
    case(7, "years", S, S),
]


def test_figures_of_all_and_of_each_capability():
    figures = probe(Fixed(), CASES).figures(examples=1)
    assert figures["cases"] == 7 and figures["accuracy"] == pytest.approx(4 / 7) and figures["passed"] == 1
    assert figures["recall"] == {"SUPPORTS": 1, "REFUTES": pytest.approx(1 / 3), "NOT ENOUGH INFO": 0.5}
    assert figures["confusion"] == ((2, 0, 0), (1, 1, 1), (1, 0, 1))
    assert figures["seconds_per_claim"] >= 0
    roles, years = figures["capabilities"].values()
    assert (roles["accuracy"], roles["passed"], years["passed"]) == (0.75, True, False)
    assert years["recall"]["NOT ENOUGH INFO"] is None
    # Three of four right at 0.8, and the wrong one at 0.6.
    assert roles["expected_error"] == pytest.approx(0.75 * 0.2 + 0.25 * 0.6)


def test_the_surest_wrong_verdicts_are_the_examples():
    found = probe(Fixed(), CASES).capabilities()["years"]
    assert [case.claim.id for case, _ in found.wrong()] == ["6", "5"]
    assert probe(Fixed(), CASES).figures(1)["capabilities"]["years"]["wrong"] == [
        {
            "line": 6,
            "claim": "claim 6",
            "evidence": [{"title": "Tarn", "text": "SUPPORTS:0.9"}],
            "label": "REFUTES",
            "verdict": "SUPPORTS",
            "probability": 0.9,
        }
    ]


def test_not_supported_is_right_for_what_is_refuted():
    found = probe(Fixed(three=False), CASES[4:])
    assert found.right == [True, False, True] and found.calibration() is None
    assert found.figures()["expected_error"] is None


def test_dates_may_decide():
    dated = Case(Claim("1", "Nora was born in 1961.", R, kind="years"), (Evidence("1_0", "Nora was born in 1958."),))

    class Sure(Verifier):
        def verify(self, claim, evidence=()):
            return Verdict(claim.text, S, {S: 0.9, R: 0.05, N: 0.05}, tuple(evidence))

    assert probe(Sure(), [dated]).right == [False]
    found = probe(Sure(), [dated], temporal=True)
    assert found.right == [True] and found.calibration() is None


@pytest.mark.parametrize("kind", ["listwise", "pointwise", "pointer"])
def test_every_kind_of_verifier_of_sentences_can_be_probed(bundles, kind):
    found = probe(Verifier.open(bundles[kind]), CASES)
    assert len(found.verdicts) == len(CASES) and sum(map(sum, found.confusion())) == len(CASES)
    assert 0 <= found.calibration()["expected_error"] <= 1


def test_it_needs_cases_and_a_verifier_of_sentences():
    with pytest.raises(LisaxError, match="the suite has no cases"):
        probe(Fixed(), [])
    tables = Fixed()
    tables.reads = "tables"
    with pytest.raises(LisaxError, match="evidence is sentences, and this model reads tables"):
        probe(tables, CASES)


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
