"""The fields that a model may be described by, each with the values that it may have: in `model.json`, which anyone may
have written, and wherever else a model is made.

Ranges admit what is far greater than any T5 (11B, mT5 and umT5 XXL) and still keeps sums and memory sane. Neither flax
nor jax is imported here: a bundle is read without flax.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping
from typing import Any

DTYPES = ("float32", "bfloat16", "float16")
ACTIVATIONS = ("linear", "relu", "gelu", "silu", "swish", "sigmoid", "tanh")
REMATS = ("none", "minimal", "full")
OBJECTIVES = ("joint", "uniform", "ternary")  # of table fusion
RELATIONS = ("sequence", "set", "none")  # of an evidence pointer


class FieldError(ValueError):
    """`field` is the path to the value, `t5.vocab_size`."""

    def __init__(self, field: str, complaint: str):
        super().__init__(f"{field} {complaint}")
        self.field, self.complaint = field, complaint


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
Kinds = Mapping[str, Any]  # name of a field -> what it may be: one of the above, or the fields of an object
T5: Kinds = {
    "vocab_size": Whole(1, 1 << 22),
    "dtype": OneOf(DTYPES),
    "emb_dim": Whole(1, 1 << 16),
    "num_heads": Whole(1, 1 << 12),
    "num_encoder_layers": LAYERS,
    "num_decoder_layers": LAYERS,
    "head_dim": Whole(1, 1 << 12),
    "mlp_dim": Whole(1, 1 << 20),
    "mlp_activations": Items(OneOf(ACTIVATIONS), 1, 4),
    "dropout_rate": Number(0, 1),
    "logits_via_embedding": Truth(),
    "relative_bias_per_layer": Truth(),
    "float32_attention_logits": Truth(),
    "attention_init": OneOf(("t5", "matching")),
    "scan_layers": Truth(),
    "remat": OneOf(REMATS),
    "attention_chunk": Maybe(Whole(1, 1 << 20)),
}
TABLE_FUSION: Kinds = {
    "t5": T5,
    "objective": OneOf(OBJECTIVES),
    "heads": Whole(0, 1 << 12),
    "pooling": OneOf(("attention", "mean")),
}
EVIDENCE_POINTER: Kinds = {
    "t5": T5,
    "relation": OneOf(RELATIONS),
    "steps": Whole(1, 64),
    "hidden": Whole(1, 1 << 16),
    "hops": Whole(1, 64),
    "beam_size": Whole(1, 1 << 10),
    "pointer_weight": Number(0, 1e6),
    "own_steps": Truth(),
    "train_encoder": Truth(),
    "pooling": OneOf(("attention", "mean")),
}
DUAL_ENCODER: Kinds = {"t5": T5, "pooling": OneOf(("mean", "first")), "tied": Truth()}
READER: Kinds = {"t5": T5, "passages": Whole(1, 10_000)}
# By the `kind` of a description; a T5's, that of most checkpoints, says none.
ARCHITECTURES: Mapping[str | None, Kinds] = {
    None: T5,
    "table_fusion": TABLE_FUSION,
    "evidence_pointer": EVIDENCE_POINTER,
    "dual_encoder": DUAL_ENCODER,
    "reader": READER,
    "span_reader": READER,
}


def check_architecture(described: Any) -> None:
    """FieldError unless `described` is `architecture` of a `model.json`: no field but those of its kind of model, each
    with a value that it may have."""
    if not isinstance(described, Mapping):
        raise FieldError("architecture", f"must be an object, found {shown(described)}")
    kind = described.get("kind")
    if not (kind is None or isinstance(kind, str)) or kind not in ARCHITECTURES:
        known = ", ".join(repr(name) for name in ARCHITECTURES if name)
        raise FieldError("kind", f"must be one of {known}, or left out of a T5's, found {shown(kind)}")
    fields = ARCHITECTURES[kind]
    if kind is not None and "t5" not in described:
        raise FieldError("t5", "is missing")
    check({name: value for name, value in described.items() if name != "kind"}, fields)


def check(values: Mapping[str, Any], fields: Kinds, within: str = "", others: bool = False) -> None:
    """FieldError where a value is not what its field may be, or there is no such field, unless `others` may be."""
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


def check_made(model: Any, fields: Kinds) -> None:
    """`check` of a dataclass as it is made; what it is built on was checked when that was."""
    check({name: value for name, value in vars(model).items() if name in fields and name != "t5"}, fields)


def _plain(name: str) -> str:
    """A name that someone else chose, for a message."""
    return name if name.isprintable() and len(name) <= 80 else ascii(name[:80])
