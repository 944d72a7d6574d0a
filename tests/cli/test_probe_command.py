"""`lisax probe`: a table on the screen, the same as JSON and HTML."""

import json

import pytest

from lisax.cli import invoke
from lisax.errors import DataError
from lisax.examples import example_model
from lisax.predict.verifier import Verifier

CASES = [
    {
        "capability": "places",
        "claim": "Vova Brugard was born in Torimoor.",
        "evidence": [{"title": "Vova Brugard", "text": place}],
        "label": label,
    }
    for place, label in (
        ("Vova Brugard was born in Torimoor.", "SUPPORTS"),
        ("Vova Brugard was born in Ostra.", "REFUTES"),
        ("Vova Brugard wrote letters.", "NOT ENOUGH INFO"),
    )
]


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    return path


def test_a_suite_of_ones_own(suite, tmp_path, capsys):
    files = ("--json", str(tmp_path / "out.json"), "--html", str(tmp_path / "out.html"))
    assert invoke(["probe", str(example_model()), "--suite", str(suite), "--examples", "3", *files]) == 0
    figures = json.loads((tmp_path / "out.json").read_text())
    out = capsys.readouterr().out
    assert f"{100 * figures['accuracy']:.1f} % of 3 cases of {suite} are right" in out
    assert figures["verifier"] == str(example_model()) and figures["suite"] == str(suite)
    part = figures["capabilities"]["places"]
    assert len(part["wrong"]) == out.count("the suite has") == 3 - round(3 * figures["accuracy"])
    assert f"places, 3 cases: {'passed' if part['passed'] else 'failed'}" in out
    assert "<title>Capabilities of " in (tmp_path / "out.html").read_text()


def test_the_default_is_the_shipped_labeller_of_the_tier(suite, tmp_path, monkeypatch):
    asked, opened = [], Verifier.open
    monkeypatch.setattr(Verifier, "open", lambda model, **_: asked.append(model) or opened(example_model()))
    for tier in ("light", "accurate"):
        monkeypatch.setenv("LISAX_TIER", tier)
        assert invoke(["probe", "--suite", str(suite), "--json", str(tmp_path / "out.json")]) == 0
        assert json.loads((tmp_path / "out.json").read_text())["verifier"] == asked[-1]
    assert asked == ["minilm-text", "mpnet-text"]


def test_nothing_is_written_for_a_suite_with_an_error(suite, tmp_path):
    suite.write_text(suite.read_text().replace("NOT ENOUGH INFO", "UNKNOWN"))
    with pytest.raises(DataError, match=r"mine\.jsonl:3: field 'label'"):
        invoke(["probe", str(example_model()), "--suite", str(suite), "--json", str(tmp_path / "out.json")])
    assert not (tmp_path / "out.json").exists()
