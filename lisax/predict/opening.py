"""Opens a checkpoint or bundle with the class that its format requires."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.errors import DataError, LisaxError
from lisax.files.places import fetched, is_remote, place
from lisax.formats.catalogue import FORMATS
from lisax.formats.format import POINTERS, SPANS, TABLE_CLASSES, VECTORS, WRITTEN, Format
from lisax.models.architectures import EncoderConfig, PairConfig
from lisax.weights.checkpoints import resolve_checkpoint
from lisax.weights.interop.kinds import Kind, kind_of
from lisax.weights.model_card import ModelCard
from lisax.weights.pretrained import is_named
from lisax.weights.public_models import Job, find

if TYPE_CHECKING:
    from lisax.predict.fusion_model import FusionModel
    from lisax.predict.pair_model import PairModel
    from lisax.predict.pointer_model import PointerModel
    from lisax.predict.prompt_model import PromptModel
    from lisax.predict.text_model import TextModel
    from lisax.weights.public_models import Use


def format_of(path: str | os.PathLike) -> Format | None:
    """The format that a model was trained on; None if its `model.json` names none, or an unknown one."""
    return FORMATS.get(ModelCard.read(_folder(path)).text.get("family"))


def is_encoder(path: str | os.PathLike) -> bool:
    """Whether `path` is an encoder as published, of the BERT family or of a T5 without a decoder: a Hugging Face
    folder, or a name of one."""
    family = find(path)
    if family is not None and family.job is not Job.ENCODE:
        return False
    if not is_named(path) and kind_of(place(path)) is not Kind.HUGGINGFACE:
        return False
    from lisax.weights.interop.opening import open_checkpoint

    checkpoint = open_checkpoint(path)
    return type(checkpoint.architecture) is EncoderConfig or not (checkpoint.card or checkpoint.has_decoder)


def _folder(path: str | os.PathLike) -> Path:
    if is_remote(path):
        return fetched(resolve_checkpoint(path))
    if not os.path.isdir(path) and not is_named(path):
        raise DataError("no such checkpoint or bundle", path=path)
    family = find(path)
    if family is not None and family.job is Job.PARTS:
        from lisax.weights.published_parts import bundle_of

        return bundle_of(path)
    return resolve_checkpoint(path)


def open_model(
    path: str | os.PathLike, use: Use | None = None
) -> TextModel | PairModel | FusionModel | PointerModel | PromptModel:
    """Loads a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest); or a T5 as published, a
    model of the Hub or a Hugging Face folder, with its `use`, which for those of `weights.public_models` may be None."""
    folder = _folder(path)
    if kind_of(folder) is Kind.HUGGINGFACE:
        from lisax.predict.prompt_model import PromptModel

        return PromptModel.open(path, use)
    if use is not None:
        raise LisaxError(f"{path} has its own input format: leave the prompt and its label words out")
    found = format_of(path)
    architecture = ModelCard.read(folder).content.get("architecture")
    if isinstance(architecture, Mapping) and architecture.get("kind") == PairConfig.kind:
        from lisax.predict.pair_model import PairModel

        return PairModel(folder)
    answer = None if found is None else found.answer
    if answer in (SPANS, WRITTEN, VECTORS):
        raise LisaxError(
            f"{folder} is a model of the format '{found}', which checks no claims: `lisax index vectors` "
            "and `lisax answer` use it, and in Python `lisax.predict.retriever` and `reader`"
        )
    if answer is POINTERS:
        from lisax.predict.pointer_model import PointerModel

        return PointerModel(folder)
    if answer is TABLE_CLASSES:
        from lisax.predict.fusion_model import FusionModel

        return FusionModel(folder)
    from lisax.predict.text_model import TextModel

    return TextModel.open(folder)
