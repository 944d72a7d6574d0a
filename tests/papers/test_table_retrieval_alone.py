"""A run of open-domain table verification that stops at retrieval: one split is enough, and its figures are written."""

import json

import pytest

from lisax.cli import main
from lisax.files.writing import write_json_lines

TABLES = [
    {
        "id": f"t{year}",
        "title": f"Harbour cup {year}",
        "caption": f"Harbour cup {year}",
        "header": ["team", "points"],
        "rows": [["Tarn", "7"], ["Ostra", "5"]],
    }
    for year in (1971, 1972, 1973)
]
CLAIMS = [
    {"id": "a", "claim": "Tarn had 7 points in 1973", "label": "SUPPORTS", "evidence": [["t1973"]]},
    {"id": "b", "claim": "Ostra had 9 points in the Harbour cup of 1972", "label": "REFUTES", "evidence": [["t1972"]]},
]


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    write_json_lines(data / "tables.jsonl", TABLES)
    write_json_lines(data / "claims.dev.jsonl", CLAIMS)
    return tmp_path


def command(folder, until="retrieve"):
    return ["run", "open-tables", "--data", str(folder / "data"), "--out", str(folder / "out"), "--until", until]


def test_one_split_is_enough_and_the_figures_are_told_and_written(folder, capfd):
    assert main(command(folder)) == 0
    found = json.loads((folder / "out" / "metrics.json").read_text())
    hits = found["retrieval"]["entity-char-2-3"]["spans"]
    assert hits["claims"] == 2 and hits["hits@1"] == 1.0 and found["reported_split"] == "dev"
    assert {"hits@3", "hits@5", "hits@10", "mrr", "among_equals"} <= hits.keys()
    told = capfd.readouterr().out
    assert "Table retrieval" in told and "H@1" in told and "100.00" in told and "metrics.json" in told
    assert sorted(path.name for path in (folder / "out" / "runs").iterdir()) == ["entity-char-2-3.spans.test.trec"]


def test_training_needs_both_splits(folder, capfd):
    assert main(command(folder, "vocabulary")) == 1
    assert "claims for train and dev are needed, found dev" in capfd.readouterr().err
