"""Reading files of text and JSON: sizes are bounded, and errors give file, line and field."""

from __future__ import annotations

import codecs
import functools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lisax.errors import DataError

# Limits of one JSON value and of one line. Deeper values break recursive code, such as that of error messages; longer
# ones take gigabytes, since a number of two bytes becomes a pointer of eight.
DEEPEST_NESTING = 100
MOST_VALUES = 5_000_000
LONGEST_LINE = 1 << 26

HALF_PAIR = "half of a surrogate pair (\\ud800 to \\udfff on its own)"


def read_file(path: str | os.PathLike, largest_bytes: int = 1 << 28) -> bytes:
    """The content of a file. Raises an error for a larger one."""
    path = Path(path)
    try:
        if not path.is_file():  # reading a pipe would block
            raise _missing(path)
        with path.open("rb") as file:
            content = file.read(largest_bytes + 1)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from None
    if len(content) > largest_bytes:
        raise DataError(f"the file has more than {largest_bytes:,} bytes", path=path)
    return content


def _missing(path: Path) -> DataError:
    found = "a folder" if path.is_dir() else "a pipe or a device: write it to a file first" if path.exists() else None
    return DataError(f"expected a file, found {found}" if found else "no such file", path=path)


def read_lines(path: str | os.PathLike) -> Iterator[tuple[int, str]]:
    """(line number, text) of a UTF-8 file, streaming, without its byte order mark; blank lines are skipped.

    Raises an error for bytes that are not UTF-8 (with their line), for a line of more than `LONGEST_LINE` bytes, and for a file without any non-blank line.
    """
    path = Path(path)
    if not path.is_file():
        raise _missing(path)
    empty = True
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None
    with file:
        for number, raw in enumerate(iter(functools.partial(file.readline, LONGEST_LINE + 1), b""), start=1):
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            if len(raw) > LONGEST_LINE:
                raise DataError(f"the line has more than {LONGEST_LINE:,} bytes", path=path, line=number)
            text = decoded(raw, path, number)
            if text.strip():
                empty = False
                yield number, text.rstrip("\r\n")
    if empty:
        raise DataError("the file is empty", path=path)


def decoded(content: bytes, path: str | os.PathLike, line: int = 1) -> str:
    """The text of UTF-8 bytes, which begin at a file's `line`; a DataError names the line of the first other byte."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = error.start - before.rfind(b"\n")
        raise DataError(
            f"byte {column} is not UTF-8 (0x{content[error.start]:02x}); if the file is {_encoding(content)}, convert it "
            f"with `iconv -f {_encoding(content).lower()} -t utf-8`",
            path=path,
            line=line + before.count(b"\n"),
        ) from None


def _encoding(content: bytes) -> str:
    return "UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "Latin1"


def parse_json(text: str, *, path=None, line=None, pairs: Callable[[list], Any] | None = None) -> Any:
    """`text` as one JSON value that can be re-encoded, traversed and kept in memory: lone surrogates, more than
    `DEEPEST_NESTING` nested lists and objects, and more than `MOST_VALUES` values are errors.

    `pairs` builds the value of an object from its (key, value) pairs; None: a dict."""
    if len(text) > MOST_VALUES and sum(map(text.count, ",[{")) > MOST_VALUES:
        raise DataError(f"the JSON holds more than {MOST_VALUES:,} values", path=path, line=line)
    try:
        value = json.loads(text, object_pairs_hook=pairs)
        if text.count("[") + text.count("{") > DEEPEST_NESTING and is_deeper(value, DEEPEST_NESTING + 1):
            raise RecursionError
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"a string holds {HALF_PAIR}", path=path, line=line) from None
    except RecursionError:
        raise DataError(
            f"not valid JSON: lists and objects are nested more than {DEEPEST_NESTING} deep", path=path, line=line
        ) from None
    except ValueError as error:
        raise DataError(f"not valid JSON: {error}", path=path, line=line) from None
    return value


def is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects are nested more than `depth` deep."""
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (list, dict, tuple))
        ]
    return bool(level)


def parse_json_object(text: str, *, path=None, line=None) -> dict:
    """`text` as one JSON object, see `parse_json`."""
    value = parse_json(text, path=path, line=line)
    if not isinstance(value, dict):
        raise DataError(f"expected a JSON object, found {type(value).__name__}", path=path, line=line)
    return value


def read_json_lines(path: str | os.PathLike) -> Iterator[tuple[int, dict]]:
    """(line number, object) for each line of a JSON Lines file; see `read_lines` for its errors."""
    for number, text in read_lines(path):
        yield number, parse_json_object(text, path=path, line=number)


def get_field(row: dict, field: str, kind: type | tuple[type, ...], *, path, line: int, default: Any = ...) -> Any:
    """`row[field]`, checked to be of `kind`. Raises an error for a missing field unless a default is given."""
    if field not in row:
        if default is not ...:
            return default
        raise DataError("the field is missing", path=path, line=line, field=field)
    value = row[field]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(k.__name__ for k in kinds)
        raise DataError(f"expected {expected}, found {json.dumps(value)[:80]}", path=path, line=line, field=field)
    return value


def get_strings(row: dict, field: str, *, path, line: int) -> tuple[str, ...]:
    """`row[field]`, checked to be a list of strings."""
    values = get_field(row, field, list, path=path, line=line)
    if not all(isinstance(value, str) for value in values):
        raise DataError(
            f"expected a list of strings, found {json.dumps(values)[:80]}", path=path, line=line, field=field
        )
    return tuple(values)
