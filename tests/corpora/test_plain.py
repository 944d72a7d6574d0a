"""Our own layout: what is written reads back equal, what is wrong is named."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.corpora import open_folder, plain
from lisax.corpora.check import check
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.records import Claim, Document, Graph, Label, Question, Sentence, Table
from lisax.text import titles

IDS = st.text(min_size=1, max_size=8).map(titles.page_id).filter(bool)
TEXTS = st.text(min_size=1).map(titles.one_line).filter(bool)
SETS = st.lists(st.lists(IDS, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple)
CLAIMS = st.builds(
    Claim,
    IDS,
    TEXTS,
    st.none() | st.sampled_from(Label),
    SETS,
    st.lists(IDS, max_size=3).map(tuple),
    st.none() | st.text(),
    mixed_sets=SETS,
)
CELLS = st.text(max_size=5).map(titles.normal_form)


@st.composite
def documents(draw):
    page = draw(IDS)
    texts = draw(st.lists(st.text().map(titles.one_line), max_size=4))
    return Document(
        page,
        titles.one_line(draw(st.text())),
        tuple(Sentence(page, number, text) for number, text in enumerate(texts)),
        tuple(draw(st.lists(TEXTS, max_size=2))),
    )


@st.composite
def tables(draw):
    header = tuple(draw(st.lists(CELLS, max_size=3)))
    rows = draw(st.lists(st.tuples(*[CELLS] * len(header)), max_size=3))
    return Table(draw(IDS), draw(CELLS), header, tuple(rows), draw(CELLS), draw(st.none() | IDS))


QUESTIONS = st.builds(
    Question, IDS, TEXTS, st.lists(CELLS, max_size=3).map(tuple), st.lists(IDS, max_size=2).map(tuple)
)


@pytest.mark.parametrize(
    "kind, records",
    [("claims", CLAIMS), ("pages", documents()), ("tables", tables()), ("questions", QUESTIONS)],
)
def test_what_is_written_reads_back_equal(tmp_path, kind, records):
    @settings(max_examples=40)
    @given(st.lists(records, min_size=1, max_size=3, unique_by=lambda record: record.id))
    def rule(some):
        path = tmp_path / f"{kind}.jsonl"
        assert getattr(plain, f"write_{kind}")(path, some) == len(some)
        assert list(getattr(plain, f"read_{kind}")(path)) == some

    rule()


def test_the_lines_themselves(tmp_path):
    plain.write_claims(
        tmp_path / "c",
        [
            Claim("1", "c", Label.REFUTES, (("P_3", "O_0"),), kind="date", original_id=1),
            Claim("x", "d", None, mixed_sets=(("G#e1",),)),
        ],
    )
    assert (tmp_path / "c").read_text() == (
        '{"id": 1, "claim": "c", "label": "REFUTES", "evidence": [["P_3", "O_0"]], "kind": "date"}\n'
        '{"id": "x", "claim": "d", "evidence": [], "mixed_evidence": [["G#e1"]]}\n'
    )
    plain.write_pages(tmp_path / "p", [Document("P", "P (q)", (Sentence("P", 0, "a"), Sentence("P", 2, "c")), ("R",))])
    found = (tmp_path / "p").read_text()
    assert found == '{"id": "P", "title": "P (q)", "sentences": ["a", "", "c"], "redirects": ["R"]}\n'
    plain.write_tables(tmp_path / "t", [Table("T", "t", ("h",), (("c",),), page="P")])
    found = (tmp_path / "t").read_text()
    assert found == '{"id": "T", "title": "t", "header": ["h"], "rows": [["c"]], "page": "P"}\n'
    plain.write_questions(tmp_path / "q", [Question("Q", "who?", ("a",), ("T#r0c0",))])
    assert (tmp_path / "q").read_text() == (
        '{"id": "Q", "question": "who?", "answers": ["a"], "evidence": ["T#r0c0"]}\n'
    )


def test_original_ids_survive(tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_text('{"id": 12, "claim": "c"}\n')
    (claim,) = plain.read_claims(path)
    assert (claim.id, claim.original_id) == ("12", 12)
    path.write_text(json.dumps({"id": "Jose\u0301", "title": "J", "sentences": []}) + "\n")
    (document,) = plain.read_pages(path)
    assert (document.id, document.original_id) == ("Jos\u00e9", "Jose\u0301")


def test_all_texts_are_composed(tmp_path):
    split, whole = "Jose\u0301", "Jos\u00e9"
    for name, row in (
        ("tables", {"title": split, "caption": split, "header": [split], "rows": [[split]]}),
        ("graphs", {"subject": split, "edges": [[split, split]]}),
        ("questions", {"question": split, "answers": [split]}),
    ):
        (tmp_path / name).write_text(json.dumps({"id": "x", **row}) + "\n")
    assert list(plain.read_tables(tmp_path / "tables")) == [Table("x", whole, (whole,), ((whole,),), whole)]
    assert list(plain.read_graphs(tmp_path / "graphs")) == [Graph("x", whole, ((whole, whole),))]
    assert list(plain.read_questions(tmp_path / "questions")) == [Question("x", whole, (whole,))]


@pytest.mark.parametrize(
    "kind, row, said",
    [
        ("claims", {"id": "1", "claim": "c", "label": "True"}, "field 'label': unknown label 'True'"),
        ("claims", {"id": "1", "claim": "c", "evidence": [[]]}, r"field 'evidence\[0\]': an evidence set is empty"),
        ("claims", {"id": "1", "claim": "c", "evidence": [["P 0"]]}, r"field 'evidence\[0\]\[0\]': an id must be"),
        ("pages", {"id": "P", "title": "P"}, "field 'sentences': the field is missing"),
        (
            "tables",
            {"id": "T", "title": "", "header": ["a"], "rows": [["b"], []]},
            r"field 'rows\[1\]': expected 1 cells as in the header, found 0",
        ),
        ("graphs", {"id": "G", "subject": "s", "edges": [["r"]]}, r"field 'edges\[0\]': expected \[relation, object\]"),
        ("questions", {"id": "Q", "question": ""}, "field 'question': the text is empty"),
        (
            "claims",
            {"id": "1", "claim": "c", "mixed_evidence": [["G#e0"], []]},
            r"field 'mixed_evidence\[1\]': an evidence set is empty",
        ),
    ],
)
def test_bad_lines_are_refused(tmp_path, kind, row, said):
    path = tmp_path / "bad.jsonl"
    path.write_text("\n" + json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"bad\.jsonl:2: " + said):
        list(getattr(plain, f"read_{kind}")(path))


def test_misspelt_fields_are_named(tmp_path):
    rows = [{"id": str(i), "claim": "c", "evidense": [["P_0"]], "source": "x"} for i in range(2)]
    rows.append({"id": "2", "claim": "c", "claims": ["c"]})
    (tmp_path / "claims.jsonl").write_text("".join(map("{}\n".format, map(json.dumps, rows))))
    watch = Watch(keep_going=True)
    assert [claim.evidence_sets for claim in plain.read_claims(tmp_path / "claims.jsonl", watch)] == [(), (), ()]
    (said,) = watch.warnings
    assert said == f"a field nearly named 'evidence' is ignored: 2, first at {tmp_path}/claims.jsonl:1"


def test_open_folder(tmp_path):
    plain.write_pages(tmp_path / "pages.jsonl", [Document("P", "P", (Sentence("P", 0, "a"),))])
    plain.write_claims(tmp_path / "claims.train.jsonl", [Claim("1", "c", Label.SUPPORTS, (("P_0",),))])
    plain.write_claims(tmp_path / "claims.hard.jsonl", [Claim("2", "c", Label.SUPPORTS, (("P_0",),))])
    plain.write_questions(tmp_path / "questions.train.jsonl", [Question("Q", "who?")])
    dataset = open_folder(tmp_path)
    assert (dataset.layout, dataset.splits) == ("plain", ("train", "hard"))
    assert [claim.id for claim in dataset.claims("hard")] == ["2"]
    assert [question.id for question in dataset.questions("train")] == ["Q"]
    assert list(dataset.questions("hard")) == list(dataset.tables()) == list(dataset.graphs()) == []
    assert dataset.original_page("P") == "P"


@pytest.mark.parametrize(
    "kind, row, record",
    [
        ("tables", {"id": "T", "title": "t", "header": ["h"], "rows": [["c"]]}, Table("T", "t", ("h",), (("c",),))),
        ("graphs", {"id": "G", "subject": "s", "edges": [["r", "o"]]}, Graph("G", "s", (("r", "o"),))),
    ],
)
def test_tables_or_graphs_alone_are_a_folder(tmp_path, kind, row, record):
    (tmp_path / f"{kind}.jsonl").write_text(json.dumps(row) + "\n")
    dataset = open_folder(tmp_path)
    assert dataset.layout == "plain" and list(getattr(dataset, kind)()) == [record]
    assert list(dataset.documents()) == [] and not dataset.splits
    assert check(tmp_path).sound and check(tmp_path).counts == {kind: 1}


def test_a_folder_that_is_nothing_known(tmp_path):
    with pytest.raises(DataError, match="expected one of: FEVER"):
        open_folder(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        open_folder(tmp_path / "nowhere")
    (tmp_path / "train.jsonl").write_text('{"id": 1, "claim": "c"}\n')
    with pytest.raises(DataError, match="is a file; expected a folder"):
        open_folder(tmp_path / "train.jsonl")
    with pytest.raises(DataError, match="expected FEVER's pages as"):
        open_folder(tmp_path)
