"""A probe's report and its text have the same figures, whatever the texts of a suite are."""

from markup import HOSTILE, Page

from lisax.predict.probing import Case, Probed
from lisax.predict.verdicts import Evidence, Verdict
from lisax.records import Claim, Label
from lisax.report.probe import probe_report, probe_text
from lisax.report.render import render


def found(text="a text", two_way=False):
    shares = {Label.SUPPORTS: 0.7, Label.REFUTES: 0.2, Label.NOT_ENOUGH_INFO: 0.1}
    if two_way:
        del shares[Label.REFUTES]
    cases, verdicts = [], []
    for line, label in enumerate((*Label, Label.SUPPORTS), start=1):
        cases.append(Case(Claim(str(line), text, label, kind=text), (Evidence(f"{line}_0", text, text),)))
        verdicts.append(Verdict(text, Label.SUPPORTS, shares, cases[-1].evidence))
    return Probed(cases, verdicts, 2.0)


def test_the_text_has_table_examples_and_summary():
    text = probe_text(found(), "mine.jsonl", examples=1)
    assert "a text, 4 cases: failed" in text and "50.00    100.00     0.00" in text
    assert text.count("the suite has") == 1
    assert "SUPPORTS 0.700, the suite has REFUTES\n  a text\n  - a text: a text" in text
    assert text.endswith(
        "50.0 % of 4 cases of mine.jsonl are right, and 0 of 1 capabilities passed (three of four cases right). Expected "
        "calibration error 20.0 %. 0.5 seconds of processor time per claim."
    )
    one = Probed(found().cases[:1], found().verdicts[:1], 0.5)
    assert "a text, 1 case: passed" in probe_text(one, "mine.jsonl", 0) and "% of 1 case of" in probe_text(one, "m", 0)
    assert "the suite has" not in probe_text(found(), "mine.jsonl", examples=0)


def test_a_verifier_of_two_labels_has_no_calibration():
    text = probe_text(found(two_way=True), "mine.jsonl", examples=1)
    assert "Expected calibration error" not in text and "NOT ENOUGH INFO" in text
    assert "Can its confidence be believed?" not in render(probe_report(found(two_way=True), "m", "s"))


def test_the_page_has_every_case_and_no_element_of_a_text():
    plain = Page(render(probe_report(found(), "model", "suite")))
    assert plain.balanced and sum(name == "li" and "data-kind" in dict(of) for name, of in plain.elements) == 4
    for text in HOSTILE:
        page = Page(render(probe_report(found(text), text, text)))
        assert page.balanced and [name for name, _ in page.elements] == [name for name, _ in plain.elements]
