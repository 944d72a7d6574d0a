"""Errors for the user: a sentence and, for bad input, its place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

LONGEST_MESSAGE = 2_000  # in characters


def printable(text: str) -> str:
    """`text` in encodable form: file names need not be UTF-8, and errors about them are shown all the same."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class LisaxError(Exception):
    """A sentence for the user: the expected and the found, the place, and a remedy.

    >>> import lisax
    >>> try:
    ...     lisax.load("nowhere")
    ... except lisax.LisaxError as error:
    ...     print(str(error).partition(":")[0])
    nowhere
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class DataError(LisaxError):
    """Bad input, located: `path:line: field: message`.

    >>> print(DataError("expected a list of strings", path="claims.jsonl", line=7, field="evidence"))
    claims.jsonl:7: field 'evidence': expected a list of strings
    """

    def __init__(
        self, message: str, *, path: str | os.PathLike | None = None, line: int | None = None, field: str | None = None
    ):
        self.path, self.line, self.field, self.message = path, line, _cut(field or "", 200), _cut(message)
        where = "" if path is None else str(path) + (f":{line}" if line is not None else "") + ": "
        super().__init__(where + (f"field '{self.field}': " if field else "") + self.message)


def _cut(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Shortens a longer text in the middle, since an error may quote a whole file."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def shown(value: Any) -> str:
    """A value in an error message: short, on one line, whatever it holds."""
    if isinstance(value, Mapping):
        return f"an object of {len(value)} fields"
    if isinstance(value, (list, tuple)) and not all(isinstance(item, (str, int, float)) for item in value[:80]):
        return f"a list of {len(value)}"
    if isinstance(value, (str, list, tuple)):
        value = value[:80]
    text = ascii(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 80 else f"{text[:80]}…"
