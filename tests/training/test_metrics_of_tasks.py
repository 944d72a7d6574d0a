"""The metrics that a seqio task's own functions give, and the file that they are written to."""

import json
import math

import seqio
import tiny_task

from lisax.training.task_metrics import _add_line, _numbers, _tell_unread, finite


def test_seqios_scalars_are_numbers_and_its_texts_are_left_out():
    given = {"share": seqio.metrics.Scalar(0.5), "odd": seqio.metrics.Text("x"), "rows": 3, "none": float("nan")}
    found = _numbers(given)
    assert list(found) == ["share", "rows", "none"] and math.isnan(found["none"])
    assert finite(found) == {"share": 0.5, "rows": 3.0}


def test_metrics_that_are_not_read_are_named_once(capsys):
    def with_aux(targets, predictions, aux_values):
        return {}

    task = seqio.TaskRegistry.get("first_word")
    whole = task.replace(metric_fns=[tiny_task.exact, with_aux], metric_objs=[seqio.metrics.Metric])
    for one in (task, whole, whole):
        _tell_unread(one)
    message = "note: of the metrics of 'first_word' these are left out: Metric, with_aux. "
    said = capsys.readouterr().err
    assert message in said and said.count("note:") == 1


def test_an_evaluation_replaces_only_its_own_line(tmp_path):
    path = tmp_path / "inference_eval" / "task-metrics.jsonl"

    def steps():
        return [(line["step"], line.get("split"), line["f1"]) for line in map(json.loads, path.open())]

    for step in (2, 4, 6):
        _add_line(path, {"step": step, "f1": 0.1})
    _add_line(path, {"step": 2, "split": "test", "f1": 0.2})
    _add_line(path, {"step": 4, "split": "test", "f1": 0.3})
    _add_line(path, {"step": 2, "split": "test", "f1": 0.4})
    trained = [(2, None, 0.1), (4, None, 0.1), (6, None, 0.1)]
    assert steps() == [*trained, (4, "test", 0.3), (2, "test", 0.4)]
    _add_line(path, {"step": 4, "f1": 0.5})  # a resumed run
    assert steps() == [trained[0], (4, "test", 0.3), (2, "test", 0.4), (4, None, 0.5)]
