"""`lisax answer` with a reader that is only looked on."""

import json
from types import SimpleNamespace

from lisax import cli
from lisax.predict import reader
from lisax.predict.reader import Answer
from lisax.predict.verdicts import Evidence
from lisax.records import Document, Sentence
from lisax.retrieval import mixed, passages
from lisax.retrieval.passages import Source


def test_questions_are_read_in_groups_and_an_interrupted_command_goes_on(tmp_path, monkeypatch, capsys):
    pages = [
        Document(f"P{i}", f"Page {i}", (Sentence(f"P{i}", 0, f"Inn number{i} stands in town{i}."),)) for i in range(5)
    ]
    mixed.build_index(
        {Source.TEXT: (made for page in pages for made in passages.of_document(page))}, tmp_path / "index"
    )
    asked = tmp_path / "questions.jsonl"
    questions = [{"id": f"q{i}", "question": f"What of town{i}?", "answers": [f"number{i}"]} for i in range(6)]
    asked.write_text("".join(json.dumps(question) + "\n" for question in questions))
    sizes = []

    def read(questions):
        sizes.append(len(questions))
        if len(sizes) == 2:
            raise KeyboardInterrupt
        return [
            [Answer(found[0].text.split()[1], 1.0, evidence=Evidence("t#r0c1", "number"))] if found else []
            for _, found in questions
        ]

    monkeypatch.setattr(reader, "QUESTIONS_AT_A_TIME", 4)
    monkeypatch.setattr(reader, "Reader", lambda path: SimpleNamespace(passages=2, read=read))
    out = tmp_path / "answers.jsonl"
    command = ["answer", f"--index={tmp_path}/index", "--reader=any", f"--questions={asked}", f"--out={out}"]
    assert cli.main(command) == 130 and not out.exists()
    assert cli.main(command) == 0
    rows = list(map(json.loads, out.read_text().splitlines()))
    assert rows[0]["found"] == [{"answer": "number0", "probability": 1.0, "unit": "t#r0c1"}]
    assert [row["answers"] for row in rows] == [[f"number{i}"] for i in range(5)] + [[]] and sizes == [4, 2, 2]
    assert "exact match 0.8333 of 6 questions" in capsys.readouterr().out
    assert cli.main([*command, "--approximate"]) == 2 and "give --retriever" in capsys.readouterr().err
