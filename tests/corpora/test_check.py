"""`lisax data check` collects every problem of a dataset with its place."""

import re

import pytest
from dataset_files import lines

from lisax.corpora.check import check
from lisax.corpora.reading import Watch
from lisax.errors import DataError


def claim(claim_id, *evidence, label="SUPPORTS"):
    return {"id": claim_id, "label": label, "claim": "c", "evidence": [[[1, 2, *unit] for unit in evidence]]}


def test_a_sound_folder(tmp_path):
    lines(tmp_path / "train.jsonl", [claim(1, ("A", 0)), claim(2, (None, None), label="NOT ENOUGH INFO")])
    lines(tmp_path / "wiki-pages.jsonl", [{"id": "A", "lines": "0\ta\n1\t"}])
    summary = check(tmp_path)
    assert summary.sound
    assert summary.lines() == [
        f"{tmp_path}: fever layout",
        "  claims in train: 2",
        "  pages: 1",
        "  sentences with text: 1",
        "  labels in train: NOT ENOUGH INFO 1, SUPPORTS 1",
        "  sound",
    ]


def test_all_problems_are_collected(tmp_path):
    lines(
        tmp_path / "train.jsonl",
        [claim(1, ("A", 0), ("B", 7)), "{", claim(1, ("A", 0)), claim(2, label="?"), claim(3, ("C", 0))],
    )
    lines(tmp_path / "dev.jsonl", [claim(3, ("C", 0)), claim(4, ("A", 0))])
    pages = [
        {"id": "A", "lines": "0\ta"},
        {"id": "A", "lines": "0\ta"},
        {"id": "B"},
        {"id": "B", "lines": "0\tb"},
        {"id": "", "lines": ""},
    ]
    lines(tmp_path / "wiki-pages.jsonl", pages)
    summary = check(tmp_path)
    assert summary.counts == {"claims in train": 2, "claims in dev": 2, "pages": 3, "sentences with text": 3}
    assert summary.problem_count == 8 and not summary.sound
    assert [problem.replace(str(tmp_path), "") for problem in summary.problems] == [
        "/train.jsonl:2: not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        "/train.jsonl:3: field 'id': duplicate id '1', first on line 1",
        "/train.jsonl:4: field 'label': unknown label '?'; expected 'SUPPORTS', 'REFUTES', 'NOT ENOUGH INFO'; data "
        "with other labels are registered with one of these, labels={'?': …}; None leaves them out",
        "/dev.jsonl:1: field 'id': claim '3' is among the claims in train too",
        "/wiki-pages.jsonl:3: field 'lines': the field is missing",
        "/wiki-pages.jsonl:2: field 'id': duplicate id 'A', first at /wiki-pages.jsonl:1",
        "/train.jsonl:1: field 'evidence': evidence 'B_7' of claim '1' is not in the corpus",
        "/train.jsonl:5: field 'evidence': evidence 'C_0' of claim '3' is not in the corpus",
    ]
    assert summary.warnings == (f"pages without an id (left out): 1, first at {tmp_path}/wiki-pages.jsonl:5",)
    assert summary.lines()[-1] == "  8 problems"


def test_a_label_without_evidence_is_a_warning(tmp_path):
    rows = [
        {"id": i, "claim": "Olin is on the Ilm.", "label": label}
        for i, label in enumerate(["REFUTES", "NOT ENOUGH INFO"])
    ]
    lines(tmp_path / "claims.train.jsonl", rows)
    lines(tmp_path / "pages.jsonl", [{"id": "Olin", "title": "Olin", "sentences": ["Olin is on the Ilm."]}])
    summary = check(tmp_path)
    assert summary.sound and len(summary.warnings) == 1
    assert re.match("claims .* without evidence .*: 1, first at .*claims.train.jsonl:1$", summary.warnings[0])


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "wiki-pages.jsonl: the file is empty"),
        (b'{"id": "A", "lines": ""}\n{"id": "\xe9"}', "wiki-pages.jsonl:2: byte 9 is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem(tmp_path, data, said):
    lines(tmp_path / "dev.jsonl", [claim(1, (None, None), label="NOT ENOUGH INFO")])
    (tmp_path / "wiki-pages.jsonl").write_bytes(data)
    assert any(said in problem for problem in check(tmp_path).problems)


def test_problems_of_one_kind_are_told_once_and_counted(tmp_path):
    lines(tmp_path / "dev.jsonl", [claim(number, ("A", 0), label="DISPUTED") for number in range(250)])
    lines(tmp_path / "wiki-pages.jsonl", [{"id": "A", "lines": "0\ta"}])
    summary = check(tmp_path)
    assert summary.problem_count == 250
    first, rest = (problem.replace(str(tmp_path), "") for problem in summary.problems)
    assert first.startswith("/dev.jsonl:1: field 'label': unknown label 'DISPUTED'")
    assert rest == "/dev.jsonl: 249 more like it (lines 2, 3, 4, 5, 6, …)"
    assert summary.lines()[-1] == "  250 problems"


def test_problems_that_differ_in_a_value_are_one_kind(tmp_path):
    lines(tmp_path / "dev.jsonl", [claim(number, ("A", f"{number}")) for number in range(6)] + ["[]", "{"])
    lines(tmp_path / "wiki-pages.jsonl", [{"id": "A", "lines": "0\ta"}])
    assert [problem.replace(f"{tmp_path}/dev.jsonl", "") for problem in check(tmp_path).problems] == [
        *(
            f":{number + 1}: field 'evidence[0][0]': expected a sentence number fourth, found '{number}'"
            for number in range(3)
        ),
        ": 3 more like these (lines 4, 5, 6)",
        ":7: expected a JSON object, found list",
        ":8: not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ]


def test_of_many_kinds_of_problems_a_hundred_are_shown(tmp_path):
    watch = Watch(keep_going=True)
    for number in range(150):
        watch.problem(DataError("a" * number, path=tmp_path, line=number))
    assert (watch.problem_count, len(watch.problems), watch.problems[-1]) == (150, 101, "and 50 more problems")


def test_tables_and_graphs_hold_evidence_too(tmp_path):
    lines(tmp_path / "pages.jsonl", [{"id": "P", "title": "P", "sentences": ["a"]}])
    lines(tmp_path / "tables.jsonl", [{"id": "T", "title": "", "header": ["h"], "rows": [["c"]]}])
    lines(tmp_path / "graphs.jsonl", [{"id": "G", "subject": "s", "edges": []}])
    lines(
        tmp_path / "claims.dev.jsonl",
        [
            {
                "id": 1,
                "claim": "c",
                "label": "SUPPORTS",
                "evidence": [["P_0", "T#r0c0", "T#r0", "T#c0", "T", "G"]],
                "mixed_evidence": [["T#r0"], ["P_0", "G#e7"]],
            }
        ],
    )
    asked = {"id": 1, "question": "q", "evidence": ["T#r1"], "operation": "sum", "operands": ["T#r0c0", "T#r9c0"]}
    lines(tmp_path / "questions.dev.jsonl", [asked])
    summary = check(tmp_path)
    counts = {"claims in dev": 1, "questions in dev": 1, "pages": 1, "sentences with text": 1, "tables": 1, "graphs": 1}
    assert summary.counts == counts
    assert [problem.partition("field ")[2] for problem in summary.problems] == [
        "'mixed_evidence': mixed_evidence 'G#e7' of claim '1' is not in the corpus",
        "'evidence': evidence 'T#r1' of question '1' is not in the corpus",
        "'operands': operands 'T#r9c0' of question '1' is not in the corpus",
    ]


def test_a_question_s_id_is_of_one_split(tmp_path):
    lines(tmp_path / "tables.jsonl", [{"id": "T", "title": "", "header": ["h"], "rows": [["c"]]}])
    for split, text in (("train", "what?"), ("dev", "who?")):
        lines(tmp_path / f"questions.{split}.jsonl", [{"id": 1, "question": text, "evidence": ["T#r0c0"]}])
    found = [problem.replace(str(tmp_path), "") for problem in check(tmp_path).problems]
    assert found == ["/questions.dev.jsonl:1: field 'id': question '1' is in split train too"]


PAGE = {"id": "Olin", "title": "Olin", "sentences": ["Olin is on the Ilm.", "It has a mill."]}


def test_claims_of_one_text_and_evidence_have_one_label_and_one_split(tmp_path):
    def claims(*labels):
        row = {"claim": "Olin is on the Ilm.", "evidence": [["Olin_0"]]}
        return [{**row, "id": f"{label}{i}", "label": label} for i, label in enumerate(labels)]

    lines(tmp_path / "pages.jsonl", [PAGE])
    lines(tmp_path / "claims.train.jsonl", claims("SUPPORTS", "SUPPORTS"))
    assert check(tmp_path).sound and not check(tmp_path).warnings
    lines(tmp_path / "claims.train.jsonl", claims("SUPPORTS", "REFUTES"))
    error = "claim 'REFUTES1' has the text and the evidence of claim 'SUPPORTS0', which is SUPPORTS"
    assert check(tmp_path).problems == (f"{tmp_path}/claims.train.jsonl:2: field 'label': {error}",)
    both = [["Olin_0", "Olin_1"]], [["Olin_1", "Olin_0"]]
    lines(
        tmp_path / "claims.train.jsonl",
        [row | {"evidence": units} for row, units in zip(claims("SUPPORTS", "REFUTES"), both)],
    )
    assert check(tmp_path).problem_count == 1
    lines(tmp_path / "claims.train.jsonl", claims("SUPPORTS"))
    lines(tmp_path / "claims.dev.jsonl", [claims("SUPPORTS")[0] | {"id": "other", "claim": "olin is on the Ilm"}])
    leak = f"claims of dev with the text of a claim of train: 1, first at {tmp_path}/claims.dev.jsonl:1"
    assert check(tmp_path).warnings == (leak,)


def test_answers_are_in_their_cells(tmp_path):
    table = {"id": "t", "title": "Towns", "header": ["town", "people"], "rows": [["Olin", "1,200"]]}
    lines(tmp_path / "tables.jsonl", [table])
    cells = {"evidence": ["t#r0c1"]}
    asked = [{"id": str(i), "question": "How many?", "answers": a} | cells for i, a in enumerate([["1200"], ["7"], []])]
    row = {"id": "3", "question": "Where?", "answers": ["Olin"], "evidence": ["t#r0c1", "t#r0c0"]}
    lines(tmp_path / "questions.train.jsonl", [*asked, row])
    summary = check(tmp_path)
    assert summary.sound and [warning.partition(f"{tmp_path}")[0] for warning in summary.warnings] == [
        "questions without answers: 1, first at ",
        "questions with an answer that the cells of their evidence do not hold: 1, first at ",
    ]
    assert summary.warnings[1].endswith("train.jsonl:2")
    lines(tmp_path / "questions.dev.jsonl", [row | {"id": "4"}])
    leak = "questions of dev with the text of a question of train: 1, first at "
    assert [warning for warning in check(tmp_path).warnings if warning.startswith(leak)]


def test_files_that_are_not_read_are_named(tmp_path):
    names = ["claim.train.jsonl", "claims.jsonl", "claims.train.jsonl.gz"]
    lines(tmp_path / "pages.jsonl", [PAGE])
    row = {"id": 1, "claim": "Olin is on the Ilm.", "lable": "SUPPORTS"}
    for name in (*names, "claims.dev.jsonl"):
        lines(tmp_path / name, [row])
    warnings = check(tmp_path).warnings
    assert [warning.partition(" is not read; files are named claims.SPLIT")[0] for warning in warnings[:-1]] == names
    assert "a field nearly named 'label' is ignored" in warnings[-1]


@pytest.mark.parametrize("name", ["graphs.jsonl", "pages.jsonl"])
def test_a_bad_file_is_not_also_missing(tmp_path, name):
    lines(tmp_path / name, [{"id": "g"}])
    problems = check(tmp_path).problems
    assert any(f"{name}:1" in problem for problem in problems)
    assert not any(problem.endswith(": no pages") for problem in problems)
