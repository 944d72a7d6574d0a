"""Feedback: kept, shown, listed, removed, exported, and bound to the contents that it is about."""

import io
import json
import shutil
import zipfile

import pytest
from small_page import Browser, last_answers, shown, words

from lisax.corpora import open_folder
from lisax.records import Table
from lisax.retrieval import table_text, tables
from lisax.serve import export

QUESTION = "What is the city of Mara Velin?"


def test_feedback_is_kept_shown_listed_removed_and_exported(browser, page, tmp_path):
    address = browser.ask(QUESTION).url.path
    table = last_answers(page.store, 1)[0].result["tables"][0]["id"]
    said = browser.fill(f"{address}/feedback", say="cell right", table=table, row="2", column="3", back="t0")
    assert said.url.fragment == "t0" and "Kept: cell" in words(shown(said))
    browser.fill(f"{address}/feedback", say="table wrong", table=table)
    browser.fill(f"{address}/feedback", say="table right", table=table)  # the last word counts
    assert f"table {table} is right" in words(shown(browser.get(address)))
    claim = browser.ask("Mara Velin lived in Tarn .", "claim").url.path
    verdicts = last_answers(page.store, 1)[0].result["verdicts"]
    browser.fill(
        f"{claim}/feedback", say="verdict", source="text", label="SUPPORTS", evidence=verdicts[0]["evidence"][0]
    )
    browser.fill(f"{claim}/feedback", say="verdict", source="tables", label="NOT ENOUGH INFO")
    assert page.store.feedback_count() == 4 and words(shown(browser.get("/feedback"))).startswith("Feedback")

    archive = zipfile.ZipFile(io.BytesIO(browser.get("/feedback/export.zip").content))
    archive.extractall(tmp_path / "out")
    data = open_folder(tmp_path / "out" / "feedback")
    (question,) = data.questions("train")
    assert question.text == QUESTION and question.evidence == (f"index:{table}#r1c2",)
    held = {held.id: held for held in data.tables()}
    assert question.answers == (held[f"index:{table}"].rows[1][2],)
    (claim,) = data.claims("train")
    assert claim.label == "SUPPORTS" and claim.evidence_sets == ((f"index:{verdicts[0]['evidence'][0]}",),)
    assert {unit.rpartition("_")[0] for unit in claim.candidates} <= {document.id for document in data.documents()}
    (of_table,) = data.table_claims("train")
    assert of_table.label == "NOT ENOUGH INFO" and not of_table.evidence_sets
    judged = json.loads((tmp_path / "out" / "feedback" / "table_judgements.jsonl").read_text())
    assert judged == {"id": question.id, "question": QUESTION, "table": f"index:{table}", "relevant": True}

    number = page.store.feedback()[0].id
    assert "3 kept" in words(shown(browser.fill(f"/feedback/{number}/remove")))


def test_a_table_with_a_wrong_cell_is_wrong_where_the_right_one_is_in_another(browser, page):
    address = browser.ask(QUESTION).url.path
    right, wrong, both = [table["id"] for table in last_answers(page.store, 1)[0].result["tables"]][:3]
    for say, table, row in (("right", right, 1), ("wrong", right, 2), ("wrong", wrong, 1)):
        browser.fill(f"{address}/feedback", say=f"cell {say}", table=table, row=str(row), column="1")
    browser.fill(f"{address}/feedback", say="cell wrong", table=both, row="1", column="1")
    browser.fill(f"{address}/feedback", say="table right", table=both)  # said of the table itself: that counts
    gathered = export.gather(page.store.feedback(), page.library, page.engine)
    (name,) = gathered.questions
    found = {(one["id"], one["table"], one["relevant"]) for one in gathered.judgements}
    assert found == {(name, f"index:{both}", True), (name, f"index:{wrong}", False)}


def test_what_was_said_of_other_contents_is_neither_shown_nor_exported_as_said_of_these(tmp_path, opened):
    """An index is built anew in its place, with the same ids."""

    def built(rows: list[tuple[str, str]]):
        made_of = [Table("t", "People", ("name", "city"), tuple(rows))]
        shutil.rmtree(tmp_path / "index", ignore_errors=True)
        table_text.build_index(made_of, tmp_path / "index")
        tables.build_index(made_of, tmp_path / "index", tables.Strategy.ENTITY_CHAR_23)
        return opened(tmp_path / "index")

    page = built([("Ada", "Tarn"), ("Bo", "Lund")])
    browser = Browser(page)
    address, claim = (browser.ask("Ada lived in Tarn", kind).url.path for kind in ("question", "claim"))
    browser.fill(f"{address}/feedback", say="cell right", table="t", row="1", column="2")
    browser.fill(f"{claim}/feedback", say="verdict", source="tables", label="SUPPORTS", evidence="t")
    assert "cell “Tarn” (row 1, column 2 of t) is right" in words(shown(browser.get("/feedback")))
    page = built([("Bo", "Lund"), ("Ada", "Tarn")])
    browser = Browser(page)
    gathered = export.gather(page.store.feedback(), page.library, page.engine)
    assert gathered.skipped == {export.CHANGED: 2} and not gathered.questions and not gathered.table_claims
    listed = words(shown(browser.get("/feedback")))
    assert "cell (row 1, column 2 of t) (which has changed since, or is gone) is right" in listed
    assert "from tables on evidence (which has changed since, or is gone) is: supported" in listed
    assert "1 of the 1 tables that were found" in words(shown(browser.get(address)))
    assert "since they have changed or are gone: 1" in words(shown(browser.get(claim)))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"say": "cell right", "row": "9", "column": "1"}, "4 rows and 4 columns"),
        ({"say": "cell right", "row": "x", "column": "1"}, "whole number"),
        ({"say": "table right", "table": "other"}, "not of this answer"),
        ({"say": "verdict"}, "not named"),
    ],
)
def test_feedback_that_fits_nothing_is_refused(browser, page, fields, complaint):
    address = browser.ask(QUESTION).url.path
    table = last_answers(page.store, 1)[0].result["tables"][0]["id"]
    response = browser.fill(f"{address}/feedback", **{"table": table, **fields})
    assert response.status_code == 400 and complaint in words(shown(response)) and not page.store.feedback_count()


@pytest.mark.parametrize(
    ("kind", "text"), [("search", QUESTION), ("claim", "Mara Velin lived in Tarn. Olin Keld was a baker.")]
)
def test_feedback_on_an_answer_without_a_verdict_is_refused(browser, page, kind, text):
    address = browser.ask(text, kind).url.path
    response = browser.fill(f"{address}/feedback", say="verdict", source="text", label="SUPPORTS")
    assert response.status_code == 400 and "That verdict is not of this answer." in words(shown(response))


def test_feedback_outlives_the_server(browser, page, opened):
    address = browser.ask(QUESTION).url.path
    table = last_answers(page.store, 1)[0].result["tables"][0]["id"]
    browser.fill(f"{address}/feedback", say="table right", table=table)
    # Nothing is closed: what was said must be on disk already.
    assert f"table {table} is right" in words(shown(Browser(opened()).get(address)))
