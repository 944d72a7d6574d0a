"""A user's claims over tables as tasks, in one call or from one JSON file, with errors that name the line."""

from __future__ import annotations

import numpy as np
import pytest
import seqio
from read_tasks import forget, read, train_a_step, written

from lisax.errors import DataError, LisaxError
from lisax.files.writing import write_json, write_json_lines
from lisax.formats.examples import read_examples
from lisax.formats.tables import TableExample, TableView
from lisax.predict.model import Model
from lisax.records import Hit
from lisax.retrieval import runs
from lisax.sampling import table_examples
from lisax.tasks import table_data
from lisax.tasks.register import register, register_file
from lisax.training.export import export
from lisax.weights.model_folder import ModelFolder

pytestmark = pytest.mark.usefixtures("forget")

CLUBS = ["Tirol", "Varn", "Keld", "Ostra", "Mirra", "Lund", "Pell", "Quay", "Rask", "Sorn", "Ulme", "Vetra"]
TABLES = [
    {
        "id": f"T{i}",
        "title": f"Seasons of {club} United",
        "header": ["year", "place", "coach", "goals"],
        "rows": [[str(1900 + i + r), str(r + 1), f"{club} Coach {r}", str(40 + i)] for r in range(3)],
    }
    for i, club in enumerate(CLUBS)
]
CLAIMS = [
    {
        "id": i,
        "claim": f"{club} United scored {40 + i} goals under {club} Coach 1 .",
        "label": label,
        "evidence": [[f"T{i}"]],
    }
    for i, (club, label) in enumerate(zip(CLUBS, ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"] * 4))
]


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "mine", {"tables": TABLES, "claims.train": CLAIMS[:9], "claims.dev": CLAIMS[9:]})


def test_a_folder_gives_every_task_over_tables(folder):
    mine = register("mine", folder=folder, vocabulary="train")
    assert mine.tasks == {variant: f"mine_{variant}" for variant in table_data.STEMS}
    assert mine.counts["tables_top5"] == mine.counts["tables_closed"] == {"train": 9, "dev": 3}
    examples = list(read_examples(folder / "mine_tasks/tables_top3.train.jsonl", TableExample))
    assert all(any(example.gold) and len(example.tables) == 3 for example in examples)
    headers = {table.header for example in examples for table in example.tables if table.id == f"T{example.claim_id}"}
    assert all(len(header) == 3 and "coach" in header for header in headers)
    rows = read("mine_tables_fusion_top3", {"inputs": 300, "targets": 3})
    assert sorted(rows[0]["targets"].tolist()) == [1, 1, 2] and sorted(rows[1]["targets"].tolist()) == [1, 1, 3]
    assert rows[2]["targets"].tolist() == [1, 1, 1]
    (closed, *_) = read("mine_tables_closed", {"inputs": 200, "targets": 2}, "dev")
    assert closed["inputs_pretokenized"].startswith(b"query: Sorn United")
    assert b"table1: Seasons of Sorn United . row 1 is : " in closed["inputs_pretokenized"]
    assert closed["targets_pretokenized"] == b"true" and closed["dropped_rows"] == 0
    claim_only = read("mine_tables_claim_only", {"inputs": 64, "targets": 2})
    assert claim_only[0]["inputs_pretokenized"].decode() == f"query: {CLAIMS[0]['claim']} relevant:"


@pytest.mark.parametrize(
    "variant, lengths",
    [
        pytest.param("tables_one", {"inputs": 96, "targets": 2}, marks=pytest.mark.slow, id="text"),
        pytest.param("tables_fusion_top3", {"inputs": 288, "targets": 3}, id="fusion"),
    ],
)
def test_a_model_trained_on_registered_tables_answers_from_its_bundle(folder, tmp_path, variant, lengths):
    mine = register("mine", folder=folder, vocabulary="train")
    mine.write_gin(tmp_path / "mine.gin", variant, model="t5_1_1_micro")
    train_a_step(tmp_path, lengths)
    model = Model.open(export(ModelFolder.find(tmp_path / "model"), tmp_path / "bundle"))
    assert model.max_tokens == 96 and model.depth == (1 if variant == "tables_one" else 3)
    view = TableView("T1", "Seasons of Varn United", ("year", "goals"), (("1901", "41"),))
    found = model.probabilities([table_examples.TableExample("1", CLAIMS[1]["claim"], (view,))])
    shares = found if variant == "tables_one" else found.probabilities
    assert np.isfinite(shares).all()


def test_files_with_a_run_from_json(folder, tmp_path):
    run = [Hit(str(c["id"]), f"T{(c['id'] + r) % 12}", r, -r) for c in CLAIMS for r in range(1, 11)]
    runs.write_run(tmp_path / "run.trec", run, "test")
    described = {
        "name": "theirs",
        "claims": {"train": "mine/claims.train.jsonl", "dev": "mine/claims.dev.jsonl"},
        "tables": "mine/tables.jsonl",
        "run": "run.trec",
        "vocabulary": "bytes",
        "out": "built",
    }
    write_json(tmp_path / "task.json", described)
    theirs = register_file(tmp_path / "task.json")
    (first, *_) = read_examples(tmp_path / "built/tables_top3.train.jsonl", TableExample)
    assert first.unit_ids == ["T1", "T2", "T0"] and first.gold == (False, False, True)
    (first, *_) = read_examples(tmp_path / "built/tables_top3.dev.jsonl", TableExample)
    assert first.unit_ids == ["T10", "T11", "T0"] and not any(first.gold)
    theirs.write_gin(tmp_path / "theirs.gin", "tables_fusion_top5")
    text = (tmp_path / "theirs.gin").read_text()
    assert "TASK_FEATURE_LENGTHS = {'inputs': 2560, 'targets': 5}" in text and "models/table_fusion.gin" in text
    assert "9 training examples" in text
    theirs.write_gin(tmp_path / "theirs.gin")
    text = (tmp_path / "theirs.gin").read_text()
    assert "MIXTURE_OR_TASK_NAME = 'theirs_tables_top5'" in text and "'targets': 2" in text
    forget("theirs_")
    assert register_file(tmp_path / "theirs.json").counts == theirs.counts


def test_tables_may_be_a_folder_of_csv_files(tmp_path):
    (tmp_path / "csv").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"csv/{name}.csv").write_text(f"year,coach\n1921,Coach {name}\n1922,Anna Voss\n")
    write_json_lines(
        tmp_path / "claims.jsonl",
        [{"id": "1", "claim": "Coach b came in 1921 .", "label": "SUPPORTS", "evidence": [["b.csv"]]}],
    )
    mine = register("mine", claims=tmp_path / "claims.jsonl", tables=tmp_path / "csv", vocabulary="bytes")
    assert mine.counts["tables_one"] == {"train": 1}
    (example,) = read_examples(tmp_path / "mine_tasks/tables_one.train.jsonl", TableExample)
    assert example.unit_ids == ["b.csv"] and example.tables[0].rows[0] == ("1921", "Coach b")


def test_a_folder_of_both_kinds_is_told_by_evidence(folder):
    write_json_lines(folder / "pages.jsonl", [{"id": "P", "title": "P", "sentences": ["one"]}])
    for split in ("train", "dev"):
        (folder / f"claims.{split}.jsonl").rename(folder / f"table_claims.{split}.jsonl")
    write_json_lines(
        folder / "claims.train.jsonl", [{"id": "s", "claim": "c", "label": "SUPPORTS", "evidence": [["P_0"]]}]
    )
    assert "label_listwise" in register("mine", folder=folder, vocabulary="bytes").tasks
    both = register("tables", folder=folder, vocabulary="bytes", evidence="tables")
    assert both.counts["tables_one"] == {"train": 9, "dev": 3}


def test_a_claim_whose_table_is_missing_is_named(folder):
    write_json_lines(folder / "claims.train.jsonl", [CLAIMS[0], CLAIMS[1] | {"evidence": [["T99"]]}])
    with pytest.raises(DataError, match="claims.train.jsonl:2: field 'evidence': 'T99' of claim '1' is not a table"):
        register("mine", folder=folder, vocabulary="bytes")
    assert not [name for name in seqio.TaskRegistry.names() if name.startswith("mine_")]


def test_two_claims_of_one_id_are_refused(folder):
    write_json_lines(folder / "claims.dev.jsonl", [CLAIMS[9] | {"id": 3}])
    with pytest.raises(DataError, match="field 'id': claim '3' is in train too, with another text"):
        register("mine", folder=folder, vocabulary="bytes")


def test_bad_tables_and_calls_are_named(folder, tmp_path):
    claims = folder / "claims.train.jsonl"
    with pytest.raises(LisaxError, match="`claims` and `corpus`, or `claims` and `tables`"):
        register("mine", claims=claims, tables="t", corpus="p")
    with pytest.raises(
        LisaxError, match="`evidence` must be 'sentences', 'tables' or 'cells', and only with `folder`, found 'x'"
    ):
        register("mine", folder=folder, evidence="x")
    write_json_lines(tmp_path / "pages/pages.jsonl", [{"id": "P", "title": "P", "sentences": ["one"]}])
    with pytest.raises(DataError, match="pages: the folder has no claims over tables"):
        register("mine", folder=tmp_path / "pages", evidence="tables")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="tables: the folder has no claims"):
        register("mine", folder=tmp_path / "tables")
    with pytest.raises(LisaxError, match="`reranked` is for sentences"):
        register("mine", folder=folder, reranked="r.trec")
    runs.write_run(tmp_path / "other.trec", [Hit("0", "X", 1, 1.0)], "test")
    with pytest.raises(DataError, match="other.trec: none of its ids is a table"):
        register("mine", claims=claims, tables=folder / "tables.jsonl", vocabulary="bytes", run=tmp_path / "other.trec")
    write_json_lines(folder / "tables.jsonl", [TABLES[0], TABLES[1] | {"rows": [["1"]]}])
    with pytest.raises(DataError, match=r"tables.jsonl:2: field 'rows\[0\]': expected 4 cells"):
        register("mine", folder=folder, vocabulary="bytes")
