"""The page without a model named: the checker that ships."""

import json
import re
import shutil
from pathlib import Path

import pytest
from small_page import Browser, shown, words

from lisax import Index, shipped
from lisax.errors import LisaxError
from lisax.files.writing import write_json
from lisax.serve import start, training
from lisax.serve.models import LABELLER, RANKER, Models, about
from lisax.weights.pretrained import MODELS

needs_minilm = pytest.mark.skipif(not MODELS["minilm"].is_there, reason="MiniLM is not here: lisax models get minilm")
LAKES = {"id": "lakes", "title": "Lakes", "header": ["lake", "depth"], "rows": [["Mira", "40 m"], ["Ode", "9 m"]]}
PAGES = [{"title": "Mara Velin", "text": "Mara Velin is a painter. She was born in Tarn in 1951."}]


@needs_minilm
def test_it_checks_claims_with_the_shipped_models(tmp_path, opened):
    index = tmp_path / "index"
    Index.build(PAGES, index)
    models = Models.open(())
    assert RANKER in models and LABELLER in models
    assert not training.why_not(models[RANKER]) and not training.why_not(models[LABELLER])
    browser = Browser(opened(index, models))
    measured = (
        r"this sure on FEVER&#39;s claims, about pages of Wikipedia, about \d\d were right. On other .* 314 were right"
    )
    assert re.search(measured, browser.ask("Mara Velin sings.", "claim").text)
    home = words(shown(browser.get("/")))
    assert re.search(r"71 of 100 verdicts were right .* labeller: LisaX's own \(text\)", home)
    assert re.search(r"in its first sentence for 84 of 100, .* ranker: LisaX's own \(ranker\)", home)
    assert "What it is for: a first answer on claims in English about pages of text" in home
    answer = browser.ask("Mara Velin was born in Tarn.", "claim").text
    assert "Supported" in answer and "She was born in Tarn in 1951." in answer
    for role in (RANKER, LABELLER):
        refused = browser.fill("/training", role=role, steps=1)
        assert refused.status_code == 400 and "There are no claims over text in the feedback yet" in refused.text
    trained = words(shown(browser.get("/training")))
    assert "ranker (0 claims" in trained and "labeller (0 claims" in trained


@needs_minilm
def test_documents_that_disagree_are_shown_side_by_side_and_a_retraction_decides(tmp_path, opened):
    heights = [
        {"title": f"Guide, {date}", "text": f"The tower is {height} metres high."}
        for date, height in (("May 2019", 40), ("June 2021", 60))
    ]
    reports = [
        {"title": f"Report of {date}", "text": f"Olin Marsh is {still}the director of the school."}
        for date, still in (("10 October 2015", ""), ("12 December 2019", "no longer "))
    ]
    Index.build(heights + reports, tmp_path / "index")
    browser, claim = Browser(opened(tmp_path / "index", Models.open(()))), "The tower is 40 metres high."
    found = words(shown(browser.ask(claim, "claim")))
    assert "Documents disagree" in found and "The model leans to: Supported" in found
    newer, older = found.index("Refuted by newer document"), found.index("Supported by document")
    assert newer < found.index("2021-06") < older < found.index("2019-05")
    verdict = browser.post("/v1/check", json={"claim": claim}).json()
    assert len(verdict["disagreement"]["supports"]) == 1 and verdict["disagreement"]["retraction"] is None
    given = [{"text": one["text"], "source": one["title"], "unit": one["title"]} for one in heights]
    assert browser.post("/v1/verify", json={"claim": claim, "evidence": given}).json()["disagreement"]
    claim = "Olin Marsh is the director of the school."
    answer = browser.ask(claim, "claim")
    found = words(shown(answer))
    assert "Refuted Judged from" in found and "A later document (Report of 12 December 2019" in found
    (saved,) = browser.get(re.search(r"/answers/[^/]+/verdict.json", answer.text)[0]).json()["verdicts"]
    assert saved["disagreement"][0]["documents"][0]["date"] == "2019-12-12"
    assert "documents disagree" in browser.get(re.search(r"/answers/[^/]+/verdict.md", answer.text)[0]).text


@needs_minilm
def test_an_encoder_that_ranks_is_not_trained_there():
    models = Models.open((Path("minilm"), shipped.labeller()))
    assert "as it was published" in training.why_not(models[RANKER])
    (ranker, _) = about(models)
    assert ranker["short"].startswith("As published: all-MiniLM-L6-v2")


@needs_minilm
def test_it_answers_questions_over_tables_that_have_vectors_and_says_what_others_lack(tmp_path, opened):
    Index.build([LAKES], tmp_path / "with", kind="tables", vectors="minilm")
    Index.build([LAKES], tmp_path / "without", kind="tables")
    browser = Browser(opened(tmp_path / "with", Models.open(())))
    assert "best cell: </span>40 m<" in browser.ask("What is the depth of Mira?", corpus="with").text
    # Its likeliest cell is the one that it names.
    assert "best cell: </span>40 m<" in browser.ask("What is Mira?", corpus="with").text
    page = opened(tmp_path / "without", Models.open(()))
    (corpus,) = page.library
    assert page.engine.kinds(corpus) == ("search",)
    assert "lisax index vectors" in words(shown(Browser(page).get("/")))


@needs_minilm
def test_it_answers_questions_from_text_and_tables_and_counts_what_it_searched(tmp_path, opened):
    Index.build([*PAGES, LAKES], tmp_path / "index", vectors="minilm")
    browser = Browser(opened(tmp_path / "index", Models.open(())))
    answer = browser.ask("When was Mara Velin born?")
    assert "She was born in Tarn in <mark>1951</mark>." in answer.text
    assert "Searched 1 page and 1 table, " in words(shown(answer))
    nothing = words(shown(browser.ask("Which shoes does the king of Norway like?")))
    assert "No answer here" in nothing and "Nothing is likely enough" in nothing
    result = browser.post("/v1/ask", json={"question": "What is the depth of Mira?", "answers": 1}).json()
    assert result["searched"] == {"pages": 1, "tables": 1} and "40 m" in result["answers"][0]["answer"]


@needs_minilm
def test_facts_that_were_read_with_a_table_are_shown(tmp_path, opened):
    Index.build([LAKES], tmp_path / "index", kind="cells")
    page = opened(tmp_path / "index", Models.open(()))
    answer = words(shown(Browser(page).ask("Mira has 31 m more depth than Ode.", "claim")))
    assert "Computed: depth of Mira is 31 m more than that of Ode" in answer


def test_without_the_encoder_it_searches_and_says_why(tmp_path, monkeypatch):
    def cannot(*_, **__):
        raise LisaxError("MiniLM cannot be fetched")

    monkeypatch.setattr("lisax.serve.models._open", cannot)
    Index.build(PAGES, tmp_path / "index")
    page = start.open_page(start.ServeSettings((), (tmp_path / "index",), tmp_path / "state"), None)
    browser = Browser(page)
    home = words(shown(browser.get("/")))
    assert (
        "Search only: the models that check claims and answer questions are not there. MiniLM cannot be fetched" in home
    )
    assert "She was born in Tarn in 1951." in words(shown(browser.ask("born in Tarn", "search")))
    page.close()
    asked_for = start.ServeSettings((), (tmp_path / "index",), tmp_path / "state", tier="accurate")
    with pytest.raises(LisaxError, match="cannot be fetched"):
        start.open_page(asked_for, None)


@needs_minilm
def test_a_tier_is_chosen_on_the_page_and_in_the_api(tmp_path, opened, monkeypatch):
    bundles = {}
    for reads in ("sentences", "tables"):
        bundles[reads, "light"], less_sure = shipped.labeller(reads), tmp_path / reads
        bundles[reads, "accurate"] = shutil.copytree(bundles[reads, "light"], less_sure)
        card = json.loads((less_sure / "model.json").read_text())
        write_json(less_sure / "model.json", card | {"calibration": card["calibration"] | {"temperature": 9.0}})
    monkeypatch.setattr(shipped, "ENCODERS", {"light": "minilm", "accurate": "minilm"})
    monkeypatch.setattr(shipped, "labeller", lambda reads="sentences", tier="light": bundles[reads, tier])
    Index.build(PAGES, tmp_path / "index")
    claim = "Mara Velin was born in Tarn."
    page = opened(tmp_path / "index", Models.open(()))
    browser = Browser(page)
    assert page.engine.models.tiers == ("light", "accurate")
    assert "Read by the light model the accurate model" in words(shown(browser.get("/")))
    answers = [
        browser.fill("/ask", text=claim, kind="claim", corpus="index", tier=tier) for tier in page.engine.models.tiers
    ]
    assert "in text, by the accurate model, in" in words(shown(answers[1]))
    assert '<option value="accurate" selected>' in answers[1].text
    surest = [re.search(r'<span class="sure">(\d+)', answer.text)[1] for answer in answers]
    assert int(surest[0]) > int(surest[1]) + 20
    births = {"title": "Births", "header": ["name", "place"], "rows": [["Mara Velin", "Tarn"], ["Olin", "Orm"]]}
    for call, more in (
        ("check", {}),
        ("verify", {"evidence": [PAGES[0]["text"]]}),
        ("verify", {"evidence": [{"table": births}]}),
    ):
        rows = [
            browser.post(f"/v1/{call}", json={"claim": claim, **more, **tier}).json()["label_probabilities"]
            for tier in ({}, {"tier": "light"}, {"tier": "accurate"})
        ]
        assert rows[0] == rows[1] and max(rows[0].values()) > max(rows[2].values()) + 0.1
    assert browser.fill("/ask", text=claim, kind="claim", corpus="index", tier="big").status_code == 400
    assert browser.post("/v1/check", json={"claim": claim, "tier": "big"}).status_code == 422
    models = Models.open((), "accurate")
    assert models.tiers == ("accurate", "light") and models.labeller().calibration.temperature == 9
    assert models.labeller("light").calibration.temperature < 3
    # A labeller that was named, or trained on the page, is the only one.
    page = opened(tmp_path / "index", Models.open((bundles["sentences", "accurate"],)))
    assert page.engine.models.tiers == () and "Read by" not in words(shown(Browser(page).get("/")))
    # A page that was opened before has the choice still.
    assert Browser(page).fill("/ask", text=claim, kind="claim", corpus="index", tier="light").status_code == 200
    refused = Browser(page).post("/v1/check", json={"claim": claim, "tier": "accurate"})
    assert refused.status_code == 404 and "no labeller of this tier is loaded" in refused.text
