"""How the page looks and reads in Chromium: axe-core's rules on every page, pictures compared with those of before, and
what a phone shows; with models that draw their scores from the tokens, so that nothing is trained and all stays the same.

`LISAX_PICTURES=write python -m pytest tests/serve/test_looks.py -k as_before` makes the pictures anew.
"""

import base64
import importlib
import os
from pathlib import Path

import numpy as np
import pytest
from small_page import build_index, models, open_page, served

from lisax.records import Table
from lisax.retrieval import table_text
from lisax.serve.app import create
from lisax.serve.library import Library
from lisax.serve.limits import Limits
from lisax.text.numbers import number_words

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: `make test-browser` installs it")
SIZES = {"desktop": (1200, 900), "phone": (390, 844)}
VARIANTS = [
    ("desktop", "light"),
    ("phone", "dark"),
    pytest.param("desktop", "dark", marks=pytest.mark.slow),
    pytest.param("phone", "light", marks=pytest.mark.slow),
]
PICTURES, WRITES = Path(__file__).parent / "pictures", os.environ.get("LISAX_PICTURES") == "write"
SCALE = 8  # pictures are compared at an eighth of their size: smoothing of letters does not count
CLAIM, QUESTION, FOUND = "Mara Velin lived in Tarn .", "What is the city of Mara Velin?", "Mara Velin"
TEXT = "Mara Velin lived in Tarn. Olin Keld was born in 1920. Tessa Rask was a baker."
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The page, served by a thread of this process: over the small world, and a long and wide table."""
    folder = tmp_path_factory.mktemp("looks")
    index = build_index(folder / "index")
    # In letters: digits are not in the small vocabulary, and rows that the model cannot tell apart have the same score.
    names = [number_words(number) for number in range(1, 91)]
    header = ("season", *(f"measure of the season, the {name}" for name in names[:12]))
    rows = tuple((name, *(f"{name} of {other}" for other in names[:12])) for name in names)
    table_text.build_index([Table("seasons.csv", "seasons.csv", header, rows)], folder / "seasons")
    page = open_page(
        folder / "state", index, models(folder / "models"), Limits(changes_burst=1000, requests_burst=9999)
    )
    page.library._corpora |= {one.id: one for one in Library([folder / "seasons"], folder / "other/corpora", Limits())}
    with served(create(page), page.limits) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def open_tab(chromium, address):
    """`open_tab(size, scheme)`: a page that fails the test if the browser complains."""
    opened, complaints = [], []

    def complain(said) -> None:
        if said.type in ("error", "warning") and "status of 400" not in said.text:  # a refusal, which a test asked for
            complaints.append(said.text)

    def open_tab(size: str, scheme: str):
        width, height = SIZES[size]
        context = chromium.new_context(
            base_url=address, viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(30_000)
        opened.append(context)
        tab = context.new_page()
        tab.on("console", complain)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        return tab

    yield open_tab
    for context in opened:
        context.close()
    assert not complaints


def ask(tab, kind: str, text: str, corpus: str = "index"):
    tab.goto("/")
    tab.locator(f"[name=kind][value={kind}]").check()
    tab.get_by_label("Search in").select_option(corpus)
    tab.locator("#text").fill(text)
    tab.locator("#text").press("Enter")
    tab.wait_for_url("**/answers/*")


def visits(tab):
    """(name, visit) of each page as people come to see it."""
    yield "home", lambda: tab.goto("/")
    yield "corpora", lambda: tab.goto("/corpora")
    yield "claim", lambda: ask(tab, "claim", CLAIM)
    yield "source", lambda: tab.get_by_role("link", name="Source of").first.click()
    yield "paragraph", lambda: ask(tab, "claim", TEXT)
    yield "search", lambda: ask(tab, "search", FOUND)
    yield "question", lambda: ask(tab, "question", QUESTION)
    yield "feedback", lambda: tab.get_by_role("button", name="Right cell").first.click()
    yield "all feedback", lambda: tab.goto("/feedback")
    yield "training", lambda: tab.goto("/training")
    yield "API", lambda: tab.goto("/docs")


@pytest.mark.parametrize(("size", "scheme"), VARIANTS)
def test_no_rule_of_axe_is_broken_and_nothing_is_wider_than_the_screen(open_tab, size, scheme):
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None:
        pytest.skip("no axe-core: it comes with the extra `test`")
    axe = (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")
    tab = open_tab(size, scheme)
    for name, visit in visits(tab):
        visit()
        tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0], name
        tab.evaluate(axe)
        broken = tab.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)["violations"]
        assert not broken, (name, [(one["id"], [node["html"] for node in one["nodes"]]) for one in broken])


# What changes from run to run.
# The text field takes the focus when the page is first drawn, which a busy machine does late.
STILL = r"""async () => {
  await new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    node.data = node.data.replace(/\d+\.\d\d s/g, "0.00 s").replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "2026-01-01 00:00:00");
  }
  document.activeElement?.blur();
}"""
SMALLER = """async ([data, scale]) => {
  const image = new Image();
  image.src = data;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(image.width / scale);
  canvas.height = Math.ceil(image.height / scale);
  const pen = canvas.getContext("2d");
  pen.imageSmoothingQuality = "high";
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;
  return {size: [canvas.height, canvas.width], pixels: Array.from(pixels), png: canvas.toDataURL()};
}"""


def pixels(tab, picture: bytes, scale: int) -> tuple[np.ndarray, bytes]:
    """The picture smaller, [height, width, RGB], and as PNG; the browser decodes it."""
    made = tab.evaluate(SMALLER, [f"data:image/png;base64,{base64.b64encode(picture).decode()}", scale])
    return np.array(made["pixels"], float).reshape(*made["size"], 4)[..., :3], base64.b64decode(
        made["png"].partition(",")[2]
    )


@pytest.mark.parametrize(("size", "scheme"), VARIANTS)
def test_pages_look_as_before(open_tab, size, scheme):
    tab = open_tab(size, scheme)
    for name, visit in visits(tab):
        if name not in ("home", "claim", "paragraph", "question"):
            continue
        visit()
        tab.evaluate(STILL)
        if name == "home":  # other letters make other pictures
            width = tab.evaluate("document.querySelector('h1').getBoundingClientRect().height")
            letters = tab.evaluate(
                "() => { const pen = document.createElement('canvas').getContext('2d'); "
                "pen.font = getComputedStyle(document.body).font; return pen.measureText('Sphinx of quartz').width; }"
            )
            seen = f"{letters:.2f} {width:.0f} {size}\n"
            of_fonts = PICTURES / f"letters-{size}.txt"
            if WRITES:
                PICTURES.mkdir(exist_ok=True)
                of_fonts.write_text(seen)
            elif of_fonts.read_text() != seen:
                pytest.skip("the pictures were made with other fonts")
        found, png = pixels(tab, tab.screenshot(full_page=True), SCALE)
        path = PICTURES / f"{name}-{size}-{scheme}.png"
        if WRITES:
            path.write_bytes(png)
            continue
        before, _ = pixels(tab, path.read_bytes(), 1)
        assert found.shape == before.shape, (name, "its height has changed")
        apart = np.abs(found - before).max(axis=2)
        assert (apart > 48).mean() < 0.005, (name, f"{(apart > 48).mean():.1%} of it looks different")


def test_on_a_phone_the_best_cell_is_in_view_beside_the_columns_that_stay(open_tab):
    tab = open_tab("phone", "light")
    for number in range(1, 21):  # the best cell is drawn from the question: one far from the corner is wanted
        ask(tab, "question", f"What is the value of season {number_words(number)}?", "seasons")
        place = tab.locator("#t0 td.best").get_attribute("id")
        row, column = map(int, place.removeprefix("t0-r").split("c"))
        if row > 20 and 3 < column < 11:
            break
    else:
        pytest.fail("no question has its best cell far from the corner")
    seen = tab.evaluate(
        """() => {
        const box = (one) => { const {left, right, top, bottom} = one.getBoundingClientRect(); return [left, right, top, bottom]; };
        const best = document.querySelector("#t0 td.best"), row = best.closest("tr");
        return {best: box(best), area: box(best.closest(".scroll")), number: box(row.children[0]), first: box(row.children[1]),
                head: box(best.closest("table").querySelector("thead th")), page: scrollY};
    }"""
    )
    (left, right, top, bottom), area = seen["best"], seen["area"]
    assert area[0] <= left and right <= area[1] + 1 and area[2] <= top and bottom <= area[3]
    assert seen["number"][0] >= area[0] - 1 and seen["first"][0] >= seen["number"][1] - 1  # both stay at the left
    assert seen["first"][1] <= left + 1 and seen["head"][3] <= top + 1  # and neither they nor the header cover it
    assert seen["page"] == 0  # the page itself has not moved
    heading = tab.get_by_role("heading", level=2, name="1.").text_content()
    assert heading.startswith("1. season, measure of the season, the one, ") and heading.endswith("the three, …")
    assert tab.locator("#t0 caption").evaluate("one => one.getBoundingClientRect().width") <= 1  # heard, not seen twice


def test_a_question_is_told_from_a_claim_by_its_mark(open_tab):
    tab = open_tab("desktop", "light")
    tab.goto("/")
    chosen = tab.locator("[name=kind]:checked")
    tab.locator("#text").fill("Where is Tarn?")
    assert chosen.get_attribute("value") == "question"
    tab.locator("#text").fill("Tarn is a town.")
    assert chosen.get_attribute("value") == "claim"
    tab.locator("[name=kind][value=search]").check()
    tab.locator("#text").fill("Where is Tarn?")
    assert chosen.get_attribute("value") == "search"  # what somebody has said counts


def test_a_refused_upload_loses_nothing_and_a_loaded_one_can_be_asked(open_tab, tmp_path):
    tab = open_tab("phone", "dark")
    tab.goto("/corpora")
    (tmp_path / "empty.csv").write_text("a,b\n")
    (tmp_path / "lakes.csv").write_bytes("lake,land\nMira,Björkland\n".encode("cp1252"))
    tab.get_by_label("Files", exact=True).set_input_files(tmp_path / "empty.csv")
    tab.get_by_role("alert").wait_for()
    assert "no table with a row" in tab.get_by_role("alert").text_content()
    assert tab.get_by_label("Name").input_value() == "empty"
    tab.get_by_label("Name").fill("Lakes")
    tab.get_by_label("Files", exact=True).set_input_files([tmp_path / "lakes.csv"])
    tab.get_by_role("heading", name="1 table, 1 row").wait_for()
    assert tab.locator("#previewed").get_by_text("Björkland").is_visible()
    tab.get_by_role("button", name="Load").click()
    tab.get_by_role("status").get_by_role("link", name="Ask it").click()
    assert tab.get_by_label("Search in").locator("option:checked").text_content().startswith("Lakes")
    tab.goto("/corpora")
    remove = tab.get_by_role("button", name="Remove Lakes")
    remove.click()  # the pages of the other tests are without it
    remove.wait_for(state="detached")


def test_paper_shows_folded_evidence_date_and_address_and_no_forms(open_tab):
    tab = open_tab("desktop", "light")
    ask(tab, "claim", CLAIM)
    tab.emulate_media(media="print")
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert tab.locator(".printed").inner_text().endswith(tab.url) and tab.locator(".more .evidence").first.is_visible()
    assert not tab.locator("main details:not([open])").count()
    assert not any(form.is_visible() for form in tab.locator("form, .saving, header").all())
    tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert tab.locator("main details:not([open])").count()


def test_two_digits_of_a_list_do_not_touch_its_labels(open_tab):
    tab = open_tab("phone", "light")
    ask(
        tab,
        "claim",
        " ".join(f"Tarn has {word} inns." for word in "one two three four five six seven eight nine ten".split()),
    )
    last = tab.locator("ol.evidence > li").last
    padding, left, width = last.evaluate(
        "li => { const number = getComputedStyle(li, '::before'); "
        "return [getComputedStyle(li).paddingLeft, number.left, number.width].map(parseFloat); }"
    )
    assert left + width + 4 <= padding
