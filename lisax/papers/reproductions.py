"""The papers' figures and ours: rows of the files `reproduce.yaml` next to the recipes, each with the run that gives
it.

A sheet is one such file: `data` and `runs` by name, and `rows`. A row's figures are of up to three starts: `nothing`
(random weights, or no model at all), `minilm` (the pretrained encoder), and `larger` (weights that the paper has and
that were not at hand). All figures are in percent.
"""

from __future__ import annotations

import difflib
import functools
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints, ValidationError

from lisax.errors import DataError, LisaxError

SHEETS = Path(__file__).parents[1] / "gin_configs" / "experiments"
FILE = "reproduce.yaml"
STARTS = {"nothing": "from nothing", "minilm": "MiniLM", "larger": "larger weights"}

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Figure = Annotated[FiniteFloat, Field(ge=0, le=100)]
Positive = Annotated[FiniteFloat, Field(gt=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(_Part):
    """Data of a run: a description, and where to get it. `folder` is its name in a folder of all data."""

    what: Text
    get: Text
    folder: Text


class Run(_Part):
    """A command to run. `command`: words after `lisax`, without --data and --out; or `script`: a command of its own,
    which writes no metrics.json, so that its figures are recorded and not compared. `data`: its name; None: a generated
    world. `weights`: its further needs, if it was never run here."""

    command: Annotated[str, StringConstraints(pattern=r"^(run|demo)\b")] | None = None
    script: Text | None = None
    data: Name | None = None
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = ()
    minutes: Positive | None = None
    machine: Text | None = None
    weights: Text | None = None


class Found(_Part):
    """Results of a run: `figures` by measure, means where the run has several `seeds`; none: it was not measured.

    `tolerance`: how far another run may be from them, in points. `spread`: the standard deviation over the seeds.
    `keys` replace those of the row's measures. `note`: remarks on these figures."""

    run: Name
    figures: dict[Text, Figure] = {}
    tolerance: Positive | None = None
    spread: dict[Text, Figure] = {}
    keys: dict[Text, Text] = {}
    note: Text | None = None


class Row(_Part):
    """A row of the matrix. `measures`: the key in the run's metrics.json (`variants.infused.fever_score`) of each
    measure, by the measure's name; `published`: the paper's figures, if it has this row."""

    name: Name
    table: Text
    what: Text
    measures: Annotated[dict[Text, Text], Field(min_length=1)]
    published: dict[Text, Figure] = {}
    nothing: Found | None = None
    minilm: Found | None = None
    larger: Found | None = None
    quick: bool = False

    @property
    def starts(self) -> dict[str, Found]:
        """The results, by start."""
        return {start: found for start in STARTS if (found := getattr(self, start)) is not None}


class Sheet(_Part):
    """One file. `paper`: the source of its rows."""

    paper: Text
    data: dict[Name, Data] = {}
    runs: dict[Name, Run]
    rows: Annotated[list[Row], Field(min_length=1)]


class Reproduction:
    """A row with one of its starts: the run and its recorded results."""

    def __init__(self, sheet: Sheet, row: Row, start: str):
        self.row, self.start, self.found = row, start, row.starts[start]
        self.run = sheet.runs[self.found.run]
        self.data = None if self.run.data is None else sheet.data[self.run.data]

    def words(self, data: Path | None, out: Path) -> list[str]:
        """The command, after `lisax`. Raises `LisaxError` if it needs data, takes none or is a script."""
        if self.run.command is None:
            raise LisaxError(f"'{self.row.name}' was measured by a script, which prints its figures: {self.run.script}")
        if self.data is not None and data is None:
            raise LisaxError(f"'{self.row.name}' needs --data DIR with {self.data.what}: {self.data.get}")
        if self.data is None and data is not None:
            raise LisaxError(f"'{self.row.name}' is of a generated world: leave --data out")
        given = [] if self.data is None else ["--data", str(data)]
        return [*shlex.split(self.run.command), *given, "--out", str(out)]

    def read(self, out: Path) -> dict[str, float]:
        """The figures of a finished run in `out`, in percent, by measure."""
        path = out / "metrics.json"
        try:
            metrics = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LisaxError(f"{path} is not there: the run ended without its figures") from None
        keys = {**self.row.measures, **self.found.keys}
        return {measure: 100 * _value(metrics, key, path) for measure, key in keys.items()}

    def compare(self, found: Mapping[str, float]) -> tuple[bool, str]:
        """(whether every figure is as it was recorded, up to the tolerance; the line that reports it)."""
        recorded, parts, good = self.found.figures, [], True
        for measure, figure in found.items():
            if measure not in recorded:
                published = self.row.published.get(measure)
                told = "nothing is recorded" + ("" if published is None else f", the paper has {published:.1f}")
                parts.append(f"{measure} {figure:.1f} ({told})")
                continue
            difference = figure - recorded[measure]
            # Recorded figures are rounded to one decimal.
            near = abs(difference) <= self.found.tolerance + 0.05
            good = good and near
            off = "" if near else f", {difference:+.1f}, allowed ±{self.found.tolerance:g}"
            parts.append(f"{measure} {figure:.1f} (recorded {recorded[measure]:.1f}{off})")
        verdict = "DIFFERS" if not good else "OK" if recorded else "FOUND"
        return good, f"{verdict} {self.row.name}, {STARTS[self.start]}: {', '.join(parts)}"


class _Distinct(yaml.SafeLoader):
    """Refuses a key that occurs twice, of which YAML's loaders take the last silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"'{key.value}' occurs twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_sheet(path: Path) -> Sheet:
    """Reads a file. Raises `DataError`, which names the file, the row and the field."""
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), _Distinct)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = f"this is not valid YAML: {getattr(error, 'problem', None) or error}"
        raise DataError(message, path=path, line=mark and mark.line + 1) from None
    try:
        sheet = Sheet.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        at, message = first["loc"], first["msg"][:1].lower() + first["msg"][1:]
        if len(at) > 1 and at[0] == "rows":
            row = given["rows"][at[1]]
            name = row.get("name") if isinstance(row, dict) else None
            message = f"{message} (row {at[1] + 1 if name is None else repr(name)})"
            at = at[2:]
        raise DataError(message, path=path, field=".".join(map(str, at)) or None) from None
    _check(sheet, path)
    return sheet


def _check(sheet: Sheet, path: Path) -> None:
    """Raises `DataError` for entries with missing names or missing fields."""

    def refuse(message: str, field: str) -> None:
        raise DataError(message, path=path, field=field)

    for name, run in sheet.runs.items():
        if (run.command is None) == (run.script is None):
            refuse("give one of 'command' and 'script'", f"runs.{name}")
        if run.data is not None and run.data not in sheet.data:
            refuse(f"there is no data '{run.data}', there are {', '.join(sheet.data) or 'none'}", f"runs.{name}.data")
    seen = set()
    for row in sheet.rows:
        of_row = f"(row '{row.name}')"
        if row.name in seen:
            refuse(f"a second row of this name {of_row}", "name")
        seen.add(row.name)
        if not row.starts:
            refuse(f"give one of {', '.join(STARTS)} {of_row}", "nothing")
        for start, found in row.starts.items():
            if found.run not in sheet.runs:
                refuse(f"there is no run '{found.run}', there are {', '.join(sheet.runs)} {of_row}", f"{start}.run")
            if found.figures:
                if found.tolerance is None:
                    refuse(f"figures need a tolerance {of_row}", f"{start}.tolerance")
                run = sheet.runs[found.run]
                for field in ("seeds", "machine"):
                    if not getattr(run, field):
                        refuse(f"a run with figures needs these {of_row}", f"runs.{found.run}.{field}")
        named = {"published": row.published} | {
            f"{start}.{field}": getattr(found, field)
            for start, found in row.starts.items()
            for field in ("figures", "spread", "keys")
        }
        for field, values in named.items():
            if unknown := sorted(values.keys() - row.measures.keys()):
                refuse(f"there is no measure '{unknown[0]}', there are {', '.join(row.measures)} {of_row}", field)


@functools.cache
def sheets() -> tuple[Sheet, ...]:
    """All files, by folder. Raises `DataError`, also for a row's name that two of them have."""
    read = {path: read_sheet(path) for path in sorted(SHEETS.glob(f"*/{FILE}"))}
    names: dict[str, Path] = {}
    for path, sheet in read.items():
        for row in sheet.rows:
            if row.name in names:
                raise DataError(f"{names[row.name]} has a row '{row.name}' too", path=path, field="name")
            names[row.name] = path
    return tuple(read.values())


def find(name: str, start: str | None = None) -> Reproduction:
    """The row of this name; `start` is needed if it has been run from several."""
    rows = {row.name: (sheet, row) for sheet in sheets() for row in sheet.rows}
    if name not in rows:
        near = difflib.get_close_matches(name, rows, n=1)
        raise LisaxError(
            f"there is no row '{name}'"
            + (f"; did you mean '{near[0]}'?" if near else ".")
            + " `lisax reproduce --list` shows all"
        )
    sheet, row = rows[name]
    if start is None:
        here = [one for one in row.starts if one != "larger"] or [*row.starts]
        if len(here) > 1:
            raise LisaxError(f"'{name}' has two runs: give --on {' or --on '.join(here)}")
        start = here[0]
    if start not in row.starts:
        raise LisaxError(f"'{name}' has no run on '{start}': give --on {' or --on '.join(row.starts)}")
    return Reproduction(sheet, row, start)


def _value(metrics: Any, key: str, path: Path) -> float:
    value = metrics
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DataError("no number is there", path=path, field=key)
    return value


# --- The matrix -----------------------------------------------------------------------------------------------------


def matrix_text(all_sheets: Iterable[Sheet]) -> str:
    """The rows for a terminal, paper by paper."""
    blocks = []
    for sheet in all_sheets:
        lines = [sheet.paper]
        for row in sheet.rows:
            table = "" if row.table == "-" else f"{row.table}, "
            lines.append(f"  {row.name}{' (quick)' if row.quick else ''}: {table}{row.what}")
            if row.published:
                lines.append(f"    {'the paper':<14}  {_named(row.published)}")
            for start, found in row.starts.items():
                lines.append(f"    {STARTS[start]:<14}  {_told(found, sheet.runs[found.run])}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _told(found: Found, run: Run) -> str:
    if not found.figures:
        return f"not measured: needs {run.weights}" if run.weights else "not measured"
    seeds = f"seed{'s' if len(run.seeds) > 1 else ''} {', '.join(map(str, run.seeds))}"
    minutes = "" if run.minutes is None else f", {run.minutes:g} min"
    return f"{_named(found.figures, found.spread)} ({seeds}{minutes}, {run.machine})"


def _named(figures: Mapping[str, float], spread: Mapping[str, float] = {}) -> str:
    return ", ".join(f"{name} {_number(value)}{_number(spread.get(name), ' ± ')}" for name, value in figures.items())


def matrix_markdown(all_sheets: Iterable[Sheet]) -> str:
    """The matrix of benchmarks/RESULTS.md: for each paper its rows, its runs and its data."""
    return "\n\n".join(map(_markdown, all_sheets))


def _markdown(sheet: Sheet) -> str:
    rows, notes = [], []
    for row in sheet.rows:
        starts = row.starts
        cells = {
            start: _cell(row, found.figures, found.spread) or "not measured"
            for start, found in starts.items()
            if start != "larger"
        }
        named = dict.fromkeys(found.run for found in starts.values())
        rows.append(
            [
                f"`{row.name}`{' (quick)' if row.quick else ''}",
                row.table,
                f"{row.what}: {', '.join(row.measures)}",
                _cell(row, row.published) or "-",
                cells.get("nothing", "-"),
                cells.get("minilm", "-"),
                sheet.runs[row.larger.run].weights or "-" if row.larger else "-",
                ", ".join(f"`{run}`" for run in named),
            ]
        )
        notes += [f"`{row.name}`, {STARTS[start]}: {found.note}" for start, found in starts.items() if found.note]
    runs = [
        [
            f"`{name}`",
            f"`{run.script}`" if run.command is None else f"`lisax {_written(run)}`",
            sheet.data[run.data].what if run.data else "a generated world",
            ", ".join(map(str, run.seeds)) or "-",
            f"{run.minutes:g}" if run.minutes else "-",
            run.machine or "not run here",
        ]
        for name, run in sheet.runs.items()
    ]
    data = [f"- {one.what}, `{one.folder}`: {one.get}" for one in sheet.data.values()]
    return "\n".join(
        [
            f"### {sheet.paper}",
            "",
            *_table(
                ("row", "the paper's", "what: measures", "paper", "from nothing", "MiniLM", "larger weights", "runs"),
                rows,
            ),
            "",
            *([*(f"- {note}." for note in notes), ""] if notes else []),
            *_table(("run", "command", "data", "seeds", "minutes", "machine"), runs),
            *(["", *data] if data else []),
        ]
    )


def _written(run: Run) -> str:
    return f"{run.command}{' --data DIR' if run.data else ''} --out OUT"


def _cell(row: Row, figures: Mapping[str, float], spread: Mapping[str, float] = {}) -> str:
    """Figures in the order of the row's measures, `-` for missing ones; empty without any."""
    if not figures:
        return ""
    return " / ".join(
        "-" if measure not in figures else _number(figures[measure]) + _number(spread.get(measure), " ± ")
        for measure in row.measures
    )


def _number(value: float | None, before: str = "") -> str:
    return "" if value is None else f"{before}{value:.1f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]
