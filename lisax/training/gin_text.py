"""Texts of gin, before gin reads them: the names that they set, and brackets that are not closed."""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from collections.abc import Iterator
from typing import Any

from lisax.errors import LisaxError

STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def check_closed(text: str, path: str = "") -> None:
    """Raises for a bracket or a quote that is not closed, for which gin gives neither the file nor the line."""
    opened: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string in ("(", "[", "{"):
                opened.append(token.start[0])
            elif token.string in (")", "]", "}"):
                opened = opened[:-1]
    except tokenize.TokenError as error:
        place = f"{path}:{opened[-1] if opened else error.args[1][0]}: " if path else f"{text.strip()[:80]}: "
        raise LisaxError(f"gin: {place}a bracket or a quote is not closed") from None
    except SyntaxError:  # which gin reports with its place
        pass


def names_set(text: str) -> Iterator[tuple[str, int]]:
    """The names that a text of gin sets, as `gin_files` keeps their places, with their lines."""
    from gin import config_parser

    class Values(config_parser.ParserDelegate):
        """Reads references and macros as None, for the places of statements."""

        def configurable_reference(self, *_: Any) -> None:
            pass

        def macro(self, *_: Any) -> None:
            pass

    with contextlib.suppress(SyntaxError, ValueError):  # gin itself is about to report it
        for statement in config_parser.ConfigParser(text, Values()):
            if isinstance(statement, config_parser.BindingStatement):
                scope, selector, field = statement[:3]
                name = f"{selector.rpartition('.')[2]}.{field}" if field else f"%{selector}"
                yield f"{scope}/{name}" if scope else name, statement.location[1]
