"""What every model is to the engine, and how `model.json` names it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, Self

import flax.linen as nn
import jax

from lisax.models import fields
from lisax.models.dual_encoder import DualEncoderConfig
from lisax.models.evidence_pointer import PointerConfig
from lisax.models.reader import ReaderConfig, SpanReaderConfig
from lisax.models.t5 import T5Config
from lisax.models.table_fusion import FusionConfig


class Model(Protocol):
    """A frozen dataclass that holds a network's architecture. What the network learns by is in `runtime.objectives`."""

    @property
    def t5(self) -> T5Config:
        """The T5 that it is, or is built on: vocabulary, types, dropout, layers."""

    def replaced(self, **fields: Any) -> Self:
        """The same model with other fields of its T5."""

    def for_inference(self) -> Self:
        """The same model without what only training needs."""

    def network(self) -> nn.Module: ...

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Inputs that its parameters can be drawn with."""


# A T5's description, that of most checkpoints, says no kind.
_KINDS = {
    None: T5Config,
    "table_fusion": FusionConfig,
    "evidence_pointer": PointerConfig,
    "dual_encoder": DualEncoderConfig,
    "reader": ReaderConfig,
    "span_reader": SpanReaderConfig,
}


def describe(model: Model) -> dict[str, Any]:
    """`architecture` of `model.json`."""
    kind = next(kind for kind, of_kind in _KINDS.items() if of_kind is type(model))
    return ({} if kind is None else {"kind": kind}) | dataclasses.asdict(model)


def from_description(described: Mapping[str, Any]) -> Model:
    """The model that `describe` described; `fields.FieldError` where it is none."""
    fields.check_architecture(described)
    values = dict(described)
    return _KINDS[values.pop("kind", None)](**values)
