"""Tables as text: what is indexed, found and told, and the verbs."""

import json

import pytest

from lisax import cli
from lisax.errors import LisaxError
from lisax.files.writing import write_json_lines
from lisax.records import Question, Table
from lisax.retrieval import table_text, tables
from lisax.retrieval.cells import Strategy
from lisax.retrieval.folder import read_components
from lisax.retrieval.runs import read_run
from lisax.retrieval.table_store import TableStore

CUPS = Table("cups", "Cups", ("year", "winner"), (("1990", "Tarn United"), ("1991", "")), "Winners of cups", "Cups")
TOWNS = Table("towns", "Towns", ("town", "river"), (("Tarn", "Ode"), ("Velin", "Mara")))


def test_the_text_of_a_table():
    assert table_text.indexed_text(CUPS) == "Cups Winners of cups year winner 1990 Tarn United 1991"


def test_gold_tables_are_those_of_cells_and_where_asked_those_named():
    question = Question("q", "?", (), ("Page_2", "b#r0c1", "c", "a#r1c1", "b#r2c1"))
    assert table_text.gold_tables(question) == ("b", "a")
    assert table_text.gold_tables(question, {"c", "d"}.__contains__) == ("b", "c", "a")


def test_build_add_and_search(tmp_path):
    index = table_text.build_index([CUPS], tmp_path / "index", k1=0.9, b=0.4)
    assert (index.settings["k1"], index.settings["b"]) == (0.9, 0.4)
    index = table_text.build_index([TOWNS], tmp_path / "index", add=True)
    assert set(read_components(tmp_path / "index")) == {"table_text", "tables"} and index.settings["k1"] == 0.9
    store = TableStore.open(tmp_path / "index")
    assert store.get("towns") == TOWNS and "cups" in store and "nowhere" not in store
    asked = [Question("1", "Which river is in Tarn?"), Question("2", "Who won cups?")]
    hits = list(table_text.retrieve(index.search, asked))
    assert [(hit.query_id, hit.id, hit.rank) for hit in hits] == [("1", "towns", 1), ("1", "cups", 2), ("2", "cups", 1)]
    with pytest.raises(LisaxError, match="k >= 1"):
        list(table_text.retrieve(index.search, asked, 0))


def test_texts_and_cells_of_the_same_tables_share_a_folder(tmp_path):
    folder = tmp_path / "index"
    table_text.build_index([CUPS], folder)
    with pytest.raises(LisaxError, match="no 'cells'.*lisax index cells"):
        tables.build_index([TOWNS], folder, add=True)
    with pytest.raises(LisaxError, match="this index has 'table_text' of other tables"):
        tables.build_index([TOWNS], folder, Strategy.ENTITY_WORD)
    tables.build_index([CUPS], folder, Strategy.ENTITY_WORD)
    table_text.build_index([TOWNS], folder, add=True)
    assert list(TableStore.open(folder)) == [CUPS, TOWNS]
    cells, texts = tables.CellIndex.open(folder), table_text.open_index(folder)
    assert cells.strategy is Strategy.ENTITY_WORD and cells.search([["velin"]], 1)[0][0][0] == "towns"
    assert texts.search(["velin"], 1)[0][0][0] == "towns"
    tables.build_index([CUPS, TOWNS], folder, Strategy.ENTITY_EXACT)
    assert table_text.open_index(folder).digest == texts.digest


def test_texts_and_cells_in_one_pass_are_those_of_two(tmp_path):
    table_text.build_index([CUPS, TOWNS], tmp_path / "one", with_cells=True)
    table_text.build_index([CUPS, TOWNS], tmp_path / "two")
    tables.build_index([CUPS, TOWNS], tmp_path / "two", Strategy.ENTITY_CHAR_23)
    one, two = (read_components(tmp_path / name) for name in ("one", "two"))
    seen = {name: found["digest"] for name, found in one.items()}
    assert seen == {name: found["digest"] for name, found in two.items()}


def test_a_failed_build_leaves_nothing(tmp_path):
    with pytest.raises(LisaxError, match="'cups' occurs twice"):
        table_text.build_index([CUPS, CUPS], tmp_path / "index")
    assert not (tmp_path / "index").exists()


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    tables = [
        {"id": table.id, "title": table.title, "header": table.header, "rows": table.rows} for table in (CUPS, TOWNS)
    ]
    (folder / "tables.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tables))
    (folder / "pages.jsonl").write_text(json.dumps({"id": "Cups", "title": "Cups", "sentences": ["Cups."]}) + "\n")
    write_json_lines(
        folder / "questions.dev.jsonl",
        [{"id": "1", "question": "Which river is in Tarn?", "answers": ["Ode"], "evidence": ["towns#r0c1"]}],
    )
    return folder


def test_the_verbs(corpus, tmp_path, capsys):
    index, run = tmp_path / "index", tmp_path / "run.trec"
    assert cli.main(["index", "tables", "--corpus", str(corpus), "--out", str(index), "--k1", "1.5"]) == 0
    assert "2 tables" in capsys.readouterr().out
    asked = ["retrieve", "tables", "--index", str(index), "--out", str(run)]
    assert cli.main([*asked, "--questions", str(corpus)]) == 0
    assert [hit.id for hit in read_run(run)["1"]] == ["towns", "cups"]
    assert "gold tables of 1 questions" in capsys.readouterr().out
    assert cli.main([*asked, "--questions", str(corpus / "questions.dev.jsonl")]) == 0
    assert "done before" in capsys.readouterr().out
    assert cli.main([*asked, "--questions", str(corpus), "--k", "1"]) == 0
    assert [hit.id for hit in read_run(run)["1"]] == ["towns"]
    capsys.readouterr()
    for wrong, message in (
        (["--questions", str(corpus), "--split", "train"], "no questions for split 'train'"),
        (["--questions", str(corpus / "questions.dev.jsonl"), "--split", "dev"], "a file is one split"),
    ):
        assert cli.main([*asked, *wrong]) == 1
        assert message in capsys.readouterr().err
