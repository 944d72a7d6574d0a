import itertools
import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, Success

from lisax.errors import DataError, LisaxError
from lisax.metrics.ranking import ordered_ids, table_measures
from lisax.predict import score_fusion
from lisax.records import Hit
from lisax.retrieval.runs import as_found, read_qrels, read_run, write_qrels, write_run

HITS = [Hit("1", "Paris", 1, 3.25), Hit("1", "Åbo_(city)", 2, 0.1), Hit("2", "Rome", 1, -1.0)]


def test_run_golden(tmp_path):
    assert write_run(tmp_path / "run.trec", HITS, "bm25") == 3
    found = (tmp_path / "run.trec").read_text()
    assert found == "1 Q0 Paris 1 3.25 bm25\n1 Q0 Åbo_(city) 2 0.1 bm25\n2 Q0 Rome 1 -1.0 bm25\n"
    assert read_run(tmp_path / "run.trec") == {"1": HITS[:2], "2": HITS[2:]}


def test_run_is_sorted_by_rank(tmp_path):
    (tmp_path / "run").write_text("q Q0 c 10 1 t\nq Q0 a 2 9 t\n\nq\tQ0\tb\t3\t1e-3\tt\n")
    assert [hit.id for hit in read_run(tmp_path / "run")["q"]] == ["a", "b", "c"]


SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1 - 1e-9, 0.3, -2.0, 1e-60, 1e-42, -1e-42, 1e300, math.inf, -math.inf]),
    st.floats(allow_nan=False),
)


@settings(max_examples=300)
@given(st.lists(SCORES, max_size=9))
def test_the_order_that_is_meant_is_what_trec_evals_numbers_say(tmp_path_factory, scores):
    path = tmp_path_factory.mktemp("run") / "run"
    hits = [Hit("q", f"d{rank}", rank, score) for rank, score in enumerate(scores, start=1)]
    write_run(path, hits, "t")
    found = read_run(path).get("q", [])
    assert [hit.id for hit in found] == [hit.id for hit in hits]
    ids = ordered_ids(hits)
    assert ordered_ids(found) == ids
    single = {hit.id: np.float32(hit.score) for hit in found}
    assert all(single[above] > single[below] for above, below in itertools.pairwise(ids))
    for hit, kept in zip(hits, found):
        limited = max(-1e38, min(1e38, hit.score))
        assert abs(kept.score - limited) <= 2e-6 * abs(limited) + 1e-36
    if all(abs(score) <= 1e38 for score in scores) and len(set(map(np.float32, scores))) == len(scores):
        assert found == hits  # every digit


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from([1.0, 0.5, 0.25, 0.0]), st.booleans()), min_size=1, max_size=12),
        min_size=1,
        max_size=4,
    )
)
def test_figures_of_a_saved_run_are_trec_evals(tmp_path_factory, queries):
    folder = tmp_path_factory.mktemp("run")
    run = {
        f"q{q}": [
            Hit(f"q{q}", f"d{i}", i, score) for i, score in enumerate(sorted((s for s, _ in hits), reverse=True), 1)
        ]
        for q, hits in enumerate(queries)
    }
    qrels = {f"q{q}": {f"d{i}": int(right) for i, (_, right) in enumerate(hits, 1)} for q, hits in enumerate(queries)}
    write_run(folder / "run", (hit for hits in run.values() for hit in hits), "t")
    judged = {query: units for query, units in qrels.items() if any(units.values())}
    write_qrels(folder / "qrels", judged)
    if judged:
        theirs = ir_measures.calc_aggregate(
            [AP, Success @ 1],
            list(ir_measures.read_trec_qrels(str(folder / "qrels"))),
            list(ir_measures.read_trec_run(str(folder / "run"))),
        )
        ours = table_measures(judged, run)
        assert (ours["map"], ours["success@1"]) == pytest.approx((theirs[AP], theirs[Success @ 1]))


@pytest.mark.parametrize(
    "scores", [[2.0, 1.0, 1.0, 1.0, 0.5], [0.1, 0.1], [1.0, 0.0, 0.0, 0.0], [0.0, -2.0, -2.0], [3.0, 2.0, 1.0], []]
)
def test_equal_scores_of_a_saved_run_are_found_again(tmp_path, scores):
    write_run(tmp_path / "run", [Hit("q", f"d{rank}", rank, score) for rank, score in enumerate(scores, 1)], "t")
    saved = read_run(tmp_path / "run").get("q", [])
    assert [hit.score for hit in as_found(saved)] == scores and len({hit.score for hit in saved}) == len(saved)


def test_a_saturated_probability_stays_one_where_log_odds_are_taken(tmp_path):
    hits = [Hit("q", f"d{rank}", rank, 1.0 if rank <= 200 else 0.0) for rank in range(1, 401)]
    write_run(tmp_path / "run", hits, "t")
    found = read_run(tmp_path / "run")["q"]
    assert np.array_equal(score_fusion.features(found, ()), score_fusion.features(hits, ()))


def test_a_score_that_is_no_number_is_refused(tmp_path):
    with pytest.raises(LisaxError, match="'b' for query 'q' is not a number"):
        write_run(tmp_path / "run", [Hit("q", "a", 1, 1.0), Hit("q", "b", 2, math.nan)], "t")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line, message",
    [
        ("q Q0 a 1 1.0", ":2: expected six columns"),
        ("q Q0 b one 1.0 t", ":2: field 'rank'"),
        ("q Q0 b -1 1.0 t", ":2: field 'rank': ranks count from 0 or 1"),
        ("q Q0 b 2 much t", ":2: field 'score'"),
        ("q Q0 b 2 nan t", ":2: field 'score'"),
        ("q Q0 a 2 1.0 t", ":2: field 'id': 'a' occurs twice"),
        ("q Q0 b 1 1.0 t", ":2: field 'rank': rank 1 occurs twice"),
    ],
)
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
    for text, message in (
        ("1 0 a", "four columns"),
        ("1 0 a x", "field 'relevance'"),
        ("1 0 a 1\n1 0 a 0", ":2:.*twice"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_qrels(path)
