"""TabFact's folder, as its owners keep it and as it lies beside the project."""

import json
import logging
from pathlib import Path

import dataset_files
import pytest
from dataset_files import packed

from lisax.corpora import open_folder
from lisax.corpora.check import check
from lisax.errors import DataError, LisaxError
from lisax.records import Label, Table

TABLES = {
    "1-1.html.csv": "year#team\n1999#lions ⚽\n2000#אריות\n",
    "1-2.html.csv": "a#b\n1\n1#2#3\n",
    "1-3.html.csv": "only # header",
    "1-4.html.csv": "x\n1\n",
}


def put(path: Path, value) -> None:
    dataset_files.put(path.parent, {path.name: value if isinstance(value, str) else json.dumps(value)})


@pytest.fixture
def official(tmp_path) -> Path:
    for name, text in TABLES.items():
        put(tmp_path / "data/all_csv" / name, text)
    for name, ids in {
        "train": ["1-1.html.csv"],
        "val": ["1-2.html.csv"],
        "test": ["1-3.html.csv", "1-4.html.csv"],
        "small_test": ["1-4.html.csv"],
        "simple_test": ["1-4.html.csv"],
        "complex_test": ["1-3.html.csv"],
    }.items():
        put(tmp_path / f"data/{name}_id.json", ids)
    put(
        tmp_path / "data/table_to_page.json", {"1-1.html.csv": ["the lions", "https://en.wikipedia.org/wiki/The_Lions"]}
    )
    entries = {
        "1-1.html.csv": [["the lion win", "the lion  lose"], [1, 0], "lions"],
        "1-2.html.csv": [["b be 2"], [1], "none"],
        "1-3.html.csv": [["no row"], [1], "third"],
        "1-4.html.csv": [["x be 1"], [0], "fourth"],
    }
    for split, names in {"train": ["1-1"], "val": ["1-2"], "test": ["1-3", "1-4"]}.items():
        put(
            tmp_path / f"tokenized_data/{split}_examples.json",
            {f"{name}.html.csv": entries[f"{name}.html.csv"] for name in names},
        )
    put(
        tmp_path / "collected_data/r1_training_all.json",
        {
            "1-1.html.csv": [["the lions won", "the lions lost"], [1, 0], "lions"],
            "1-4.html.csv": [["x is 1"], [0], "fourth"],
        },
    )
    put(
        tmp_path / "collected_data/r2_training_all.json",
        {
            "1-1.html.csv": [["left out"], [1], "lions"],
            "1-2.html.csv": [["b is 2"], [1], "none"],
            "1-3.html.csv": [["no rows"], [1], "third"],
        },
    )
    return tmp_path


def test_claims_of_the_official_folder(official):
    dataset = open_folder(official)
    assert (dataset.layout, dataset.splits, dataset.table_claim_splits) == ("tabfact", *[("train", "dev", "test")] * 2)
    first, second = dataset.claims("train")
    assert (first.id, first.text, first.label, first.evidence_sets, first.kind) == (
        "1-1.html.csv:0",
        "the lion win",
        Label.SUPPORTS,
        (("1-1.html.csv",),),
        "simple",
    )
    assert (second.id, second.text, second.label) == ("1-1.html.csv:1", "the lion lose", Label.REFUTES)
    assert [claim.kind for claim in dataset.table_claims("test")] == ["complex", "simple"]
    assert not list(dataset.documents())


def test_claims_as_written(official):
    dataset = open_folder(official, wording="written")
    assert [c.text for s in dataset.splits for c in dataset.claims(s)] == [
        "the lions won",
        "the lions lost",
        "b is 2",
        "x is 1",
        "no rows",
    ]
    assert [c.id for c in dataset.claims("dev")] == [c.id for c in open_folder(official).claims("dev")]
    with pytest.raises(LisaxError, match="wording is one of lemmatised, written"):
        open_folder(official, wording="spoken")


def test_subsets_of_the_test_tables(official):
    dataset = open_folder(official)
    assert dataset.subsets == ("small_test", "simple_test", "complex_test")
    assert {name: [c.text for c in dataset.table_claims(name)] for name in dataset.subsets} == {
        "small_test": ["x be 1"],
        "simple_test": ["x be 1"],
        "complex_test": ["no row"],
    }
    with pytest.raises(DataError, match="no claims for split 'tiny'"):
        dataset.claims("tiny")


def test_the_id_files_tell_kinds_too(official):
    for path in (official / "collected_data").iterdir():
        path.unlink()
    dataset = open_folder(official)
    assert [claim.kind for split in ("train", "test") for claim in dataset.claims(split)] == [
        None,
        None,
        "complex",
        "simple",
    ]


def test_ids_that_no_claim_has_are_told(official):
    put(official / "data/simple_test_id.json", ["1-4.html.csv", "1-8.html.csv", "1-9.html.csv"])
    put(official / "data/small_test_id.json", [7])
    summary = check(official)
    assert summary.warnings[0] == (
        f"tables of an id file that no claim of its split is about: 2, first at {official}/data/simple_test_id.json"
    )
    assert summary.problems == (f"{official}/data/small_test_id.json: expected a list of table names",)


def test_tables_and_what_is_told_of_them(official, caplog):
    with caplog.at_level(logging.WARNING):
        tables = list(open_folder(official).tables())
    assert tables == [
        Table(
            "1-1.html.csv",
            "the lions",
            ("year", "team"),
            (("1999", "lions ⚽"), ("2000", "אריות")),
            "lions",
            "The_Lions",
        ),
        Table("1-2.html.csv", "", ("a", "b"), (("1", ""), ("1", "2"))),
        Table("1-3.html.csv", "", ("only", "header"), (), "third"),
        Table("1-4.html.csv", "", ("x",), (("1",),), "fourth"),
    ]
    place = official / "data/all_csv/1-2.html.csv"
    assert caplog.messages == [
        f"rows with fewer cells than the header (padded): 1, first at {place}:2",
        f"rows with more cells than the header (cut): 1, first at {place}:3",
    ]
    assert check(official).sound


def test_tables_in_an_archive(official, tmp_path):
    folder = tmp_path / "packed"
    folder.mkdir()
    archive, files = folder / "all_csv.tar.gz", TABLES | {"readme.txt": "not a table"}
    archive.write_bytes(packed(**{f"all_csv/{name}": text for name, text in files.items()}))
    assert [(t.id, t.header, t.rows) for t in open_folder(folder).tables()] == [
        (t.id, t.header, t.rows) for t in open_folder(official).tables()
    ]
    assert [path.name for path in folder.iterdir()] == ["all_csv.tar.gz"]
    archive.write_bytes(packed(**dict.fromkeys(("all_csv/1.csv", "more/1.csv"), b"a#b")))
    with pytest.raises(DataError, match="more/1.csv:1: field 'id': duplicate id '1.csv'"):
        list(open_folder(folder).tables())
    archive.write_bytes(packed())
    assert "no table: expected files *.csv" in check(folder).problems[-1]


def test_a_byte_order_mark_is_no_part_of_the_header(official):
    (official / "data/all_csv/1-1.html.csv").write_bytes(b"\xef\xbb\xbfyear#team\r\n1999#lions\r\n")
    table = next(open_folder(official).tables())
    assert (table.header, table.rows) == (("year", "team"), (("1999", "lions"),))


def test_the_other_wording_is_told(official, caplog):
    (official / "tokenized_data/train_examples.json").unlink()
    put(
        official / "train_core.jsonl",
        '{"id": 7, "table": "1-1.html.csv", "claim": "it won", "label": 1, "subset": "simple"}\n',
    )
    for path in (official / "collected_data").iterdir():
        path.unlink()
    with caplog.at_level(logging.WARNING):
        (claim,) = open_folder(official).claims("train")
    assert (claim.id, claim.original_id, claim.text, claim.kind) == ("7", 7, "it won", "simple")
    assert "not there as lemmatised" in caplog.text


@pytest.mark.parametrize(
    "value, said",
    [
        ([], "val_examples.json: expected one JSON object"),
        ('{"1-2.html.csv": [], "1-2.html.csv": []}', "val_examples.json: the key '1-2.html.csv' is there twice"),
        ({"1-2.html.csv": [["c"], []]}, "val_examples.json: expected [claims, labels, caption]"),
        ({"1-2.html.csv": [["c"], [], ""]}, "field '1-2.html.csv': expected one label per claim"),
        ({"1-2.html.csv": [["c"], [2], ""]}, "field '1-2.html.csv': expected a label 0 or 1, found 2"),
        ({"1-2.html.csv": [[" "], [1], ""]}, "field '1-2.html.csv': expected a claim, found ' '"),
        ({"1-9.html.csv": [["c"], [1], ""]}, "evidence '1-9.html.csv' of claim '1-9.html.csv:0' is not in the corpus"),
    ],
)
def test_broken_files_are_problems_with_their_place(official, value, said):
    put(official / "tokenized_data/val_examples.json", value)
    assert any(
        said in problem.replace("field '1-2.html.csv': expected [", "expected [")
        for problem in check(official).problems
    )


def test_broken_tables_are_problems(official):
    (official / "data/all_csv/1-1.html.csv").write_bytes(b"a#b\n\xe9#2\n")
    (official / "data/all_csv/1-2.html.csv").write_bytes(b"")
    problems = check(official).problems
    assert any("1-1.html.csv:2: byte 1 is not UTF-8" in problem for problem in problems)
    assert any("1-2.html.csv: the file is empty" in problem for problem in problems)
