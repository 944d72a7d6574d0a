"""A checkpoint as named pieces: shapes are known at once, an array is read only when its turn comes.

That is how a model is converted, or put on devices, in the memory of its largest array.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lisax.errors import LisaxError
from lisax.models.architectures import Backbone, Model
from lisax.weights.interop.kinds import Kind
from lisax.weights.model_card import ModelCard

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Stored:
    """One array of a file, of any dtype."""

    shape: Shape
    read: Callable[[], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Piece:
    """The content of one stored array: one parameter (or slot), or one of each layer.

    `convert` takes the array as stored to the arrays of `shapes`; `stored_as` is its name in the file."""

    stored_as: str
    stored: Stored
    shapes: Mapping[str, Shape]
    convert: Callable[[np.ndarray], Mapping[str, np.ndarray]]


def whole(name: str, stored: Stored) -> Piece:
    """A parameter stored as it is."""
    return Piece(name, stored, {name: stored.shape}, lambda array: {name: array})


@dataclasses.dataclass(frozen=True)
class Array:
    """How another library stores one of our parameters: under which name, whether as the transpose, and the conversion
    of its numbers (after transposing) to ours."""

    theirs: str
    transposed: bool = False
    convert: Callable[[np.ndarray], np.ndarray] = lambda array: array


@dataclasses.dataclass(frozen=True)
class Reading:
    """A model as its file describes it, how it stores each parameter, and which of its arrays no parameter needs.
    `has_decoder`: false of a file with only the encoder of a T5."""

    architecture: Backbone
    stored_as: Callable[[str], Array]
    unused: Callable[[str], bool]
    has_decoder: bool = True


@dataclasses.dataclass(frozen=True)
class Writing:
    """A model's description in a file, and how it stores each parameter (`Array.convert`: from ours, before
    transposing)."""

    described: Mapping[str, Any]
    stored_as: Callable[[str], Array]


class Stacked(NamedTuple):
    parameters: tuple[Piece, ...]
    slots: tuple[Piece, ...]


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """`parameters` and `slots` have the names of the parameter tree, joined by `/`, a name for each layer.

    `stacked` are those of the tree of stacked layers (`scan_layers`), of a source that has its layers in one array.
    `architecture` is None if the source does not have it (see `architecture.infer`), `kind` if the arrays have other
    names than in the folder (see `weights.assignment`)."""

    kind: Kind | None
    folder: Path
    step: int | None
    parameters: tuple[Piece, ...]
    slots: tuple[Piece, ...] = ()
    architecture: Model | None = None
    card: ModelCard | None = None
    vocabulary: Path | None = None
    stacked: Stacked | None = None

    @property
    def scanned(self) -> bool:
        return self.stacked is not None

    def as_stacked(self) -> Checkpoint:
        """The same with the names of `stacked`."""
        return dataclasses.replace(self, parameters=self.stacked.parameters, slots=self.stacked.slots)

    def with_parts(self, names: Container[str]) -> Checkpoint:
        """The same with only the parameters of these parts of the model ("encoder", …)."""

        def of_parts(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
            return tuple(piece for piece in pieces if part_of(piece) in names)

        stacked = self.stacked and self.stacked._replace(parameters=of_parts(self.stacked.parameters))
        return dataclasses.replace(self, parameters=of_parts(self.parameters), stacked=stacked)

    @property
    def has_decoder(self) -> bool:
        return any(name.startswith("decoder/") for name in shapes_of(self.parameters))

    def read(self, pieces: Iterable[Piece]) -> Iterator[tuple[str, np.ndarray]]:
        """(name, float32 array) of all pieces, one stored array in memory at a time.

        The largest come first: reading takes some multiple of an array, which then is there while the caller that
        keeps them all has few."""
        for piece in sorted(pieces, key=lambda piece: math.prod(piece.stored.shape), reverse=True):
            try:
                # Contiguous: a slice would keep the array that it is cut from in memory.
                arrays = {
                    name: np.ascontiguousarray(array, np.float32).reshape(array.shape)
                    for name, array in piece.convert(piece.stored.read()).items()
                }
            except LisaxError:
                raise
            except Exception as error:  # whatever a damaged file makes tensorstore or safetensors raise
                raise unreadable(self.folder, error, piece.stored_as) from error
            for name, array in arrays.items():
                if array.shape != piece.shapes[name]:
                    raise LisaxError(
                        f"'{piece.stored_as}' of {self.folder} is {list(array.shape)} on disk, but its "
                        f"index has {list(piece.shapes[name])}: the checkpoint is damaged"
                    )
                yield name, array


def part_of(piece: Piece) -> str:
    """ "encoder" of a piece that holds encoder/…"""
    return next(iter(piece.shapes)).split("/")[0]


def shapes_of(pieces: Iterable[Piece]) -> dict[str, Shape]:
    return {name: shape for piece in pieces for name, shape in piece.shapes.items()}


def unreadable(folder: str | os.PathLike, error: Exception, name: str | None = None) -> LisaxError:
    what = f"'{name}' of the checkpoint {folder}" if name else f"the checkpoint {folder}"
    return LisaxError(f"{what} cannot be read: {first_line(error)}")


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def with_bias_of_each_layer(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The pieces where a relative position bias that a stack's layers share, or a slot of it, is that of each of them.

    The model computes the same."""
    pieces = tuple(pieces)
    layers = sorted(
        {match[0] for name in shapes_of(pieces) if (match := re.match(r"(?:.+/)?(?:encoder|decoder)/layers_\d+", name))}
    )

    def of_each(piece: Piece) -> Piece:
        match = re.fullmatch(r"(.*(?:encoder|decoder)/)(relpos_bias/.+)", next(iter(piece.shapes)))
        if match is None:
            return piece
        ((name, shape),) = piece.shapes.items()
        names = [f"{layer}/{match[2]}" for layer in layers if layer.rpartition("layers_")[0] == match[1]]
        return dataclasses.replace(
            piece,
            shapes=dict.fromkeys(names, shape),
            convert=lambda array: dict.fromkeys(names, piece.convert(array)[name]),
        )

    return tuple(map(of_each, pieces))
