"""Documents that support a claim and documents that refute it, and those that take back what others state."""

import dataclasses

import numpy as np
import pytest

from lisax import Checker, Index, LisaxError
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.predict.disagreement import date_of, document_of, taken_back, takes_back, with_disagreement
from lisax.predict.joining import join
from lisax.predict.verdicts import Disagreement, Evidence, Verdict
from lisax.predict.verifier import Labeller
from lisax.records import LABELS, Label
from lisax.weights.pretrained import MODELS

S, R, N = LABELS
CLAIM = "Dogs are allowed in Elm Park."
OLD = Evidence("old_0", "Dogs are allowed in Elm Park.", "Rules, 3 May 2019", "sentence 1", 0.9)
NEW = Evidence("new_0", "Dogs are banned from Elm Park.", "Rules, 7 June 2021", "sentence 1", 0.8)
BACK = Evidence("new_1", "Dogs are no longer allowed in Elm Park.", "Rules, 7 June 2021", "sentence 2", 0.7)


class Reads:
    """A model that gives a sentence the label of its last word in `labels`, with 0.9."""

    format, calibration, sentences, leading = LABEL_LISTWISE, None, 1, 0

    def __init__(self, **labels: Label):
        self.labels, self.read = labels, []

    def probabilities(self, examples):
        self.read += [example.sentences[0].text for example in examples]
        return np.array([self._shares(example.sentences[0].text) for example in examples])

    def _shares(self, text: str) -> list[float]:
        label = next((label for word, label in self.labels.items() if word in text), N)
        return [0.9 if one is label else 0.05 for one in LABELS]


def checked(*evidence: Evidence, label: Label = S, claim: str = CLAIM, **labels: Label) -> Verdict:
    model = Reads(**(labels or {"allowed": S, "banned": R}))
    shares = {one: 0.6 if one is label else 0.2 for one in LABELS}
    (verdict,) = with_disagreement(Labeller(model), [Verdict(claim, label, shares, evidence)])
    return verdict


def test_both_sides_are_there_newest_first_and_the_label_stays():
    verdict = checked(OLD, NEW)
    newer, older = verdict.disagreement.sides
    assert [one.evidence for one in (*newer, *older)] == [NEW, OLD] and verdict.label is S
    assert (newer[0].label, newer[0].probability, newer[0].date) == (R, 0.9, (2021, 6, 7))
    assert str(verdict).splitlines()[:3] == [
        "SUPPORTS, but documents disagree  Dogs are allowed in Elm Park.",
        "  SUPPORTS 0.600  REFUTES 0.200  NOT ENOUGH INFO 0.200",
        "  - REFUTES 0.900 (Rules, 7 June 2021, sentence 1, 2021-06-07): Dogs are banned from Elm Park.",
    ]
    assert verdict.to_dict()["disagreement"] == {
        "supports": [{"unit": "old_0", "probability": 0.9, "date": "2019-05-03"}],
        "refutes": [{"unit": "new_0", "probability": 0.9, "date": "2021-06-07"}],
        "retraction": None,
    }
    assert verdict._repr_html_().count("REFUTES 0.900 (Rules") == 1


def test_documents_that_agree_or_one_that_contradicts_itself_are_no_disagreement():
    assert checked(OLD, dataclasses.replace(NEW, text=OLD.text)).disagreement is None
    assert checked(OLD, dataclasses.replace(NEW, unit="old_1")).disagreement is None
    assert "disagreement" not in checked(OLD).to_dict()
    assert checked(OLD, dataclasses.replace(NEW, score=0.001)).disagreement is None


def test_a_document_has_one_voice_for_a_label():
    again = dataclasses.replace(OLD, unit="old_1", text="Dogs are allowed here.")
    assert len(checked(OLD, again, NEW).disagreement.supports) == 1


def test_a_later_document_that_takes_back_an_earlier_one_decides():
    verdict = checked(OLD, BACK)
    assert verdict.label is R and verdict.deciding == "new_1" and verdict.disagreement.retraction == "new_1"
    assert "a later document (Rules, 7 June 2021, sentence 2, 2021-06-07) takes back" in verdict.reason
    assert verdict.probabilities[S] == 0.6


@pytest.mark.parametrize(
    ("evidence", "claim"),
    [
        ((dataclasses.replace(OLD, source="Rules, 1 July 2022"), BACK), CLAIM),
        ((dataclasses.replace(OLD, source="Rules"), BACK), CLAIM),
        ((OLD, BACK), "Dogs were allowed in Elm Park."),
        ((OLD, BACK), "In 2019 dogs are allowed in Elm Park."),
    ],
)
def test_an_earlier_or_undated_document_takes_nothing_back_and_the_past_stays(evidence, claim):
    verdict = checked(*evidence, claim=claim)
    assert verdict.label is S and verdict.disagreement.retraction is None


def test_a_claim_that_something_was_taken_back_is_read_as_it_is():
    verdict = checked(OLD, BACK, claim="Dogs are no longer allowed in Elm Park.", label=R, longer=S, allowed=R)
    assert [one.evidence.unit for one in verdict.disagreement.supports] == ["new_1"] and verdict.label is R


def test_one_document_is_not_read_again():
    model = Reads(allowed=S)
    list(with_disagreement(Labeller(model), [Verdict(CLAIM, S, {S: 1.0}, (OLD,))]))
    assert model.read == []


def test_a_retraction_decides_before_a_surer_source_and_sources_are_sides():
    surer = Verdict(CLAIM, S, {S: 0.99}, (Evidence("dogs", "Elm Park, yes", "Dogs, May 2020"),), reads="tables")
    assert join([surer, checked(OLD, BACK)]).label is R
    text = Verdict(CLAIM, R, {R: 0.7}, (NEW,))
    joined = join([surer, text])
    assert joined.label is S and [one.evidence.unit for one in joined.disagreement.sides[0]] == ["new_0"]
    assert join([surer, dataclasses.replace(text, probabilities={R: 0.4})]).disagreement is None


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("The ban on boats has since been repealed by the state.", "The ban on boats"),
        ("In 2020 the fee was abolished.", "In 2020 the fee"),
        ("The mayor withdrew the offer.", "the offer."),
        ("The bridge is not anymore open to cars.", "The bridge is open to cars."),
        ("The bridge is open.", None),
        ("It was cancelled.", "It"),
        ("Cancelled", None),
    ],
)
def test_the_statement_that_a_text_takes_back(text, statement):
    assert taken_back(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "Cars may park no longer than two hours.",
        "The council has not repealed the rule that dogs are banned.",
        "From 2030 bus 5 will no longer stop in Tarn.",
        "The council refused to repeal it, and revoked nothing.",
    ],
)
def test_what_takes_nothing_back(text):
    assert taken_back(text) is None


@pytest.mark.parametrize(
    ("text", "claim", "back"),
    [
        ("The pool is no longer open.", "The pool of Varn is open.", True),
        ("The pool is no longer closed to the public.", "The pool of Varn is open to the public.", False),
        ("The pool is no longer open on Sundays.", "The pool is open.", False),
        ("The pool is no longer open on Sundays.", "The pool is open on Sundays.", True),
        ("The bridge is no longer unsafe.", "The bridge is safe.", False),
        ("The cycling ban was repealed.", "Cycling is permitted in the park.", False),
        ("The cycling ban was repealed.", "Cycling is banned in the park.", True),
    ],
)
def test_a_text_takes_back_the_claims_own_statement_only(text, claim, back):
    assert takes_back(text, claim) is back


@pytest.mark.parametrize(
    ("unit", "document"),
    [
        ("minutes/a_b_3", "minutes/a_b"),
        ("minutes/a_b.md:0#r2", "minutes/a_b"),
        ("a:1_3", "a:1"),
        ("towns#r0", "towns"),
        ("note", "note"),
    ],
)
def test_the_document_of_a_unit(unit, document):
    assert document_of(Evidence(unit, "")) == document


@pytest.mark.parametrize(
    ("source", "unit", "text", "date"),
    [
        ("Offer (6 June 2024)", "x_0", "It was made on 1 May 2020.", (2024, 6, 6)),
        ("Budget 2024", "x_0", "", (2024, 0, 0)),
        ("Minutes", "m/2024-09-10-minutes_3", "", (2024, 9, 10)),
        ("Fees", "x_0", "From 1 October 2024 it is free.", (2024, 10, 1)),
        ("Fees", "x_0", "It is free.", None),
    ],
)
def test_the_date_of_a_unit(source, unit, text, date):
    assert date_of(Evidence(unit, text, source)) == date


def test_a_disagreement_is_kept_as_plain_data():
    found = checked(OLD, BACK).disagreement
    assert Disagreement.of_dict(found.to_dict()).to_dict() == found.to_dict()


@pytest.mark.skipif(not MODELS["minilm"].is_there, reason="needs MiniLM's weights: lisax models get minilm")
def test_the_shipped_labeller_sees_both_sides_and_a_retraction():
    heights = [{"title": f"Guide {one}", "text": f"The tower is {one} metres high."} for one in (40, 60)]
    verdict = Checker(Index.build(heights)).check("The tower is 40 metres high.")
    assert verdict.label is S and verdict.disagreement.refutes[0].evidence.source == "Guide 60"
    reports = [
        {"title": "Report of 10 October 2015", "text": "Olin Marsh is the director of the school."},
        {"title": "Report of 12 December 2019", "text": "Olin Marsh is no longer the director of the school."},
    ]
    assert Checker(Index.build(reports)).check("Olin Marsh is the director of the school.").label is R


def test_evidence_is_found_for_a_list_of_claims(pages, bundles):
    with pytest.raises(LisaxError, match="expected a list of claims, found one claim"):
        Checker(pages, verifier=bundles["pointwise"]).find(CLAIM)
