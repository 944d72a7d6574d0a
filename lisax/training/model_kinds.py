"""Every kind of model: its architecture, its objective, and its inference. To add one is to add it here; the
architecture itself (`models.architectures`) brings its network."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lisax.models.architectures import (
    DualEncoderConfig,
    EncoderConfig,
    FusionConfig,
    Model,
    PairConfig,
    PointerConfig,
    ReaderConfig,
    SpanReaderConfig,
    T5Config,
)
from lisax.models.pointer_loss import COLUMNS
from lisax.scoring.claims import FusionScorer, PointerScorer
from lisax.training.model_inference import (
    ClaimInference,
    EncoderInference,
    Inference,
    PairInference,
    QuestionInference,
    TextToTextInference,
)
from lisax.training.objectives import (
    Classes,
    Contrast,
    Fusion,
    Objective,
    Pointer,
    Pointing,
    Reading,
    TextToText,
    Untrained,
)


@dataclasses.dataclass(frozen=True)
class ModelKind:
    """`gin_module` is the module of its name in gin files, if it is not the architecture's `kind`."""

    config: type[Model]
    objective: Objective
    inference: Inference
    gin_module: str | None = None


MODEL_KINDS: Mapping[type[Model], ModelKind] = {
    kind.config: kind
    for kind in (
        ModelKind(T5Config, TextToText(), TextToTextInference(), "network"),
        ModelKind(EncoderConfig, Untrained(), EncoderInference()),
        ModelKind(
            FusionConfig,
            Fusion(),
            ClaimInference(FusionScorer, 1, ("prediction", "attention"), "table fusion"),
        ),
        ModelKind(
            PointerConfig,
            Pointer(),
            ClaimInference(PointerScorer, COLUMNS, ("prediction", "shares", "labels"), "the evidence pointer"),
        ),
        ModelKind(DualEncoderConfig, Contrast(), QuestionInference()),
        ModelKind(PairConfig, Classes(), PairInference()),
        ModelKind(ReaderConfig, Reading(), QuestionInference()),
        ModelKind(SpanReaderConfig, Pointing(), QuestionInference(), "reader"),
    )
}


def kind_of(model: Model) -> ModelKind:
    return MODEL_KINDS[type(model)]
