"""FoolMeTwice and WiCE: claims that bring their own sentences."""

import pytest
from dataset_files import lines

from lisax.corpora import open_folder, read_claims
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.records import Claim, Label


def said(text):
    return {"section_header": "Plot", "text": text}


def of_gandhi(name, text, label, gold, retrieved):
    evidence = {"gold_evidence": [*map(said, gold)], "retrieved_evidence": [*map(said, retrieved)]}
    return {"id": name, "text": text, "label": label, "wikipedia_page": "Gandhi (film)"} | evidence


FM2 = [
    of_gandhi("x1", "Gandhi was delayed.", "SUPPORTS", ["Two.", "Three."], ["One.", "Two.", "Three.", "Two."]),
    of_gandhi("x2", "Gandhi was short.", "REFUTES", ["Four."], ["Three.", "Four."]),
]


def test_fm2_claims_of_one_page_share_its_sentences(tmp_path):
    lines(tmp_path / "train.jsonl", FM2[:1])
    lines(tmp_path / "dev.jsonl", FM2[1:])
    dataset = open_folder(tmp_path)
    assert (dataset.layout, dataset.splits) == ("fm2", ("train", "dev"))
    page = "Gandhi_-LRB-film-RRB-"
    expected = Claim(
        "x2", "Gandhi was short.", Label.REFUTES, ((f"{page}_3",),), (f"{page}_2", f"{page}_3"), original_id="x2"
    )
    assert list(dataset.claims("dev")) == [expected] == list(dataset.claims("dev", Watch()))
    (first,) = dataset.claims("train")
    assert first.evidence_sets == ((f"{page}_1", f"{page}_2"),)
    assert first.candidates == (f"{page}_0", f"{page}_1", f"{page}_2")
    (document,) = dataset.documents()
    assert (document.id, document.title) == (page, "Gandhi (film)")
    assert [s.text for s in document.sentences] == ["One.", "Two.", "Three.", "Four."]
    assert dataset.original_page(page) == "Gandhi (film)"


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"label": "NOT ENOUGH INFO"},
            "field 'label': unknown label 'NOT ENOUGH INFO'; expected 'SUPPORTS', 'REFUTES'",
        ),
        ({"gold_evidence": [{"text": None}]}, r"field 'gold_evidence\[0\].text': expected a sentence, found None"),
        ({"wikipedia_page": ""}, "field 'wikipedia_page': the text is empty"),
        ({"id": "x1"}, "field 'id': duplicate id 'x1', first on line 1"),
    ],
)
def test_bad_fm2_lines_are_refused(tmp_path, change, message):
    path = lines(tmp_path / "dev.jsonl", [FM2[0], FM2[1] | change])
    with pytest.raises(DataError, match=r"dev\.jsonl:2: " + message):
        list(read_claims(path))


def of_wice(label, sets, claim, evidence, **meta):
    return {"label": label, "supporting_sentences": sets, "claim": claim, "evidence": evidence, "meta": meta}


ABOUT = ["(meta data) TITLE: About us", "", "It opened."]
WICE = [
    of_wice("partially_supported", [[0, 2], [2]], "It opened in 1990.", ABOUT, id="dev 01", claim_title="It"),
    of_wice("not_supported", [[], [0]], "It closed.", ["Open."], id="dev02"),
    of_wice("supported", [[0]], "It is open.", ["Open."], id="dev03"),
]


def test_wice(tmp_path):
    lines(tmp_path / "dev.jsonl", WICE)
    dataset = open_folder(tmp_path)
    partly, no, yes = dataset.claims("dev")
    assert partly == Claim(
        "dev_01",
        "It opened in 1990.",
        Label.NOT_ENOUGH_INFO,
        (("dev_01_0", "dev_01_2"), ("dev_01_2",)),
        ("dev_01_0", "dev_01_2"),
        "partially_supported",
        "dev 01",
    )
    assert (no.label, no.kind, no.evidence_sets) == (Label.NOT_ENOUGH_INFO, "not_supported", ())
    assert (yes.label, yes.kind, yes.evidence_sets) == (Label.SUPPORTS, "supported", (("dev03_0",),))
    found = [(d.id, d.title, len(d.sentences)) for d in dataset.documents()]
    assert found == [("dev_01", "About us", 3), ("dev02", "", 1), ("dev03", "", 1)]
    assert dataset.original_page("dev_01") == "dev 01"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"label": "SUPPORTS"}, "field 'label': unknown label 'SUPPORTS'; expected 'supported'"),
        ({"supporting_sentences": [[0], [1]]}, r"field 'supporting_sentences\[1\]': sentence 1 is not in the article"),
        ({"evidence": [None]}, r"field 'evidence\[0\]': expected str, found None"),
        ({"meta": {}}, "field 'meta.id': expected a string, found None"),
    ],
)
def test_bad_wice_lines_are_refused(tmp_path, change, message):
    path = lines(tmp_path / "dev.jsonl", [WICE[0], WICE[2] | change])
    with pytest.raises(DataError, match=r"dev\.jsonl:2: " + message):
        list(read_claims(path))
