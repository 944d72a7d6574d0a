"""OTT-QA: questions over tables of Wikipedia and the pages that their cells link to, in the owners' layout.

    {train,dev,test}.json            [{"question_id", "question", "table_id", "answer-text"}]; also in `released_data/`
    traindev_tables_tok.tar.gz       a JSON file a table: {"title", "header": [[text, links], …], "data": [[[text, links]]],
    or traindev_tables_tok/*.json    "section_title"?, "uid"?}; the id is the file's name
    all_plain_tables.json            {id: table}, all tables of the open setting; read where the others are not there

The tables' texts are tokenised; blanks before punctuation and within brackets are removed, so that texts match answers
and pages. A question's evidence is its table: the owners publish no cells.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lisax.corpora import archives
from lisax.corpora.dataset import SPLITS, StructureDataset
from lisax.corpora.reading import Row, Watch, parse_json, parsed_files, read_entries
from lisax.documents.grid import Place, make_table
from lisax.errors import DataError
from lisax.files.reading import parse_json as parse_value
from lisax.records import Question, Table, check_id
from lisax.text import titles

TABLES = ("traindev_tables_tok.tar.gz", "traindev_tables_tok", "all_plain_tables.json")
LARGEST_MEMBER = 1 << 23
_MEMBER = re.compile(r'\s*([{,])\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_BEFORE, _WITHIN = re.compile(r" (?=[,.;:!?%)\]])"), re.compile(r"(?<=[(\[]) ")


class OttQa(StructureDataset):
    layout = "ottqa"

    def __init__(self, folder: Path):
        files = {
            split: path
            for split in SPLITS
            for place in ("released_data", "")
            if (path := folder / place / f"{split}.json").is_file()
        }
        super().__init__(folder, question_files=files)
        self.tables_path = tables_path(folder)

    def _tables(self, watch):
        return read_tables(self.tables_path, watch)

    def _questions(self, split, watch):
        return read_entries(self.question_files[split], parse_question, watch, unique="id")


def tables_path(folder: Path) -> Path | None:
    return next((path for name in TABLES for place in ("", "data") if (path := folder / place / name).exists()), None)


def read_tables(path: Path, watch: Watch) -> Iterator[Table]:
    """The tables of a folder by name, or of an archive in its order; an invalid table is a problem."""

    def members() -> Iterator[tuple[str, Path, Any]]:
        if path.name.endswith("tables.json"):
            yield from ((name, path, value) for name, value in _members_of(path))
        else:
            yield from ((file.stem, file, content) for file, content in archives.read_folder(path, ".json"))

    def parse(name: str, file: Path, content: Any) -> Table:
        value = parse_json(content, dict, file) if isinstance(content, bytes) else content
        return parse_table(name, value, Place(file, None, watch))

    return parsed_files(((member[1], functools.partial(parse, *member)) for member in members()), watch)


def _members_of(path: Path, largest: int = LARGEST_MEMBER) -> Iterator[tuple[str, Any]]:
    """Yields (key, value) of each member of a file with one JSON object; members have at most `largest` characters."""
    decoder, mark = json.JSONDecoder(), "{"
    try:
        with path.open(encoding="utf-8-sig") as file:
            window = file.read(largest)
            while True:
                at = 0
                while (found := _MEMBER.match(window, at)) and found[1] == mark:
                    try:
                        _, end = decoder.raw_decode(window, found.end())
                    except (ValueError, RecursionError):
                        break
                    if end == len(window):  # a number may continue
                        break
                    yield (
                        parse_value(found[2], path=path),
                        parse_value(window[found.end() : end], path=path),
                    )
                    at, mark = end, ","
                window, rest = window[at:], file.read(largest)
                if not rest and "".join(window.split()) == ("}" if mark == "," else "{}"):
                    return
                if not rest or not at:
                    raise DataError(
                        "not valid JSON: expected an object whose members have at most "
                        f"{largest:,} characters, found {window!r:.80}",
                        path=path,
                    )
                window += rest
    except UnicodeDecodeError as error:
        raise DataError(f"not valid JSON: not UTF-8 ({error.reason})", path=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None


def parse_table(name: str, value: Any, place: Place) -> Table:
    def wrong(field: str, found: Any) -> DataError:
        return DataError(
            f"expected a cell as [text, links] or a text, found {found!r:.80}", path=place.path, field=field
        )

    def text(cell: Any, field: str) -> str:
        cell = cell[0] if isinstance(cell, list) and cell else cell
        if not isinstance(cell, str):
            raise wrong(field, cell)
        return untokenised(cell)

    if not isinstance(value, dict):
        raise DataError(f"expected an object for table {name!r}, found {value!r:.80}", path=place.path)
    header, data, title = value.get("header"), value.get("data"), value.get("title", "")
    if not isinstance(header, list) or not isinstance(data, list) or not all(isinstance(row, list) for row in data):
        raise DataError("expected `header` and `data` as lists", path=place.path)
    section = value.get("section_title") or ""
    if not isinstance(title, str) or not isinstance(section, str):
        raise DataError("expected `title` and `section_title` as texts", path=place.path)
    rows = [[text(cell, f"data[{i}][{j}]") for j, cell in enumerate(row)] for i, row in enumerate(data)]
    return make_table(
        name,
        title,
        [text(cell, f"header[{j}]") for j, cell in enumerate(header)],
        rows,
        place,
        untokenised(section),
        titles.title_to_id(title) or None,
    )


def untokenised(text: str) -> str:
    """`Anaconda , Montana ( 1911 )` as `Anaconda, Montana (1911)`."""
    return _WITHIN.sub("", _BEFORE.sub("", titles.one_line(text)))


def parse_question(row: Row) -> Question:
    """Parses a question. `answer-text` and `table_id` are missing in the owners' test set."""
    key, original = row.id("question_id")
    answer = titles.one_line(row.get("answer-text", str, ""))
    table = row.get("table_id", str, "")
    evidence = (check_id(titles.page_id(table), path=row.path, line=row.line, field="table_id"),) if table else ()
    return Question(
        key,
        untokenised(row.text("question")),
        (answer,) if answer else (),
        evidence,
        None if original == key else original,
    )
