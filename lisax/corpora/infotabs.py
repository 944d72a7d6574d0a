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
from lisax.corpora.reading import LeftOut, Watch, label_of, parse_json, parsed_files, told, unique_documents
from lisax.documents import csv_tables
from lisax.documents.grid import Place, make_table
from lisax.errors import DataError
from lisax.files.reading import read_lines
from lisax.records import Claim, Label, Table, check_id
from lisax.text import titles

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

    def claims(self, split, watch=None):
        return read_claims(self.claim_file(split), watch)

    def tables(self, watch=None):
        return told(lambda w: unique_documents(lambda v: read_tables(self.tables_path, v), w), watch)


def claim_files(folder: Path) -> dict[str, Path]:
    """Split -> its file; train and dev first, the owners' test sets by name."""
    files = {
        _split(path): path for place in (folder / "maindata", folder) for path in sorted(place.glob("infotabs_*.tsv"))
    }
    return {split: files[split] for split in sorted(files, key=lambda s: (s != "train", s != "dev", s))}


def _split(path: Path) -> str:
    return path.stem.removeprefix("infotabs_")


def read_claims(path: Path, watch: Watch | None = None) -> Iterator[Claim]:
    """The claims of one file, in file order."""
    return told(lambda w: _claims(path, w), watch)


def _claims(path: Path, watch: Watch) -> Iterator[Claim]:
    counts: collections.Counter[str] = collections.Counter()
    try:
        lines = read_lines(path)
        _, first = next(lines)
        names = first.split("\t")
        if missing := set(COLUMNS) - set(names):
            raise DataError(
                f"expected the columns {', '.join(COLUMNS)}; {', '.join(sorted(missing))} is missing", path=path, line=1
            )
        for number, line in lines:
            try:
                table, text, name = parse_claim(names, _fields(line, path, number), path, number)
                counts[table] += 1
                label = label_of(name, LABELS, watch, path=path, line=number, field="label")
            except DataError as error:
                watch.problem(error)
                continue
            except LeftOut as reason:
                watch.warn(str(reason), path, number)
                continue
            watch.where = (path, number)
            yield Claim(f"{_split(path)}:{table}:{counts[table] - 1}", text, label, ((table,),))
    except DataError as error:
        watch.problem(error)


def _fields(line: str, path: Path, number: int) -> list[str]:
    return next(csv_tables.rows_of([line], path, number, delimiter="\t"))[1]


def parse_claim(names: list[str], fields: list[str], path: Path, line: int) -> tuple[str, str, str]:
    """(table, text, label name) of a line, whose fields are called `names`."""
    if len(fields) != len(names):
        raise DataError(f"expected {len(names)} fields separated by tabs, found {len(fields)}", path=path, line=line)
    row = dict(zip(names, fields))
    table = check_id(titles.normal_form(row["table_id"]), path=path, line=line, field="table_id")
    text = titles.one_line(row["hypothesis"])
    if not text:
        raise DataError("the text is empty", path=path, line=line, field="hypothesis")
    return table, text, row["label"].strip()


def read_tables(path: Path, watch: Watch) -> Iterator[Table]:
    """The info-boxes of a folder by name, or of an archive in its order."""
    return parsed_files(
        (
            (file, functools.partial(parse_table, file.stem, content, Place(file, None, watch)))
            for file, content in archives.read_folder(path, ".json")
        ),
        watch,
    )


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
