"""Pointer networks over the candidates of a claim (DeSePtion, section 5): an LSTM points at one after the other.

An encoder reads the claim with each candidate, a page's title or a sentence, and the text's vector m_p is one place
of the memory. At every step the LSTM reads the vector it pointed to last, q hops over the memory give h (equation 2),
an MLP on [m_p; h] gives the distribution over the candidates that are left, and an MLP on h the claim's label given
the evidence so far (equation 4). Nothing knows the order of the candidates. Parameters are the
backbone's, so that its checkpoint starts them, and a `pointer` head that is computed in float32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array

from lisax.models.architectures import PointerConfig
from lisax.models.attention import MASKED, Dense, constrain, fan_in, pair_mask
from lisax.models.pooling import as_texts, pooled

LABEL_COUNT = 3  # in the order of `records.LABELS`


class Memory(NamedTuple):
    vectors: Array  # m, float32 [rows, k, emb]
    keys: Array  # W_g m, float32 [rows, k, hidden]
    pointer_keys: Array  # the pointer MLP's part of m, float32 [rows, k, hidden]
    present: Array  # bool [rows, k]: whether there is a candidate


class Pointed(NamedTuple):
    """One sequence of steps per row (in the head, per hypothesis). A step points to -1 when no candidate is left."""

    pointers: Array  # int32 [rows, steps]
    log_pointers: Array  # float32 [rows, steps, k] of the distribution at each step
    labels: Array  # logits float32 [rows, steps, 3]; [rows, 1, 3] of the relation "set", [rows, 0, 3] of "none"


class Drawn(NamedTuple):
    """The pointers drawn for the reward (appendix B.3)."""

    pointed: Pointed
    labels: Array  # logits float32 [rows, steps, 3] given the candidates pointed to up to each step
    values: Array  # float32 [rows, steps]: the critic's estimate of the return before each step


class Found(NamedTuple):
    """The best hypotheses of a beam search, best first."""

    pointers: Array  # int32 [rows, beam, steps], -1 if no candidate is left
    scores: Array  # float32 [rows, beam]: log-probability of the whole sequence
    shares: Array  # float32 [rows, beam, steps]: probability of each pointer given those before
    labels: Array  # float32 [rows, beam, 3]: probabilities, averaged over steps; zeros of the relation "none"

    def best(self) -> tuple[Array, Array, Array]:
        """(pointers float32 [rows, steps], shares, labels) of the best hypotheses; all of one type, as programs are."""
        return self.pointers[:, 0].astype(jnp.float32), self.shares[:, 0], self.labels[:, 0]


class EvidencePointer(nn.Module):
    """Token 0 is padding; a candidate without tokens is absent."""

    config: PointerConfig

    def setup(self):
        self.token_embedder = self.config.backbone.embedder()
        self.encoder = self.config.backbone.encoder()
        self.pointer = PointerHead(self.config)

    def __call__(
        self,
        tokens: Array,
        gold: Array | None = None,
        *,
        vectors: Array | None = None,
        enable_dropout: bool = False,
    ) -> tuple[Pointed, Pointed] | tuple[Pointed, Pointed, Drawn]:
        """(along the gold pointers, along the model's own) of tokens int32 [rows, k, length]; with a reward, in
        training, also along pointers that are drawn.

        `gold` int32 [rows, steps] are numbers of candidates from 1, and 0 where the model points freely. All texts of
        all rows are one batch of the encoder, or it is left out if their `vectors` are given, float32 [rows, k, emb]
        (see `vectors_once`)."""
        rows = tokens.shape[0]
        gold = jnp.zeros((rows, self.config.steps), jnp.int32) if gold is None else gold
        memory = self._read(tokens, vectors, enable_dropout)
        followed, _ = self.pointer.follow(memory, jnp.stack([gold, jnp.zeros_like(gold)], axis=1))
        forced, own = (Pointed(*(x[:, i] for x in followed)) for i in (0, 1))
        if not (self.config.reward_weight and enable_dropout):
            if self.is_initializing() and self.config.reward_weight:
                self.pointer.draw(memory, jax.random.key(0))  # the critic's parameters
            return forced, own
        return forced, own, self.pointer.draw(memory, self.make_rng("dropout"))

    def search(self, tokens: Array, vectors: Array | None = None) -> Found:
        return self.pointer.search(self._read(tokens, vectors, False))

    def _read(self, tokens: Array, vectors: Array | None, dropout: bool) -> Memory:
        rows, candidates, length = tokens.shape
        if vectors is not None:
            return self.pointer.memory(*as_texts(vectors, tokens), candidates, dropout)
        texts = constrain(tokens.reshape(rows * candidates, length), "batch", "length")  # [rows * k, length]
        valid, trained = texts > 0, self.config.train_encoder
        encoded = self.encoder(self.token_embedder(texts), pair_mask(valid, valid), dropout=dropout and trained)
        return self.pointer.memory(encoded if trained else jax.lax.stop_gradient(encoded), valid, candidates, dropout)


class PointerHead(nn.Module):
    """The layers after the encoder, in float32. Hypotheses are a dimension of their own, [rows, beam, ...]."""

    config: PointerConfig

    def setup(self):
        config, emb_dim = self.config, self.config.backbone.emb_dim

        def dense(features: int, axes: tuple[str, str] = ("embed", "mlp")) -> Dense:
            return Dense(features, "float32", fan_in, axes)

        hidden = config.hidden
        self.query = (
            self.param("pooling", nn.initializers.normal(1.0), (emb_dim,), jnp.float32)
            if config.pooling == "attention"
            else None
        )
        self.start = self.param("start", nn.initializers.normal(1.0), (emb_dim,), jnp.float32)  # read before a pointer
        self.lstm_input, self.lstm_state = dense(4 * hidden), dense(4 * hidden)
        self.lstm_bias = self.param("lstm_bias", _forget_gate_open, (4 * hidden,), jnp.float32)
        self.keys, self.hop = dense(hidden), dense(hidden)  # W_g, W_a
        self.hop_score = self.param("hop_score", nn.initializers.normal(hidden**-0.5), (hidden,), jnp.float32)  # v_h
        self.pointer_keys, self.pointer_state = dense(hidden), dense(hidden)
        self.pointer_score = self.param("pointer_score", nn.initializers.normal(hidden**-0.5), (hidden,), jnp.float32)
        if config.relation != "none":
            self.hidden, self.classes = dense(hidden), dense(LABEL_COUNT, ("mlp", "classes"))
        if config.reward_weight:
            self.value_hidden, self.value = dense(hidden), dense(1, ("mlp", "classes"))
        self.dropout = nn.Dropout(config.backbone.dropout_rate)

    def memory(self, encoded: Array, valid: Array, candidates: int, dropout: bool) -> Memory:
        """encoded [rows * k, length, emb], valid bool [rows * k, length]."""
        vectors = pooled(encoded.astype(jnp.float32), valid, self.query)  # [rows * k, emb]
        vectors = self.dropout(vectors, deterministic=not dropout).reshape(-1, candidates, vectors.shape[-1])
        present = valid.any(axis=-1).reshape(-1, candidates)  # [rows, k]
        return Memory(vectors, self.keys(vectors), self.pointer_keys(vectors), present)

    def draw(self, memory: Memory, key: Array) -> Drawn:
        """Pointers drawn from their distributions, for the policy gradient. The critic sees the states of the policy
        and does not change them."""
        rows, candidates, _ = memory.vectors.shape
        noise = jax.random.gumbel(key, (rows, 1, self.config.steps, candidates))
        pointed, (read, states) = self.follow(memory, jnp.zeros((rows, 1, self.config.steps), jnp.int32), noise)
        labels = pointed.labels
        if self.config.relation == "set":
            places = jnp.arange(self.config.steps)
            so_far = [jnp.where(places <= step, pointed.pointers, -1) for step in range(self.config.steps)]
            labels = jnp.stack([self._labels_of_set(read, pointers) for pointers in so_far], axis=2)
        values = self.value(jnp.tanh(self.value_hidden(jax.lax.stop_gradient(states))))[..., 0]  # [rows, 1, steps]
        return Drawn(Pointed(*(x[:, 0] for x in pointed)), labels[:, 0], values[:, 0])

    def follow(self, memory: Memory, gold: Array, noise: Array | None = None) -> tuple[Pointed, tuple[Array, Array]]:
        """Step by step along each hypothesis of `gold` int32 [rows, beam, steps], at 0 along the likeliest, with Gumbel
        `noise` [rows, beam, steps, k] along one that is drawn; and the vectors that were read [rows, beam, steps, emb],
        and the states [rows, beam, steps, hidden] that pointed to them."""
        rows, candidates, _ = memory.vectors.shape
        state, last = self._begin(rows, gold.shape[1])
        used = jnp.zeros((rows, gold.shape[1], candidates), bool)  # [rows, beam, k]
        pointers, distributions, labels, read, states = [], [], [], [], []
        for step in range(self.config.steps):
            state, h, logits = self._step(memory, state, last)
            left = memory.present[:, None] & ~used  # [rows, beam, k]
            preferred = logits if noise is None else logits + noise[:, :, step]  # [rows, beam, k]
            chosen = jnp.argmax(jnp.where(left, preferred, -jnp.inf), axis=-1)  # [rows, beam]
            chosen = jnp.where(gold[..., step] > 0, gold[..., step] - 1, chosen)
            chosen = jnp.where(left.any(axis=-1), chosen, -1)
            used, last = used | one_hot(chosen, candidates), self._read_at(memory, chosen)
            pointers.append(chosen)
            distributions.append(jax.nn.log_softmax(jnp.where(left, logits, MASKED)))
            read.append(last)
            states.append(h)
            if self.config.relation == "sequence":
                labels.append(self._labels(h))
        pointers, read = jnp.stack(pointers, axis=-1), jnp.stack(read, axis=2)
        if self.config.relation == "set":
            labels.append(self._labels_of_set(read, pointers))
        empty = jnp.zeros((*pointers.shape[:2], 0, LABEL_COUNT))
        pointed = Pointed(pointers, jnp.stack(distributions, axis=2), jnp.stack(labels, axis=2) if labels else empty)
        return pointed, (read, jnp.stack(states, axis=2))

    def search(self, memory: Memory) -> Found:
        """The likeliest sequences of pointers that a beam of `beam_size` finds."""
        config = self.config
        (rows, candidates, emb_dim), beam = memory.vectors.shape, config.beam_size
        state, last = self._begin(rows, beam)
        # All hypotheses are the same before the first step: one of them continues.
        scores = jnp.where(jnp.arange(beam) == 0, 0.0, MASKED) * jnp.ones((rows, 1))
        used = jnp.zeros((rows, beam, candidates), bool)
        pointers = jnp.full((rows, beam, 0), -1, jnp.int32)
        shares = jnp.zeros((rows, beam, 0))
        labels = jnp.zeros((rows, beam, LABEL_COUNT))
        read = jnp.zeros((rows, beam, 0, emb_dim))
        for _ in range(config.steps):
            state, h, logits = self._step(memory, state, last)
            left = memory.present[:, None] & ~used  # [rows, beam, k]
            any_left = left.any(axis=-1, keepdims=True)  # [rows, beam, 1]
            log_pointers = jax.nn.log_softmax(jnp.where(left, logits, MASKED))  # [rows, beam, k]
            # When nothing is left, one continuation keeps the hypothesis as it is.
            stays = jnp.where(jnp.arange(candidates) == 0, 0.0, MASKED)
            log_pointers = jnp.where(any_left, log_pointers, stays)
            if config.relation == "sequence":
                labels += jnp.where(any_left, jax.nn.softmax(self._labels(h)), 0.0)
            scores, best = jax.lax.top_k((scores[..., None] + log_pointers).reshape(rows, -1), beam)  # [rows, beam]
            parent, chosen = best // candidates, best % candidates  # [rows, beam]

            def of_parent(x: Array) -> Array:
                return jnp.take_along_axis(x, parent.reshape(rows, beam, *(1,) * (x.ndim - 2)), axis=1)

            share = jnp.exp(jnp.take_along_axis(of_parent(log_pointers), chosen[..., None], axis=-1))  # [rows, beam, 1]
            there = of_parent(any_left)
            chosen = jnp.where(there[..., 0], chosen, -1)
            state, used, labels = jax.tree.map(of_parent, (state, used, labels))
            used, last = used | one_hot(chosen, candidates), self._read_at(memory, chosen)
            pointers = jnp.concatenate([of_parent(pointers), chosen[..., None].astype(jnp.int32)], axis=-1)
            shares = jnp.concatenate([of_parent(shares), jnp.where(there, share, 0.0)], axis=-1)
            read = jnp.concatenate([of_parent(read), last[:, :, None]], axis=2)  # [rows, beam, steps, emb]
        if config.relation == "set":
            labels = jax.nn.softmax(self._labels_of_set(read, pointers))
        else:
            labels /= jnp.maximum(jnp.sum(pointers >= 0, axis=-1, keepdims=True), 1)
        return Found(pointers, scores, shares, labels)

    def _begin(self, rows: int, beam: int) -> tuple[tuple[Array, Array], Array]:
        """((hidden, cell), the first step's input)"""
        zeros = jnp.zeros((rows, beam, self.config.hidden))
        return (zeros, zeros), jnp.broadcast_to(self.start, (rows, beam, self.start.shape[0]))

    def _step(
        self, memory: Memory, state: tuple[Array, Array], last: Array
    ) -> tuple[tuple[Array, Array], Array, Array]:
        """((hidden, cell), h after all hops [rows, beam, hidden], pointer logits [rows, beam, k])"""
        hidden, cell = state
        gates = self.lstm_input(last) + self.lstm_state(hidden) + self.lstm_bias  # [rows, beam, 4 hidden]
        write, forget, show, new = jnp.split(gates, 4, axis=-1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(write) * jnp.tanh(new)  # [rows, beam, hidden]
        hidden = jax.nn.sigmoid(show) * jnp.tanh(cell)
        h = hidden
        for _ in range(self.config.hops):
            scores = jnp.tanh(memory.keys[:, None] + self.hop(h)[:, :, None]) @ self.hop_score  # [rows, beam, k]
            weights = jax.nn.softmax(jnp.where(memory.present[:, None], scores, MASKED))
            h = jnp.einsum("rbk,rkh->rbh", weights, memory.keys)  # [rows, beam, hidden]
        logits = jnp.tanh(memory.pointer_keys[:, None] + self.pointer_state(h)[:, :, None]) @ self.pointer_score
        return (hidden, cell), h, logits

    def _labels(self, x: Array) -> Array:
        return self.classes(jnp.tanh(self.hidden(x)))

    def _labels_of_set(self, read: Array, pointers: Array) -> Array:
        """[rows, beam, 3] of the vectors that were read [rows, beam, steps, emb], side by side and pooled."""
        there = pointers[..., None] >= 0  # [rows, beam, steps, 1]
        some = there.any(axis=-2)  # [rows, beam, 1]
        highest, lowest = (sign * jnp.max(jnp.where(there, sign * read, MASKED), axis=-2) for sign in (1, -1))
        pools = [jnp.where(some, pool, 0.0) for pool in (highest, lowest)]  # [rows, beam, emb] each
        read = jnp.where(there, read, 0.0)
        return self._labels(jnp.concatenate([read.reshape(*read.shape[:2], -1), *pools], axis=-1))

    def _read_at(self, memory: Memory, chosen: Array) -> Array:
        """The vectors [rows, beam, emb] at `chosen` int32 [rows, beam]; zeros at -1."""
        vectors = jnp.take_along_axis(memory.vectors, jnp.maximum(chosen, 0)[..., None], axis=1)
        return jnp.where(chosen[..., None] >= 0, vectors, 0.0)


def one_hot(chosen: Array, candidates: int) -> Array:
    """bool [..., candidates]; -1 is none of them."""
    return chosen[..., None] == jnp.arange(candidates)


def _forget_gate_open(key: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    quarter = shape[0] // 4
    return jnp.zeros(shape, dtype).at[quarter : 2 * quarter].set(1.0)
