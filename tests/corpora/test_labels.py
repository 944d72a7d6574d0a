"""Claims whose labels have names that their layout does not know: mapped, left out, or an error that says how."""

import json

import pytest
from dataset_files import lines, packed, put

from lisax.corpora import open_folder
from lisax.corpora.reading import Watch
from lisax.errors import DataError
from lisax.records import Label

SENTENCE = [{"text": "s"}]
PAGE = '{"id": "P", "title": "", "sentences": ["s"]}\n'
MAPPED = {"OTHER": Label.REFUTES, "2": Label.REFUTES}
LEFT_OUT = {"OTHER": None, "2": None}


LAYOUTS = {
    "fever": (
        "train.jsonl",
        {"claim": "c", "evidence": [[[1, 2, "P", 0]]]},
        {"wiki-pages.jsonl": '{"id": "P", "lines": "0"}\n'},
    ),
    "plain": ("claims.train.jsonl", {"claim": "c", "evidence": [["P_0"]]}, {"pages.jsonl": PAGE}),
    "fm2": (
        "train.jsonl",
        {"text": "c", "wikipedia_page": "P", "gold_evidence": SENTENCE, "retrieved_evidence": SENTENCE},
        {},
    ),
    "wice": ("train.jsonl", {"claim": "c", "evidence": ["s"], "supporting_sentences": [[0]]}, {}),
    "tabfact": ("train_core.jsonl", {"table": "1.csv", "claim": "c"}, {"all_csv/1.csv": "h\na\n"}),
}


def write(folder, layout, names):
    file, row, others = LAYOUTS[layout]
    put(folder, others)
    rows = [{"id": str(i), "meta": {"id": str(i)}, "label": name} | row for i, name in enumerate(names)]
    return lines(folder / file, rows)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_lines(tmp_path, layout):
    known, other = {"wice": ("supported", "OTHER"), "tabfact": (1, 2)}.get(layout, ("SUPPORTS", "OTHER"))
    write(tmp_path, layout, [known, other, known])
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
    path = write(tmp_path, "fm2", ["SUPPORTS", "OTHER"])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    lines(path, [row | {"retrieved_evidence": [*SENTENCE, {"text": f"only of {row['id']}"}]} for row in rows])
    for labels, texts in ((MAPPED, ["s", "only of 0", "only of 1"]), (LEFT_OUT, ["s", "only of 0"])):
        (page,) = open_folder(tmp_path).documents(Watch(labels=labels))
        assert [sentence.text for sentence in page.sentences] == texts
