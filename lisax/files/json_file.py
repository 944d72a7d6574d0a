"""JSON objects of checkpoints and bundles, which anyone may have written: bounded in size and depth."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lisax.errors import DataError, shown
from lisax.files.places import place
from lisax.files.reading import decoded, is_deeper, parse_json_object

MOST_BYTES = 4 << 20  # T5-11B's largest, the header of its safetensors, is a fortieth of it
MOST_DEPTH = 20


def read_object(path: str | os.PathLike) -> dict[str, Any]:
    """Reads the object in a file. Raises DataError with its path if there is none."""
    path = place(path)
    if not path.is_file():  # a pipe or a device might never end
        raise DataError("no such file", path=path)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None
    return parse_object(content, path)


def parse_object(content: bytes, path: str | os.PathLike) -> dict[str, Any]:
    """The object that UTF-8 `content` of the file `path` is."""
    if len(content) > MOST_BYTES:
        raise DataError(f"more than the {MOST_BYTES >> 20} MiB that its JSON may take", path=path)
    found = parse_json_object(decoded(content, path), path=path)
    if is_deeper(found, MOST_DEPTH):
        raise DataError(f"objects and lists are nested more than {MOST_DEPTH} deep", path=path)
    return found


def config_field(described: Mapping[str, Any], path: Path, name: str, kind: type, default: Any = None) -> Any:
    """A field of another library's `config.json`: a positive integer, a number or a string (`kind` int, float or str).
    Raises DataError if it is something else, or is missing without a default."""
    value = described.get(name)
    value = default if value is None else value
    kinds = (int, float) if kind is float else kind
    if not isinstance(value, kinds) or isinstance(value, bool) or (kind is int and value < 1):
        expected = {int: "a positive integer", float: "a number", str: "a string"}[kind]
        raise DataError(f"expected {expected}, found {shown(value)}", path=path, field=name)
    return value


def config_choice(described: Mapping[str, Any], path: Path, name: str, choices: Mapping[str, Any], default: str) -> Any:
    """The value in `choices` of a field that names one of them. Raises DataError if it names none."""
    value = config_field(described, path, name, str, default)
    if value not in choices:
        raise DataError(f"expected one of {', '.join(choices)}, found {shown(value)}", path=path, field=name)
    return choices[value]


def check_config(described: Mapping[str, Any], path: Path, ours: str, fixed: Mapping[str, Any]) -> None:
    """Raises DataError for a field that is there with another value than `ours` has."""
    for name, value in fixed.items():
        if described.get(name, value) != value:
            raise DataError(f"{ours} has {value}, found {shown(described[name])}", path=path, field=name)
