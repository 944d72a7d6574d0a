"""Reads files of generated sentences and of their references, for `lisax score text`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora.layout import split_of
from lisax.errors import DataError
from lisax.files.reading import get_field, read_json_lines
from lisax.formats.triples import Triples, raw_text


@dataclasses.dataclass(frozen=True, slots=True)
class GoldText:
    """`texts` are references; `triples`: the unit they verbalize, if known; `answers` that it may contain."""

    texts: tuple[str, ...] = ()
    triples: Triples | None = None
    answers: tuple[str, ...] = ()

    @property
    def raw(self) -> str:
        """Title and raw form of the unit, where answers are searched."""
        return "" if self.triples is None else f"{self.triples.title} | {raw_text(self.triples)}"


def read_gold_texts(path: Path, split: str | None = None) -> dict[str, GoldText]:
    """Texts by id, from a JSON Lines file or a split (default: dev) of a dataset's folder."""
    split = split_of(path, split)
    return dict(_of_lines(path) if split is None else _of_folder(path, split))


def _of_folder(folder: Path, split: str) -> Iterator[tuple[str, GoldText]]:
    from lisax.corpora import open_folder

    data = open_folder(folder)
    if split not in data.data_text_splits:
        raise DataError(
            f"no texts for split {split!r}; there are {', '.join(data.data_text_splits) or 'none'}", path=folder
        )
    for record in data.data_texts(split):
        yield record.id, GoldText(record.texts, Triples(record.id, record.title, record.pairs))


def _of_lines(path: Path) -> Iterator[tuple[str, GoldText]]:
    seen: dict[str, int] = {}
    for line, row in read_json_lines(path):
        key = _new_id(row, seen, path, line)
        if not row.keys() & {"texts", "pairs", "answers"}:
            raise DataError("expected `texts`, `pairs` or `answers`, found none of them", path=path, line=line)
        triples = Triples.from_row({"title": "", **row, "id": key}, path=path, line=line) if "pairs" in row else None
        yield key, GoldText(_strings(row, "texts", path, line), triples, _strings(row, "answers", path, line))


def read_texts(path: Path) -> dict[str, str]:
    """`text` by id, from a JSON Lines file."""
    seen: dict[str, int] = {}
    return {
        _new_id(row, seen, path, line): get_field(row, "text", str, path=path, line=line)
        for line, row in read_json_lines(path)
    }


def _new_id(row: dict, seen: dict[str, int], path: Path, line: int) -> str:
    key = str(get_field(row, "id", (str, int), path=path, line=line))
    if seen.setdefault(key, line) != line:
        raise DataError(f"duplicate id {key!r}, first on line {seen[key]}", path=path, line=line, field="id")
    return key


def _strings(row: dict, field: str, path: Path, line: int) -> tuple[str, ...]:
    values = get_field(row, field, list, path=path, line=line, default=[])
    if not all(isinstance(value, str) for value in values):
        raise DataError(f"expected a list of texts, found {values!r:.80}", path=path, line=line, field=field)
    return tuple(values)
