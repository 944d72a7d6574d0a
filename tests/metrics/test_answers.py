"""Answers to questions: the measures, and the verb from files to figures."""

import json

import pytest

from lisax.cli import invoke
from lisax.corpora.answer_predictions import RankedAnswers
from lisax.errors import DataError
from lisax.metrics.answers import evaluate
from lisax.records import Hit, Question
from lisax.retrieval import runs

QUESTIONS = {
    question.id: question
    for question in (
        Question("a", "?", ("1,921",), ("t#r0c0",)),
        Question("b", "?", ("Tirol United", "Varn"), ("t#r1c1", "t#r2c1")),
        Question("c", "?", ("54",), ("t",)),
        Question("d", "?", (), ("t#r0c1",)),
    )
}


def test_the_first_right_answer_counts():
    answers = {
        "a": RankedAnswers("a", ("12", "1921.0"), ("t#r0c1", "t#r0c0")),
        "b": RankedAnswers("b", ("tirol united",), ("s#r0c0", "s#r0c1", "t#r2c1")),
        "d": RankedAnswers("d", ("x",), ("t#r0c1",)),
    }
    assert evaluate(QUESTIONS, answers) == {
        "mrr": pytest.approx((1 / 2 + 1 + 0) / 3),
        "hit@1": pytest.approx(1 / 3),
        "questions": 3,
        "exact_match": pytest.approx(1 / 3),
        "cells": {"mrr": pytest.approx((1 / 2 + 1 / 3 + 1) / 3), "hit@1": pytest.approx(1 / 3), "questions": 3},
    }
    only_texts = {"a": RankedAnswers("a", ("1921",))}
    assert evaluate(QUESTIONS, only_texts) == {
        "mrr": pytest.approx(1 / 3),
        "hit@1": pytest.approx(1 / 3),
        "questions": 3,
        "exact_match": pytest.approx(1 / 3),
    }


def test_nothing_to_count_is_told():
    with pytest.raises(DataError, match="question that is not asked: 'z'"):
        evaluate(QUESTIONS, {"z": RankedAnswers("z", ("1",))})
    with pytest.raises(DataError, match="nothing to count"):
        evaluate({"e": Question("e", "?")}, {"e": RankedAnswers("e", ("1",))})
    with pytest.raises(DataError, match="nothing to count"):
        evaluate(QUESTIONS, {})


# --- The verb -------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    def lines(name, *rows):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    lines(
        "tables.jsonl", {"id": "t", "title": "", "header": ["year", "club"], "rows": [["1921", "x"], ["1922", "Varn"]]}
    )
    lines(
        "questions.dev.jsonl",
        {"id": 1, "question": "q", "answers": ["1921"], "evidence": ["t#r0c0"]},
        {"id": 2, "question": "q", "answers": ["varn"], "evidence": ["t#r1c1"]},
    )
    lines("predictions.jsonl", {"id": 1, "answers": ["1922", "1,921"]}, {"id": 2, "answers": ["Varn"]})
    runs.write_run(
        tmp_path / "cells.trec",
        [Hit("1", "t#r0c0", 1, 2.0), Hit("2", "t#r0c0", 1, 2.0), Hit("2", "t#r1c1", 2, 1.0)],
        "test",
    )
    return tmp_path


def figures(capsys, *args):
    assert invoke(["score", "answers", *map(str, args), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["answers"]


def test_evaluate_answers(folder, capsys):
    by_text = figures(capsys, "--gold", folder / "questions.dev.jsonl", "--predictions", folder / "predictions.jsonl")
    assert by_text == {"mrr": 0.75, "hit@1": 0.5, "questions": 2, "exact_match": 0.5}
    assert figures(capsys, "--gold", folder, "--predictions", folder / "predictions.jsonl") == by_text
    # Cells of a run have the texts of a folder's tables.
    by_cell = {"mrr": 0.75, "hit@1": 0.5, "questions": 2}
    found = figures(capsys, "--gold", folder, "--predictions", folder / "cells.trec")
    assert found == by_cell | {"exact_match": 0.5, "cells": by_cell}
    seen = figures(capsys, "--gold", folder / "questions.dev.jsonl", "--predictions", folder / "cells.trec")
    assert seen == {"cells": by_cell}


def test_questions_without_a_prediction_are_named(folder, capsys):
    (folder / "predictions.jsonl").write_text(json.dumps({"id": 1, "answers": ["1921"]}) + "\n")
    with (folder / "questions.dev.jsonl").open("a") as file:
        file.write(json.dumps({"id": 3, "question": "Unknown?", "answers": []}) + "\n")  # does not count
    assert invoke(["score", "answers", f"--gold={folder}", f"--predictions={folder}/predictions.jsonl", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["answers"]["mrr"] == 0.5
    assert "predictions.jsonl: questions without a prediction, which count as wrong: 1 of 2, for example '2'\n" in err


def test_what_is_wrong_is_named(folder, capsys):
    with pytest.raises(DataError, match="no questions for split 'test'; there are dev"):
        figures(capsys, "--gold", folder, "--split", "test", "--predictions", folder / "predictions.jsonl")
    for row, message in (
        ({"id": 1}, "field 'answers': neither answers nor cells"),
        ({"id": 1, "cells": ["t#r1"]}, r"field 'cells\[0\]': 't#r1' is not the id of a cell"),
        ({"id": 9, "answers": ["x"]}, "not asked: '9'"),
    ):
        (folder / "predictions.jsonl").write_text(json.dumps(row))
        with pytest.raises(DataError, match=f"predictions.jsonl.*{message}"):
            figures(capsys, "--gold", folder, "--predictions", folder / "predictions.jsonl")
    runs.write_run(folder / "cells.trec", [Hit("1", "t", 1, 2.0)], "test")
    with pytest.raises(DataError, match="cells.trec: 't' is not the id of a cell"):
        figures(capsys, "--gold", folder, "--predictions", folder / "cells.trec")
