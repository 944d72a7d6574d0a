"""The report: hostile strings stay strings, nothing comes from outside, tables stand without a script."""

import base64
import dataclasses
import hashlib
import math
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markup import HOSTILE, Page

from lisax.records import LABELS
from lisax.report import render as rendering
from lisax.report.render import render, write_report
from lisax.report.report import ClaimView, EvidenceView, Report, ResultRow, ResultTable, published


def report(text="a text"):
    """A report with every part; `text` in every place where a string may stand."""
    evidence = EvidenceView(text, text, text, 0.5, True)
    claims = tuple(
        ClaimView(
            text, text, gold, said, (0.2, 0.3, 0.5), (evidence, EvidenceView("b", "B", text)), (evidence,), text, text
        )
        for gold in (*LABELS, None)
        for said in LABELS
    )
    return Report(
        text,
        text,
        notes=[text],
        tiles={text: 0.7, "unknown": math.nan},
        tiles_of=text,
        result_tables=[
            ResultTable(text, (text,) * 4, (ResultRow(text, values, best=True), *published(name)), text, text)
            for name, values in (
                ("LisT5 selection", (0.2, 0.9, 0.3, 0.8)),
                ("LisT5 verdicts", (0.8, 0.7, math.nan, 0.9)),
            )
        ],
        curves={
            text: [
                {"step": 1, "kind": "train", "loss": 2.0},
                {"step": 2, "kind": "train", "loss": 1.0},
                {"step": 2, "kind": "dev", f"{text}/accuracy": 0.5},
            ]
        },
        confusion=((5, 1, 0), (0, 0, 0), (1, 1, 7)),
        reliability=[
            {"low": 0.0, "high": 0.5, "count": 0, "confidence": None, "accuracy": None},
            {"low": 0.5, "high": 1.0, "count": 4, "confidence": 0.8, "accuracy": 0.75},
        ],
        risk_coverage=[
            {"coverage": 0.5, "count": 2, "min_confidence": 0.81, "accuracy": 1.0},
            {"coverage": 1.0, "count": 4, "min_confidence": 0.61, "accuracy": 0.75},
        ],
        recall_curves={text: {1: 0.3, 5: 0.8, 200: 0.99}},
        claims=claims,
        facts={"seed": 0, text: text, "versions": {text: text}, "seconds": {"rank": 12.5}},
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_stay_strings(text):
    plain, page = Page(render(report())), Page(render(report(text)))
    assert page.balanced and page.count() == plain.count() and page.count()["script"] == 1
    assert [sorted(attributes) for _, attributes in page.elements] == [sorted(a) for _, a in plain.elements]
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    shown = "".join(page.text)
    assert shown.count(text) >= 12 * 5  # claim, evidence and the rest, as they were written
    assert set(page.attributes("data-kind")) == {text}


@settings(max_examples=15)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_any_string_leaves_the_structure_alone(text):
    page = Page(render(report(text)))
    assert page.balanced and page.count() == Page(render(report())).count()


def test_nothing_from_outside_and_only_the_pages_own_script():
    html = render(report())
    page = Page(html)
    assert not page.attributes("src") and not {"link", "iframe", "object", "embed", "img"} & page.count().keys()
    assert all(target.startswith("#") for target in page.attributes("href"))
    assert "url(" not in html and "@import" not in html
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    script = html.split("<script>")[1].split("</script>")[0]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert "default-src 'none'" in policy


def test_it_reads_without_a_script_and_for_a_screen_reader():
    page = Page(render(report()))
    shown = " ".join("".join(page.text).split())
    assert "81.26" in shown and "85.62" in shown and "70.00" in shown and "–" in shown
    form = next(a for tag, a in page.elements if a.get("id") == "filters")
    assert "hidden" in form  # the script shows it
    assert all("scope" in a for tag, a in page.elements if tag == "th")
    assert all("aria-label" in a or a.get("aria-hidden") for tag, a in page.elements if tag == "svg")
    ids = page.attributes("id")
    assert len(ids) == len(set(ids)) and {target[1:] for target in page.attributes("href")} <= set(ids)
    assert ("html", {"lang": "en"}) in page.elements
    assert any(a.get("name") == "viewport" for _, a in page.elements)


def test_a_gold_sentence_is_told_by_more_than_colour():
    html = render(report())
    assert html.count("★ gold") == 2 * 12 and html.count('class="gold"') == 2 * 12


def test_verdicts_that_the_reliability_diagram_leaves_out_are_counted():
    assert "overrode" not in render(report())
    assert "because dates overrode them: 1,200" in render(dataclasses.replace(report(), overridden=1200))


def test_parts_without_data_are_absent():
    page = Page(render(Report("nothing yet")))
    assert page.balanced and not {"table", "figure", "form", "details"} & page.count().keys()
    page = Page(render(Report("rows only", result_tables=[ResultTable("t", ("a", "b"), (ResultRow("one", (0.5,)),))])))
    # One figure, one column.
    assert [a.get("scope") for tag, a in page.elements if tag == "th"] == ["col", "col", "row"]


def test_probabilities_that_are_not_known_are_not_drawn():
    claim = ClaimView("1", "c", LABELS[0], LABELS[1], (math.nan,) * 3)
    assert 'class="probabilities"' not in render(Report("r", claims=[claim]))


def test_signs_follow_label_and_outcome():
    def sign(**changes):
        return rendering.mark(ClaimView("1", "c", LABELS[0], changes.pop("said", LABELS[0]), **changes))

    assert sign(outcome="correct") == "right" and sign() == "right"
    assert sign(outcome="right label, evidence missing") == "half"
    assert sign(said=LABELS[2], outcome="wrong label, evidence found") == "wrong"


def test_more_claims_than_a_page_holds_are_said(monkeypatch):
    monkeypatch.setattr(rendering, "MAX_CLAIMS", 3)
    html = render(report())
    assert html.count('<li class="claim ') == 3 and "The first 3 of 12 claims." in html


def test_two_thousand_claims_are_quick_and_of_bearable_size(tmp_path):
    text = "A sentence of middling length, as there are many. " * 2
    evidence = tuple(EvidenceView(f"Page_{i}", "Page", text, 0.5) for i in range(5))
    claims = [
        ClaimView(str(i), "A claim.", LABELS[i % 3], LABELS[0], (0.5, 0.3, 0.2), evidence, (), "correct")
        for i in range(2000)
    ]
    write_report(tmp_path / "report.html", Report("many", claims=claims))
    assert (tmp_path / "report.html").stat().st_size < 8e6
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_templates_are_part_of_the_package():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["package-data"]["lisax.report"] == ["templates/*", "*.tsv"]
