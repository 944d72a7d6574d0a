"""The values that a field may have: of a model's architecture, and of the rest of `model.json`, which anyone may have
written.

Ranges admit models far greater than any T5 (11B, mT5 and umT5 XXL) and still keeps sums and memory sane. Neither flax
nor jax is imported here: a bundle is read without flax.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping
from typing import Any

from lisax.errors import shown

DTYPES = ("float32", "bfloat16", "float16")
ACTIVATIONS = ("linear", "relu", "gelu", "silu", "swish", "sigmoid", "tanh")
REMATS = ("none", "attention", "minimal", "values", "full")
OBJECTIVES = ("joint", "reranking", "uniform", "ternary")  # of table fusion
RELATIONS = ("sequence", "set", "none")  # of an evidence pointer


class FieldError(ValueError):
    """`field` is the path to the value, `t5.vocab_size`."""

    def __init__(self, field: str, complaint: str):
        super().__init__(f"{field} {complaint}")
        self.field, self.complaint = field, complaint


@dataclasses.dataclass(frozen=True)
class Whole:
    """An integer from `least` to `most`."""

    least: int
    most: int

    def accepts(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most

    def __str__(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"


@dataclasses.dataclass(frozen=True)
class Number:
    """A number of at least `least` and below `limit`; neither NaN nor infinite."""

    least: float
    limit: float

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return False
        if isinstance(value, int) and abs(value) > sys.float_info.max:  # no float can be made of it
            return False
        return self.least <= value < self.limit  # false of NaN

    def __str__(self) -> str:
        if self == FINITE:
            return "a finite number"
        return "a number" if self == REAL else f"a number of at least {self.least:g} and below {self.limit:g}"


REAL = Number(-math.inf, math.inf)
FINITE = Number(-sys.float_info.max, math.inf)


@dataclasses.dataclass(frozen=True)
class OneOf:
    names: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.names

    def __str__(self) -> str:
        return f"one of {', '.join(map(repr, self.names))}"


@dataclasses.dataclass(frozen=True)
class Truth:
    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool)

    def __str__(self) -> str:
        return "true or false"


@dataclasses.dataclass(frozen=True)
class Text:
    most: int = 1000  # characters

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and len(value) <= self.most

    def __str__(self) -> str:
        return f"a text of at most {self.most:,} characters"


@dataclasses.dataclass(frozen=True)
class Items:
    """A list of `least` to `most` values, each of one kind."""

    of: Any
    least: int
    most: int

    def accepts(self, value: Any) -> bool:
        return (
            isinstance(value, (list, tuple))
            and self.least <= len(value) <= self.most
            and all(map(self.of.accepts, value))
        )

    def __str__(self) -> str:
        number = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most:,}"
        return f"a list of {number}, each {self.of}"


@dataclasses.dataclass(frozen=True)
class Maybe:
    """A value or null."""

    of: Any

    def accepts(self, value: Any) -> bool:
        return value is None or self.of.accepts(value)

    def __str__(self) -> str:
        return f"{self.of}, or null"


LAYERS = Whole(0, 256)
Kinds = Mapping[str, Any]  # name of a field -> its allowed values: one of the above, or the fields of an object
LORA: Kinds = {"rank": Whole(1, 1 << 12), "alpha": Number(1e-6, 1e6), "targets": Text(1000)}  # of an adapter


def check(values: Mapping[str, Any], fields: Kinds, within: str = "", others: bool = False) -> None:
    """Raises FieldError if a value is not allowed for its field, or there is no such field, unless `others` may be."""
    for name, value in values.items():
        field = f"{within}{name}"
        if name not in fields:
            if others:
                continue
            raise FieldError(_plain(field), f"is none that is known here; there are {', '.join(fields)}")
        kind = fields[name]
        if isinstance(kind, Mapping):
            if not isinstance(value, Mapping):
                raise FieldError(field, f"must be an object, found {shown(value)}")
            check(value, kind, f"{field}.", others)
        elif not kind.accepts(value):
            raise FieldError(field, f"must be {kind}, found {shown(value)}")


def _plain(name: str) -> str:
    """A name that someone else chose, for a message."""
    return name if name.isprintable() and len(name) <= 80 else shown(name)
