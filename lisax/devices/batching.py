"""Batches of examples of about equal length."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from lisax.errors import LisaxError

Tokens = Sequence[int]  # ids of a text, with its special tokens
Progress = Callable[[int], None]  # is called with each batch's number of examples
# Examples of this number of batches are sorted by length together: enough that a batch holds about equal lengths.
BATCHES_IN_WINDOW = 32


def bucket_widths(longest: int) -> np.ndarray:
    """Ascending widths up to at least `longest`: multiples of 4, from 64 on steps of about an eighth."""
    widths = [8]
    while widths[-1] < longest:
        widths.append(widths[-1] + max(4, widths[-1] // 64 * 8))
    return np.array(widths)


def bucket_width(length: int, longest: int) -> int:
    """The least of the widths, or `longest`, that has room for `length`."""
    widths = bucket_widths(longest)
    return min(int(widths[np.searchsorted(widths, length)]), longest)


def by_length(lengths: Sequence[Sequence[int]], size: int) -> list[np.ndarray]:
    """Indices of examples in batches of `size` (the last may be smaller), similar lengths together.

    `lengths`: of each example one or more, such as those of its inputs and its targets; longer batches come first,
    so that a batch that does not fit the memory fails at once."""
    order = sorted(range(len(lengths)), key=lambda i: tuple(lengths[i]), reverse=True)
    return [np.array(order[start : start + size]) for start in range(0, len(order), size)]


def by_tokens(
    lengths: Sequence[int], longest: int, tokens_per_batch: int, devices: int, *, of_one_width: bool = False
) -> Iterator[tuple[np.ndarray, int, int]]:
    """(indices, rows, width) of batches of about `tokens_per_batch` tokens, longest first; of a width, only the last
    batch may have fewer rows. Rows are a multiple of `devices`. `of_one_width`: no batch mixes examples of
    two widths.

    A length above `longest` is an error: formats shorten, batches do not."""
    lengths = np.array(lengths)
    if len(lengths) and lengths.max() > longest:
        raise LisaxError(
            f"an input of {lengths.max()} tokens was given to a scorer of at most {longest}: shorten it with its format"
        )
    order, widths = np.argsort(-lengths, kind="stable"), bucket_widths(longest)
    while len(order):
        place = np.searchsorted(widths, lengths[order[0]])
        width = min(int(widths[place]), longest)
        largest = max(1, tokens_per_batch // width // devices) * devices
        rows = order[:largest]
        if of_one_width and place:
            rows = rows[lengths[rows] > widths[place - 1]]
        order = order[len(rows) :]
        yield rows, _rows_for(len(rows), largest, devices), width


def _rows_for(rows: int, largest: int, devices: int) -> int:
    """Rows of a batch that is not full: a power of two times the devices, or once and a half that, so that few
    shapes exist."""
    size = devices
    while size < rows:
        if size % (2 * devices) == 0 and size // 2 * 3 >= rows:
            size = size // 2 * 3
            break
        size *= 2
    return min(size, largest)


def padded(texts: Sequence[Sequence[int]], rows: int, width: int) -> np.ndarray:
    """Token ids of texts as int32 [rows, width], filled with zeros."""
    batch = np.zeros((rows, width), np.int32)
    for row, text in zip(batch, texts):
        row[: len(text)] = text
    return batch


def padded_each(examples: Sequence[Sequence[Sequence[int]]], rows: int, texts: int, width: int) -> np.ndarray:
    """Token ids of examples with up to `texts` texts each as int32 [rows, texts, width], filled with zeros."""
    batch = np.zeros((rows, texts, width), np.int32)
    for row, example in zip(batch, examples):
        for place, text in zip(row, example):
            place[: len(text)] = text
    return batch


def windows(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of `size` items in order; the last may be smaller."""
    iterator = iter(items)
    while window := list(itertools.islice(iterator, size)):
        yield window
