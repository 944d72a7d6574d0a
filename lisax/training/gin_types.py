"""The types of values that gin sets: whether a value is of an annotated type, and the type in a message."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "True or False", types.NoneType: "None"}
LISTS = {int: "a list of whole numbers", float: "a list of numbers", str: "a list of texts"}


def is_a(value: Any, hint: Any) -> bool:
    """Whether a value that gin set is of an annotated type: an integer is also a number, and a list also a tuple."""
    origin, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(is_a(value, one) for one in inner)
    if origin in (Any, Callable) or getattr(origin, "_is_protocol", False):
        return origin is Any or callable(value) or dataclasses.is_dataclass(value)
    if origin in (int, float):
        return isinstance(value, (int, origin)) and not isinstance(value, bool)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(is_a(k, inner[0]) and is_a(v, inner[1]) for k, v in value.items())
    if origin in (tuple, Sequence):
        if not isinstance(value, (list, tuple)):
            return False
        of_each = inner[:1] * len(value) if origin is Sequence or ... in inner else inner
        return len(value) == len(of_each) and all(map(is_a, value, of_each))
    return isinstance(value, origin)


def named(hint: Any) -> str:
    """An annotated type in a message."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(named, inner))
    if origin in (Sequence, tuple) and {*inner} - {...} <= LISTS.keys() and len({*inner} - {...}) == 1:
        return LISTS[inner[0]]
    if origin is dict:
        return "{name: value, …}"
    return NAMES.get(hint) or (hint.__name__ if isinstance(hint, type) else re.sub(r"[\w.]*\.", "", str(hint)))
