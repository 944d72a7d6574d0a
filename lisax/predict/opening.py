"""Opens models for claims and parts of tables: trained ones, and published T5s with their prompts."""

from __future__ import annotations

import os

from lisax.errors import DataError, LisaxError
from lisax.files.places import is_remote
from lisax.formats.format import SPANS, VECTORS, WRITTEN
from lisax.models.architectures import EncoderConfig
from lisax.predict.model import Model
from lisax.predict.prompt_model import PromptModel
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import is_named
from lisax.weights.public_models import Job, Use


def find_model(model: str | os.PathLike | ModelFolder) -> ModelFolder:
    """The model that a user names. A published model of table rows or columns is found as the bundle that is made of
    it. Raises DataError if there is no such folder or name."""
    if isinstance(model, ModelFolder):
        return model
    if not is_remote(model) and not os.path.isdir(model) and not is_named(model):
        raise DataError("no such checkpoint or bundle", path=model)
    found = ModelFolder.find(model)
    if found.family is not None and found.family.job is Job.PARTS:
        from lisax.weights.published_parts import bundle_of

        return ModelFolder(found.name, bundle_of(found), Kind.BUNDLE)
    return found.here()


def is_encoder(model: str | os.PathLike | ModelFolder) -> bool:
    """Whether this is an encoder as published, of the BERT family or of a T5 without its decoder."""
    found = find_model(model)
    if found.kind is not Kind.HUGGINGFACE or (found.family is not None and found.family.job is not Job.ENCODE):
        return False
    checkpoint = open_checkpoint(found)
    return type(checkpoint.architecture) is EncoderConfig or not (checkpoint.card or checkpoint.has_decoder)


def open_model(model: str | os.PathLike | ModelFolder, use: Use | None = None) -> Model | PromptModel:
    """Loads a model that checks claims or scores parts of tables: a checkpoint or a bundle, or a published T5 with its
    `use`, which for those of `weights.public_models` may be None."""
    found = find_model(model)
    if found.kind is Kind.HUGGINGFACE:
        return PromptModel.open(found, use)
    if use is not None:
        raise LisaxError(f"{found.name} has its own input format: leave the prompt and its label words out")
    if found.format is not None and found.format.answer in (SPANS, WRITTEN, VECTORS):
        raise LisaxError(
            f"{found.folder} is a model of the format '{found.format}', which checks no claims: `lisax index vectors` "
            "and `lisax answer` use it, and in Python `lisax.predict.retriever` and `reader`"
        )
    return Model.open(found)
