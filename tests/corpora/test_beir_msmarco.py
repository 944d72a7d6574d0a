"""BEIR folders and MS MARCO files."""

import pytest

from lisax.corpora import beir, msmarco, open_folder
from lisax.corpora.msmarco import Triple
from lisax.corpora.reading import Watch
from lisax.errors import DataError


def folder(path, **files):
    (path / "qrels").mkdir()
    contents = {
        "corpus.jsonl": '{"_id": "d 1", "title": "One", "text": "first\\ntext", "metadata": {}}\n'
        '{"_id": "d2", "text": "second"}\n',
        "queries.jsonl": '{"_id": "q1", "text": "what?"}\n{"_id": "q2", "text": "who?"}\n',
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td 1\t2\nq1\td2\t0\n",
    } | files
    for name, text in contents.items():
        (path / name).write_text(text)
    return path


def test_beir(tmp_path):
    dataset = open_folder(folder(tmp_path))
    assert (dataset.layout, dataset.splits) == ("beir", ("test",))
    first, second = dataset.documents()
    assert (first.id, first.original_id, first.title, first.text) == ("d_1", "d 1", "One", "first text")
    assert (second.title, second.sentences[0].id) == ("", "d2_0")
    (query,) = dataset.claims("test")
    assert (query.id, query.text, query.label, query.evidence_sets) == ("q1", "what?", None, (("d_1_0",),))
    assert beir.read_qrels(tmp_path / "qrels/test.tsv") == {"q1": {"d_1": 2, "d2": 0}}


def test_ids_may_be_integers(tmp_path):
    files = {
        "corpus.jsonl": '{"_id": 31, "text": "first"}\n{"_id": 4, "text": "second"}\n',
        "queries.jsonl": '{"_id": 7, "text": "what?"}\n',
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n7\t31\t1\n",
    }
    dataset = open_folder(folder(tmp_path, **files))
    assert [document.original_id for document in dataset.documents()] == ["31", "4"]
    (query,) = dataset.claims("test")
    assert (query.id, query.original_id, query.evidence_sets) == ("7", 7, (("31_0",),))


@pytest.mark.parametrize(
    "lines, said",
    [
        ("q1 d1 1\n", ":1: expected query-id, corpus-id and score between tabs, found 1 columns"),
        ("q\tc\ts\nq1\td1\tyes\n", ":2: field 'score': expected an integer, found 'yes'"),
        ("q\tc\ts\nq1\td1\t1\nq1\td1\t0\n", ":3: field 'score': query 'q1' judges document 'd1' twice"),
        ("q\tc\ts\n\td1\t1\n", ":2: field 'query-id': an id must be non-empty"),
        ("", ": the file is empty"),
    ],
)
def test_bad_qrels_are_refused(tmp_path, lines, said):
    path = tmp_path / "test.tsv"
    path.write_text(lines)
    with pytest.raises(DataError, match="test.tsv" + said):
        beir.read_qrels(path)


def test_a_judged_query_must_exist(tmp_path):
    dataset = open_folder(folder(tmp_path, **{"qrels/test.tsv": "q\tc\ts\nq9\td2\t1\n"}))
    with pytest.raises(DataError, match="test.tsv: field 'query-id': query 'q9' is not in queries.jsonl"):
        list(dataset.claims("test"))


def test_a_document_that_occurs_twice(tmp_path):
    dataset = open_folder(folder(tmp_path, **{"corpus.jsonl": '{"_id": "a", "text": "x"}\n' * 2}))
    with pytest.raises(DataError, match=r"corpus\.jsonl:2: field 'id': duplicate id 'a', first at .*:1"):
        list(dataset.documents())


def test_triples_of_texts(tmp_path):
    path = tmp_path / "triples.tsv"
    path.write_text("q\tyes \u2028 it is\tno\n \tyes\tno\nq2\ta\tb\n")
    watch = Watch()
    assert list(msmarco.read_triples(path, watch)) == [Triple("q", "yes it is", "no"), Triple("q2", "a", "b")]
    assert watch.warnings == [f"triples with an empty text (left out): 1, first at {path}:2"]
    assert msmarco.write_triples(tmp_path / "again.tsv", msmarco.read_triples(path)) == 2
    assert (tmp_path / "again.tsv").read_text() == "q\tyes it is\tno\nq2\ta\tb\n"


def test_triples_are_streamed(tmp_path):
    path = tmp_path / "triples.tsv"
    path.write_text("q\ta\tb\nq\ta\n")
    triples = msmarco.read_triples(path)
    assert next(triples) == Triple("q", "a", "b")
    with pytest.raises(DataError, match=r"triples\.tsv:2: expected query, positive passage, .* found 2 columns"):
        next(triples)


def test_triples_of_ids(tmp_path):
    (tmp_path / "queries.tsv").write_text("30\twhat is it?\n")
    (tmp_path / "collection.tsv").write_text("7\tseven\n0\tzero\twith a tab\n5\tcaf\u00e9")
    (tmp_path / "ids.tsv").write_text("30\t5\t0\n30\t7\t5\n30\t6\t5\n")
    queries, collection = (msmarco.Texts(tmp_path / name) for name in ("queries.tsv", "collection.tsv"))
    assert len(collection) == 3
    triples = msmarco.read_id_triples(tmp_path / "ids.tsv", queries, collection)
    assert next(triples) == Triple("what is it?", "caf\u00e9", "zero with a tab")
    assert next(triples) == Triple("what is it?", "seven", "caf\u00e9")
    with pytest.raises(DataError, match=r"ids\.tsv:3: field 'positive passage id': id 6 is not in .*tion\.tsv"):
        next(triples)


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", ": the file is empty"),
        (b"1\ta\n1\tb\n", ":2: field 'id': duplicate id 1"),
        (b"1\ta\nx\tb\n", ":2: field 'id': expected an integer id, a tab and a text"),
        (b"\xef\xbb\xbf1\ta\n", ":1: field 'id': expected an integer id"),
    ],
)
def test_bad_collections_are_refused(tmp_path, data, said):
    path = tmp_path / "collection.tsv"
    path.write_bytes(data)
    with pytest.raises(DataError, match="collection.tsv" + said):
        msmarco.Texts(path)


def test_a_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "collection.tsv"
    path.write_bytes(b"1\tcaf\xe9\n")
    with pytest.raises(DataError, match="the text with id 1 is not UTF-8"):
        msmarco.Texts(path).get(1)
    with pytest.raises(DataError, match="expected an integer, found 'x'"):
        msmarco.Texts(path).get("x")
