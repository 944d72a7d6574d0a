"""Figures of the report that need no run."""

from types import SimpleNamespace

from lisax.papers.udt_qa import report
from lisax.records import Question
from lisax.retrieval.passages import Passage


def _question(i: str, *evidence: str) -> Question:
    return Question(i, "How many points?", ("18",), evidence)


def test_a_right_answer_names_its_source_by_the_row_the_edge_or_what_they_are_part_of():
    named = {
        "cell": ("T#r1", ("T#r1c0",)),
        "table": ("T#r1", ("T",)),
        "graph": ("G:graph#e1", ("G:graph",)),
        "sentence": ("P_1", ("P_1",)),
        "other row": ("T#r1", ("T#r10c0",)),
        "other table": ("T#r1", ("U",)),
    }
    questions = {i: _question(i, *evidence) for i, (_, evidence) in named.items()}
    named["edges"] = ("G:graph#e1", ("G:graph#e2",))
    questions["edges"] = _question("edges", "G:graph#e2")
    rows, index = {}, {}
    for i, (unit, evidence) in named.items():
        # The second text holds the answer; of "edges" it tells two of them.
        units, starts = (("x_0", unit), (0, 3)) if i != "edges" else (("x_0", unit, "G:graph#e2"), (0, 3, 3))
        index[i] = Passage(i, "T", "No. 18 points.", units, starts)
        rows[i] = {
            "id": i,
            "found": [{"unit": unit, "passage": i, "begin": 4}],
            "evidence": evidence,
            "answers": ["18"],
            "gold": ["18"],
        }
    opened = SimpleNamespace(passage=index.get)
    found = {i for i, row in rows.items() if report._provenance([row], questions, opened)}
    assert found == {"cell", "table", "graph", "sentence", "edges"}
    assert report._provenance(list(rows.values()), questions, opened) == 5 / 7


def test_questions_are_grouped_by_where_their_evidence_stands():
    evidence = {"row": ["T_1#r0c1"], "table": ["T_1"], "graph": ["Orm"], "edge": ["Orm#e3"], "both": ["T_1", "P_1"]}
    evidence |= {"other": ["Q_7", "T_1"], "one of two": ["Q_7", "P_1"], "free": []}
    questions = {i: _question(i, *units) for i, units in evidence.items()}
    assert report._groups(questions, lambda unit: unit.partition("#")[0] in ("T_1", "Orm"), {"P"}.__contains__) == {
        "pages at hand": ["both", "one of two"],
        "pages withheld": ["other"],
        "tables": ["row", "table", "graph", "edge"],
    }
