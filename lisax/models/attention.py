"""The parts of T5's attention: projections without biases, relative position buckets, keys and values kept while
decoding.

Dimensions in comments: `length` is the query side, `keys` the attended side, `kv` is heads * head_dim.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, checkpoint_policies
from jax.ad_checkpoint import checkpoint_name

from lisax.models.architectures import RELATIVE_BUCKETS
from lisax.models.axes import LORA_A, LORA_B
from lisax.models.relative_positions import relative_position_bucket

if TYPE_CHECKING:
    from lisax.models.architectures import Backbone, T5Config

# Dimensions of hidden states where a layer reads them, and of the sums between layers.
HIDDEN = ("batch", "length", "embed")
RESIDUAL = ("batch", "residual_length", "embed")
# Added to masked attention logits; finite, so that a fully masked row gives a uniform row, not NaN.
MASKED = -1e10
# Collections of keys and values in decoding step by step.
PAST, ENCODED = "past", "encoded"
# Dimensions of keys and values in training, each head's own, in einsum's notation.
OWN = "bkhd"
# Names for policies of rematerialisation: attention's output and its rows' sums, and the sums between blocks. A product
# with a matrix has the name of its `Dense`.
MIXED, SUM = "mixed", "sum"
# Initial bias of distance 0 in matching heads: enough to outweigh a token's match with itself.
NOT_ITSELF = -10.0

fan_in = nn.initializers.variance_scaling(1.0, "fan_in", "normal")


def constrain(x: Array, *axes: str | None) -> Array:
    """`x` laid out on the mesh by the names of its dimensions, whole along dimensions that the mesh does not divide;
    unchanged if no rules are set."""
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty or not nn.get_logical_axis_rules():
        return x
    split = nn.logical_to_mesh_axes(axes)
    return jax.lax.with_sharding_constraint(
        x,
        jax.sharding.PartitionSpec(
            *(name if name and size % mesh.shape[name] == 0 else None for name, size in zip(split, x.shape))
        ),
    )


def pair_mask(queries: Array, keys: Array, compare: Callable = jnp.logical_and) -> Array:
    """[batch, length], [batch, keys] -> bool [batch, 1, length, keys]."""
    return compare(queries[:, None, :, None], keys[:, None, None, :])


def product(x: Array, kernel: Array) -> Array:
    """x [..., in] times kernel [in, features], as `jnp.dot`."""
    if not _on_cpu():
        return jnp.dot(x, kernel)
    # Two-dimensional, because XLA's CPU backend computes the kernel's gradient several times faster so.
    rows = x.reshape(-1, x.shape[-1])  # [rows, in]
    y = _cpu_product(rows, kernel) if x.dtype == jnp.bfloat16 else jnp.dot(rows, kernel)
    return y.reshape(*x.shape[:-1], kernel.shape[-1])


def _on_cpu() -> bool:
    device = jax.sharding.get_abstract_mesh().abstract_device
    return (jax.default_backend() if device is None else device.platform) == "cpu"


@jax.custom_vjp
def _cpu_product(x: Array, kernel: Array) -> Array:
    """The product of bfloat16 matrices for XLA's CPU backend, which has a fast one only if sums are float32 and the
    summed dimension is the left matrix's last; it converts others to float32."""
    return _summed(x, kernel, 0)


def _summed(x: Array, y: Array, axis: int) -> Array:
    """The sum of products over x's last dimension and y's `axis`."""
    sums = jax.lax.dot_general(x, y, (((1,), (axis,)), ((), ())), preferred_element_type=jnp.float32)
    return sums.astype(x.dtype)


def _product_gradients(residuals: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = residuals
    columns = jax.lax.optimization_barrier(x.T)  # merged with the product, the transpose would be the slow form
    return _summed(gradient, kernel, 1), _summed(columns, gradient, 0)


_cpu_product.defvjp(lambda x, kernel: (_cpu_product(x, kernel), (x, kernel)), _product_gradients)


class Dense(nn.Module):
    """x [..., in] -> [..., features]. `axes` name the kernel's dimensions.

    The output of a low-rank adapter next to the kernel (see `lora`) is added."""

    features: int
    dtype: str
    kernel_init: Callable
    axes: tuple[str, str]
    bias: bool = False

    @nn.compact
    def __call__(self, x: Array) -> Array:
        kernel = self.param("kernel", self.kernel_init, (x.shape[-1], self.features), jnp.float32)
        x = x.astype(self.dtype)
        # Where parameters are fully sharded, this is where a layer's are gathered, in the type they are used in.
        kernel = constrain(kernel.astype(self.dtype), *self.axes)  # [in, features]
        y = product(x, kernel)  # [..., features]
        if self.has_variable("params", LORA_A):
            a, b = (self.get_variable("params", name).astype(self.dtype) for name in (LORA_A, LORA_B))
            y += product(product(x, a), b)  # a [in, rank], b [rank, features]
        if self.bias:
            y += self.param("bias", nn.initializers.zeros, (self.features,), jnp.float32).astype(self.dtype)
        return checkpoint_name(y, self.name)


class RelativePositionBias(nn.Module):
    """Bias [1, heads, length, keys] of a stack's layers, or of one; [1, heads, 1, keys] of one query position."""

    config: Backbone
    bidirectional: bool
    matching: bool = False

    @nn.compact
    def __call__(self, length: int, keys: int, position: Array | None = None) -> Array:
        def init(key, shape, dtype):
            embedding = nn.initializers.variance_scaling(1.0, "fan_avg", "uniform")(key, shape, dtype)
            if self.matching:
                embedding = embedding.at[: _matching_heads(self.config), 0].set(NOT_ITSELF)
            return embedding

        embedding = self.param("rel_embedding", init, (self.config.num_heads, RELATIVE_BUCKETS), jnp.float32)
        relative = np.arange(keys)[None, :] - np.arange(length)[:, None]  # [length, keys]
        bucket = relative_position_bucket(relative, bidirectional=self.bidirectional)  # [length, keys]
        if position is not None:
            bucket = jnp.asarray(bucket)[position][None]  # [1, keys]
        embedding = embedding.astype(self.config.dtype)
        if _on_cpu():
            return embedding[None, :, bucket]  # [1, heads, length, keys]
        # A TPU gathers slowly, and adds the gradients of a gather one by one, in bfloat16.
        one_hot = jax.nn.one_hot(bucket, RELATIVE_BUCKETS, dtype=embedding.dtype)  # [length, keys, buckets]
        return jnp.einsum("hn,qkn->hqk", embedding, one_hot, precision="highest")[None]


def _matching_heads(config: Backbone) -> int:
    return max(1, config.num_heads // 2)


class Attention(nn.Module):
    """Multi-head attention, unscaled: 1/sqrt(head_dim) is folded into the query's initialisation.

    `cache` names the collection where a decoder that goes step by step (`Transformer.next_logits`) keeps keys and
    values: those of the encoder's output, computed once, or of the past steps. Elsewhere there is none.
    """

    config: T5Config
    matching: bool = False
    cache: str | None = None

    @nn.compact
    def __call__(self, queries: Array, keys: Array, mask: Array, bias: Array | None, *, dropout: bool) -> Array:
        """queries [batch, length, emb], keys [batch, keys, emb], mask [batch, 1, length, keys] bool,
        bias [1, heads, length, keys] -> [batch, length, emb]."""
        config = self.config
        heads, head_dim = config.num_heads, config.head_dim

        def query_init(key, shape, dtype):
            return fan_in(key, shape, dtype) / np.sqrt(head_dim)

        def project(name, x, init):
            # [batch, length, emb] -> [batch, length, heads, head_dim]
            dense = Dense(heads * head_dim, config.dtype, init, ("embed", "joined_kv"), name=name)
            return constrain(dense(x).reshape(*x.shape[:2], heads, head_dim), "batch", "length", "heads", "kv")

        query = project("query", queries, query_init)  # [batch, length, heads, head_dim]
        key_init = fan_in
        if self.matching and self.is_initializing():
            query_kernel = self.get_variable("params", "query")["kernel"]
            matched = _matching_heads(config) * head_dim

            def key_init(key, shape, dtype):
                kernel = fan_in(key, shape, dtype)
                return kernel.at[:, :matched].set(query_kernel[:, :matched] * np.sqrt(head_dim))

        folded = self._folds(queries.shape[1], keys.shape[1])
        attended = "bkd" if folded else OWN
        if self.cache == ENCODED and self.has_variable(ENCODED, "keys"):
            key, value = self.get_variable(ENCODED, "keys"), self.get_variable(ENCODED, "values")
            attended = "bhdk"
        elif folded:
            # query [batch, length, heads, emb], key [batch, keys, emb]
            query, key, value = jnp.einsum("bqhd,ehd->bqhe", query, self._heads_of("key")), keys, None
        else:
            key, value = project("key", keys, key_init), project("value", keys, fan_in)
            if self.cache and self.is_mutable_collection(self.cache) and not self.is_initializing():
                key, value = self._keep(key, value, mask)
                attended = "bhdk"

        if config.float32_attention_logits:
            value = key if value is None else value
            query, key = query.astype(jnp.float32), key.astype(jnp.float32)
        kept = None
        if dropout and config.dropout_rate:
            # One mask for all queries of a head, as T5X has it.
            keep, shape = 1.0 - config.dropout_rate, (queries.shape[0], heads, 1, keys.shape[1])
            kept = jax.random.bernoulli(self.make_rng("dropout"), keep, shape) * jnp.asarray(1 / keep, config.dtype)

        def attend(query: Array, mask: Array, bias: Array | None) -> Array:
            return mixed_values(attended, query, key, value, mask, bias, kept)

        # Constrained again, for its gradient too: the result of the sum over devices may be split by positions.
        mixed = constrain(in_chunks(config, attend, query, mask, bias), "batch", "length", "heads", "kv")
        if folded:
            mixed = jnp.einsum("bqhe,ehd->bqhd", mixed, self._heads_of("value"))  # [batch, length, heads, head_dim]
        mixed = mixed.reshape(*queries.shape[:2], heads * head_dim)  # [batch, length, kv]
        return Dense(queries.shape[-1], config.dtype, fan_in, ("joined_kv", "embed"), name="out")(mixed)

    def _folds(self, queries: int, keys: int) -> bool:
        """Whether queries are brought to the encoder's space rather than its output to theirs: (q K) e = q (K e).

        It is, where that takes fewer products: one query, that of a label, needs very few.
        """
        if (
            self.cache != ENCODED
            or self.is_initializing()
            or self.is_mutable_collection(ENCODED)
            or self.has_variable(ENCODED, "keys")
        ):
            return False
        if not isinstance(keys, int):
            return True  # the length of an exported program is a symbol, and its queries are few
        kv = self.config.num_heads * self.config.head_dim
        return queries * (kv + keys * self.config.num_heads) < keys * kv

    def _heads_of(self, name: str) -> Array:
        """The kernel of `name` as [emb, heads, head_dim]."""
        kernel = self.get_variable("params", name)["kernel"].astype(self.config.dtype)
        kernel = constrain(kernel, "embed", "joined_kv")
        return kernel.reshape(-1, self.config.num_heads, self.config.head_dim)

    def _keep(self, key: Array, value: Array, mask: Array) -> tuple[Array, Array]:
        """Keys and values to attend to, kept for later steps.

        Given as [rows, keys, heads, head_dim], they are kept as [rows, heads, head_dim, keys], whose products XLA's CPU
        backend computes several times faster. Of the encoder these are the ones given. Those of a step's beams are
        written after those of the steps before, into steps * beams places, and stay there: beams that change places are
        separated by `mask` [rows or 1, 1, beams, steps * beams], which shows each one key of every step so far.
        """
        kept = []
        for name, new in (("keys", key), ("values", value)):
            new = new.transpose(0, 2, 3, 1)  # [rows, heads, head_dim, keys]
            if self.cache == PAST:
                shape = (*new.shape[:3], mask.shape[-1])
                past = self.get_variable(PAST, name) if self.has_variable(PAST, name) else jnp.zeros(shape, new.dtype)
                position = jnp.sum(mask[0, 0, 0]) - 1
                new = jax.lax.dynamic_update_slice_in_dim(past, new, position * new.shape[3], axis=3)
            self.put_variable(self.cache, name, new)
            kept.append(new)
        return tuple(kept)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def mixed_values(
    attended: str,
    query: Array,
    key: Array,
    value: Array | None,
    mask: Array,
    bias: Array | None,
    kept: Array | None,
) -> Array:
    """The values [batch, length, heads, head_dim] that each query attends to: softmax of logits of `query`'s type.

    `attended` are the dimensions of `key` and `value`, in einsum's notation, None if it is `key`; `kept` [batch, heads,
    1, keys] is dropout's mask of the weights. Weights are divided by their sum after they are multiplied with the
    values, and the gradient of a row's sum is taken from the output, so that a TPU writes no more than the logits and
    their gradient.
    """
    return _mixed_values(attended, query, key, value, mask, bias, kept)[0]


def _mixed_values(attended, query, key, value, mask, bias, kept):
    logits = jnp.einsum(f"bqhd,{attended}->bhqk", query, key)  # [batch, heads, length, keys]
    if bias is not None:
        logits += bias.astype(logits.dtype)
    logits = jnp.where(mask, logits, jnp.asarray(MASKED, logits.dtype))
    top = jnp.max(logits, axis=-1, keepdims=True)  # [batch, heads, length, 1]
    weights = jnp.exp(logits - top)  # [batch, heads, length, keys]
    values, of_weights, of_values = key if value is None else value, *_masks(attended, value, kept)
    if summed := _at_values(attended, value):
        # One more value, 1 and never dropped: the product sums the weights too, without a pass over them.
        values = jnp.pad(values, (*[(0, 0)] * 3, (0, 1)), constant_values=1)
        if of_values is not None:
            of_values = jnp.where(np.arange(values.shape[-1]) < value.shape[-1], of_values, 1)
    else:
        total = jnp.sum(weights, axis=-1, keepdims=True, dtype=jnp.float32)  # [batch, heads, length, 1]
    weights, values = _kept(weights.astype(values.dtype), of_weights), _kept(values, of_values)
    mixed = jnp.einsum(f"bhqk,{attended}->bhqd", weights, values, preferred_element_type=jnp.float32)
    if summed:
        mixed, total = mixed[..., :-1], mixed[..., -1:]
    # The barrier makes XLA keep the output in its type, and not the float32 array that it is made of.
    mixed = jax.lax.optimization_barrier((mixed / total).astype(values.dtype))  # [batch, heads, length, head_dim]
    mixed, top, total = (checkpoint_name(x, MIXED) for x in (mixed, top, total))
    return mixed.transpose(0, 2, 1, 3), (query, key, value, mask, bias, kept, logits, top, total, mixed)


def _gradients(attended, residuals, gradient):
    query, key, value, mask, bias, kept, logits, top, total, mixed = residuals
    values, kept, kept_values = key if value is None else value, *_masks(attended, value, kept)
    weights = jnp.exp((logits - top).astype(jnp.float32)) * (1 / total)  # [batch, heads, length, keys]
    # [batch, length, heads, head_dim] -> [batch, heads, length, 1]
    of_sum = jnp.sum(gradient.transpose(0, 2, 1, 3).astype(jnp.float32) * mixed, axis=-1, keepdims=True)
    of_weights = _kept(jnp.einsum(f"bqhd,{attended}->bhqk", gradient, _kept(values, kept_values)), kept)
    of_logits = jnp.where(mask, weights * (of_weights - of_sum), 0.0).astype(logits.dtype)
    weights = _kept(weights.astype(values.dtype), kept)
    of_query = jnp.einsum(f"bhqk,{attended}->bqhd", of_logits, key)  # [batch, length, heads, head_dim]
    if value is None:
        # One product of both, so that an array as long as the inputs is written once.
        pairs = jnp.stack([of_logits, weights]), jnp.stack([query, gradient])
        of_key, of_value = jnp.einsum(f"sbhqk,sbqhd->{attended}", *pairs), None
    else:
        of_key = jnp.einsum(f"bhqk,bqhd->{attended}", of_logits, query)
        of_value = _kept(jnp.einsum(f"bhqk,bqhd->{attended}", weights, gradient), kept_values)
    of_bias = None if bias is None else jnp.sum(of_logits, axis=0, keepdims=True).astype(bias.dtype)
    return of_query, of_key.astype(key.dtype), of_value, None, of_bias, None


def _at_values(attended: str, value: Array | None) -> bool:
    """Whether sums and dropout are a matter of a head's own values, which are fewer than its weights: on a TPU."""
    return value is not None and attended == OWN and not _on_cpu()


def _masks(attended: str, value: Array | None, kept: Array | None) -> tuple[Array | None, Array | None]:
    """Dropout's masks of the weights and of the values [batch, keys, heads, 1]; all queries share one."""
    if kept is None or not _at_values(attended, value):
        return kept, None
    return None, kept.transpose(0, 3, 1, 2)


def _kept(x: Array, kept: Array | None) -> Array:
    return x if kept is None else x * kept


mixed_values.defvjp(_mixed_values, _gradients)


def in_chunks(config: Backbone, attend: Callable, query: Array, mask: Array, bias: Array | None) -> Array:
    """`attend(query, mask, bias)` on `attention_chunk` queries at a time, all at once if there are fewer. Its logits
    are computed again in the backward pass if they are in chunks or `remat` is "attention".

    query [batch, length, heads, head_dim], mask [batch, 1, length, keys], bias [1, heads, length, keys]."""
    length, chunk = query.shape[1], config.attention_chunk
    at_once = chunk is None or length <= chunk
    if config.remat == "attention" or not at_once:
        # In a loop nothing is merged with a recomputed value.
        attend = jax.checkpoint(
            attend,
            prevent_cse=at_once and not config.scan_layers,
            policy=checkpoint_policies.save_only_these_names(MIXED),
        )
    if at_once:
        return attend(query, mask, bias)
    if length % chunk:
        raise ValueError(f"attention_chunk is {chunk}, which does not divide the length {length}")

    def split(x: Array | None, axis: int) -> Array | None:
        if x is None:
            return None
        return jnp.moveaxis(x.reshape(*x.shape[:axis], -1, chunk, *x.shape[axis + 1 :]), axis, 0)

    mixed = jax.lax.map(lambda parts: attend(*parts), (split(query, 1), split(mask, 2), split(bias, 2)))
    return jnp.moveaxis(mixed, 0, 1).reshape(query.shape)  # [batch, length, heads, head_dim]
