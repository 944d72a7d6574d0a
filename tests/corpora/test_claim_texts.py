"""Sets whose claims bring their evidence, in their owners' fields, with sentences of our own."""

import json

import pytest

from lisax.corpora import claim_texts, open_folder, read_claims
from lisax.corpora.check import check
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.records import Label

SYMMETRIC = {"claim": "Orm is long .", "evidence": "Orm is short .", "id": "7", "gold_label": "REFUTES", "evid": []}
EVIDENCES = [
    {"evidence_id": "Orm:1", "evidence_label": "NOT_ENOUGH_INFO", "article": "Orm", "evidence": "Orm is a river."},
    {"evidence_id": "Orm:2", "evidence_label": "SUPPORTS", "article": "Orm", "evidence": "It froze in May."},
]
CLIMATE = {"claim_id": "4", "claim": "Orm froze.", "claim_label": "SUPPORTS", "evidences": EVIDENCES}
AGGREFACT = {
    "dataset": "A",
    "doc": "Orm is a river. It is long.",
    "claim": "Orm is wet.",
    "label": 0,
    "contamination_identifier": "x",
}


@pytest.mark.parametrize(
    ("name", "row", "label", "sets", "texts"),
    [
        ("fever-symmetric", SYMMETRIC, Label.REFUTES, (("{}_0",),), ["Orm is short ."]),
        ("climate-fever", CLIMATE, Label.SUPPORTS, (("{}_1",),), ["Orm is a river.", "It froze in May."]),
        ("climate-fever", CLIMATE | {"claim_label": "DISPUTED"}, Label.NOT_ENOUGH_INFO, (), None),
        ("llm-aggrefact", AGGREFACT, Label.NOT_ENOUGH_INFO, (), ["Orm is a river.", "It is long."]),
        (
            "llm-aggrefact",
            AGGREFACT | {"label": 1},
            Label.SUPPORTS,
            (("{}_0", "{}_1"),),
            ["Orm is a river.", "It is long."],
        ),
    ],
)
def test_a_claim_brings_its_evidence(tmp_path, name, row, label, sets, texts):
    path = tmp_path / "sets_dev.jsonl"
    path.write_text(json.dumps(row) + "\n")
    data = open_folder(tmp_path)
    (claim,), (page,) = data.claims("dev"), data.documents()
    assert data.layout == name and claim.label == label and list(read_claims(path)) == [claim]
    assert claim.evidence_sets == tuple(tuple(unit.format(claim.id) for unit in units) for units in sets)
    assert claim.id == str(row.get("id", row.get("claim_id", "sets_dev:1")))
    assert texts is None or [sentence.text for sentence in page.sentences] == texts


def test_a_bad_line_is_named(tmp_path):
    (tmp_path / "sets_dev.jsonl").write_text(
        f"{json.dumps(SYMMETRIC)}\n{json.dumps(SYMMETRIC | {'id': '8', 'gold_label': 'X'})}\n"
    )
    (problem,) = check(tmp_path).problems
    assert "sets_dev.jsonl:2" in problem and "gold_label" in problem and "'X'" in problem


def test_averitec_is_a_list_whose_answers_are_evidence_together(tmp_path):
    asked = [{"question": "Where is Orm?", "answers": [{"answer": "In Lund.", "answer_type": "Extractive"}]}]
    row = {"claim": "Orm is in Lund.", "label": "Supported", "justification": "It is.", "questions": asked * 2}
    path = tmp_path / "dev.json"
    path.write_text(json.dumps([row, row | {"label": "Conflicting Evidence/Cherrypicking"}]))
    data = open_folder(tmp_path)
    first, second = data.claims("dev")
    assert data.layout == "averitec" and list(read_claims(path)) == [first, second]
    assert first.evidence_sets == ((f"{first.id}_0", f"{first.id}_1"),) and first.label == Label.SUPPORTS
    assert second.label == Label.NOT_ENOUGH_INFO and second.evidence_sets == ()
    assert next(data.documents()).sentences[0].text == "Where is Orm? In Lund."
    left_out = Watch(labels={"Supported": None})
    assert [claim.id for claim in data.claims("dev", left_out)] == [second.id] and left_out.warnings


PUBHEALTH = (
    "claim_id\tclaim\tdate_published\texplanation\tfact_checkers\tmain_text\tsources\tlabel\tsubjects\n"
    '15\tTea cures colds.\tMay 1\tIt does not.\tA\t"Tea is a drink.\nIt cures ""nothing""."\t\tfalse\ttea\n'
    "16\tOrm water is safe.\tMay 2\tNobody knows.\tA\tOrm is a river.\t\tmixture\twater\n"
)


def test_pubhealth_has_an_article_whose_sentences_are_candidates(tmp_path):
    (tmp_path / "dev.tsv").write_text(PUBHEALTH + "17\tA.\t\t\t\tB.\t\tsnopes\t\n")
    data, watch = open_folder(tmp_path), Watch(keep_going=True)
    first, second = data.claims("dev", watch)
    assert data.layout == "pubhealth"
    assert list(read_claims(tmp_path / "dev.tsv", Watch(keep_going=True))) == [first, second]
    assert (first.label, first.kind, first.evidence_sets) == (Label.REFUTES, "false", ())
    assert (second.id, second.label, second.candidates) == ("16", Label.NOT_ENOUGH_INFO, ("16_0",))
    assert [s.text for s in next(data.documents()).sentences] == ["Tea is a drink.", 'It cures "nothing".']
    assert "dev.tsv:5: field 'label': unknown label 'snopes'" in str(watch.problems[0])


@pytest.mark.parametrize(
    ("name", "content", "wrong"),
    [
        ("sets_dev.jsonl", f"{json.dumps(SYMMETRIC)}\n" * 2, "7"),
        ("sets_dev.jsonl", f"{json.dumps(CLIMATE)}\n" * 2, "4"),
        ("dev.tsv", PUBHEALTH + PUBHEALTH.splitlines()[-1] + "\n", "16"),
    ],
    ids=["fever-symmetric", "climate-fever", "pubhealth"],
)
def test_an_id_that_occurs_twice_is_one_problem(tmp_path, name, content, wrong):
    (tmp_path / name).write_text(content)
    (problem,) = check(tmp_path).problems
    assert f"{name}:" in problem and f"duplicate id '{wrong}', first on line" in problem
    with pytest.raises(DataError, match=f"duplicate id '{wrong}'"):
        list(open_folder(tmp_path).documents())


def test_a_file_s_header_that_cannot_be_read_is_a_problem(tmp_path):
    (tmp_path / "dev.tsv").write_bytes(b"\xff")
    watch = Watch(keep_going=True)
    assert not list(claim_texts.read_claims(tmp_path / "dev.tsv", "pubhealth", watch))
    assert "dev.tsv:1: byte 1 is not UTF-8" in watch.problems[0]
