"""SciFact and SciTab in their owners' layouts, with sentences and tables of our own."""

import json

from dataset_files import lines

from lisax.corpora import open_folder, read_claims
from lisax.corpora.check import check
from lisax.corpora.reading import Watch
from lisax.records import Label


def test_scifact(tmp_path):
    one = [{"sentences": [1], "label": "CONTRADICT"}, {"sentences": [0, 1], "label": "CONTRADICT"}]
    both = {"4": [{"sentences": [0], "label": "SUPPORT"}], "5": [{"sentences": [0], "label": "CONTRADICT"}]}
    claim = {"id": 1, "claim": "Tea cures colds.", "evidence": {"4": one}, "cited_doc_ids": [4]}
    wrong = {"4": [{"sentences": [0], "label": "MAYBE"}]}
    rows = [claim, *(claim | {"id": n, "evidence": found} for n, found in ((2, {}), (3, both), (5, wrong)))]
    lines(tmp_path / "claims_train.jsonl", rows)
    lines(tmp_path / "claims_test.jsonl", [{"id": 4, "claim": "Tea is a drink."}])
    page = {"doc_id": 4, "title": "Tea", "abstract": ["Tea is a drink.\n", "It cures nothing."], "structured": False}
    lines(tmp_path / "corpus.jsonl", [page])
    data, watch = open_folder(tmp_path), Watch(keep_going=True)
    first, second = data.claims("train", watch)
    assert data.layout == "scifact" and data.splits == ("train", "test")
    assert (first.label, first.evidence_sets) == (Label.REFUTES, (("4_1",), ("4_0", "4_1")))
    assert (second.id, second.label, second.evidence_sets) == ("2", Label.NOT_ENOUGH_INFO, ())
    assert "claims_train.jsonl:4: field 'evidence.4.label': unknown label 'MAYBE'" in str(watch.problems[0])
    assert "whose abstracts disagree" in watch.warnings[0]
    assert [one.label for one in data.claims("test")] == [None]
    (read,) = data.documents()
    assert (read.title, [one.text for one in read.sentences]) == ("Tea", ["Tea is a drink.", "It cures nothing."])
    assert next(read_claims(tmp_path / "claims_train.jsonl", Watch(keep_going=True))) == first


def test_scitab(tmp_path):
    entry = {
        "paper": "On tea",
        "paper_id": "x1",
        "table_caption": "Table 2: Colds",
        "table_column_names": ["drink", "days"],
        "table_content_values": [["tea", "7"], ["water", "7.5"]],
        "id": "a-1",
        "claim": "Tea is half a day faster.",
        "label": "supports",
    }
    entries = [
        entry,
        entry | {"id": "a-2", "label": "not enough info"},
        entry | {"id": "a-3", "table_content_values": [3]},
    ]
    (tmp_path / "sci_tab.json").write_text(json.dumps(entries))
    data, watch = open_folder(tmp_path), Watch(keep_going=True)
    claims = list(data.table_claims("test", watch))
    assert data.layout == "scitab" and [one.label for one in claims] == [Label.SUPPORTS, Label.NOT_ENOUGH_INFO]
    assert claims[0].evidence_sets == (("a-1",),)
    assert "sci_tab.json:3: field 'table_content_values[0]': expected list, found 3" in str(watch.problems[0])
    first, _ = data.tables(Watch(keep_going=True))
    found = (first.title, first.caption, first.header, first.rows[1])
    assert found == ("On tea", "Table 2: Colds", ("drink", "days"), ("water", "7.5"))
    assert next(read_claims(tmp_path / "sci_tab.json", Watch(keep_going=True))) == claims[0]
    (tmp_path / "sci_tab.json").write_text(json.dumps([entry, entry]))
    (problem,) = check(tmp_path).problems
    assert "sci_tab.json:2: field 'id': duplicate id 'a-1', first in entry 1" in problem
