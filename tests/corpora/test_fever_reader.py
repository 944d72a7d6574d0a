"""FEVER claims, pages and submissions, in the owners' layout."""

import math
import unicodedata

import pytest
from dataset_files import lines

from lisax.corpora import fever, open_folder, read_claims
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.files.writing import write_json_lines
from lisax.records import Claim, Label, Prediction

JOSE = unicodedata.normalize("NFD", "José_Ferrer")

SETS = [
    [[1, 2, JOSE, 0], [1, 3, "Moana_-LRB-film-RRB-", 2], [1, 3, JOSE, 0]],
    [[4, 5, "Moana_-LRB-film-RRB-", 2], [4, 6, "José_Ferrer", 0]],
    [[7, 8, "Moana_-LRB-film-RRB-", 0]],
]
CLAIMS = [
    {"id": 7, "verifiable": "VERIFIABLE", "label": "SUPPORTS", "claim": "José Ferrer  acted.\n", "evidence": SETS},
    {"id": 8, "label": "NOT ENOUGH INFO", "claim": "It rained.", "evidence": [[[9, None, None, None]]]},
    {"id": 9, "claim": "A blind claim."},
]


def page(page_id, text_lines):
    return {"id": page_id, "text": "", "lines": text_lines}


def test_claims(tmp_path):
    supported, unknown, blind = read_claims(lines(tmp_path / "train.jsonl", CLAIMS))
    assert supported == Claim(
        "7",
        "José Ferrer acted.",
        Label.SUPPORTS,
        (("José_Ferrer_0", "Moana_-LRB-film-RRB-_2"), ("Moana_-LRB-film-RRB-_0",)),
        original_id=7,
    )
    assert unknown == Claim("8", "It rained.", Label.NOT_ENOUGH_INFO, original_id=8)
    assert blind == Claim("9", "A blind claim.", original_id=9)


def claim(**changes):
    return CLAIMS[0] | changes


@pytest.mark.parametrize(
    "bad, said",
    [
        (
            claim(label="MAYBE"),
            "field 'label': unknown label 'MAYBE'; expected 'SUPPORTS', 'REFUTES', 'NOT ENOUGH INFO'",
        ),
        (claim(claim=" "), "field 'claim': the text is empty"),
        (claim(id="a b"), "field 'id': an id must be non-empty and without white space"),
        ({"id": 1, "label": "REFUTES", "claim": "x"}, "field 'evidence': the field is missing"),
        (claim(label=None), "field 'label': the field is missing, and the claim has evidence"),
        (claim(evidence=[["P", 0]]), r"field 'evidence\[0\]\[0\]': expected \[annotation, evidence, page, sentence\]"),
        (claim(evidence=[[[1, 2, "P", -1]]]), r"field 'evidence\[0\]\[0\]': expected a sentence number"),
        (claim(evidence=[[[1, 2, "P", True]]]), r"field 'evidence\[0\]\[0\]': expected a sentence number"),
        (claim(evidence=[[[1, 2, 5, 0]]]), r"field 'evidence\[0\]\[0\]': expected a page title"),
        (CLAIMS[1], "field 'id': duplicate id '8', first on line 1"),
    ],
)
def test_bad_claims_are_refused_with_file_line_and_field(tmp_path, bad, said):
    path = lines(tmp_path / "train.jsonl", [CLAIMS[1], bad])
    with pytest.raises(DataError, match=r"train\.jsonl:2: " + said):
        list(read_claims(path))


def test_oddities_are_counted_and_told_once(tmp_path, caplog):
    nowhere = [[1, None, None, None]]
    odd = [
        claim(evidence=[nowhere]),
        claim(id=2, evidence=[nowhere, [[1, 2, "P", 0]]]),
        claim(id=3, label="NOT ENOUGH INFO"),
    ]
    read = list(read_claims(lines(tmp_path / "c.jsonl", odd)))
    assert [c.evidence_sets for c in read] == [(), (("P_0",),), ()]
    assert len(caplog.messages) == 3
    assert caplog.messages[0].startswith(
        "evidence sets of a verifiable claim without a page (the set is left out): 2, first at "
    )
    assert caplog.messages[0].endswith("c.jsonl:1")


def test_pages(tmp_path):
    rows = [
        page("", ""),
        page("Moana_-LRB-film-RRB-", "0\tMoana -LRB- pronounced -RRB- is a film .\tFilm\tfilm\n1\t\n3\tIt sings ."),
        page(JOSE, "0\tHe\nacted .\tActing\n1980\twas a year\n1\tHe left .\n"),
        page("Empty", ""),
    ]
    path = lines(tmp_path / "wiki-pages.jsonl", rows)
    watch = Watch()
    moana, jose, empty = fever.read_pages(path, watch)
    assert (moana.id, moana.title) == ("Moana_-LRB-film-RRB-", "Moana (film)")
    assert [s.text for s in moana.sentences] == ["Moana ( pronounced ) is a film .", "", "", "It sings ."]
    assert moana.sentences[3].id == "Moana_-LRB-film-RRB-_3"
    assert (jose.id, jose.original_id) == ("José_Ferrer", JOSE)
    assert [s.text for s in jose.sentences] == ["He acted . was a year", "He left ."]
    assert empty.sentences == ()
    assert watch.warnings == [
        f"pages without an id (left out): 1, first at {path}:1",
        f"lines of a page without a sentence number in order (joined to the sentence before): 2, first at {path}:3",
    ]


def test_a_folder_of_files_is_read_in_order_and_other_files_are_left_alone(tmp_path):
    folder = tmp_path / "wiki-pages"
    lines(folder / "wiki-002.jsonl", [page("B", "0\tb")])
    lines(folder / "wiki-001.jsonl", [page("A", "0\ta")])
    (folder / "._wiki-001.jsonl").write_bytes(b"\0\5")
    assert [document.id for document in fever.read_pages(folder)] == ["A", "B"]


def test_a_page_that_occurs_twice_is_told_at_the_end_with_both_places(tmp_path):
    lines(tmp_path / "wiki-001.jsonl", [page("A", "0\ta"), page(JOSE, "0\ta")])
    lines(tmp_path / "wiki-002.jsonl", [page("B", "0\ta"), page("José_Ferrer", "0\tb")])
    documents = fever.read_pages(tmp_path)
    assert [next(documents).id for _ in range(4)] == ["A", "José_Ferrer", "B", "José_Ferrer"]
    with pytest.raises(DataError, match=r"002\.jsonl:2: field 'id': duplicate id 'José_Ferrer', .*001\.jsonl:2"):
        next(documents)


def test_a_page_without_lines_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"p\.jsonl:1: field 'lines': the field is missing"):
        list(fever.read_pages(lines(tmp_path / "p.jsonl", [{"id": "A", "text": ""}])))
    with pytest.raises(DataError, match="expected a folder of wiki-"):
        list(fever.read_pages(tmp_path))


def test_a_folder(tmp_path):
    with pytest.raises(DataError, match="expected FEVER's pages as"):
        fever.Fever(tmp_path)
    lines(tmp_path / "wiki-pages/wiki-pages/wiki-001.jsonl", [page("A", "")])
    alone = open_folder(tmp_path)  # only pages are a corpus
    assert alone.splits == () and fever.Fever(alone.pages).pages == alone.pages
    for name in ("paper_dev.jsonl", "shared_task_dev.jsonl", "train.jsonl"):
        lines(tmp_path / name, CLAIMS)
    dataset = open_folder(tmp_path)
    assert (dataset.layout, dataset.pages) == ("fever", tmp_path / "wiki-pages/wiki-pages")
    assert dataset.files == {"train": tmp_path / "train.jsonl", "dev": tmp_path / "shared_task_dev.jsonl"}
    with pytest.raises(DataError, match="no claims for split 'test'; there are train, dev"):
        dataset.claims("test")


def test_predictions_are_a_submission_with_the_owners_ids(tmp_path):
    pages = lines(tmp_path / "fever/wiki-pages.jsonl", [page(JOSE, "0\tHe acted .")])
    lines(tmp_path / "fever/dev.jsonl", CLAIMS)
    dataset = open_folder(pages.parent)
    claims = {c.id: c for c in dataset.claims("dev")}
    verdicts = [
        Prediction("7", Label.SUPPORTS, (0.75, 0.125, 0.125), ("José_Ferrer_0", "B_c_12"), (0.5, 0.25)),
        Prediction("8", Label.NOT_ENOUGH_INFO, (math.nan,) * 3),
    ]
    out = tmp_path / "predictions.jsonl"
    rows = [{"id": claims[v.claim_id].original_id} | fever.prediction_row(v, dataset.original_page) for v in verdicts]
    write_json_lines(out, rows)
    assert out.read_text("utf-8") == (
        '{"id": 7, "predicted_label": "SUPPORTS", "predicted_evidence": [["' + JOSE + '", 0], ["B_c", 12]], '
        '"label_probabilities": {"SUPPORTS": 0.75, "REFUTES": 0.125, "NOT ENOUGH INFO": 0.125}, '
        '"evidence_scores": [0.5, 0.25]}\n'
        '{"id": 8, "predicted_label": "NOT ENOUGH INFO", "predicted_evidence": [], "evidence_scores": []}\n'
    )
    first, second = fever.read_predictions(out)
    assert first == verdicts[0]
    assert second.claim_id == "8" and all(map(math.isnan, second.probabilities))


@pytest.mark.parametrize(
    "change, said",
    [
        ({"predicted_label": "NEI"}, "field 'predicted_label': unknown label 'NEI'"),
        ({"predicted_evidence": [["P"]]}, r"field 'predicted_evidence\[0\]': expected \[page, sentence\]"),
        ({"predicted_evidence": [[None, None]]}, "field 'predicted_evidence'"),
        ({"label_probabilities": {"SUPPORTS": 1}}, r"field 'label_probabilities\[1\]': expected float, found None"),
        ({"label_probabilities": {"SUPPORTS": 1, "foo": 0}}, r"field 'label_probabilities': expected .*; found 'foo'"),
        ({"label_probabilities": {"SUPPORTS": 3, "REFUTES": -2}}, "field 'label_probabilities': .* from 0 to 1"),
        ({"evidence_scores": [1.0]}, "field 'evidence_scores': expected 0 scores"),
    ],
)
def test_bad_predictions_are_refused(tmp_path, change, said):
    row = {"id": 1, "predicted_label": "SUPPORTS", "predicted_evidence": []} | change
    with pytest.raises(DataError, match=r"p\.jsonl:1: " + said):
        list(fever.read_predictions(lines(tmp_path / "p.jsonl", [row])))
