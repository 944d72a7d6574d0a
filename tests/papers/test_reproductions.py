"""`lisax reproduce`: what is recorded is read and checked, a row is run and compared, and RESULTS.md says the same."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from benchmarks.matrix import RESULTS, parts
from lisax.cli import main, verbs
from lisax.cli.reproduce import reproduce
from lisax.corpora import catalogue
from lisax.errors import DataError, LisaxError
from lisax.papers import reproductions
from lisax.papers.reproductions import find, read_sheet, sheets
from lisax.training.gin_files import GIN_CONFIGS, rewrite_gin_flags

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared/data"
SHEET = """
paper: A paper
data:
  sample: {folder: sample, what: a sample, get: ask its owner}
runs:
  small: {command: run list5 --until retrieve, data: sample, seeds: [0], minutes: 1, machine: one core}
  world: {command: run cltr --pages 60, seeds: [0, 1], machine: one core}
  script: {script: python -m benchmarks.cells, seeds: [0], machine: one core}
  paper: {command: run list5, data: sample, weights: T5-3B}
rows:
  - name: first
    table: Table 1
    what: pages
    measures: {R@1: retrieval.recall@1, R@5: retrieval.recall@5}
    published: {R@1: 90}
    nothing: {run: small, figures: {R@1: 50.0, R@5: 75.0}, tolerance: 1}
    larger: {run: paper}
  - name: second
    table: "-"
    what: both
    measures: {MAP: retrieval.bm25.map}
    nothing: {run: world, figures: {MAP: 40.0}, spread: {MAP: 1.5}, tolerance: 2}
    minilm: {run: small, note: nobody ran it}
  - name: third
    table: "-"
    what: a script
    measures: {H@1: hits@1}
    nothing: {run: script, figures: {H@1: 3.0}, tolerance: 1}
"""


@pytest.fixture
def sheet(tmp_path, monkeypatch):
    """The sheet above in the place of ours."""
    (tmp_path / "sheets/paper").mkdir(parents=True)
    file = tmp_path / "sheets/paper/reproduce.yaml"
    file.write_text(SHEET)
    monkeypatch.setattr(reproductions, "SHEETS", tmp_path / "sheets")
    sheets.cache_clear()
    yield file
    sheets.cache_clear()


@pytest.mark.parametrize(
    "before, after, told",
    [
        ("R@5: 75.0", "R@5: many", ["field 'nothing.figures.R@5'", "row 'first'", "number"]),
        ("R@5: 75.0", "R@7: 75.0", ["field 'nothing.figures'", "no measure 'R@7', there are R@1, R@5", "row 'first'"]),
        ("run: world,", "run: word,", ["field 'nothing.run'", "there is no run 'word'", "row 'second'"]),
        ("what: both", "says: both", ["field 'what'", "required", "row 'second'"]),
        ("name: second", "name: first", ["field 'name'", "second row", "row 'first'"]),
        (", machine: one core}\n  script", "}\n  script", ["field 'runs.world.machine'", "row 'second'"]),
        ("data: sample, weights", "data: simple, weights", ["field 'runs.paper.data'", "no data 'simple'"]),
        ("{command: run list5, data", "{data", ["field 'runs.paper'", "one of 'command' and 'script'"]),
        ("command: run list5,", "command: check,", ["field 'runs.paper.command'"]),
        ("    what: pages", "   what: pages", [":13: this is not valid YAML"]),
        ("what: both", "what: both\n    what: twice", ["'what' occurs twice"]),
    ],
)
def test_an_error_names_file_row_and_field(sheet, before, after, told):
    assert SHEET.count(before) >= 1
    sheet.write_text(SHEET.replace(before, after, 1))
    with pytest.raises(DataError) as error:
        read_sheet(sheet)
    assert str(sheet) in str(error.value)
    for part in told:
        assert part in str(error.value)


def test_a_name_of_two_papers_is_an_error(sheet):
    other = sheet.parents[1] / "quite_another" / sheet.name
    other.parent.mkdir()
    other.write_text(SHEET)
    with pytest.raises(DataError, match="has a row 'first' too"):
        sheets()


def test_a_row_is_found_by_name_and_start(sheet, tmp_path):
    row = find("first")
    assert row.start == "nothing"
    assert row.words(tmp_path, Path("out")) == shlex.split(f"run list5 --until retrieve --data {tmp_path} --out out")
    assert find("first", "larger").run.weights == "T5-3B"
    assert find("second", "nothing").words(None, Path("out")) == shlex.split("run cltr --pages 60 --out out")
    with pytest.raises(LisaxError, match="did you mean 'first'"):
        find("frist")
    with pytest.raises(LisaxError, match="--on nothing or --on minilm"):
        find("second")
    with pytest.raises(LisaxError, match="no run on 'minilm'"):
        find("first", "minilm")
    with pytest.raises(LisaxError, match="--data DIR with a sample: ask its owner"):
        row.words(None, Path("out"))
    with pytest.raises(LisaxError, match="'second' is of a generated world: leave --data out"):
        find("second", "nothing").words(tmp_path, Path("out"))
    with pytest.raises(LisaxError, match=r"no row 'nope'\. `lisax reproduce --list` shows all"):
        find("nope")
    with pytest.raises(LisaxError, match=r"python -m benchmarks\.cells"):
        find("third").words(None, Path("out"))


def test_figures_are_compared_up_to_the_tolerance(sheet):
    row = find("first")
    found = row.compare({"R@1": 51.0, "R@5": 74.0})
    assert found == (True, "OK first, from nothing: R@1 51.0 (recorded 50.0), R@5 74.0 (recorded 75.0)")
    assert row.compare({"R@1": 50.04, "R@5": 77.0}) == (
        False,
        "DIFFERS first, from nothing: R@1 50.0 (recorded 50.0), R@5 77.0 (recorded 75.0, +2.0, allowed ±1)",
    )
    assert find("first", "larger").compare({"R@1": 88.0, "R@5": 99.0}) == (
        True,
        "FOUND first, larger weights: R@1 88.0 (nothing is recorded, the paper has 90.0), "
        "R@5 99.0 (nothing is recorded)",
    )


def test_a_run_without_the_figure_says_so(sheet, tmp_path):
    with pytest.raises(LisaxError, match="ended without its figures"):
        find("first").read(tmp_path)
    (tmp_path / "metrics.json").write_text('{"retrieval": {"recall@1": 0.5}}')
    with pytest.raises(DataError, match="field 'retrieval.recall@5': no number"):
        find("first").read(tmp_path)
    (tmp_path / "metrics.json").write_text('{"retrieval": {"recall@1": 0.5, "recall@5": 1}}')
    assert find("first").read(tmp_path) == {"R@1": 50.0, "R@5": 100.0}


def test_the_list_says_what_there_is(sheet, capfd):
    assert main(["reproduce", "--list"]) == 0
    told = capfd.readouterr().out
    assert "R@1 50.0, R@5 75.0 (seed 0, 1 min, one core)" in told and "MAP 40.0 ± 1.5 (seeds 0, 1, one core)" in told
    assert "not measured: needs T5-3B" in told
    assert main(["reproduce", "--list", "--format", "markdown"]) == 0
    written = capfd.readouterr().out
    assert "| 90.0 / - | 50.0 / 75.0 | - | T5-3B | `small`, `paper` |" in written
    assert (
        "| `small` | `lisax run list5 --until retrieve --data DIR --out OUT` | a sample | 0 | 1 | one core |" in written
    )
    assert "- `second`, MiniLM: nobody ran it." in written


@pytest.mark.parametrize("words", [[], ["first", "--list"]])
def test_one_of_name_and_list_is_given(words, capfd):
    assert main(["reproduce", *words]) == 2
    assert "one of NAME and --list" in capfd.readouterr().err


def test_a_row_is_run_and_compared(sheet, tmp_path, capfd):
    """On a world, whose figure is recorded as it is and then otherwise."""
    text = SHEET.replace("run cltr --pages 60", "run open-tables --pages 60 --until retrieve")
    text = text.replace("retrieval.bm25.map", "retrieval.entity-char-2-3.spans.hits@10")
    sheet.write_text(text.replace("figures: {MAP: 40.0}", "figures: {MAP: 0.0}"))
    words = ["reproduce", "second", "--on", "nothing", "--out", str(tmp_path / "out")]
    assert main(words) == 1
    told = capfd.readouterr()
    assert told.out.startswith("DIFFERS second, from nothing: MAP ") and told.out.count("\n") == 1
    assert "lisax run open-tables --pages 60 --until retrieve --out" in told.err and "Table retrieval" in told.err
    found = json.loads((tmp_path / "out/metrics.json").read_text())["retrieval"]["entity-char-2-3"]["spans"]["hits@10"]
    sheet.write_text(text.replace("figures: {MAP: 40.0}", f"figures: {{MAP: {100 * found:.1f}}}"))
    sheets.cache_clear()
    assert main(words) == 0
    told = capfd.readouterr()
    assert told.out.startswith("OK second, from nothing: MAP ") and "[retrieve] done before" in told.err
    assert main([*words, "--gin.TableRecipe.strategy=no-such"]) == 1
    assert "no strategy is named 'no-such'" in capfd.readouterr().err


# --- Our own rows -----------------------------------------------------------------------------------------------------


def rows():
    return [(sheet, row) for sheet in sheets() for row in sheet.rows]


def test_results_has_the_matrix_as_it_is_recorded():
    _, matrix, _ = parts(RESULTS.read_text(encoding="utf-8"))
    assert matrix == reproductions.matrix_markdown(sheets()), "write it again: python -m benchmarks.matrix"


@pytest.mark.parametrize(
    "command", sorted({run.command for sheet in sheets() for run in sheet.runs.values() if run.command})
)
def test_every_command_names_what_there_is(command):
    words = rewrite_gin_flags(shlex.split(command))
    root = verbs.Root("lisax")
    verb = root.get_command(click.Context(root), words[0])
    if isinstance(verb, verbs.VerbGroup):
        verb, words = verb.commands[words[1]], words[1:]
    context = verb.make_context(words[0], [*words[1:], "--data", ".", "--out", "out"])
    assert context.params["gin_file"] or "--gin_file" not in command
    for file in context.params["gin_file"]:
        assert (GIN_CONFIGS / file).is_file(), file


def test_the_help_names_a_row():
    named = re.findall(r"lisax reproduce (?!--)(\S+)", reproduce.__doc__)
    assert named and all(reproductions.find(name, None) for name in named)


def test_rows_are_whole():
    """A row's figures are of measures that its run's metrics.json may have, and quick rows are recorded."""
    for sheet, row in rows():
        assert not row.quick or any(found.figures for found in row.starts.values()), row.name
        for found in row.starts.values():
            run = sheet.runs[found.run]
            assert (run.weights is None) == (found is not row.larger), row.name
            assert not (found.figures and run.weights), f"{row.name}: measured with weights that were not at hand"
    named = {found.run for _, row in rows() for found in row.starts.values()}
    assert {name for sheet in sheets() for name in sheet.runs} == named, "runs of no row"
    known = {entry.name for entry in catalogue.ENTRIES}
    for sheet in sheets():
        for data in sheet.data.values():
            if "lisax data get" in data.get:
                assert data.get.partition("lisax data get ")[2].split("`")[0] in known


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, start",
    [
        (row.name, start)
        for sheet, row in rows()
        if row.quick
        for start, found in row.starts.items()
        if found.figures and start != "larger"
    ],
)
def test_quick_rows_are_reproduced(name, start, tmp_path_factory, capfd):
    """Rows of one run share its folder."""
    row = find(name, start)
    data = [] if row.data is None else ["--data", str(REAL / row.data.folder)]
    if row.data is not None and not (REAL / row.data.folder).is_dir():
        pytest.skip("needs ../shared/data")
    out = tmp_path_factory.getbasetemp() / "reproduce" / row.found.run
    assert main(["reproduce", name, "--on", start, *data, "--out", str(out)]) == 0, capfd.readouterr().out
    assert capfd.readouterr().out.startswith(f"OK {name}")
