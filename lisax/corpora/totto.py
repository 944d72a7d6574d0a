"""ToTTo: sentences that describe the highlighted cells of a table of Wikipedia, in the owners' JSON Lines.

    totto_train_data.jsonl, totto_dev_data.jsonl, unlabeled_totto_test_data.jsonl

Each highlighted cell is a pair of its header and its text; the page's title is the title, and the section's title the
first pair. The test set has no sentences; its records have no texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lisax.corpora import titles
from lisax.corpora.dataset import StructureDataset
from lisax.corpora.reading import Row, Watch, read_records, told
from lisax.records import DataText

FILES = {"train": "totto_train_data.jsonl", "dev": "totto_dev_data.jsonl", "test": "unlabeled_totto_test_data.jsonl"}
WIDEST_SPAN, WIDEST_TABLE = 1_000, 10_000  # in columns


class Totto(StructureDataset):
    layout = "totto"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.text_files = totto_files(folder)

    @property
    def data_text_splits(self):
        return tuple(self.text_files)

    def data_texts(self, split, watch=None):
        return told(lambda w: read_totto(self.text_files[split], w), watch)


def totto_files(folder: Path) -> dict[str, Path]:
    return {split: folder / name for split, name in FILES.items() if (folder / name).is_file()}


def read_totto(path: Path, watch: Watch) -> Iterator[DataText]:
    return read_records(path, parse_totto, watch, unique=lambda record: record.id)


def parse_totto(row: Row) -> DataText:
    table = []
    for i, cells in enumerate(row.each("table", row.get("table", list), list)):
        table.append(list(row.each(f"table[{i}]", cells, dict)))
    names, values = _headers(row, table)
    pairs = [("section", titles.one_line(row.get("table_section_title", str, "")))]
    for i, place in enumerate(row.each("highlighted_cells", row.get("highlighted_cells", list), list)):
        at = tuple(row.each(f"highlighted_cells[{i}]", place, int))
        if at not in values:
            raise row.error(f"highlighted_cells[{i}]", f"expected [row, cell] of the table, found {place!r:.80}")
        pairs.append((names[at], values[at]))
    texts = []
    for i, sentence in enumerate(row.each("sentence_annotations", row.get("sentence_annotations", list, []), dict)):
        text = sentence.get("final_sentence")
        if not isinstance(text, str):
            raise row.error(f"sentence_annotations[{i}].final_sentence", f"expected a sentence, found {text!r:.80}")
        texts.append(titles.one_line(text))
    return DataText(
        row.id("example_id")[0],
        row.text("table_page_title"),
        tuple(pair for pair in pairs if pair[1]),
        tuple(dict.fromkeys(filter(None, texts))),
        "totto",
    )


def _headers(row: Row, table: list[list[dict]]) -> tuple[dict[tuple[int, int], str], dict[tuple[int, int], str]]:
    """The header of each cell and its text, by (row, index of the cell in its row).

    A cell's header is the last header cell above it that spans its first column; if there is none, the last one before
    it in its row.
    """
    above: dict[int, str] = {}
    taken: dict[int, int] = {}  # column -> the first row without a cell spanning from above
    names, values = {}, {}
    for i, cells in enumerate(table):
        column, before = 0, ""
        headers: dict[int, str] = {}
        for n, cell in enumerate(cells):
            while taken.get(column, 0) > i:
                column += 1
            text, width, height = _cell(row, f"table[{i}][{n}]", cell)
            values[i, n], names[i, n] = text, above.get(column) or before
            columns = range(column, column + width)
            if columns.stop > WIDEST_TABLE:
                raise row.error(f"table[{i}][{n}]", f"the cells span more than {WIDEST_TABLE:,} columns")
            if cell.get("is_header") is True:
                headers |= dict.fromkeys(columns, text)
                before = text or before
            taken |= dict.fromkeys(columns, i + height)
            column += width
        above |= headers
    return names, values


def _cell(row: Row, field: str, cell: dict) -> tuple[str, int, int]:
    value, spans = cell.get("value"), [cell.get(name, 1) for name in ("column_span", "row_span")]
    if not isinstance(value, str):
        raise row.error(f"{field}.value", f"expected a text, found {value!r:.80}")
    for name, span in zip(("column_span", "row_span"), spans):
        if type(span) is not int or not 1 <= span <= WIDEST_SPAN:
            raise row.error(f"{field}.{name}", f"expected 1 to {WIDEST_SPAN}, found {span!r:.80}")
    return titles.one_line(value), *spans
