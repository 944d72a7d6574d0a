"""Claims whose labels have names that their layout does not know: mapped, left out, or an error that says how."""

import json

import pytest
from dataset_files import packed

from lisax.corpora import open_folder
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.records import Label

SENTENCE = [{"text": "s"}]
MAPPED = {"OTHER": Label.REFUTES, "2": Label.REFUTES}
LEFT_OUT = {"OTHER": None, "2": None}


def fever(folder, names):
    rows = [{"id": i, "claim": "c", "label": name, "evidence": [[[1, 2, "P", 0]]]} for i, name in enumerate(names)]
    (folder / "wiki-pages.jsonl").write_text('{"id": "P", "lines": "0\\ta"}\n')
    return "train.jsonl", rows


def plain(folder, names):
    (folder / "pages.jsonl").write_text('{"id": "P", "title": "", "sentences": ["s"]}\n')
    return "claims.train.jsonl", [
        {"id": i, "claim": "c", "label": name, "evidence": [["P_0"]]} for i, name in enumerate(names)
    ]


def fm2(folder, names):
    return "train.jsonl", [
        {
            "id": str(i),
            "text": "c",
            "label": name,
            "wikipedia_page": "P",
            "gold_evidence": SENTENCE,
            "retrieved_evidence": [*SENTENCE, {"text": f"only of {i}"}],
        }
        for i, name in enumerate(names)
    ]


def wice(folder, names):
    return "train.jsonl", [
        {"claim": "c", "label": name, "evidence": ["s"], "supporting_sentences": [[0]], "meta": {"id": str(i)}}
        for i, name in enumerate(names)
    ]


def tabfact_core(folder, names):
    (folder / "all_csv").mkdir()
    (folder / "all_csv/1.csv").write_text("h\na\n")
    return "train_core.jsonl", [
        {"id": i, "table": "1.csv", "claim": "c", "label": name} for i, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    "write, known, other",
    [
        (fever, "SUPPORTS", "OTHER"),
        (plain, "SUPPORTS", "OTHER"),
        (fm2, "SUPPORTS", "OTHER"),
        (wice, "supported", "OTHER"),
        (tabfact_core, 1, 2),
    ],
)
def test_every_layout_of_lines(tmp_path, write, known, other):
    name, rows = write(tmp_path, [known, other, known])
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    check_labels(tmp_path, 2, str(other))


def test_tabfact_s_entries(tmp_path):
    (tmp_path / "all_csv").mkdir()
    (tmp_path / "all_csv/1.csv").write_text("h\na\n")
    (tmp_path / "train_examples.json").write_text(json.dumps({"1.csv": [["a", "b", "c"], [1, 2, 1], "t"]}))
    check_labels(tmp_path, None, "2")


def test_infotabs(tmp_path):
    (tmp_path / "infotabs_train.tsv").write_text(
        "annotater_id\ttable_id\thypothesis\tlabel\n" + "".join(f"G\tT0\tc\t{name}\n" for name in ("E", "OTHER", "E"))
    )
    (tmp_path / "tables.tar.gz").write_bytes(packed(**{"T0.json": "{}"}))
    check_labels(tmp_path, 3, "OTHER")


def check_labels(folder, line, other):
    def read(labels):
        watch = Watch(labels=labels)
        claims = [(claim.id, claim.label) for claim in open_folder(folder).claims("train", watch)]
        return claims, [warning for warning in watch.warnings if "labelled" in warning]

    place = f":{line}: " if line else ": "
    with pytest.raises(DataError, match=rf"{place}field '.*': .*labels=\{{'{other}': …\}}; None leaves them out"):
        read({})
    claims, warnings = read(MAPPED)
    assert [label for _, label in claims] == [Label.SUPPORTS, Label.REFUTES, Label.SUPPORTS] and not warnings
    kept, warnings = read(LEFT_OUT)
    assert kept == [claims[0], claims[2]]
    (warning,) = warnings
    assert warning.startswith(f"claims labelled '{other}' (left out, as was asked for): 1, first at ")


def test_foolmetwice_s_pages_have_the_sentences_of_the_claims_that_are_kept(tmp_path):
    name, rows = fm2(tmp_path, ["SUPPORTS", "OTHER"])
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    for labels, texts in ((MAPPED, ["s", "only of 0", "only of 1"]), (LEFT_OUT, ["s", "only of 0"])):
        (page,) = open_folder(tmp_path).documents(Watch(labels=labels))
        assert [sentence.text for sentence in page.sentences] == texts
