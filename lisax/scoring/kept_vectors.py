"""Vectors of texts by an encoder that is not trained any further: each is computed once and kept.

A model on such an encoder (`OnBackbone.vectors_once`) learns in minutes on a CPU, for the encoder's work is done after
the first pass over the examples, and models on the same encoder share it, those of other seeds too.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from lisax.devices.batching import Tokens
from lisax.models.architectures import DualEncoderConfig, Model
from lisax.models.lora import merged
from lisax.models.stacking import unstack
from lisax.scoring.backends import JAX, backend_for
from lisax.weights.checkpoints import flatten, nested

VECTORS = "vectors"  # the feature of a batch that holds them, float32 [rows, k, emb]
LIMIT = 512 << 20  # bytes that are kept of an encoder
ENCODERS = 2  # that are kept at a time: one of titles, one of sentences
PARTS = ("token_embedder", "encoder")
LONGEST = 4096  # tokens of a text, unless the model sets it


class KeptVectors:
    """`encode` gives vectors float32 [texts, width] of token ids; `rows_alone`: see `backends.EncodesTexts`. The store
    begins again when it would be more than `limit` bytes."""

    def __init__(
        self,
        encode: Callable[[Sequence[Tokens]], np.ndarray],
        width: int,
        limit: int = LIMIT,
        rows_alone: bool = True,
    ):
        self._encode, self._most, self._rows_alone = encode, max(1, limit // (4 * width)), rows_alone
        self._places: dict[bytes, int] = {}
        self._vectors = np.zeros((0, width), np.float32)
        self._lock = threading.Lock()  # training reads ahead by a thread

    def of(self, tokens: np.ndarray) -> np.ndarray:
        """float32 [rows, k, width] of tokens int32 [rows, k, length], filled with zeros at the end; zeros of a text
        without tokens."""
        texts = tokens.reshape(-1, tokens.shape[-1])
        lengths = np.count_nonzero(texts, axis=-1)
        keys = [text[:length].tobytes() for text, length in zip(texts, lengths)]
        some = {key: text[:length] for key, text, length in zip(keys, texts, lengths) if length}
        with self._lock:
            if new := {key: text for key, text in some.items() if key not in self._places}:
                if len(self._places) + len(new) > self._most:
                    self._places, new = {}, some
                self._add(list(new), self._encode(list(new.values())))
            found = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
            there = np.flatnonzero(lengths)
            found[there] = self._vectors[[self._places[keys[place]] for place in there]]
        return found.reshape(*tokens.shape[:2], -1)

    def begin(self) -> None:
        """Forgets vectors whose last digits are those of the batches of earlier calls."""
        if not self._rows_alone:
            with self._lock:
                self._places = {}

    def _add(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        first, last = len(self._places), len(self._places) + len(keys)
        if last > len(self._vectors):
            grown = np.zeros((max(last, 2 * first), self._vectors.shape[1]), np.float32)
            grown[:first] = self._vectors[:first]
            self._vectors = grown
        self._vectors[first:last] = vectors
        self._places.update(zip(keys, range(first, last)))


def kept_for(model: Model, parameters: Any) -> KeptVectors | None:
    """The store of a model's parameters, with adapters next to their kernels or added to them; None if its texts have
    to be encoded in each step, or if several processes share them."""
    if not getattr(model, "vectors_once", False) or jax.process_count() > 1:
        return None
    backbone = model.for_inference().backbone.replaced(scan_layers=False)
    own = unstack(merged({name: parameters[name] for name in PARTS}))
    return _kept(DualEncoderConfig(backbone, pooling="mean"), _Parameters(flatten(own)))


class _Parameters:
    """Arrays by name, equal where all their bytes are."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays, digest = arrays, hashlib.sha256()
        for name in sorted(arrays):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(arrays[name]).data)
        self._digest = digest.digest()

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Parameters) and self._digest == other._digest


@functools.lru_cache(ENCODERS)
def _kept(model: DualEncoderConfig, parameters: _Parameters) -> KeptVectors:
    options, in_jax = {"max_tokens": model.backbone.max_length or LONGEST}, backend_for(model) == JAX

    @functools.cache
    def encoder() -> Any:
        if in_jax:
            from lisax.scoring.texts import VectorEncoder

            return VectorEncoder(model, nested(parameters.arrays), **options)
        from lisax.scoring.onnx.scoring import OnnxVectors

        return OnnxVectors(model, parameters.arrays, int8=False, **options)

    # A dual encoder's are scaled for their dot products.
    scale = np.float32(model.backbone.emb_dim**0.25)
    return KeptVectors(lambda texts: scale * encoder().passages(texts), model.backbone.emb_dim, rows_alone=not in_jax)
