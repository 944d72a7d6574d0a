"""What a probe shows of verifiers whose verdicts are known."""

import pytest

from lisax.errors import LisaxError
from lisax.predict.probing import Case, probe
from lisax.predict.verdicts import Evidence, Verdict
from lisax.predict.verifier import Verifier
from lisax.records import Claim, Label

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
