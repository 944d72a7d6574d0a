"""InfoTabs: hypotheses about the info-boxes of Wikipedia, entailed, contradicted or neither.

    infotabs_{train,dev,test_alpha1,…}.tsv   annotater_id, table_id, hypothesis, label; also in maindata/
    tables/json/T0.json, or tables.tar.gz    {"title": ["Boy George"], "Genres": ["soul", "pop"], …}; also json/T0.json

An info-box becomes a table with the columns `key` and `value` and a row per key, several values joined with commas. E
is SUPPORTS, C is REFUTES, N is NOT ENOUGH INFO; the gold table of a neutral claim is its info-box too. A claim's id is
`{split}:{table}:{n}`, where n counts the claims of the table in its file from 0, because test sets share tables.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lisax.corpora import archives
from lisax.corpora.dataset import TableDataset
from lisax.corpora.reading import Row, Watch, label_of, parse_json, parsed_files, read_separated
from lisax.documents import csv_tables
from lisax.documents.grid import Place, make_table
from lisax.errors import DataError
from lisax.files.reading import read_lines
from lisax.records import Claim, Label, Table

LABELS = {"E": Label.SUPPORTS, "C": Label.REFUTES, "N": Label.NOT_ENOUGH_INFO}
COLUMNS = ("table_id", "hypothesis", "label")
TABLE_PLACES = ("tables.tar.gz", "tables/json", "json", "tables")


class InfoTabs(TableDataset):
    layout = "infotabs"

    def __init__(self, folder: Path):
        super().__init__(folder, claim_files(folder))
        places = [
            folder / name for name in TABLE_PLACES if (folder / name).is_file() or any((folder / name).glob("*.json"))
        ]
        if not places:
            raise DataError(
                "expected InfoTabs' info-boxes as tables.tar.gz, tables/json/*.json or json/*.json", path=folder
            )
        self.tables_path = places[0]

    def _claims(self, split, watch):
        return read_claims(self.files[split], watch)

    def _tables(self, watch):
        """The info-boxes of a folder by name, or of an archive in its order."""
        members = (
            (file, functools.partial(parse_table, file.stem, content, Place(file, None, watch)))
            for file, content in archives.read_folder(self.tables_path, ".json")
        )
        return parsed_files(members, watch)


def claim_files(folder: Path) -> dict[str, Path]:
    """Split -> its file; train and dev first, the owners' test sets by name."""
    files = {
        _split(path): path for place in (folder / "maindata", folder) for path in sorted(place.glob("infotabs_*.tsv"))
    }
    return {split: files[split] for split in sorted(files, key=lambda s: (s != "train", s != "dev", s))}


def _split(path: Path) -> str:
    return path.stem.removeprefix("infotabs_")


def read_claims(path: Path, watch: Watch) -> Iterator[Claim]:
    """The claims of one file, in file order."""
    counts: collections.Counter[str] = collections.Counter()

    def split(text: str, line: int) -> list[str]:
        return next(csv_tables.rows_of([text], path, line, delimiter="\t"))[1]

    def header(text: str) -> list[str]:
        names = text.split("\t")
        if missing := set(COLUMNS) - set(names):
            raise DataError(
                f"expected the columns {', '.join(COLUMNS)}; {', '.join(sorted(missing))} is missing", path=path, line=1
            )
        return names

    return read_separated(path, read_lines(path), header, split, lambda row: parse_claim(row, counts), watch)


def parse_claim(row: Row, counts: collections.Counter[str]) -> Claim:
    table, _ = row.id("table_id")
    text = row.text("hypothesis")
    counts[table] += 1
    where = {"path": row.path, "line": row.line, "field": "label"}
    label = label_of(row.get("label", str).strip(), LABELS, row.watch, **where)
    return Claim(f"{_split(row.path)}:{table}:{counts[table] - 1}", text, label, ((table,),))


def parse_table(name: str, content: bytes, place: Place) -> Table:
    box = parse_json(content, tuple, place.path)
    title = ", ".join(_values(key, values, place) for key, values in box if key == "title")
    rows = [(key, _values(key, values, place)) for key, values in box if key != "title"]
    place.warn("info-boxes with a key twice (each keeps its row)", len({key for key, _ in box}) < len(box))
    return make_table(name, title, ("key", "value"), rows, place)


def _values(key: str, values: Any, place: Place) -> str:
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DataError(f"expected a list of strings, found {values!r:.80}", path=place.path, field=key)
    return ", ".join(value.strip() for value in values)
