"""The page's routes: ask, check, say what is right, load tables; whatever comes in stays text."""

import functools
import html
import itertools
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from markup import HOSTILE
from small_page import SUMS, Browser, last_answers, shown, words

from lisax.errors import LisaxError
from lisax.files.writing import write_json
from lisax.formats.tables import TABLE_FUSION
from lisax.predict.answer_confidence import AnswerConfidence
from lisax.predict.model import Model
from lisax.predict.verdicts import Verdict
from lisax.records import LABELS
from lisax.scoring.claims import Scores
from lisax.serve import export, views
from lisax.serve.answering import UNLEARNED
from lisax.serve.limits import Limits
from lisax.serve.models import PARTS, TABLE_VERIFIER, Models
from lisax.serve.store import Store
from lisax.serve.training import DONE, Run
from lisax.weights.model_card import ModelCard

QUESTION = "What is the city of Mara Velin?"


def test_a_question_gets_tables_with_heatmaps_and_linked_answers(browser):
    response = browser.ask(QUESTION)
    assert response.status_code == 200 and re.fullmatch("/answers/[0-9a-f]{16}", response.url.path)
    found = shown(response)
    ids = {attributes["id"] for _, attributes in found.elements if "id" in attributes}
    links = [
        attributes["href"][1:]
        for tag, attributes in found.elements
        if tag == "a" and re.fullmatch(r"#t\d-r\d+c\d+", attributes.get("href", ""))
    ]
    assert len(links) == 5 and set(links) <= ids
    best = [attributes["id"] for tag, attributes in found.elements if "best" in attributes.get("class", "").split()]
    assert best == links
    assert "Register, sheet" in words(found) and QUESTION in words(found)
    assert re.search(r"from the page \w+_\w+ .* \w+ \w+ lived in \w+ \. \w+ \w+ was born in", words(found))
    # The answer is kept: a reload shows it. The start does not: others may see it, and what was asked is in the browser.
    assert browser.get(response.url.path).text.count("Mara Velin") >= 2
    assert response.url.path not in browser.get("/").text


def test_a_question_without_an_answer_here(browser, page):
    assert "No answer here" not in browser.ask(QUESTION).text
    page.engine.min_confidence = 1.0
    found = words(shown(browser.ask(QUESTION)))
    assert "No answer here" in found and "the best guess is wrong with a probability of" in found
    assert "Each percentage is how sure the model is" in found


def test_fitted_probabilities_of_answers_are_shown(browser, page):
    (corpus,) = page.library
    answerer = page.engine.answerer(corpus)
    answerer.confidence = AnswerConfidence((0.0, 0.0, 0.0, 0.0, -np.log(9)), 0.5)  # whatever is asked, one in ten
    found = words(shown(browser.ask(QUESTION)))
    assert "the best guess is wrong with a probability of 90.0 %" in found
    assert "tested on questions with and without an answer" in found
    page.engine.min_confidence = 0.05
    assert "No answer here" not in words(shown(browser.ask(QUESTION)))


def multipart(browser, address, charset, *parts):
    """Sends a form in an encoding of its own; `parts` are (what a part says of itself, its content)."""
    parts = [('name="form_key"', browser.key().encode()), *parts]
    written = b"".join(
        b"--x\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + content + b"\r\n"
        for head, content in parts
    )
    body = written + b"--x--\r\n"
    return browser.post(address, content=body, headers={"content-type": f"multipart/form-data; boundary=x{charset}"})


@pytest.mark.parametrize("charset", ["; charset=utf-7", "; charset=unicode-escape"])
def test_half_of_a_surrogate_pair_in_a_form_is_told(browser, charset):
    half = {"; charset=utf-7": b"+2AA-", "; charset=unicode-escape": rb"\ud800"}[charset]
    kind = [('name="kind"', b"question"), ('name="corpus"', b"index")]
    response = multipart(browser, "/ask", charset, ('name="text"', b"What is " + half), *kind)
    assert response.status_code == 400 and "half of a surrogate pair" in response.text
    response = multipart(
        browser,
        "/corpora",
        charset,
        ('name="name"', b"mine"),
        (f'name="files"; filename="{half.decode()}.csv"', b"a,b\r\n1,2"),
    )
    assert response.status_code == 400 and "half of a surrogate pair" in response.text
    response = multipart(browser, "/ask", "", ('name="text"', b"What is \xed\xa0\x80"), *kind)
    assert response.status_code == 200  # bytes that are not UTF-8 are taken for Latin-1


@pytest.mark.parametrize("charset", ["undefined", "punycode"])
def test_an_encoding_that_decodes_nothing_is_refused_in_a_sentence(browser, charset):
    sent = multipart(browser, "/corpora", f"; charset={charset}", ('name="name"', b"\xff\xfe"))
    assert sent.status_code == 400 and "not in the encoding that its content type names" in sent.text


def test_a_claim_gets_one_verdict_from_text_and_tables_with_the_unit_that_decides(browser, page):
    response = browser.ask("Mara Velin lived in Tarn .", "claim")
    found = words(shown(response))
    rows = last_answers(page.store, 1)[0].result["verdicts"]
    whole, place = views.joined(rows, "Mara Velin lived in Tarn .")
    headline, share = views.HEADLINES[whole.label], f"{100 * whole.probabilities[whole.label]:.1f} %"
    assert f"{headline} {share}" in found and "the surest of text and tables" in found
    assert "whether that is so was not tested" in found
    assert "Mara Velin lived in" in found and "people-0" in found
    assert len(re.findall(r"(?:Supported|Refuted|Not enough evidence) \d+\.\d %", found)) == 7
    deciding = found[found.index("What decides it") : found.index("Other evidence")]
    assert whole.deciding in deciding and whole.deciding == rows[place]["deciding"]
    assert ("the sources disagree" in found.lower()) == bool(whole.reason)


def test_evidence_that_the_percentages_are_not_from_is_marked(browser, monkeypatch):
    note = "Found, but not read for the percentages."
    assert note not in browser.ask("Mara Velin lived in Tarn .", "claim").text
    monkeypatch.setattr(Verdict, "read_units", [])
    assert note in browser.ask("Mara Velin lived in Ostra .", "claim").text


def test_words_of_the_claim_are_marked_and_sources_are_linked_with_the_unit_marked(browser):
    response = browser.ask("Mara Velin lived in Tarn .", "claim")
    assert "<mark>Mara Velin lived</mark> in " in response.text and "<mark>in</mark>" not in response.text
    links = dict.fromkeys(re.findall(r'href="(/sources/index/[^"]+)"', response.text))
    assert any("/text?" in link for link in links) and any("/tables?" in link for link in links)
    for link in links:
        source = browser.get(html.unescape(link))
        found = shown(source)
        assert source.status_code == 200 and ("Velin" in words(found) or "Tarn" in words(found))
        assert ("<mark id=" in source.text) == ("/text?" in link)
    for missing in ("text?unit=Nobody_0", "text?unit=x", "tables?unit=x", "passages?unit=x", "joke?unit=x", "text"):
        assert browser.get(f"/sources/index/{missing}").status_code == 404


def test_a_text_is_checked_sentence_by_sentence(browser, page):
    text = "Mara Velin lived in Tarn. Olin Keld\nwas born in 1920.\n\nTessa Rask was a baker"
    sentences = ["Mara Velin lived in Tarn.", "Olin Keld was born in 1920.", "Tessa Rask was a baker"]
    found = words(shown(response := browser.ask(text, "claim")))
    assert "A text of 3 sentences" in found and all(found.count(sentence) >= 2 for sentence in sentences)
    children = re.findall(r'class="part ([srn])" href="(/answers/[0-9a-f]+)"', response.text)
    assert len(children) == 3
    for sentence, (slug, address) in zip(sentences, children):
        alone = browser.ask(sentence, "claim")
        assert f'class="outcome {slug}"' in alone.text and f'class="outcome {slug}"' in browser.get(address).text
        said = browser.fill(f"{address}/feedback", say="verdict", source="text", label="NOT ENOUGH INFO")
        assert "Kept: the right verdict from text is" in words(shown(said))
    assert len(export.gather(page.store.feedback(), page.library, page.engine).claims) == 3
    refused = browser.ask(f"{'X' * 500}. Yes it is.", "claim")
    assert refused.status_code == 400 and "501 characters; at most 500" in words(shown(refused))


def test_of_a_text_of_many_sentences_the_first_are_checked_and_the_page_offers_the_rest(browser):
    first = browser.ask(" ".join(f"Tarn has {i} inns." for i in range(1, 54)), "claim")
    said = words(shown(first))
    assert "A text of 50 sentences" in said and "3 further sentences of the text were not checked" in said
    rest = html.unescape(re.search(r'name="text" value="([^"]+)"', first.text)[1])
    assert "A text of 3 sentences" in words(shown(browser.ask(rest, "claim"))) and rest.endswith("Tarn has 53 inns.")


def test_a_verdict_is_saved_with_its_sources_and_hostile_text_stays_text(browser, page):
    address = browser.ask("Mara Velin *lived* in <b>Tarn</b> .", "claim").url.path
    saved = browser.get(f"{address}/verdict.json").json()["verdicts"][0]
    assert saved["claim"] == "Mara Velin *lived* in <b>Tarn</b> ." and saved["label"] in map(str, LABELS)
    assert all(browser.get(one["address"]).status_code == 200 for one in saved["evidence"]) and saved["evidence"]
    text = browser.get(f"{address}/verdict.md").text
    assert r"Mara Velin \*lived\* in \<b\>Tarn\</b\>" in text and text.count("(decides)") <= 1
    assert all(one["address"] in text for one in saved["evidence"]) and saved["address"].endswith(address)
    whole = browser.ask("Mara Velin lived in Tarn. Olin Keld was born in 1920.", "claim").url.path
    assert len(browser.get(f"{whole}/verdict.json").json()["verdicts"]) == 2
    question = browser.ask(QUESTION).url.path
    for wrong in (f"{question}/verdict.md", f"{address}/verdict.pdf"):
        assert browser.get(wrong).status_code == 404


def told(response) -> list[dict]:
    """What the server-sent events of a response hold."""
    events = response.text.split("\n\n")
    assert events.pop() == "" and all(event.startswith("data: ") and "\n" not in event for event in events)
    return [json.loads(event.removeprefix("data: ")) for event in events]


def test_an_answer_comes_step_by_step(browser, page):
    def asked(text, kind="claim"):
        response = browser.fill("/ask/steps", text=text, kind=kind, corpus="index")
        assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
        lines = told(response)
        assert [line["seconds"] for line in lines] == sorted(line["seconds"] for line in lines)
        return lines

    claim = "Mara Velin lived in Tarn ."
    found, ranked, verdict, answer = asked(claim)
    assert [found["step"], ranked["step"], verdict["step"]] == ["found", "ranked", "verdict"]
    assert found["count"] == ranked["count"] > 0 and "Mara Velin" in found["titles"] and ranked["best"][0]["text"]
    rows = last_answers(page.store, 1)[0].result["verdicts"]
    whole, _ = views.joined(rows, claim)
    assert verdict["label"] == views.HEADLINES[whole.label]
    browser.ask(claim, "claim")
    assert last_answers(page.store, 1)[0].result["verdicts"] == rows  # as without steps
    assert browser.get(answer["address"]).status_code == 200
    assert [line["step"] for line in asked(QUESTION, "question")] == ["found", "answer"]
    assert [line["step"] for line in asked("Mara Velin", "search")] == ["answer"]
    steps = asked("Mara Velin lived in Tarn. Olin Keld was born in 1920.")
    assert [line["step"] for line in steps] == ["sentence", "sentence", "answer"] and steps[1]["done"] == 2
    assert browser.fill("/ask/steps", text=" ", kind="claim", corpus="index").status_code == 400
    assert browser.post("/ask/steps", data={"text": "a", "kind": "claim", "corpus": "index"}).status_code == 403


@pytest.mark.parametrize("address", ["/ask", "/ask/steps"])
@pytest.mark.parametrize("kind", ["question", "search"])
def test_the_seconds_of_an_answer_hold_no_wait_in_the_queue(browser, page, kind, address):
    going_on, began = threading.Event(), time.perf_counter()
    blocked = page.worker.submit(going_on.wait)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(browser.fill, address, text=QUESTION, kind=kind, corpus="index")
        while page.worker.waiting < 1:
            time.sleep(0.01)
        time.sleep(0.3)
        going_on.set()
        assert asked.result(20).status_code == 200
    blocked.result(10)
    assert 0 < last_answers(page.store, 1)[0].result["seconds"] < time.perf_counter() - began - 0.3


def test_a_form_without_steps_looks_for_no_titles(browser, page, monkeypatch):
    monkeypatch.delattr(type(page.engine), "titles_for")
    assert browser.ask(QUESTION).status_code == 200


def test_a_step_that_fails_is_told_in_the_last_line(browser, page, monkeypatch):
    def fails(*_):
        raise LisaxError("the ranker is gone")

    monkeypatch.setattr(page.engine, "rank_for", functools.wraps(page.engine.rank_for)(fails))
    response = browser.fill("/ask/steps", text="Mara Velin lived in Tarn .", kind="claim", corpus="index")
    last = told(response)[-1]
    assert last["error"]["message"] == "the ranker is gone"


def test_an_index_alone_is_searched(opened):
    browser = Browser(opened(made=Models({})))
    home = words(shown(browser.get("/")))
    assert "Words to find" in home and "To try" in home
    found = words(shown(browser.ask("Mara Velin lived in Tarn", "search")))
    assert re.search(r"\d+ found", found) and "No model has judged it" in found and "Mara Velin lived in" in found
    assert "Nothing was found" in words(shown(browser.ask("zzqxv", "search")))
    assert browser.ask("Mara Velin lived in Tarn", "claim").status_code == 400


def test_a_trained_model_is_used_and_the_old_one_is_offered_back(browser, page, monkeypatch):
    folder = page.training.folder / "1"
    folder.mkdir()
    run = Run(1, PARTS, 4, 8, "/models/old", 0.0, DONE)
    page.training._note(run, DONE)
    write_json(folder / "held_out.json", {"count": 4, "before": 3, "after": 1})
    used = []
    monkeypatch.setattr(
        page.engine, "use", lambda path: used.append(path) or page.engine.models.paths.update({PARTS: path})
    )
    found = words(shown(browser.get("/training")))
    assert "Of 4 entries of feedback that it did not learn from: 3 right before, 1 after." in found
    assert "It has become worse: keep the old model." in found and "Back to the old" not in found
    found = words(shown(browser.fill("/training/1/use")))
    assert "This model answers now. Back to the old model" in found and "Answer with this model" not in found
    found = words(shown(browser.fill("/training/1/back")))
    assert "Answer with this model after a restart too; on another server with --model" in found and used == [
        page.training.bundle(run),
        Path("/models/old"),
    ]
    assert browser.fill("/training/2/back").status_code == 400


class LastIsSure(Model):
    """Table fusion that finds the last of three tables the likeliest, with a sufficiency of -0.802."""

    format, depth, pairs, calibration, columns = TABLE_FUSION, 3, False, None, None

    def __init__(self, threshold: float):
        decision = {"threshold": threshold, "in_data": False}
        self.card = ModelCard(Path(), {"architecture": {"objective": "joint"}, "decision": decision})

    def probabilities(self, examples):
        return Scores(np.array([[[0.1, 0.0], [0.0, 0.2], [0.6, 0.1]]]), np.zeros((1, 0, 3, 3)))


def test_a_verdict_that_is_not_sure_enough_says_so(opened):
    page = opened(made=Models({TABLE_VERIFIER: LastIsSure(-0.9)}))
    page.engine.min_confidence = 0.8
    found = words(shown(Browser(page).ask("Mara Velin lived in Tarn .", "claim")))
    assert "Not enough evidence" in found and UNLEARNED not in found
    assert "Not sure enough to say more: SUPPORTS has a probability of 0.700, below the minimum confidence 0.8" in found


@pytest.mark.parametrize(("threshold", "label"), [(-0.9, "Supported"), (-0.8, "Not enough evidence")])
def test_table_fusion_has_its_threshold_and_the_likeliest_table_first(opened, threshold, label):
    page = opened(made=Models({TABLE_VERIFIER: LastIsSure(threshold)}))
    browser = Browser(page)
    found = words(shown(browser.ask("Mara Velin lived in Tarn .", "claim")))
    units = last_answers(page.store, 1)[0].result["verdicts"][0]["evidence"]
    assert (UNLEARNED in found) == (label == "Not enough evidence")
    assert f"From tables: {label}" in found and ("What decides it" in found) == (label == "Supported")
    assert "Computed" not in found  # it reads no such facts
    assert sorted(units, key=found.index) == [units[2], units[1], units[0]]
    # It is not trained from here, and that is not offered.
    training = words(shown(browser.get("/training")))
    assert "a model of table fusion, which lisax train trains" in training and "Train from feedback" not in training


def test_where_nothing_was_found_nothing_is_said_and_nothing_learned(browser, page):
    address = browser.ask("zzqxv", "claim").url.path
    verdicts = last_answers(page.store, 1)[0].result["verdicts"]
    seen = [(verdict["label"], verdict["probabilities"]) for verdict in verdicts]
    assert seen == [("NOT ENOUGH INFO", [0.0, 0.0, 1.0])] * 2
    for source in ("text", "tables"):
        browser.fill(f"{address}/feedback", say="verdict", source=source, label="NOT ENOUGH INFO")
    browser.load("odd", ("odd.csv", b"a,b\n1,\n"))
    address = browser.ask("a 1", corpus=list(page.library)[-1].id).url.path
    browser.fill(f"{address}/feedback", say="cell right", table="odd.csv", row="1", column="2")
    gathered = export.gather(page.store.feedback(), page.library, page.engine)
    assert not gathered.claims and not gathered.table_claims and not gathered.questions
    found = gathered.skipped
    assert found == {"claims for which nothing was found": 2, "questions without a cell marked as right": 1}


def test_the_oldest_answers_are_forgotten_without_reading_all(tmp_path):
    store = Store(tmp_path, answers_kept=3)
    kept = [store.add_answer("index", "question", f"{i}?", {"tables": []}) for i in range(2)]
    store.say(kept[0].id, "table", "people-0", "right")
    statements = []
    store._db.set_trace_callback(statements.append)
    kept += [store.add_answer("index", "question", f"{i}?", {"tables": []}) for i in range(2, 6)]
    assert [answer.text for answer in last_answers(store, 9)] == ["5?", "4?", "3?", "0?"]
    store._db.set_trace_callback(None)
    for statement in {statement for statement in statements if "ORDER BY" in statement}:
        plan = " ".join(row["detail"] for row in store._db.execute(f"EXPLAIN QUERY PLAN {statement}"))
        assert "USING INDEX newest_answers" in plan.replace("COVERING ", "") and "TEMP B-TREE" not in plan
    store.close()


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"text": " \x00 "}, "empty"),
        ({"text": "x" * 501}, "at most 500"),
        ({"corpus": "../index"}, "no such documents"),
        ({"kind": "joke"}, "must be one of"),
    ],
)
def test_what_cannot_be_asked(browser, fields, complaint):
    response = browser.ask(**{"text": "what?", **fields})
    assert response.status_code == 400 and complaint in words(shown(response))


def test_a_claim_goes_to_the_only_corpus_that_it_can_be_asked_of(browser, page, monkeypatch):
    browser.load("Sums", SUMS)
    sums = list(page.library)[-1]
    monkeypatch.setattr(page.engine, "kinds", lambda corpus: ("question",) if corpus == sums else ("question", "claim"))
    browser.ask("Mara Velin lived in Tarn .", "claim", sums.id)
    browser.ask("What sum had 1990?", "question", sums.id)
    assert [answer.corpus for answer in last_answers(page.store, 2)] == [sums.id, "index"]


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_questions_cells_titles_and_file_names_stay_text(browser, page, tmp_path, bad):
    shown(browser.ask(bad))
    shown(browser.get("/"))
    sheet = f'"{bad.replace(chr(34), chr(34) * 2)}",b\n"{bad.replace(chr(34), chr(34) * 2)}",2\n'.encode()
    response = browser.load(bad, (f"../../{bad}.csv", sheet))
    assert response.status_code == 200, words(shown(response))[-300:]
    assert page.library.folder == tmp_path / "state" / "corpora"
    assert " ".join(bad.split())[:20] in words(shown(response))
    corpus = list(page.library)[-1]
    assert re.fullmatch("[a-z0-9-]+", corpus.id)
    assert sorted(path.name for path in (page.library.folder / corpus.id / "files").iterdir()) == ["0.csv"]
    answer = browser.ask(f"{bad} 2 b", corpus=corpus.id)
    assert answer.status_code == 200
    shown(answer)
    shown(browser.get("/feedback"))


def test_beyond_the_queue_people_are_told_to_come_back(opened):
    page = opened(limits=Limits(waiting=1, answer_seconds=0.2))
    browser, going_on = Browser(page), threading.Event()
    first = page.worker.submit(going_on.wait)
    while not first.running():
        pass
    late = browser.ask(QUESTION)  # waits behind the first, in vain
    assert late.status_code == 503 and late.headers["retry-after"] == "5" and "longer than" in words(shown(late))
    page.worker.submit(lambda: None)
    refused = browser.ask(QUESTION)
    assert refused.status_code == 503 and "too many people" in words(shown(refused))
    going_on.set()
    first.result(10)


def test_what_is_opened_meanwhile_does_not_break_forgetting(page):
    page.engine._opened = {("store", f"{i}"): i for i in range(20_000)}
    ended = threading.Event()

    def opening():
        for i in itertools.count():
            if ended.is_set():
                return
            page.engine._opened["cells", f"{i % 1000}"] = i

    with ThreadPoolExecutor(1) as people:
        opener = people.submit(opening)
        try:
            for _ in range(50):
                page.engine.forget(page.library.get("index"))
                page.engine._opened = {key: i for key, i in page.engine._opened.copy().items() if key[0] == "store"}
        finally:
            ended.set()
        opener.result(10)
    assert len(page.engine._opened) >= 20_000


def test_a_broken_model_is_no_secret_and_no_end(browser, page, monkeypatch):
    def broken(*_):
        raise ValueError("/secret/path")

    with monkeypatch.context() as patch:
        patch.setattr(page.engine, "ask", broken)
        response = browser.ask(QUESTION)
        assert response.status_code == 500 and "/secret/path" not in response.text
        assert "default-src 'none'" in response.headers["content-security-policy"]
    assert browser.ask(QUESTION).status_code == 200


def test_static_files_and_unknown_addresses(browser):
    home = browser.get("/")
    found = shown(home)
    addresses = [
        attributes.get("href") or attributes.get("src")
        for tag, attributes in found.elements
        if tag in ("link", "script")
    ]
    for address in addresses[1:]:
        response = browser.get(address)
        assert response.status_code == 200 and "immutable" in response.headers["cache-control"]
        assert "http" not in response.text and "@import" not in response.text and "url(" not in response.text
    for address in (f"/feedback/{10**30}/remove", "/feedback/-1/remove", "/training/x/use"):
        assert browser.fill(address).status_code == 404
    for address in ("/static/../app.py", "/static/%2e%2e%2fapp.py", "/answers/x", "/nothing"):
        assert browser.get(address).status_code == 404
