"""`lisax answer` with a reader that is only looked on."""

from __future__ import annotations

import json
from types import SimpleNamespace

from lisax import cli
from lisax.pipelines import answer_command, reader
from lisax.pipelines.reader import Answer
from lisax.records import Document, Sentence
from lisax.retrieval import mixed, passages
from lisax.retrieval.passages import Source


def test_questions_are_read_in_groups_so_that_any_number_fits_the_memory(tmp_path, monkeypatch, capsys):
    pages = [Document(f"P{i}", f"Page {i}", (Sentence(f"P{i}", 0, f"Inn number{i} stands in town{i}."),))
             for i in range(5)]
    mixed.build_index({Source.TEXT: (made for page in pages for made in passages.of_document(page))},
                      tmp_path / "index")
    asked = tmp_path / "questions.jsonl"
    questions = [{"id": f"q{i}", "question": f"What of town{i}?", "answers": [f"number{i}"]} for i in range(6)]
    asked.write_text("".join(json.dumps(question) + "\n" for question in questions))
    sizes = []

    def read(questions, progress):
        sizes.append(len(questions))
        return [[Answer(found[0].text.split()[1], 1.0)] if found else [] for _, found in questions]

    monkeypatch.setattr(answer_command, "QUESTIONS_AT_A_TIME", 4)
    monkeypatch.setattr(reader.Reader, "open", lambda path: SimpleNamespace(passages=2, read=read))
    out = tmp_path / "answers.jsonl"
    assert cli.main(["answer", "--index", str(tmp_path / "index"), "--reader", "any", "--questions", str(asked),
                     "--out", str(out)]) == 0
    rows = list(map(json.loads, out.read_text().splitlines()))
    assert [row["answers"] for row in rows] == [[f"number{i}"] for i in range(5)] + [[]] and sizes == [4, 2]
    assert "exact match 0.8333 of 6 questions" in capsys.readouterr().out
