"""Figures of the report that need no run."""

from __future__ import annotations

from lisax.pipelines import udt_qa_report as report
from lisax.records import Question


def _question(i: str, *evidence: str) -> Question:
    return Question(i, "How many points?", ("18",), evidence)


def test_a_right_answer_names_its_source_by_the_row_the_edge_or_what_they_are_part_of():
    named = {"cell": ("T#r1", ("T#r1c0",)), "table": ("T#r1", ("T",)), "graph": ("G:graph#e1", ("G:graph",)),
             "sentence": ("P_1", ("P_1",)), "other row": ("T#r1", ("T#r10c0",)), "other table": ("T#r1", ("U",))}
    questions = {i: _question(i, *evidence) for i, (_, evidence) in named.items()}
    rows = {i: {"id": i, "found": [{"unit": unit}], "evidence": evidence, "answers": ["18"], "gold": ["18"]}
            for i, (unit, evidence) in named.items()}
    assert {i for i, row in rows.items() if report._provenance([row], questions)} == {
        "cell", "table", "graph", "sentence"}
    assert report._provenance(list(rows.values()), questions) == 4 / 6


def test_questions_are_grouped_by_where_their_evidence_stands():
    questions = {i: _question(i, *evidence) for i, evidence in {
        "row": ["T_1#r0c1"], "table": ["T_1"], "graph": ["Orm"], "both": ["T_1", "P_1"], "free": []}.items()}
    assert report._groups(questions, {"T_1", "Orm"}) == {"tables alone": ["row", "table", "graph"], "text": ["both"]}
