"""SciTab: claims about tables of papers, a JSON list of `{"id", "claim", "label", "paper", "table_caption",
"table_column_names", "table_content_values"}`.

Each claim has a table of its own with the claim's id, because entries repeat their table.
"""

from __future__ import annotations

from pathlib import Path

from lisax.corpora.dataset import SPLITS, TableDataset
from lisax.corpora.reading import Row, one_file, read_entries, read_json, silent, told, unique_documents
from lisax.documents.grid import Place, make_table
from lisax.errors import DataError
from lisax.records import Claim, Label, Table
from lisax.text import titles

LABELS = {"supports": Label.SUPPORTS, "refutes": Label.REFUTES, "not enough info": Label.NOT_ENOUGH_INFO}
FIELDS = {"claim", "label", "table_column_names", "table_content_values"}


class SciTab(TableDataset):
    layout = "scitab"

    def _claims(self, split, watch):
        return read_entries(self.files[split], parse_claim, watch, unique="id")

    def tables(self, watch=None):
        # An entry's problems, and an id that occurs twice, are reported with its claim.
        return told(lambda w: unique_documents(self._tables, silent(w)), watch)

    def _tables(self, watch):
        return (table for path in self.files.values() for table in read_entries(path, parse_table, watch))


def is_scitab(path: Path) -> bool:
    """Whether a file is a JSON list whose first entry has the fields."""
    try:
        entries = read_json(path, list)
    except DataError:
        return False
    return bool(entries) and isinstance(entries[0], dict) and {*entries[0]} >= FIELDS


def find(folder: Path) -> SciTab | None:
    files: dict[str, Path] = {}
    for path in filter(
        is_scitab, sorted((*folder.glob("sci_tab*.json"), *(folder / f"{split}.json" for split in SPLITS)))
    ):
        one_file(files, path.stem if path.stem in SPLITS else "test", path)
    return SciTab(folder, files) if files else None


def parse_claim(row: Row) -> Claim:
    name, original = row.id()
    parse_table(row)  # so that a broken table is reported with its claim
    return Claim(name, row.text("claim"), row.label(LABELS), ((name,),), original_id=original)


def parse_table(row: Row) -> Table:
    name, _ = row.id()
    rows = [
        tuple(row.each(f"table_content_values[{i}]", values, str))
        for i, values in enumerate(row.each("table_content_values", row.get("table_content_values", list), list))
    ]
    title, caption = (titles.one_line(row.get(field, str, "")) for field in ("paper", "table_caption"))
    return make_table(
        name, title, row.strings("table_column_names"), rows, Place(row.path, row.line, row.watch), caption
    )
