"""Readers of data with texts, of sub-graphs, and of questions over them."""

import json
import tarfile

import pytest
from dataset_files import packed

from lisax.corpora import open_folder, ottqa, triple_sets
from lisax.corpora.check import check
from lisax.corpora.layout import read_questions
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.records import DataText, Question

# --- Triples to pairs -----------------------------------------------------------------------


def test_the_title_of_a_table_comes_first():
    triples = [
        ("[TABLECONTEXT]", "LEAGUE_NAME", "NBA"),
        ("NBA", "teamSize", "12"),
        ("[TABLECONTEXT]", "[title]", "LeBron James"),
    ]
    assert triple_sets.to_pairs(triples) == ("LeBron James", (("league name", "NBA"), ("team size", "12")))


def test_without_a_title_the_root_is_the_title():
    triples = [("2", "HOME_TEAM", "Chivas"), ("1983-1984 season", "JORNADA_OR_OTHER", "2")]
    assert triple_sets.to_pairs(triples) == ("1983-1984 season", (("home team", "Chivas"), ("jornada or other", "2")))


def test_no_subject_is_lost():
    assert triple_sets.to_pairs([("A", "x", "B"), ("C", "y", "B"), ("C", "z", "")]) == (
        "A",
        (("x", "B"), ("subject", "C"), ("y", "B")),
    )
    circle = [("A", "x", "B"), ("B", "y", "A")]
    assert triple_sets.to_pairs(circle) == ("A", (("x", "B"), ("y", "A")))
    assert triple_sets.to_pairs([]) == ("", ())


# --- DART and WebNLG ------------------------------------------------------------------------


ENTRY = {
    "tripleset": [["Mars Hill", "JOINED", "1973"]],
    "annotations": [{"source": "s", "text": "It  joined in 1973."}],
}
RECORD = DataText("dart:dev:0", "Mars Hill", (("joined", "1973"),), ("It joined in 1973.",), "s")
XML = """<benchmark><entries><entry category="MISC" eid="Id1" size="1"><modifiedtripleset><mtriple>{}</mtriple>
</modifiedtripleset><lex comment="s" lid="Id1">It joined in 1973.</lex></entry></entries></benchmark>"""


def test_dart_in_json_and_xml(tmp_path):
    (tmp_path / "dart-v1.1.1-full-dev.xml").write_text(XML.format("Mars Hill | JOINED | 1973"))
    assert list(open_folder(tmp_path).data_texts("dev")) == [RECORD]
    (tmp_path / "dart-v1.1.1-full-dev.json").write_text(json.dumps([ENTRY, {"tripleset": [], "annotations": []}]))
    assert list(open_folder(tmp_path).data_texts("dev")) == [RECORD]
    assert check(tmp_path).counts == {"records in dev": 1, "texts in dev": 1}


@pytest.mark.parametrize(
    "entry, said",
    [
        (3, r"\[0\]': expected an object"),
        ({"tripleset": []}, r"\[0\].annotations': expected a list"),
        (ENTRY | {"tripleset": [["a", "b"]]}, r"\[0\].tripleset\[0\]': expected three strings"),
        (ENTRY | {"annotations": ["text"]}, r"\[0\].annotations\[0\]': expected an object with a text"),
    ],
)
def test_a_wrong_entry_is_told(tmp_path, entry, said):
    (tmp_path / "dart-v1-train.json").write_text(json.dumps([entry]))
    with pytest.raises(DataError, match=said):
        list(open_folder(tmp_path).data_texts("train"))


def test_webnlg_packed_and_unpacked(tmp_path):
    folder = tmp_path / "unpacked/dev/1triples"
    folder.mkdir(parents=True)
    (folder / "a.xml").write_text(XML.format('Mars_Hill | foundedIn | "1973"'))
    expected = [
        DataText("webnlg:dev:1triples_a:Id1", "Mars Hill", (("founded in", "1973"),), ("It joined in 1973.",), "webnlg")
    ]
    assert list(open_folder(tmp_path / "unpacked").data_texts("dev")) == expected
    packed = tmp_path / "packed"
    packed.mkdir()
    with tarfile.open(packed / "webnlg_2017.tar.gz", "w:gz") as file:
        file.add(folder, "dev/1triples")
    assert open_folder(packed).data_text_splits == ("dev",)
    assert list(open_folder(packed).data_texts("dev")) == expected


@pytest.mark.parametrize(
    "literal, value",
    [
        ('"Aarhus, Denmark"@en', "Aarhus, Denmark"),
        ('"52.0"(minutes)', "52.0 (minutes)"),
        ('"1"^^xsd:integer', "1"),
        ('"A "B" C"', 'A "B" C'),
        ("Mars_(planet)", "Mars (planet)"),
        ('"1973"', "1973"),
    ],
)
def test_a_literal_loses_its_quotes(tmp_path, literal, value):
    (tmp_path / "dev/1triples").mkdir(parents=True)
    (tmp_path / "dev/1triples/a.xml").write_text(XML.format(f"Mars_Hill | place | {literal}"))
    (record,) = open_folder(tmp_path).data_texts("dev")
    assert record.pairs == (("place", value),)


@pytest.mark.parametrize("encoding", ["foo", "utf-32"])
def test_an_encoding_that_is_not_known_is_told(tmp_path, encoding):
    (tmp_path / "dev/1triples").mkdir(parents=True)
    (tmp_path / "dev/1triples/a.xml").write_text(f'<?xml version="1.0" encoding="{encoding}"?><benchmark/>')
    with pytest.raises(DataError, match="a.xml"):
        list(open_folder(tmp_path).data_texts("dev"))


def test_webnlg_names_entries_by_their_number_of_triples(tmp_path):
    for folder, file in (("1triples", "Food"), ("2triples", "Food"), ("1triples", "1triples_Food_train_challenge")):
        (tmp_path / "train" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "train" / folder / f"{file}.xml").write_text(XML.format("Mars_Hill | foundedIn | 1973"))
    assert [record.id for record in open_folder(tmp_path).data_texts("train")] == [
        "webnlg:train:1triples_Food_train_challenge:Id1",
        "webnlg:train:1triples_Food:Id1",
        "webnlg:train:2triples_Food:Id1",
    ]


def test_all_broken_xml_is_told_and_the_rest_read(tmp_path):
    (tmp_path / "train/1triples").mkdir(parents=True)
    for name, content in (("a", "<benchmark>"), ("b", XML.format("Mars_Hill | foundedIn | 1973")), ("c", "<a></b>")):
        (tmp_path / f"train/1triples/{name}.xml").write_text(content)
    watch = Watch(keep_going=True)
    assert len(list(open_folder(tmp_path).data_texts("train", watch))) == 1
    first, last = watch.problems
    assert "a.xml:1: not well-formed" in first and "c.xml:1: not well-formed" in last
    (tmp_path / "dart").mkdir()
    (tmp_path / "dart/dart-v1-dev.xml").write_text("<benchmark>")
    assert "dart-v1-dev.xml:1: not well-formed" in check(tmp_path / "dart").problems[0]


@pytest.mark.parametrize(
    "first, second, split",
    [
        ("webquestions-val.json", "webquestions-dev.json", "dev"),
        ("webquestions-train.json", "webquestions.examples.train.json", "train"),
    ],
)
def test_two_files_of_one_split_are_told(tmp_path, first, second, split):
    for name in (first, second):
        (tmp_path / name).write_text("[]")
    with pytest.raises(DataError, match=f"({first} and {second}|{second} and {first}) are both of the split '{split}'"):
        open_folder(tmp_path)


# --- Questions ------------------------------------------------------------------------------


def test_open_questions(tmp_path):
    (tmp_path / "NQ-open.dev.jsonl").write_text('{"question": "when", "answer": ["2017"]}\n')
    assert list(open_folder(tmp_path).questions("dev")) == [Question("dev:1", "when", ("2017",))]
    (tmp_path / "webquestions-val.json").write_text('[{"qId": "w1", "qText": "where", "answers": ["Rome"]}]')
    (tmp_path / "webquestions.examples.test.json").write_text(
        json.dumps(
            [{"utterance": "who", "targetValue": '(list (description "Jaz \\"B\\" Bieber") (description Rome))'}]
        )
    )
    data = open_folder(tmp_path)
    assert data.question_splits == ("nq_dev", "webquestions_dev", "webquestions_test")
    assert list(data.questions("webquestions_dev")) == [Question("w1", "where", ("Rome",))]
    assert list(data.questions("webquestions_test")) == [
        Question("webquestions_test:1", "who", ('Jaz "B" Bieber', "Rome"))
    ]
    assert check(tmp_path).sound


@pytest.mark.parametrize(
    "name, content, expected",
    [
        ("NQ-open.dev.jsonl", '{"question": "when", "answer": ["2017"]}', Question("dev:1", "when", ("2017",))),
        ("some.jsonl", '{"question": "when", "answer": ["2017"]}', Question("some:1", "when", ("2017",))),
        (
            "webquestions-val.json",
            '[{"qId": "w1", "qText": "where", "answers": ["Rome"]}]',
            Question("w1", "where", ("Rome",)),
        ),
        (
            "mine.json",
            '[{"utterance": "who", "targetValue": "(list (description Ada))"}]',
            Question("mine:1", "who", ("Ada",)),
        ),
        ("questions.dev.jsonl", '{"id": 7, "question": "when"}', Question("7", "when", original_id=7)),
    ],
)
def test_questions_of_one_file(tmp_path, name, content, expected):
    (tmp_path / name).write_text(content + "\n")
    assert list(read_questions(tmp_path / name)) == [expected]


def test_ottqa(tmp_path):
    table = {"title": "Some list", "header": [["City , State", []]], "data": [[["Dalton ( 1911 )", ["/wiki/D"]]]]}
    tables = {"T_0.json": json.dumps(table), "T_1.json": '{"header": [], "data": [3]}'}
    (tmp_path / "traindev_tables_tok.tar.gz").write_bytes(
        packed(**{f"traindev_tables_tok/{name}": content for name, content in tables.items()})
    )
    (tmp_path / "dev.json").write_text(
        json.dumps([{"question_id": "q1", "question": "Where ?", "table_id": "T_0", "answer-text": "Dalton"}])
    )
    summary = check(tmp_path)
    assert summary.counts == {"questions in dev": 1, "tables": 1}
    assert summary.problems == (
        f"{tmp_path}/traindev_tables_tok.tar.gz/traindev_tables_tok/T_1.json: expected `header` and `data` as lists",
    )
    found = next(ottqa.read_tables(tmp_path / "traindev_tables_tok.tar.gz", Watch(keep_going=True)))
    assert (found.id, found.header, found.rows) == ("T_0", ("City, State",), (("Dalton (1911)",),))
    assert next(open_folder(tmp_path).questions("dev")) == Question("q1", "Where?", ("Dalton",), ("T_0",))
    (tmp_path / "dev.json").write_text(json.dumps([{"question_id": "q1", "question": "Where ?"}] * 2))
    assert f"{tmp_path}/dev.json:2: field 'id': duplicate id 'q1', first in entry 1" in check(tmp_path).problems
