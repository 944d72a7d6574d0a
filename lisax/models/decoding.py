"""Generation with a key/value cache: greedy, beam search and sampling, all inside one compiled loop.

Beam search follows Hugging Face transformers, or T5X: 2 * beams candidates per step, and hypotheses ranked by
log-likelihood divided by a power of their length (EOS counts). A row's result does not depend on other rows. Beams of a
row share the keys and values of its encoded input; those of its past stay in their places, and a beam knows its ancestor
of each step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from lisax.errors import LisaxError
from lisax.models.architectures import Model
from lisax.models.attention import ENCODED, PAST

EOS_ID = 1
SEARCHES = ("transformers", "t5x")
# Stands for minus infinity in scores; finite as in the reference, where scores of such beams are still compared.
IMPOSSIBLE = -1e9


@dataclasses.dataclass(frozen=True)
class Decoding:
    """How targets are generated: `beam_size` hypotheses, or one sampled where `temperature` is above 0.

    `search` "transformers" ranks hypotheses by log-likelihood / length**length_penalty, and cuts them at the longest
    length; with one beam each token is the likeliest. "t5x" ranks hypotheses that end with EOS by log-likelihood / ((5 +
    length) / 6)**length_penalty, and if none ends, cut hypotheses by log-likelihood; one beam is a search too, which may
    end when another token is likelier than EOS.
    `early_stopping` belongs to "transformers": False ends a row when its best open beam, were it to end now, would not
    beat its worst hypothesis; True as soon as there are `beam_size` hypotheses; "never" when no open beam can beat them
    any more. `top_k` 0 and `top_p` 1.0 restrict nothing. Samples depend only on `seed` and an example's number.
    `without`: ids of tokens that are never generated.
    """

    beam_size: int = 1
    search: str = "transformers"
    length_penalty: float = 1.0
    early_stopping: bool | str = False
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    without: tuple[int, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "without", tuple(self.without))  # gin may give a list
        if self.beam_size < 1:
            raise LisaxError(f"BEAM_SIZE must be at least 1, found {self.beam_size}")
        if self.search not in SEARCHES:
            raise LisaxError(f"decoding.Decoding.search must be 'transformers' or 't5x', found {self.search!r}")
        if self.search == "t5x" and self.early_stopping is not False:
            raise LisaxError("early_stopping is of the search 'transformers': 't5x' always stops as T5X does")
        if self.early_stopping not in (True, False, "never"):
            raise LisaxError(f"early_stopping must be True, False or 'never', found {self.early_stopping!r}")
        if self.temperature < 0:
            raise LisaxError(f"temperature must be 0 (no sampling) or above, found {self.temperature}")
        if self.top_k < 0:
            raise LisaxError(f"top_k must be 0 (all tokens) or above, found {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise LisaxError(f"top_p must be above 0 and at most 1, found {self.top_p}")
        if self.temperature and self.beam_size > 1:
            raise LisaxError("choose beam search (BEAM_SIZE above 1) or sampling (temperature above 0), not both")
        if not self.temperature and (self.top_k or self.top_p < 1):
            raise LisaxError("top_k and top_p are for sampling: give a temperature above 0")


class Generated(NamedTuple):
    """Hypotheses of each row, best first."""

    tokens: Array  # int32 [rows, beams, length], 0 after EOS; zeros for hypotheses that T5X's search lacks
    scores: Array  # float32 [rows, beams]: the rank; IMPOSSIBLE for missing hypotheses


def generate(
    model: Model, parameters: Any, inputs: Array, numbers: Array, length: int, decoding: Decoding
) -> Generated:
    """Targets of at most `length` tokens for `inputs` [rows, input length]; rows of zeros only are passed over.

    `numbers` int32 [rows] are the examples' own numbers, for sampling.
    """
    next_logits, past = _begin(model, parameters, inputs, length, decoding)
    if decoding.beam_size > 1 or (decoding.search == "t5x" and not decoding.temperature):
        return _beam_search(next_logits, past, inputs, length, decoding)
    return _one_by_one(next_logits, past, inputs, numbers, length, decoding)


NextLogits = Callable[..., tuple[Array, Any]]


def _begin(model: Model, parameters: Any, inputs: Array, length: int, decoding: Decoding) -> tuple[NextLogits, Any]:
    """(past, tokens [rows, beams], their position, ancestors) -> (logits [rows, beams, vocab], past), those of tokens
    that are never generated IMPOSSIBLE; and an empty past."""
    transformer = model.network()
    encoded = transformer.apply({"params": parameters}, inputs, method="encode")

    def step(collections, tokens, position, ancestors, mutable):
        return transformer.apply(
            {"params": parameters, **collections},
            encoded,
            inputs,
            tokens,
            position,
            length,
            ancestors,
            method="next_logits",
            mutable=mutable,
        )

    # Of this step only the keys and values of the inputs are used; the compiler leaves the rest out.
    start = jnp.zeros((inputs.shape[0], decoding.beam_size), jnp.int32)
    _, kept = step({}, start, jnp.int32(0), None, [PAST, ENCODED])

    def next_logits(past, tokens, position, ancestors=None):
        logits, updated = step({PAST: past, ENCODED: kept[ENCODED]}, tokens, position, ancestors, [PAST])
        if decoding.without:
            logits = logits.at[..., jnp.array(decoding.without)].set(IMPOSSIBLE)
        return logits, updated[PAST]

    return next_logits, jax.tree.map(jnp.zeros_like, kept[PAST])


# --- One hypothesis ------------------------------------------------------------------------


def _one_by_one(
    next_logits: NextLogits, past: Any, inputs: Array, numbers: Array, length: int, decoding: Decoding
) -> Generated:
    rows = inputs.shape[0]

    def unfinished(carry):
        position, _, _, _, _, done, _ = carry
        return (position < length) & ~jnp.all(done)

    def extend(carry):
        position, last, tokens, scores, lengths, done, past = carry
        logits, past = next_logits(past, last[:, None], position)
        logits = logits[:, 0]  # [rows, vocab]
        chosen = jnp.where(done, 0, _choose(logits, numbers, position, decoding))
        likelihood = jnp.take_along_axis(jax.nn.log_softmax(logits), chosen[:, None], axis=-1)[:, 0]
        return (
            position + 1,
            chosen,
            tokens.at[:, position].set(chosen),
            scores + jnp.where(done, 0, likelihood),
            lengths + ~done,
            done | (chosen == EOS_ID),
            past,
        )

    zeros = jnp.zeros(rows, jnp.int32)
    start = (jnp.int32(0), zeros, jnp.zeros((rows, length), jnp.int32), jnp.zeros(rows), zeros, _unused(inputs), past)
    _, _, tokens, scores, lengths, _, _ = jax.lax.while_loop(unfinished, extend, start)
    scores /= jnp.maximum(lengths, 1).astype(jnp.float32) ** decoding.length_penalty
    return Generated(tokens[:, None], scores[:, None])


def _unused(inputs: Array) -> Array:
    """Rows that only fill the batch: they are done before they begin."""
    return jnp.all(inputs == 0, axis=-1)


def _choose(logits: Array, numbers: Array, position: Array, decoding: Decoding) -> Array:
    """Token int32 [rows]: the likeliest, or a sampled one."""
    if not decoding.temperature:
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)
    key = jax.random.fold_in(jax.random.key(decoding.seed), position)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, numbers)
    restricted = restrict(logits / decoding.temperature, decoding.top_k, decoding.top_p)
    return jax.vmap(jax.random.categorical)(keys, restricted).astype(jnp.int32)


def restrict(logits: Array, top_k: int, top_p: float) -> Array:
    """Logits [rows, vocab] of the `top_k` likeliest tokens, and of those the fewest whose probabilities add up to
    `top_p`; minus infinity for the others."""
    if top_k:
        least = jax.lax.top_k(logits, min(top_k, logits.shape[-1]))[0][:, -1:]
        logits = jnp.where(logits < least, -jnp.inf, logits)
    if top_p < 1:
        descending = -jnp.sort(-logits, axis=-1)  # [rows, vocab]
        shares = jax.nn.softmax(descending)
        # A token is needed if those likelier than it do not reach top_p; the first always is.
        needed = jnp.cumsum(shares, axis=-1) - shares < top_p  # [rows, vocab]
        least = jnp.min(jnp.where(needed, descending, jnp.inf), axis=-1, keepdims=True)
        logits = jnp.where(logits < least, -jnp.inf, logits)
    return logits


# --- Beams ---------------------------------------------------------------------------------


class _Beams(NamedTuple):
    """The open beams of each row [rows, beams, …] and the hypotheses that ended, each best first."""

    position: Array  # []: tokens so far
    tokens: Array  # int32 [rows, beams, length]
    ancestors: Array  # int32 [rows, beams, length]: whose place a beam had at each step so far
    scores: Array  # float32 [rows, beams]: log-likelihoods
    ended_tokens: Array  # int32 [rows, beams, length]
    ended_scores: Array  # float32 [rows, beams] with the length penalty; IMPOSSIBLE if no hypothesis has ended yet
    has_ended: Array  # bool [rows, beams]
    active: Array  # [rows]: whether the hypotheses may still change
    past: Any


def _beam_search(next_logits: NextLogits, past: Any, inputs: Array, length: int, decoding: Decoding) -> Generated:
    rows, beams, is_t5x = inputs.shape[0], decoding.beam_size, decoding.search == "t5x"

    def extend(state: _Beams) -> _Beams:
        last = jnp.where(state.position == 0, 0, state.tokens[:, :, state.position - 1])  # [rows, beams]
        logits, past = next_logits(state.past, last, state.position, state.ancestors)  # [rows, beams, vocab]
        ancestors = state.ancestors.at[:, :, state.position].set(jnp.arange(beams))
        totals = jax.nn.log_softmax(logits) + state.scores[:, :, None]  # [rows, beams, vocab]
        # Twice the beams, so that enough continue even if all of the first half end here.
        scores, flat = jax.lax.top_k(totals.reshape(rows, -1), 2 * beams)  # [rows, 2 * beams]
        origins, chosen = flat // logits.shape[-1], (flat % logits.shape[-1]).astype(jnp.int32)
        tokens = _take(state.tokens, origins).at[:, :, state.position].set(chosen)
        generated = state.position + 1
        ends = chosen == EOS_ID  # [rows, 2 * beams]
        if not is_t5x:
            ends |= generated == length

        open_scores, kept = jax.lax.top_k(scores + ends * IMPOSSIBLE, beams)  # [rows, beams]
        # In transformers only the likeliest `beams` candidates may become hypotheses.
        ends &= state.active[:, None] & (is_t5x or jnp.arange(2 * beams) < beams)
        penalised = jnp.where(ends, scores / _length_factor(generated, decoding), IMPOSSIBLE)
        ended_scores, best = jax.lax.top_k(jnp.concatenate([state.ended_scores, penalised], 1), beams)
        has_ended = _take(jnp.concatenate([state.has_ended, ends], 1), best)
        return _Beams(
            generated,
            _take(tokens, kept),
            _take(ancestors, _take(origins, kept)),
            open_scores,
            _take(jnp.concatenate([state.ended_tokens, tokens], 1), best),
            ended_scores,
            has_ended,
            state.active & _may_improve(open_scores, ended_scores, has_ended, generated, length, decoding),
            past,
        )

    tokens = jnp.zeros((rows, beams, length), jnp.int32)
    impossible = jnp.full((rows, beams), IMPOSSIBLE)
    # All beams begin alike, so that only the first may be extended.
    start = _Beams(
        jnp.int32(0),
        tokens,
        tokens,
        impossible.at[:, 0].set(0.0),
        tokens,
        impossible,
        jnp.zeros((rows, beams), bool),
        ~_unused(inputs),
        past,
    )
    end = jax.lax.while_loop(lambda state: (state.position < length) & jnp.any(state.active), extend, start)
    if not is_t5x:
        return Generated(end.ended_tokens, end.ended_scores)
    none = ~jnp.any(end.has_ended, axis=1, keepdims=True) & ~_unused(inputs)[:, None]  # [rows, 1]
    return Generated(
        jnp.where(none[..., None], end.tokens, end.ended_tokens), jnp.where(none, end.scores, end.ended_scores)
    )


def _may_improve(
    open_scores: Array, ended_scores: Array, has_ended: Array, generated: Array, length: int, decoding: Decoding
) -> Array:
    """Whether a row's hypotheses may still change, bool [rows]."""
    full = jnp.all(has_ended, axis=-1)  # [rows]
    if decoding.early_stopping is True:
        return ~full
    if decoding.search == "t5x":  # whose longest hypothesis is one token longer than it can be
        return ~full | (open_scores[:, 0] / _length_factor(length + 1, decoding) >= ended_scores[:, -1])
    longest = decoding.early_stopping == "never" and decoding.length_penalty > 0
    reachable = open_scores[:, 0] / _length_factor(length if longest else generated, decoding)  # [rows]
    return ~full | (reachable > ended_scores[:, -1])


def _length_factor(generated: Array | int, decoding: Decoding) -> Array:
    length = jnp.asarray(generated, jnp.float32)
    return ((5 + length) / 6 if decoding.search == "t5x" else length) ** decoding.length_penalty


def _take(array: Array, beams: Array) -> Array:
    """array [rows, candidates, …], beams [rows, kept] -> [rows, kept, …]."""
    return jnp.take_along_axis(array, beams.reshape(beams.shape + (1,) * (array.ndim - 2)), axis=1)
