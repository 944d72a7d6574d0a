"""Heatmaps: colours follow the scores and can be read, numbers are there as text, hostile cells stay text."""

import re
from typing import NamedTuple

import numpy as np
import pytest
from markup import HOSTILE, Page

from lisax.errors import LisaxError
from lisax.records import Table
from lisax.report import heatmap as heatmaps
from lisax.report.heatmap import (
    DARK_SCALE,
    LIGHT_SCALE,
    STEPS,
    Tops,
    best_cell,
    colours,
    contrast,
    heatmap,
    luminance,
    step,
)


class Scores(NamedTuple):
    table: Table
    rows: np.ndarray
    columns: np.ndarray
    cells: np.ndarray

    @property
    def best(self) -> tuple[int, int]:
        return divmod(int(self.cells.argmax()), self.cells.shape[1])


def scores(
    rows=(("1904", "Tarn"), ("1908", "Keld")),
    header=("year", "city"),
    of_rows=(0.1, 0.8),
    of_columns=(0.2, 0.5),
    title="Games",
):
    of_rows, of_columns = np.float32(of_rows), np.float32(of_columns)
    return Scores(Table("t", title, header, rows), of_rows, of_columns, of_rows[:, None] * of_columns)


def test_white_on_black_is_the_greatest_contrast():
    assert contrast("#ffffff", "#000000") == pytest.approx(21) and contrast("#777777", "#777777") == 1
    # The darkest grey that passes AA on white, by WCAG's own examples.
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scale", [LIGHT_SCALE, DARK_SCALE])
def test_every_colour_is_readable_and_told_apart_by_luminance_alone(scale):
    made = colours(scale)
    assert len(made) == STEPS + 1 and min(contrast(text, background) for background, text in made) >= 4.5
    lights = np.diff([luminance(background) for background, _ in made])
    assert (lights < 0).all() or (lights > 0).all()
    for background, text in made:
        assert f":{background};" in heatmaps.style() and f":{text};" in heatmaps.style()


def test_steps():
    assert [step(score, 0.5) for score in (0, 0.25, 0.5, 0.9, -1, float("nan"))] == [0, 10, STEPS, STEPS, 0, 0]
    assert step(0.0, 0.0) == 0


def test_colours_and_numbers_follow_the_scores():
    html = str(heatmap(scores(), "t1"))
    page = Page(html)
    assert page.balanced
    cells = {attributes["id"]: attributes for tag, attributes in page.elements if tag == "td"}
    assert set(cells) == {"t1-r0c0", "t1-r0c1", "t1-r1c0", "t1-r1c1"}
    # The best cell scores 0.8 x 0.5: the others' colours are shares of it, of the best row and the best column.
    assert cells["t1-r1c1"]["class"].split() == ["cells-20", "rows-20", "columns-20", "best"]
    assert cells["t1-r0c0"]["class"].split() == ["cells-1", "rows-2", "columns-8"]
    assert cells["t1-r1c1"]["title"] == "cell: 40.0 %, row: 80.0 %, column: 50.0 %"
    words = " ".join("".join(page.text).split())
    assert "best cell: Keld, 40.0 %" in words and "280.0 %" in words  # row 2, 80.0 %
    assert [a["value"] for tag, a in page.elements if tag == "input"] == ["cells", "rows", "columns"]
    assert page.count()["label"] == 3 and "style" not in page.attributes("style")


def test_tables_share_a_scale():
    one, other = scores(), scores(of_rows=(0.2, 0.4))
    tops = Tops.of([one, other])
    assert (tops.rows, tops.columns, tops.cells) == (pytest.approx(0.8), 0.5, pytest.approx(0.4))
    assert 'class="cells-10 rows-10 columns-20 best"' in heatmap(other, tops=tops)


@pytest.mark.parametrize("rows", [(), (("", ""),)])
def test_no_cell_is_best_where_none_scores(rows):
    empty = scores(rows, of_rows=(0.0,) * len(rows))
    assert best_cell(empty) is None and "best" not in heatmap(empty)


def test_of_a_large_table_the_best_rows_are_shown_in_order():
    of_rows = np.linspace(0, 1, 300)
    html = heatmap(scores(tuple((str(i), "x") for i in range(300)), of_rows=of_rows))
    shown = [int(number) for number in re.findall(r'id="table-r(\d+)c0"', html)]
    assert shown == list(range(200, 300)) and "Of 300 rows" in html


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_text_stays_text(bad, tmp_path):
    hostile = scores(((bad, bad), ("a", bad)), (bad, bad), title=bad)
    for html in (heatmap(hostile), _page(tmp_path, bad, hostile)):
        page = Page(str(html))
        assert page.balanced and "".join(page.text).count(bad) >= 6
        assert not page.count()["script"] and not page.count()["img"]
        assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_a_file_needs_nothing_beside_it(tmp_path):
    html = _page(tmp_path, "where?", scores())
    page = Page(html)
    assert page.balanced and "default-src 'none'" in html and "where?" in "".join(page.text)
    assert not page.attributes("src") and not page.count()["link"] and "url(" not in html and "@import" not in html


def _page(folder, question, found):
    heatmaps.write_page(folder / "map.html", question, [(question, [found, found]), ("nothing", [])])
    return (folder / "map.html").read_text(encoding="utf-8")


def test_names_and_shapes_are_checked():
    with pytest.raises(LisaxError, match="name"):
        heatmap(scores(), 'x" onclick="')
    with pytest.raises(LisaxError, match="2 rows"):
        heatmap(scores(of_rows=(0.1, 0.2, 0.3)))
