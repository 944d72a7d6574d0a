"""Rich text: tables, footnotes, boxes, and what its writer deleted."""

import random
import time

import pytest
from made import blocks

from lisax.documents import rich_text


def written(path, body):
    path.write_text(rf"{{\rtf1\ansi\ansicpg1252\deff0{{\fonttbl{{\f0 Arial;}}}}{body}}}")
    return path


def row(*cells, borders="", end=r"\cell", last=r"\row"):
    return rf"\trowd {borders}\pard\intbl " + "".join(rf"{{{cell}}}{end} " for cell in cells) + rf"{last} \pard "


def test_deleted_and_hidden_text_is_left_out(tmp_path):
    body = r"The board bought {\deleted\revauthdel1 12}{\revised\revauth1 15} boats.{\v They sank.}\par "
    body += r"It {\deleted0 met\deleted  left\plain  again}.{\header Page {\shp{\*\shpinst{\shptxt one}}}}"
    assert blocks(written(tmp_path / "a.rtf", body)) == [
        ("paragraph", "The board bought 15 boats."),
        ("paragraph", "It met again."),
    ]


def test_footnotes_and_text_boxes_come_last(tmp_path):
    body = r"The hall{\super\chftn}{\*\footnote\chftn\pard\plain  From 1911.\par With {\b two} doors.} is large.\par "
    body += r"It is old.{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt\pard The jetty is 80 m long.}}}\par \'c9t\'e9."
    found = [("paragraph", "The hall is large."), ("paragraph", "It is old."), ("paragraph", "Été.")]
    notes = ["From 1911.", "With two doors.", "The jetty is 80 m long."]
    path = written(tmp_path / "a.rtf", body)
    assert blocks(path) == [*found, *(("footnote", text) for text in notes)]
    path.write_text(path.read_text() + "\0 and no more")
    assert len(blocks(path)) == 6


def test_tables(tmp_path):
    body = r"Boats.\par " + row("Boat", "Built") + row("Heron", r"1987\par by Ann") + row("Swift", "")
    body += r"Others.\par " + row("Oar", "Price") + row("Ash", "45")
    assert blocks(written(tmp_path / "a.rtf", body)) == [
        ("paragraph", "Boats."),
        ("table", [("Boat", "Built"), ("Heron", "1987 by Ann"), ("Swift", "")]),
        ("paragraph", "Others."),
        ("table", [("Oar", "Price"), ("Ash", "45")]),
    ]


def test_joined_cells_are_repeated_and_tables_in_cells_are_tables_of_their_own(tmp_path):
    wide = row("Harbour", "Visitors", "Note", borders=r"\clvmgf\cellx2000\cellx6000\cellx8000")
    wide += row("", "2020", "2021", "", borders=r"\clvmrg\cellx2010\cellx4000\cellx6000\cellx8000")
    inner = "".join(
        r"\pard\intbl\itap2 " + "".join(rf"{{{cell}}}\nestcell " for cell in cells)
        + r"{\*\nesttableprops\trowd\cellx1000\cellx2000\nestrow}{\nonesttables\par}"
        for cells in (("Berth", "Price"), ("B7", "45"))
    )  # fmt: skip
    wide += row("Arl", "100", "120", rf"inner\par {inner}", borders=r"\cellx2000\cellx4000\cellx6000\cellx8000")
    wide += row("Bem", "200", "210", "none", borders=r"\cellx2000\cellx4000\cellx6000\cellx8000")
    header = ("Harbour", "Visitors 2020", "Visitors 2021", "Note")
    assert blocks(written(tmp_path / "a.rtf", wide + "After.")) == [
        ("table", [header, ("Arl", "100", "120", "inner"), ("Bem", "200", "210", "none")]),
        ("table", [("Berth", "Price"), ("B7", "45")]),
        ("paragraph", "After."),
    ]


@pytest.mark.parametrize("piece", ["{", "}", r"\deleted ", r"\cell ", r"\row ", r"\nestcell ", r"{\footnote a}", "\\"])
def test_damaged_rich_text_is_read_in_no_time(piece):
    started = time.process_time()
    list(rich_text.read(r"{\rtf1 a" + piece * 50_000))
    assert time.process_time() - started < 4


def test_any_order_of_marks_is_read():
    rng = random.Random(0)
    pieces = [
        *("{", "}", r"\*", r"\trowd ", r"\cellx9 ", r"\cell ", r"\row ", r"\intbl ", r"\pard ", r"\par ", "a", r"\v "),
        *(
            r"\nesttableprops ",
            r"\nestrow ",
            r"\nestcell ",
            r"\itap2 ",
            r"\footnote ",
            r"\shptxt ",
            r"\header ",
            "\x1f",
        ),
    ]
    for _ in range(2000):
        list(rich_text.read(r"{\rtf1 " + "".join(rng.choices(pieces, k=40))))
