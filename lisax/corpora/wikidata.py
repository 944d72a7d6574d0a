"""Wikidata's JSON dump as sub-graphs around their subjects: reads the dump twice, in bounded memory.

    *.json, *.json.gz, *.json.bz2    the dump: a list, one entity a line

The first pass stores the label of every item and property in an SQLite file; the second builds a `Graph` of every item
that has a label and at least one edge with labels. An edge is (property, value), in dump order, with the values of a
property's best rank. Values are items, dates to their precision, quantities with their unit, texts and coordinates;
identifiers, links and media are left out. Invalid lines are skipped and counted.
"""

from __future__ import annotations

import bz2
import functools
import gzip
import re
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from lisax.corpora import titles
from lisax.corpora.dataset import StructureDataset
from lisax.corpora.reading import Watch, told
from lisax.records import LONGEST_LINE, DataError, Graph, parse_json_object
from lisax.text.dates import MONTHS

SUFFIXES = (".json", ".json.gz", ".json.bz2")
LEFT_OUT = {
    "external-id",
    "url",
    "commonsMedia",
    "geo-shape",
    "tabular-data",
    "math",
    "musical-notation",
    "wikibase-lexeme",
    "wikibase-form",
    "wikibase-sense",
    "entity-schema",
}
_TIME = re.compile(r"([+-])0*(\d{1,16})-(\d\d)-(\d\d)T", re.ASCII)  # Wikidata's years have sixteen digits
_ENTITY = re.compile(r"([QP])(\d{1,15})", re.ASCII)


class WikidataDump(StructureDataset):
    layout = "wikidata"

    def __init__(self, folder: Path, language: str = "en"):
        super().__init__(folder)
        self.dump, self.language = dump_file(folder), language

    def graphs(self, watch=None):
        return read_graphs(self.dump, watch, self.language)


def dump_file(folder: Path) -> Path | None:
    """The dump in a folder: a file whose first lines are `[` and an entity."""
    for path in sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES) and path.is_file()):
        try:
            with opened(path) as file:
                if file.readline(16).strip() == b"[" and file.readline(4096).startswith((b'{"type":', b'{"id":')):
                    return path
        except (OSError, EOFError, zlib.error):
            continue
    return None


def opened(path: Path) -> BinaryIO:
    kind = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    return kind(path, "rb")


def read_graphs(
    path: Path, watch: Watch | None = None, language: str = "en", labels: Path | None = None
) -> Iterator[Graph]:
    """The sub-graph of every item, in dump order; its id is the item's.

    `labels`: the file of labels, which the next call reuses; by default a temporary file.
    """

    def stream(w: Watch) -> Iterator[Graph]:
        with tempfile.TemporaryDirectory(prefix="lisax-labels-") as work:
            store = LabelStore(labels or Path(work) / "labels.sqlite")
            try:
                if not store.complete:
                    store.fill(label_of_each(path, language, w))
                for line, entity in entities(path, Watch(keep_going=True)):
                    if graph := graph_of(entity, store, language):
                        w.where = (path, line)
                        yield graph
            finally:
                store.close()

    return told(stream, watch)


class LabelStore:
    """Labels of items and properties by id, on disk; SQLite's cache bounds the memory."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("CREATE TABLE IF NOT EXISTS labels (id INTEGER PRIMARY KEY, label TEXT NOT NULL)")

    @property
    def complete(self) -> bool:
        return self._database.execute("PRAGMA user_version").fetchone()[0] == 1

    def fill(self, labels: Iterator[tuple[int, str]]) -> None:
        """Writes all labels, replacing what an interrupted call left."""
        for setting in ("journal_mode = OFF", "synchronous = OFF"):
            self._database.execute(f"PRAGMA {setting}")
        self._database.execute("DELETE FROM labels")
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR REPLACE INTO labels VALUES (?, ?)", labels)
        self._database.execute("COMMIT")
        self._database.execute("PRAGMA user_version = 1")

    def get(self, entity: Any) -> str | None:
        number = number_of(entity)
        if number is None:
            return None
        row = self._database.execute("SELECT label FROM labels WHERE id = ?", (number,)).fetchone()
        return row[0] if row else None

    def close(self) -> None:
        self._database.close()


def number_of(entity: Any) -> int | None:
    """`Q42` as 84, `P19` as 39: one number for items and properties."""
    match = _ENTITY.fullmatch(entity) if isinstance(entity, str) else None
    return None if match is None else 2 * int(match[2]) + (match[1] == "P")


def entities(path: Path, watch: Watch) -> Iterator[tuple[int, dict]]:
    """(line, entity) of the dump; invalid lines are counted, and a broken end of the file is a problem."""
    line, is_rest = 1, False
    try:
        with opened(path) as file:
            for raw in iter(functools.partial(file.readline, LONGEST_LINE), b""):
                here, was_rest = line, is_rest
                is_rest = not raw.endswith(b"\n")
                line += not is_rest
                raw = raw.strip().rstrip(b",")
                if was_rest or raw in (b"", b"[", b"]"):
                    continue
                try:
                    entity = parse_json_object(raw.decode("utf-8"))
                except (DataError, UnicodeDecodeError):
                    watch.warn("lines that are no entity (skipped)", path, here)
                    continue
                yield here, entity
    except (OSError, EOFError, zlib.error) as error:
        watch.problem(DataError(f"the dump cannot be read on: {error}", path=path, line=line))


def label_of_each(path: Path, language: str, watch: Watch) -> Iterator[tuple[int, str]]:
    for _, entity in entities(path, watch):
        number, label = number_of(entity.get("id")), label_of(entity, language)
        if number is not None and label:
            yield number, label


def label_of(entity: dict, language: str) -> str:
    """The label in a language, else the one for all languages (`mul`), where Wikidata keeps names since 2024."""
    label = _at(entity, "labels", language, "value") or _at(entity, "labels", "mul", "value")
    return titles.one_line(label) if isinstance(label, str) else ""


def graph_of(entity: dict, store: LabelStore, language: str = "en") -> Graph | None:
    """The sub-graph of an item; None for a property, and for an item without a label or an edge."""
    subject, claims = label_of(entity, language), entity.get("claims")
    if not subject or not isinstance(claims, dict) or (number_of(entity.get("id")) or 1) % 2:
        return None  # properties have odd numbers
    edges = []
    for name, statements in claims.items():
        values = best_values(statements, store, language)
        if values and (relation := store.get(name)):
            edges += [(relation, value) for value in dict.fromkeys(values)]
    return Graph(entity["id"], subject, tuple(edges)) if edges else None


def best_values(statements: Any, store: LabelStore, language: str) -> list[str]:
    """The values of a property's statements as text, from the best existing rank; never deprecated ones."""
    by_rank: dict[str, list[str]] = {"preferred": [], "normal": []}
    for statement in statements if isinstance(statements, list) else ():
        rank = _at(statement, "rank") or "normal"
        known = by_rank.get(rank) if isinstance(rank, str) else None
        if known is not None and (value := value_text(_at(statement, "mainsnak"), store, language)):
            known.append(value)
    return by_rank["preferred"] or by_rank["normal"]


def value_text(snak: Any, store: LabelStore, language: str = "en") -> str | None:
    """A value in readable form, or None if it has none."""
    datatype = _at(snak, "datatype")
    if _at(snak, "snaktype") != "value" or (isinstance(datatype, str) and datatype in LEFT_OUT):
        return None
    kind, value = _at(snak, "datavalue", "type"), _at(snak, "datavalue", "value")
    if kind == "string":
        return titles.one_line(value) if isinstance(value, str) else None
    if not isinstance(value, dict):
        return None
    if kind == "wikibase-entityid":
        return store.get(value.get("id") or f"Q{value.get('numeric-id')}")
    if kind == "time":
        return date_text(value.get("time"), value.get("precision"))
    if kind == "quantity" and isinstance(amount := value.get("amount"), str):
        unit = store.get(str(value.get("unit")).rpartition("/")[2])
        return amount.removeprefix("+") + (f" {unit}" if unit else "")
    if kind == "monolingualtext" and value.get("language") == language and isinstance(text := value.get("text"), str):
        return titles.one_line(text)
    if kind == "globecoordinate":
        degrees = [value.get(name) for name in ("latitude", "longitude")]
        if all(isinstance(number, (int, float)) and abs(number) <= 360 for number in degrees):
            return f"{degrees[0]:.4g}, {degrees[1]:.4g}"
    return None


def date_text(time: Any, precision: Any) -> str | None:
    """`+1952-03-11T00:00:00Z` at precision 11 (day) is `11 March 1952`, at 10 `March 1952`, at 9 `1952`, at 8 `1950s`."""
    match = _TIME.match(time) if isinstance(time, str) else None
    if match is None or type(precision) is not int or precision < 7:
        return None
    year, month, day = int(match[2]), int(match[3]), int(match[4])
    era = " BC" if match[1] == "-" else ""
    if (precision >= 10 and not 1 <= month <= 12) or (precision >= 11 and not 1 <= day <= 31):
        precision = 9
    if precision >= 11:
        return f"{day} {MONTHS[month - 1]} {year}{era}"
    if precision == 10:
        return f"{MONTHS[month - 1]} {year}{era}"
    if precision == 8:
        return f"{year // 10 * 10}s{era}"
    if precision == 7:
        return f"{ordinal(-(-year // 100))} century{era}"
    return f"{year}{era}"


def ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _at(value: Any, *path: str) -> Any:
    """value[path[0]][path[1]]…, or None where something is missing."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
