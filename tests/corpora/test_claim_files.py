"""`read_claims`: a single file of claims, its layout told by its lines."""

import pytest
from dataset_files import lines

from lisax.corpora import read_claims
from lisax.errors import DataError

FEVER = {"id": 7, "label": "SUPPORTS", "claim": "Rome is old.", "evidence": [[[1, 2, "Rome", 0]]]}
NO_INFO = {"id": 8, "label": "NOT ENOUGH INFO", "claim": "Rome is dear.", "evidence": [[[3, None, None, None]]]}
OURS = {"id": "7", "label": "SUPPORTS", "claim": "Rome is old.", "evidence": [["Rome_0"]]}
UNDECIDED = {"id": "8", "label": "NOT ENOUGH INFO", "claim": "Rome is dear.", "evidence": []}


@pytest.mark.parametrize(
    "rows", [[FEVER], [NO_INFO, FEVER], [FEVER | {"evidence": [[], *FEVER["evidence"]]}], [OURS], [UNDECIDED, OURS]]
)
def test_fevers_evidence_and_ours(tmp_path, rows):
    *_, claim = read_claims(lines(tmp_path / "some.jsonl", rows))
    assert (claim.id, claim.evidence_sets) == ("7", (("Rome_0",),))


@pytest.mark.parametrize(
    "row",
    [
        {"id": 9, "verifiable": "NOT VERIFIABLE", "label": "NOT ENOUGH INFO", "claim": "c", "evidence": []},
        {"id": 9, "claim": "c"},
    ],
)
def test_claims_without_evidence(tmp_path, row):
    (claim,) = read_claims(lines(tmp_path / "some.jsonl", [row]))
    assert (claim.id, claim.evidence_sets) == ("9", ())


def test_fool_me_twice_is_numbered_with_the_files_beside_it(tmp_path):
    def row(name, sentence):
        return {
            "id": name,
            "text": "c",
            "label": "SUPPORTS",
            "wikipedia_page": "Rome",
            "gold_evidence": [{"text": sentence}],
            "retrieved_evidence": [{"text": sentence}],
        }

    lines(tmp_path / "train.jsonl", [row("a", "One.")])
    dev = lines(tmp_path / "dev.jsonl", [row("b", "Two.")])
    assert [claim.gold_ids for claim in read_claims(dev)] == [("Rome_1",)]
    alone = lines(tmp_path / "mine.jsonl", [row("b", "Two.")])
    assert [claim.gold_ids for claim in read_claims(alone)] == [("Rome_0",)]


def test_beir(tmp_path):
    queries = lines(tmp_path / "queries.jsonl", [{"_id": "q", "text": "old?"}, {"_id": "r", "text": "new?"}])
    (tmp_path / "qrels").mkdir()
    qrels = tmp_path / "qrels" / "test.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\nq\tRome\t1\n")
    assert [claim.id for claim in read_claims(queries)] == ["q", "r"]
    assert [(claim.id, claim.gold_ids) for claim in read_claims(qrels)] == [("q", ("Rome_0",))]


def test_claims_without_ids_have_their_lines(tmp_path):
    rows = [{"claim": "Rome is old."}, {"id": "x", "claim": "Rome is dear."}, {"claim": "Rome is far."}]
    assert [claim.id for claim in read_claims(lines(tmp_path / "claims.jsonl", rows))] == ["1", "x", "3"]
    assert [claim.id for claim in read_claims(lines(tmp_path / "lines.txt", rows))] == ["1", "x", "3"]
    text = tmp_path / "claims.txt"
    text.write_text("Rome is old.\n\n  Rome  is dear.\n")
    assert [(claim.id, claim.text) for claim in read_claims(text)] == [("1", "Rome is old."), ("3", "Rome is dear.")]


def test_a_text_file_with_another_name(tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_text("\nRome is old.\n")
    with pytest.raises(DataError, match=r"claims\.jsonl:2: expected JSON objects, such as \{"):
        read_claims(path)
