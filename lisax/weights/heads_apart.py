"""Attention kernels and their optimizer slots in the shapes of T5X's `scalable_t5`, which keeps heads apart.

The networks here take kernels with their heads joined; checkpoints of stacked layers have them apart
([embed, layers, heads, head_dim] and [heads, layers, head_dim, embed]). The two forms differ in rank. Arrays may be
numpy's or JAX's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lisax.models.axes import apart_axes, is_stacked, logical_axes

Shape = tuple[int, ...]


class Axes(NamedTuple):
    """Names of the dimensions of an array: with heads joined, in the same order apart, and in T5X's order."""

    joined: tuple[str, ...]
    between: tuple[str, ...]
    apart: tuple[str, ...]


def kept(axes: Iterable[str], slot: str) -> tuple[str, ...]:
    """The dimensions of a slot, from those of its parameter: T5X's row is the embedding, and its columns are the others."""
    if slot not in ("v_row", "v_col"):
        return tuple(axes)
    return tuple(axis for axis in axes if axis == "layers" or (axis == "embed") == (slot == "v_row"))


def axes_of(name: str) -> Axes | None:
    """The dimensions of an attention kernel, or of a slot of one (`…/kernel/v_row`); None for other arrays."""
    path = name.split("/")
    slot = "" if path[-1] == "kernel" else path.pop()
    apart = apart_axes(path)
    if apart is None:
        return None
    joined = kept(logical_axes(path), slot)
    between = tuple(part for axis in joined for part in (("heads", "kv") if axis == "joined_kv" else (axis,)))
    return Axes(joined, between, kept(apart, slot))


def joined_shape(name: str, shape: Shape) -> Shape:
    """The shape that `join` gives."""
    axes = axes_of(name)
    if axes is None or len(shape) != len(axes.apart):
        return shape
    sizes = dict(zip(axes.apart, shape))
    sizes["joined_kv"] = sizes.get("heads", 1) * sizes.get("kv", 1)
    return tuple(sizes[axis] for axis in axes.joined)


def apart_shape(name: str, shape: Shape, heads: int | None) -> Shape:
    """The shape that `split` gives: unchanged if layers are not stacked, or `heads` is None or does not divide the kernel."""
    axes = axes_of(name) if heads and is_stacked(name.split("/")) else None
    if axes is None or len(shape) != len(axes.joined):
        return shape
    sizes = dict(zip(axes.joined, shape))
    width = sizes.get("joined_kv", heads)
    if width % heads:
        return shape
    sizes |= {"heads": heads, "kv": width // heads}
    return tuple(sizes[axis] for axis in axes.apart)


def join(name: str, array: Any) -> Any:
    """The array with its heads joined; any other is returned as it is."""
    shape = joined_shape(name, array.shape)
    if shape == array.shape:
        return array
    axes = axes_of(name)
    return array.transpose([axes.apart.index(axis) for axis in axes.between]).reshape(shape)


def split(name: str, array: Any, heads: int | None) -> Any:
    """The inverse of `join` for stacked layers."""
    shape = apart_shape(name, array.shape, heads)
    if shape == array.shape:
        return array
    axes = axes_of(name)
    sizes = dict(zip(axes.apart, shape))
    between = array.reshape([sizes[axis] for axis in axes.between])
    return between.transpose([axes.between.index(axis) for axis in axes.apart])


def heads_in(parameters: Mapping[str, Any]) -> int | None:
    """The number of heads, which relative position biases have, of parameters by name or of their shapes."""
    biases = (leaf for name, leaf in parameters.items() if name.endswith("relpos_bias/rel_embedding"))
    bias = next(biases, None)
    return None if bias is None else int(getattr(bias, "shape", bias)[0])
