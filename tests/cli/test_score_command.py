"""`lisax score`: files in, named figures out, troubles told with their file."""

import json

import pytest

from lisax.cli import invoke
from lisax.errors import DataError


def score(*args):
    return invoke(["score", *map(str, args)])


@pytest.fixture
def files(tmp_path):
    def write(name, *rows):
        path = tmp_path / name
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return path

    return write


def fever_claims(files):
    return files(
        "dev.jsonl",
        {"id": 5, "label": "NOT ENOUGH INFO", "claim": "c", "evidence": [[[1, None, None, None]]]},
        {"id": 7, "label": "SUPPORTS", "claim": "d", "evidence": [[[1, 2, "A", 0], [1, 3, "B", 4]]]},
    )


def predictions(files):
    return files(
        "predictions.jsonl",
        {"id": 7, "predicted_label": "SUPPORTS", "predicted_evidence": [["B", 4], ["A", 0]]},
        {"id": 5, "predicted_label": "REFUTES", "predicted_evidence": []},
    )


def test_fever(files, capsys):
    assert score("fever", "--gold", fever_claims(files), "--predictions", predictions(files), "--json") == 0
    figures = json.loads(capsys.readouterr().out)["fever"]
    found = list(figures)[:6]
    assert found == ["fever_score", "label_accuracy", "evidence_precision", "evidence_recall", "evidence_f1", "claims"]
    assert figures["fever_score"] == 0.5 and figures["evidence_f1"] == 1 and figures["calibration"] is None
    assert figures["confusion"]["NOT ENOUGH INFO"]["REFUTES"] == 1


def test_our_own_layout_is_told_by_its_evidence(files, capsys):
    gold = files(
        "claims.dev.jsonl",
        {"id": "5", "label": "NOT ENOUGH INFO", "claim": "c", "evidence": []},
        {"id": "7", "label": "SUPPORTS", "claim": "d", "evidence": [["A_0", "B_4"]]},
    )
    score("fever", "--gold", gold, "--predictions", predictions(files))
    assert "fever.fever_score" in (out := capsys.readouterr().out) and "0.5000" in out


def test_ranking(files, capsys):
    run = files("run.trec", "7 Q0 A_0 1 0.9 t", "7 Q0 C_0 2 0.8 t", "7 Q0 B_4 3 0.7 t")
    score("ranking", "--gold", fever_claims(files), "--run", run, "--json")
    figures = json.loads(capsys.readouterr().out)["ranking"]
    assert figures["recall@1"] == 0 and figures["recall@5"] == 1 and figures["unit_recall@1"] == 0.5
    score("ranking", "--qrels", files("qrels", "7 0 A_0 1", "7 0 B_4 1"), "--run", run, "--json")
    figures = json.loads(capsys.readouterr().out)["ranking"]
    assert figures["recall@1"] == 0.5 and figures["precision@5"] == pytest.approx(0.4)
    assert figures["success@1"] == 1 and figures["ndcg@5"] == figures["ndcg@20"] == pytest.approx(0.9197, abs=1e-4)
    score("ranking", "--qrels", files("qrels", "7 0 A_0 1", "8 0 D_1 1"), "--run", run)
    assert "queries without a ranking, which count as wrong: 1 of 2, for example '8'" in capsys.readouterr().err
    score("ranking", "--qrels", files("qrels", "7 0 A_0 1", "8 0 D_1 0"), "--run", run)  # 8 has nothing relevant
    assert "without a ranking" not in capsys.readouterr().err


def test_runs_and_judgements_as_beir_and_other_tools_write_them(files, capsys):
    qrels = files("test.tsv", "query-id\tcorpus-id\tscore", "7\td1\t2", "7\td2\t0", "8\td3\t1")
    runs = (
        files("from_0.trec", "7 Q0 d1 0 0.9 t", "7 Q0 d2 1 0.8 t", "8 Q0 d3 0 0.9 t"),
        files("all_0.trec", "7 Q0 d2 0 0.8 t", "7 Q0 d1 0 0.9 t", "8 Q0 d3 0 0.9 t"),
        files("scores.json", {"7": {"d2": 0.8, "d1": 0.9}, "8": {"d3": 3}}),
    )
    for run in runs:
        score("ranking", "--qrels", qrels, "--run", run, "--json")
        figures = json.loads(capsys.readouterr().out)["ranking"]
        assert figures["mrr"] == figures["ndcg@10"] == figures["recall@1"] == 1
    with pytest.raises(DataError, match=r"field '7\.d1': expected a number, found 'x'"):
        score("ranking", "--qrels", qrels, "--run", files("bad.json", {"7": {"d1": "x"}}))
    with pytest.raises(DataError, match="field '7': expected an object of ids with scores, found 3"):
        score("ranking", "--qrels", qrels, "--run", files("bad.json", {"7": 3}))
    with pytest.raises(DataError, match="three under their heading .query-id corpus-id score., found 2"):
        score("ranking", "--qrels", files("bad.tsv", "7 d1"), "--run", runs[0])


def test_a_run_of_pages_is_scored_by_the_pages_of_the_evidence(files, capsys):
    gold = fever_claims(files)
    pages = files("pages.trec", "7 Q0 A 1 0.9 t", "7 Q0 C 2 0.8 t", "7 Q0 B 3 0.7 t")
    score("ranking", "--gold", gold, "--run", pages, "--json")
    figures = json.loads(capsys.readouterr().out)["ranking"]
    assert figures["counted"] == "pages" and figures["recall@5"] == 1 and figures["recall@1"] == 0
    score("ranking", "--gold", gold, "--run", pages)
    assert "ranking.counted" in capsys.readouterr().out
    score("ranking", "--gold", gold, "--run", files("other.trec", "7 Q0 X 1 0.9 t"), "--json")
    figures = json.loads(capsys.readouterr().out)["ranking"]
    assert figures["counted"] == "pages" and figures["recall@5"] == 0
    score("ranking", "--gold", gold, "--run", files("wrong.trec", "7 Q0 X_3 1 0.9 t"), "--json")
    assert "counted" not in json.loads(capsys.readouterr().out)["ranking"]
    with pytest.raises(DataError, match=r"rows\.trec: the run has units such as 't#r0', and the gold evidence is sent"):
        score("ranking", "--gold", gold, "--run", files("rows.trec", "7 Q0 t#r0 1 0.9 t"))
    with pytest.raises(DataError, match=r"pages\.trec: the run has pages, and the judgements of .*qrels are of sent"):
        score("ranking", "--qrels", files("qrels", "7 0 A_0 1"), "--run", pages)


def test_labels_are_read_in_any_case(files, capsys):
    gold = files("gold.jsonl", {"id": 7, "label": "refutes", "claim": "d", "evidence": [[[1, 2, "A", 0]]]})
    verdicts = {"id": 7, "predicted_label": "Refutes", "predicted_evidence": [["A", 0]]}
    score("fever", "--gold", gold, "--predictions", files("verdicts.jsonl", verdicts), "--json")
    assert json.loads(capsys.readouterr().out)["fever"]["fever_score"] == 1


def test_troubles_name_the_file(files):
    other = files("other.trec", "8 Q0 A_0 1 0.9 t")
    with pytest.raises(DataError, match=r"other\.trec: no query of the run is in .*dev\.jsonl.*first: '8'"):
        score("ranking", "--gold", fever_claims(files), "--run", other)
    for empty in (files("empty.trec"), files("empty.json", {})):
        with pytest.raises(DataError, match=r"empty\.\w+: the file is empty"):
            score("ranking", "--gold", fever_claims(files), "--run", empty)
        with pytest.raises(DataError, match=r"empty\.\w+: the file is empty"):
            score("tables", "--gold", fever_claims(files), "--predictions", predictions(files), "--run", empty)
    short = files("short.jsonl", {"id": 7, "predicted_label": "SUPPORTS", "predicted_evidence": []})
    with pytest.raises(DataError, match=r"short\.jsonl: 1 claim without a prediction, for example '5'"):
        score("fever", "--gold", fever_claims(files), "--predictions", short)


def table_files(files, **more):
    gold = files(
        "claims.dev.jsonl",
        {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [["t1"]], "kind": "simple"},
        {"id": 2, "claim": "d", "label": "REFUTES", "evidence": [["t2"]], "kind": "complex"},
    )
    rows = [
        {"id": 1, "predicted_label": "SUPPORTS", "predicted_evidence": ["t1", "t2"], "sufficiency": 0.9},
        {"id": 2, "predicted_label": "SUPPORTS", "predicted_evidence": ["t1"], "sufficiency": 0.1} | more,
    ]
    return gold, files("verdicts.jsonl", *rows)


def test_tables(files, capsys):
    gold, verdicts = table_files(files)
    run = files("run.trec", "1 Q0 t1 1 0.9 t", "1 Q0 t2 2 0.8 t", "2 Q0 t1 1 0.7 t", "2 Q0 t2 2 0.7 t")
    score("tables", "--gold", gold, "--predictions", verdicts, "--run", run, "--json")
    figures = json.loads(capsys.readouterr().out)
    assert figures["retrieval"]["hits@1"] == 0.5 and figures["retrieval"]["by_kind"]["complex"]["hits@3"] == 1
    assert figures["tables"]["accuracy"] == 0.5
    assert figures["tables"]["by_gold_rank"]["2-3"] == {"accuracy": 0.0, "claims": 1}
    assert figures["tables"]["sufficiency"]["found"]["average_precision"] == 1
    score("tables", "--gold", gold, "--predictions", verdicts)
    out = capsys.readouterr().out
    assert "tables.by_gold_rank.missing.accuracy" in out and "retrieval" not in out


def test_verdicts_of_a_check_are_read_like_those_of_verify(files, capsys):
    made = {"predicted_label": "SUPPORTS", "evidence_scores": [0.5, None, 0.25]}
    units = {"predicted_evidence": [["t1", 0], ["A", 1], ["t1", None]], "evidence_units": ["t1#r0", "A_1", "t1"]}
    gold = files("claims.jsonl", {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [["A_1"]]})
    score("fever", "--gold", gold, "--predictions", files("both.jsonl", {"id": 1} | made | units), "--json")
    assert json.loads(capsys.readouterr().out)["fever"]["evidence_precision"] == 1
    gold, verdicts = table_files(files, predicted_evidence=[["t1", None]], evidence_scores=[None])
    score("tables", "--gold", gold, "--predictions", verdicts, "--json")
    assert json.loads(capsys.readouterr().out)["tables"]["accuracy"] == 0.5


def test_tables_troubles_name_the_file(files):
    for bad, message in (
        ({"sufficiency": "x"}, r"verdicts.jsonl:2: field 'sufficiency': expected int or float"),
        ({"predicted_evidence": [["A", 0]]}, r"verdicts.jsonl:2: field 'predicted_evidence\[0\]'"),
        ({"evidence_scores": [1.0, 2.0]}, r"expected 1 scores, one per piece of evidence, found 2"),
        ({"predicted_label": "MAYBE"}, r"field 'predicted_label'"),
    ):
        gold, verdicts = table_files(files, **bad)
        with pytest.raises(DataError, match=message):
            score("tables", "--gold", gold, "--predictions", verdicts)
    with pytest.raises(DataError, match=r"other\.trec: no query of the run is in"):
        score("tables", "--gold", gold, "--predictions", verdicts, "--run", files("other.trec", "8 Q0 t1 1 0.9 t"))
    some = files(
        "some.jsonl",
        {"id": 1, "predicted_label": "REFUTES", "predicted_evidence": [], "sufficiency": 1},
        {"id": 2, "predicted_label": "REFUTES", "predicted_evidence": []},
    )
    with pytest.raises(DataError, match=r"some\.jsonl: `sufficiency` is given for some claims only.*'2'"):
        score("tables", "--gold", gold, "--predictions", some)
