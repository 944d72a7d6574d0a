"""Opens a model as the Ranker, Verifier, Answerer or Verbalizer of its card."""

from __future__ import annotations

import os

from lisax.errors import LisaxError
from lisax.formats.format import OPERATION, RELEVANCE, SENTENCES, SPANS, VECTORS, WRITTEN
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.pointing import POINT_DOCUMENTS
from lisax.predict.answerer import Answerer
from lisax.predict.opening import find_model, is_encoder
from lisax.predict.ranker import Ranker
from lisax.predict.verbalizer import Verbalizer
from lisax.predict.verifier import Verifier
from lisax.weights.interop.kinds import Kind
from lisax.weights.public_models import Job, use_of


def load(model: str | os.PathLike, index: str | os.PathLike | None = None) -> Ranker | Verifier | Answerer | Verbalizer:
    """See `lisax.load`. Raises LisaxError for a model that only works inside another one: a retriever, or a model of
    operations."""
    found = find_model(model)
    if found.kind is Kind.HUGGINGFACE:
        ranks = is_encoder(found) or use_of(found.name).job in (Job.RANK, Job.COMPARE)
        return Ranker.open(found) if ranks else Verifier.open(found)
    text_format = found.card.format
    if text_format is TABLE_PARTS or text_format.answer in (SPANS, WRITTEN):
        if index is None:
            raise LisaxError(f"{found.name} answers questions from an index: give load(model, index=FOLDER)")
        return Answerer.open(index, found)
    if index is not None:
        raise LisaxError(f"{found.name} reads no index (its format is '{text_format}'): leave it out")
    if text_format.answer is SENTENCES:
        return Verbalizer.open(found)
    if text_format.answer in (VECTORS, OPERATION):
        use = "lisax index vectors" if text_format.answer is VECTORS else "lisax ask --aggregation"
        raise LisaxError(f"{found.name} is part of another model's work (its format is '{text_format}'): see `{use}`")
    ranks = text_format.answer is RELEVANCE or text_format is POINT_DOCUMENTS
    return Ranker.open(found) if ranks else Verifier.open(found)
