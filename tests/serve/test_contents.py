"""What the page says of an index: its content, examples to begin with, and questions that warm models up."""

import html
import re
import threading
from urllib.parse import parse_qsl

from small_page import SUMS, shown, words

from lisax.serve.contents import warming

QUESTION = "What is the city of Mara Velin?"


def test_the_start_says_what_is_indexed_and_gives_examples_that_can_be_asked(browser, page):
    home = browser.get("/")
    found = words(shown(home))
    assert re.search(r"index \d+ pages?, \d+ tables? indexed 2\d{3}-\d\d-\d\d", found)
    assert "Decides whether the evidence found supports or refutes a claim" in found and "no card that says" in found
    links = re.findall(r'<a href="/(\?kind=[^"]+)"', home.text)
    assert links
    for link in links:
        query = dict(parse_qsl(html.unescape(link).removeprefix("?")))
        assert query["text"] in html.unescape(browser.get(f"/{html.unescape(link)}").text)
        assert browser.ask(query["text"], query["kind"], query["corpus"]).status_code == 200


def test_a_corpus_that_is_removed_while_models_warm_up_ends_nothing(browser, page):
    browser.load("Sums", SUMS)
    page.engine._opened.clear()
    tasks = warming(page.engine, page.library)
    next(tasks)
    browser.fill(f"/corpora/{list(page.library)[-1].id}/remove")
    done = threading.Event()
    page.worker.when_idle(tasks)
    page.worker.when_idle([done.set])
    assert done.wait(10) and browser.ask(QUESTION).status_code == 200


def test_warming_asks_everything_that_can_be_asked(page, monkeypatch):
    asked = []
    monkeypatch.setattr(page.engine, "ask", lambda corpus, kind, text: asked.append((corpus.id, kind, text)))
    for work in warming(page.engine, page.library):
        work()
    assert asked == [("index", kind, "What is Mara Velin?") for kind in ("question", "claim")]
