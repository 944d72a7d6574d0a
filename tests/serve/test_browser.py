"""The page in a real headless Chromium: ask, colours against scores, views, feedback that stays, training.

Skipped, with the reason, where there is no browser or nothing to drive it; `make test-browser` installs both.
"""

import json
import re
import sqlite3

import pytest

from lisax.report.heatmap import DARK_SCALE, LIGHT_SCALE, colours, contrast, step

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: `make test-browser` installs it")
QUESTION = "What is the city of Mara Velin?"


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def address(serve, state):
    with serve(state) as address:
        yield address


@pytest.fixture
def tab(chromium, address):
    """A page that fails the test if anything is asked of elsewhere or the browser complains."""
    context = chromium.new_context(base_url=address)
    context.set_default_timeout(120_000)  # the first question compiles
    page, asked, complaints = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert asked and not [url for url in asked if not url.startswith((address, "data:"))]
    assert not complaints


def ask(tab, text, kind="question"):
    tab.goto("/")
    tab.get_by_label("Question or claim").fill(text)
    tab.get_by_label(f"a {kind}").check()
    tab.get_by_role("button", name="Ask").click()
    tab.wait_for_url("**/answers/*")


def stored(state, tab) -> dict:
    """The answer that a tab shows, as the server keeps it."""
    answer = re.search("/answers/([0-9a-f]+)", tab.url)[1]
    with sqlite3.connect(state / "feedback.sqlite") as db:
        return json.loads(db.execute("SELECT result FROM answers WHERE id = ?", (answer,)).fetchone()[0])


def painted(tab, number=0) -> dict[tuple[int, int], tuple[str, str]]:
    """(background, text) as #rrggbb of each cell, as the browser paints it."""
    found = tab.eval_on_selector_all(
        f"#t{number} td",
        """cells => cells.map(cell => {
        const style = getComputedStyle(cell);
        return [cell.id, style.backgroundColor, style.color];
    })""",
    )

    def named(colour):
        return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour)[:3])

    return {
        tuple(map(int, re.search(r"r(\d+)c(\d+)$", name).groups())): (named(back), named(text))
        for name, back, text in found
    }


def expected(result, view, number=0, scale=LIGHT_SCALE) -> dict[tuple[int, int], tuple[str, str]]:
    """The colours that a view's scores ask for; the greatest of all tables shown is the darkest."""
    scores = []
    for table in result["tables"]:
        one = {
            "cells": [[r * c for c in table["columns"]] for r in table["rows"]],
            "rows": [[r] * len(table["columns"]) for r in table["rows"]],
            "columns": [table["columns"]] * len(table["rows"]),
        }[view]
        scores.append(one)
    top = max(value for table in scores for row in table for value in row)
    made = colours(scale)
    return {(i, j): made[step(value, top)] for i, row in enumerate(scores[number]) for j, value in enumerate(row)}


def test_colours_are_those_of_the_scores_in_every_view(tab, state):
    ask(tab, QUESTION)
    result = stored(state, tab)
    views = tab.locator("#t0")
    for view in ("cells", "rows", "columns"):
        views.get_by_label(view, exact=True).check()
        assert painted(tab) == expected(result, view)
    assert all(contrast(back, text) >= 4.5 for number in range(5) for back, text in painted(tab, number).values())
    assert len(set(painted(tab).values())) > 1
    # The other tables have views of their own, on the same scale.
    assert painted(tab, 1) == expected(result, "cells", 1)
    tab.emulate_media(color_scheme="dark")
    assert painted(tab) == expected(result, "columns", 0, DARK_SCALE)


def test_views_by_keyboard_and_numbers_without_eyes(tab, state):
    ask(tab, QUESTION)
    tab.locator("#t0").get_by_label("cells", exact=True).focus()
    tab.keyboard.press("ArrowRight")
    assert painted(tab) == expected(stored(state, tab), "rows")
    best = tab.locator("#t0 td.best")
    assert re.search(r"^best cell: .*, \d+\.\d %$", best.text_content().strip())
    assert re.match(r"cell: \d+\.\d %, row: \d+\.\d %, column: \d+\.\d %", best.get_attribute("title"))
    tab.get_by_role("listitem").get_by_role("link").nth(4).click()  # past the four of the navigation
    assert tab.evaluate("document.querySelector(':target').classList.contains('best')")


def test_feedback_on_a_clicked_cell_is_there_after_a_reload(tab):
    ask(tab, QUESTION)
    tab.locator("#t0-r1c1").click()
    assert tab.locator("[data-cells=t0] [name=row]").input_value() == "2"
    assert tab.locator("[data-cells=t0] [name=column]").input_value() == "2"
    tab.locator("[data-cells=t0]").get_by_role("button", name="Right cell").click()
    kept = tab.get_by_text("Kept: cell").first
    kept.wait_for()
    said = kept.text_content()
    assert "row 2, column 2" in said and said.endswith("is right.")
    tab.reload()
    assert tab.get_by_text("Kept: cell").first.text_content() == said
    tab.goto("/feedback")
    assert tab.get_by_role("cell", name=said.removeprefix("Kept: ").removesuffix(".")).count() >= 1
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "feedback.zip"


def test_a_claim_by_keyboard_alone(tab):
    tab.goto("/")
    assert tab.evaluate("document.activeElement.id") == "text"
    tab.keyboard.type("Mara Velin lived")
    tab.keyboard.press("Shift+Enter")
    assert tab.url.endswith("/")  # a new line, and no question yet
    tab.keyboard.type("in Tarn .")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/answers/*")
    # The label with its probability; this small model is sure of everything, and so its documents may disagree.
    tab.get_by_role("heading", name=re.compile("%|disagree")).wait_for()
    choice = tab.locator("#v-text")
    choice.get_by_text("Which evidence decides it?").focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    choice.get_by_role("radio", name="Refuted").focus()
    tab.keyboard.press("Space")
    choice.get_by_role("button", name="Keep this").focus()
    tab.keyboard.press("Enter")
    tab.get_by_text("is: refuted").wait_for()
    assert choice.get_by_role("radio", name="Refuted").is_checked()
    assert choice.get_by_role("checkbox").first.is_checked()


def test_a_click_on_an_example_asks_it(tab):
    tab.goto("/")
    example = tab.locator(".examples a").first
    text = example.locator("bdi").text_content()
    example.click()
    tab.wait_for_url("**/answers/*")
    assert tab.get_by_role("heading", name=text, exact=True).count() == 1


def test_what_is_known_is_told_before_the_answer_is_whole(tab):
    """The last line is held back: what came before it is on the page already."""
    lines = [
        {"step": "found", "seconds": 0.01, "count": 3, "titles": ["Mara <b>Velin</b>"], "best": []},
        {"step": "ranked", "seconds": 0.02, "count": 3, "titles": [], "best": [{"source": "S", "text": "<i>x</i>"}]},
        {"error": {"message": "the models are gone"}},
    ]
    body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines)
    tab.route("**/ask/steps", lambda route: route.fulfill(body=body, content_type="text/event-stream"))
    tab.goto("/")
    tab.get_by_label("Question or claim").fill("Mara Velin lived in Tarn .")
    tab.get_by_role("button", name="Ask").click()
    tab.get_by_role("alert").wait_for()
    assert tab.get_by_role("alert").text_content() == "the models are gone"
    told = tab.locator("#working li").all_text_contents()
    assert told == ["Found 3 in Mara <b>Velin</b>0.01 s", "Ranked 30.02 sS: <i>x</i>"]
    assert tab.get_by_label("Question or claim").input_value() == "Mara Velin lived in Tarn ."  # nothing is lost


def test_what_was_asked_before_is_kept_in_this_browser_alone(tab, chromium, address):
    ask(tab, "Mara Velin lived in Tarn. Olin Keld was a baker.", "claim")
    assert tab.locator(".painted a").count() == 2
    tab.goto("/")
    link = tab.get_by_role("link", name="Mara Velin lived in Tarn. Olin Keld was a baker.")
    link.click()
    tab.wait_for_url("**/answers/*")
    with chromium.new_context(base_url=address) as other:
        stranger = other.new_page()
        stranger.goto("/")
        assert not stranger.get_by_text("Asked before").is_visible()
    tab.goto("/")
    tab.get_by_role("button", name="Forget").click()
    tab.reload()
    assert not tab.get_by_text("Asked before").is_visible()


def test_hostile_text_does_not_run(tab, tmp_path):
    tab.goto("/corpora")
    (tmp_path / "x.csv").write_text('"<img src=x onerror=alert(1)>",b\n"<script>alert(2)</script>",2\n')
    tab.get_by_label("Name").fill("<svg onload=alert(3)>")
    tab.get_by_label("Files", exact=True).set_input_files(tmp_path / "x.csv")
    tab.get_by_role("heading", name="1 table").wait_for()  # its preview
    tab.on("dialog", lambda dialog: pytest.fail(f"it ran: {dialog.message}"))
    tab.get_by_role("button", name="Load").click()
    tab.get_by_role("status").get_by_text("<svg onload=alert(3)>").wait_for()
    tab.goto("/")
    tab.get_by_label("Question or claim").fill("<script>alert(4)</script> b 2")
    tab.get_by_label("a question").check()
    tab.get_by_label("Search in").select_option(tab.locator("option", has_text="svg").get_attribute("value"))
    tab.get_by_role("button", name="Ask").click()
    tab.wait_for_url("**/answers/*")
    assert tab.get_by_role("heading", name="<script>alert(4)</script> b 2").count() == 1
    assert tab.locator("#t0 td").first.text_content().count("<script>alert(2)</script>") == 1


def test_without_scripts(chromium, address, state):
    context = chromium.new_context(base_url=address, java_script_enabled=False)
    tab = context.new_page()
    ask(tab, QUESTION)
    tab.locator("#t0").get_by_label("rows", exact=True).check()
    tab.get_by_role("button", name="Right table").first.click()
    tab.get_by_text("is right.").first.wait_for()
    assert "/answers/" in tab.url
    context.close()


@pytest.mark.slow
def test_training_from_the_page(tab):
    ask(tab, QUESTION)
    tab.locator("[data-cells=t0]").get_by_role("button", name="Right cell").click()
    tab.get_by_text("Kept: cell").first.wait_for()
    tab.goto("/training")
    tab.get_by_label("Steps", exact=True).fill("4")
    tab.get_by_role("button", name="Train from feedback").click()
    tab.get_by_role("heading", name="question answerer: running").wait_for()
    tab.reload()
    tab.get_by_role("heading", name="question answerer: running").wait_for()
    assert tab.get_by_role("button", name="Train from feedback").count() == 0  # one at a time
    tab.get_by_role("heading", name="question answerer: done").wait_for(timeout=300_000)
    assert "Step 4 of 4" in tab.get_by_role("article").first.text_content()
    tab.get_by_role("button", name="Answer with this model").first.click()
    tab.wait_for_url("**/training")
    ask(tab, QUESTION)
    assert tab.locator("#t0 td").count()
