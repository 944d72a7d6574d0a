"""Whatever a line of a file holds, a reader gives a record or a `DataError` that names file and line."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.corpora import beir, fever, fm2, nq_tables, open_questions, ottqa, plain, tabfact, wice, wikisql, wtq
from lisax.corpora.reading import Row, Watch
from lisax.errors import DataError
from lisax.files.reading import parse_json_object
from lisax.records import Table

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["SUPPORTS", "0\ta\n7\tb", "_", "\u00a0"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)
SENTENCES = [{"text": "s"}]
PARSERS = {
    "fever claim": (fever.parse_claim, {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [[[1, 2, "P", 0]]]}),
    "fever page": (fever.parse_page, {"id": "P", "lines": "0\ta"}),
    "prediction": (
        fever.parse_prediction,
        {
            "id": 1,
            "predicted_label": "REFUTES",
            "predicted_evidence": [["P", 0]],
            "label_probabilities": {"SUPPORTS": 0, "REFUTES": 1.0, "NOT ENOUGH INFO": 0},
            "evidence_scores": [1.0],
        },
    ),
    "fm2": (
        lambda row: fm2.parse_claim(row, fm2.Pages()),
        {
            "id": "1",
            "text": "c",
            "label": "SUPPORTS",
            "wikipedia_page": "P",
            "gold_evidence": SENTENCES,
            "retrieved_evidence": SENTENCES,
        },
    ),
    "wice claim": (
        wice.parse_claim,
        {"label": "supported", "supporting_sentences": [[0]], "claim": "c", "evidence": ["s"], "meta": {"id": "1"}},
    ),
    "wice page": (wice.parse_page, {"evidence": ["s"], "meta": {"id": "1"}}),
    "claim": (
        plain.parse_claim,
        {"id": "1", "claim": "c", "label": "SUPPORTS", "evidence": [["P_0"]], "kind": "k", "candidates": ["P_0"]},
    ),
    "page": (plain.parse_page, {"id": "P", "title": "P", "sentences": ["s"], "redirects": ["r"]}),
    "table": (
        plain.parse_table,
        {"id": "T", "title": "t", "header": ["h"], "rows": [["c"]], "caption": "", "page": "P"},
    ),
    "graph": (plain.parse_graph, {"id": "G", "subject": "s", "edges": [["r", "o"]], "page": "P"}),
    "question": (plain.parse_question, {"id": "Q", "question": "q", "answers": ["a"], "evidence": ["P_0"]}),
    "document": (beir.parse_document, {"_id": "d", "title": "t", "text": "x"}),
    "tabfact": (tabfact.parse_core_claim, {"id": 0, "table": "T", "claim": "c", "label": 1, "subset": "simple"}),
    "wtq": (wtq.parse_e2e, {"id": "Q", "question": "q", "table": "T", "answers": ["a"]}),
    "wikisql table": (wikisql.parse_table, {"id": "T", "header": ["h"], "rows": [["c", 1, None]], "page_title": "t"}),
    "wikisql": (
        lambda row: wikisql.parse_question(row, {"T": Table("T", "", ("h",), (("c",),))}),
        {"question": "q", "table_id": "T", "sql": {"sel": 0, "agg": 0, "conds": [[0, 0, "c"]]}},
    ),
    "nq table": (nq_tables.parse_table, {"tableId": "T", "columns": [{"text": "h"}], "rows": [{"cells": [{}]}]}),
    "nq question": (
        lambda row: nq_tables.parse_interaction(row, {}, set()),
        {
            "id": "1",
            "table": {"tableId": "T", "columns": [{}], "rows": [{"cells": [{"text": "a"}]}]},
            "questions": [{"id": "1", "originalText": "q", "answer": {"answerTexts": ["a"]}}],
        },
    ),
    "open question": (lambda row: open_questions.parse_question(row, "dev"), {"question": "q", "answer": ["a"]}),
    "ottqa question": (
        ottqa.parse_question,
        {"question_id": "1", "question": "q", "table_id": "T", "answer-text": "a"},
    ),
    "query": (beir.parse_query, {"_id": "q", "text": "x"}),
}


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_record_or_a_data_error(name, data):
    parse, right = PARSERS[name]
    parse(row(right))
    changes = data.draw(st.dictionaries(st.sampled_from(sorted(right)), VALUES, min_size=1, max_size=2))
    try:
        parse(row(right | changes))
    except DataError as error:
        assert str(error).startswith("some.jsonl:4: field '")


def row(value: dict) -> Row:
    return Row(parse_json_object(json.dumps(value)), Path("some.jsonl"), 4, Watch())
