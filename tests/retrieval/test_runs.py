import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.records import DataError, Hit
from lisax.retrieval.runs import read_qrels, read_run, write_qrels, write_run

HITS = [Hit("1", "Paris", 1, 3.25), Hit("1", "Åbo_(city)", 2, 0.1), Hit("2", "Rome", 1, -1.0)]


def test_run_golden(tmp_path):
    assert write_run(tmp_path / "run.trec", HITS, "bm25") == 3
    assert (tmp_path / "run.trec").read_text() == (
        "1 Q0 Paris 1 3.25 bm25\n1 Q0 Åbo_(city) 2 0.1 bm25\n2 Q0 Rome 1 -1.0 bm25\n")
    assert read_run(tmp_path / "run.trec") == {"1": HITS[:2], "2": HITS[2:]}


def test_run_is_sorted_by_rank(tmp_path):
    (tmp_path / "run").write_text("q Q0 c 10 1 t\nq Q0 a 2 9 t\n\nq\tQ0\tb\t3\t1e-3\tt\n")
    assert [hit.id for hit in read_run(tmp_path / "run")["q"]] == ["a", "b", "c"]


@given(st.lists(st.floats(allow_nan=False), max_size=8))
def test_scores_keep_every_digit(tmp_path_factory, scores):
    path = tmp_path_factory.mktemp("run") / "run"
    hits = [Hit("q", f"d{rank}", rank, score) for rank, score in enumerate(scores, start=1)]
    write_run(path, hits, "t")
    assert read_run(path) == ({"q": hits} if hits else {})


@pytest.mark.parametrize("line, message", [
    ("q Q0 a 1 1.0", ":2: expected six columns"),
    ("q Q0 b one 1.0 t", ":2: field 'rank'"),
    ("q Q0 b 0 1.0 t", ":2: field 'rank': ranks count from 1"),
    ("q Q0 b 2 much t", ":2: field 'score'"),
    ("q Q0 b 2 nan t", ":2: field 'score'"),
    ("q Q0 a 2 1.0 t", ":2: field 'id': 'a' occurs twice"),
    ("q Q0 b 1 1.0 t", ":2: field 'rank': rank 1 occurs twice"),
])
def test_bad_runs_name_file_line_and_field(tmp_path, line, message):
    (tmp_path / "run").write_text(f"q Q0 a 1 2.0 t\n{line}\n")
    with pytest.raises(DataError) as error:
        read_run(tmp_path / "run")
    assert str(tmp_path / "run") + message in str(error.value)


def test_ids_with_white_space_are_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(DataError, match="white space"):
        write_run(tmp_path / "run", [Hit("q", "a b", 1, 1.0)], "t")
    with pytest.raises(DataError, match="white space"):
        write_qrels(tmp_path / "run", {"q q": {"a": 1}})
    assert list(tmp_path.iterdir()) == []


def test_qrels_golden_and_errors(tmp_path):
    path = tmp_path / "qrels"
    assert write_qrels(path, {"1": {"a": 1, "b": 0}, "2": {"a": 2}}) == 3
    assert path.read_text() == "1 0 a 1\n1 0 b 0\n2 0 a 2\n"
    assert read_qrels(path) == {"1": {"a": 1, "b": 0}, "2": {"a": 2}}
    for text, message in (("1 0 a", "four columns"), ("1 0 a x", "field 'relevance'"),
                          ("1 0 a 1\n1 0 a 0", ":2:.*twice")):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_qrels(path)
