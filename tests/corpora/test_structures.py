"""Readers of data with texts, of sub-graphs, and of questions over them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.cli import invoke
from lisax.corpora import open_folder, ottqa, triple_sets, wikidata
from lisax.corpora.check import check
from lisax.corpora.layout import read_questions
from lisax.corpora.reading import Watch
from lisax.records import DataError, DataText, Graph, Question

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "P1",
                    "mainsnak",
                    "rank",
                    "id",
                    "time",
                    "precision",
                    "amount",
                    "unit",
                    "text",
                    "language",
                    "latitude",
                    "longitude",
                    "numeric-id",
                    "type",
                    "value",
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=10,
)
REAL = Path(__file__).parents[3] / "shared/data"


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


def test_broken_xml_is_told(tmp_path):
    (tmp_path / "train/1triples").mkdir(parents=True)
    path = tmp_path / "train/1triples/a.xml"
    path.write_text("<benchmark>\n<entry></benchmark>")
    with pytest.raises(DataError, match="a.xml:2: not well-formed XML"):
        list(open_folder(tmp_path).data_texts("train"))
    path.write_text(XML.format("only | two"))
    watch = Watch(keep_going=True)
    assert list(open_folder(tmp_path).data_texts("train", watch)) == []
    assert watch.problem_count == 1


# --- ToTTo and KELM -------------------------------------------------------------------------


def cell(value, header=False, width=1, height=1):
    return {"value": value, "is_header": header, "column_span": width, "row_span": height}


def test_totto_gives_each_highlighted_cell_its_header(tmp_path):
    table = [
        [cell("Year", True), cell("Result", True, width=2)],
        [cell("1999", height=2), cell("won"), cell("3-1")],
        [cell("lost"), cell("0-2")],
        [cell("Total", True), cell("2"), cell("")],
    ]
    row = {
        "example_id": 7,
        "table_page_title": "Cup",
        "table_section_title": "Finals",
        "table": table,
        "highlighted_cells": [[1, 0], [2, 0], [2, 1], [3, 1]],
        "sentence_annotations": [{"final_sentence": "A cup."}],
    }
    path = tmp_path / "totto_dev_data.jsonl"
    path.write_text(json.dumps(row))
    assert list(open_folder(tmp_path).data_texts("dev")) == [
        DataText(
            "7",
            "Cup",
            (("section", "Finals"), ("Year", "1999"), ("Result", "lost"), ("Result", "0-2"), ("Result", "2")),
            ("A cup.",),
            "totto",
        )
    ]
    path.write_text(json.dumps(row | {"highlighted_cells": [[9, 0]]}))
    with pytest.raises(DataError, match=r"jsonl:1: field 'highlighted_cells\[0\]'"):
        list(open_folder(tmp_path).data_texts("dev"))


def test_kelm(tmp_path):
    lines = [
        json.dumps({"triples": [["Ada", "born", "1815"], ["Ada", "prize", "date", "1840"]], "sentence": "s"}),
        "Ada born 1815\tAda was born in 1815.",
    ]
    (tmp_path / "quadruples-train.tsv").write_text("\n".join(lines))
    assert list(open_folder(tmp_path).data_texts("train")) == [
        DataText("kelm:train:1", "Ada", (("born", "1815"), ("prize date", "1840")), ("s",), "kelm"),
        DataText("kelm:train:2", "", (("", "Ada born 1815"),), ("Ada was born in 1815.",), "kelm"),
    ]


@pytest.mark.parametrize(
    "first, second, split",
    [
        ("quadruples-train.tsv", "kelm_generated_corpus.jsonl", "train"),
        ("kelm-train.tsv", "quadruples-train.tsv", "train"),
        ("webquestions-val.json", "webquestions-dev.json", "dev"),
        ("webquestions-train.json", "webquestions.examples.train.json", "train"),
    ],
)
def test_two_files_of_one_split_are_told(tmp_path, first, second, split):
    for name in (first, second):
        (tmp_path / name).write_text("[]")
    with pytest.raises(DataError, match=f"({first} and {second}|{second} and {first}) are both of the split '{split}'"):
        open_folder(tmp_path)


# --- Wikidata -------------------------------------------------------------------------------


def entity(key, label, **claims):
    return {"id": key, "labels": {"en": {"language": "en", "value": label}} if label else {}, "claims": claims}


def statement(kind, value, rank="normal", datatype="wikibase-item"):
    return {
        "rank": rank,
        "mainsnak": {"snaktype": "value", "datatype": datatype, "datavalue": {"type": kind, "value": value}},
    }


def item(key, rank="normal"):
    return statement("wikibase-entityid", {"id": key}, rank)


ENTITIES = [
    entity(
        "Q1",
        "Ada",
        P1=[item("Q2"), item("Q3", "preferred"), item("Q4", "deprecated")],
        P9=[item("Q2")],
        P2=[statement("time", {"time": "+1815-12-10T00:00:00Z", "precision": 11})],
        P3=[statement("quantity", {"amount": "+170", "unit": "http://www.wikidata.org/entity/Q3"})],
        P4=[statement("string", "n7", datatype="external-id")],
        P5={"not": "a list"},
    ),
    entity("Q2", "London", P1=[item("Q404")]),
    entity("Q3", "Kent"),
    entity("P1", "lived in"),
    entity("P2", "born"),
    entity("P3", "height"),
    entity("P4", "key"),
    {"id": "Q5"},
]
ADA = Graph("Q1", "Ada", (("lived in", "Kent"), ("born", "10 December 1815"), ("height", "170 Kent")))


def dump(lines=()):
    return "[\n" + ",\n".join([*map(json.dumps, ENTITIES), *lines]).replace('{"id"', '{"type": "item", "id"') + "\n]\n"


@pytest.mark.parametrize("name, pack", [("d.json", bytes), ("d.json.gz", gzip.compress), ("d.json.bz2", bz2.compress)])
def test_wikidata_in_two_readings(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(dump(['{"id": "Q6", broken', "3", json.dumps(entity("Q7", "\ud800"))]).encode()))
    watch = Watch()
    assert list(open_folder(tmp_path).graphs(watch)) == [ADA]
    assert watch.warnings == [f"lines that are no entity (skipped): 3, first at {tmp_path / name}:10"]


def test_a_label_for_all_languages_stands_in():
    labels = {"mul": {"value": "Ada Lovelace"}, "de": {"value": "Ada"}}
    assert [wikidata.label_of({"labels": labels}, language) for language in ("en", "de")] == ["Ada Lovelace", "Ada"]


@settings(max_examples=200)
@given(
    VALUES,
    st.sampled_from(["mainsnak", "datavalue", "value", "claims"]),
    st.sampled_from(["string", "wikibase-entityid", "time", "quantity", "monolingualtext", "globecoordinate"]),
)
def test_any_entity_is_a_graph_or_none(value, where, kind):
    snak = {"snaktype": "value", "datavalue": {"type": kind, "value": value}}
    statement = {"mainsnak": snak}
    if where != "value":
        {"mainsnak": statement, "datavalue": snak, "claims": snak}[where][where] = value
    claims = value if where == "claims" else {"P1": [statement]}
    graph = wikidata.graph_of({"id": "Q1", "labels": {"en": {"value": "Ada"}}, "claims": claims}, Labels())
    assert graph is None or graph.edges


class Labels:
    def get(self, entity):
        return "label" if wikidata.number_of(entity) else None


def test_a_torn_dump_is_told(tmp_path):
    (tmp_path / "d.json.gz").write_bytes(gzip.compress(dump().encode())[:-12])
    with pytest.raises(DataError, match="the dump cannot be read on"):
        list(wikidata.read_graphs(tmp_path / "d.json.gz"))


@pytest.mark.parametrize(
    "time, precision, text",
    [
        ("+1952-03-11T00:00:00Z", 11, "11 March 1952"),
        ("+1952-03-00T00:00:00Z", 10, "March 1952"),
        ("+1952-00-00T00:00:00Z", 9, "1952"),
        ("-0044-03-15T00:00:00Z", 11, "15 March 44 BC"),
        ("+1950-00-00T00:00:00Z", 8, "1950s"),
        ("+1801-01-01T00:00:00Z", 7, "19th century"),
        ("+1952-00-00T00:00:00Z", 11, "1952"),
        ("+0000", 9, None),
        (None, 9, None),
        ("+1952-03-11T00:00:00Z", 3, None),
    ],
)
def test_dates_have_their_precision(time, precision, text):
    assert wikidata.date_text(time, precision) == text


def test_labels_are_kept_for_a_second_call(tmp_path, capsys):

    (tmp_path / "d.json").write_text(dump())
    call = ["data", "wikidata", "--dump", str(tmp_path / "d.json"), "--out", str(tmp_path / "out")]
    assert invoke(call) == 0 and invoke(call) == 0
    assert capsys.readouterr().out.endswith("graphs.jsonl: 1 sub-graphs\n")
    assert json.loads((tmp_path / "out/graphs.jsonl").read_text())["edges"][0] == ["lived in", "Kent"]


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
    with tarfile.open(tmp_path / "traindev_tables_tok.tar.gz", "w:gz") as file:
        for name, content in (("T_0", json.dumps(table)), ("T_1", '{"header": [], "data": [3]}')):
            content = content.encode()
            info = tarfile.TarInfo(f"traindev_tables_tok/{name}.json")
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
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


# --- Real files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, counts",
    [
        ("dart", {"records in dev": 2768, "texts in dev": 6815}),
        ("webnlg", {"records in train": 6940, "texts in train": 18102, "records in dev": 872, "texts in dev": 2268}),
        (
            "questions",
            {
                "questions in nq_dev": 3610,
                "questions in webquestions_train": 2834,
                "questions in webquestions_dev": 755,
            },
        ),
    ],
)
def test_real_files_are_sound(name, counts):
    if not (REAL / name).is_dir():
        pytest.skip("needs ../shared/data")
    summary = check(REAL / name)
    assert summary.sound and summary.counts == counts
