"""Turns cells into features: scikit-learn's `char_wb` n-grams and `word` tokens as 64-bit keys, and whole cells.

A text is lower-cased and split into *pieces* (words, tokens, or the whole text). Features are computed per piece, so
that repeated words are analysed once. The key of a character n-gram contains its characters (21 bits each); the key of
a token or a whole cell is its 64-bit hash.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

import numba
import numpy as np

from lisax.retrieval.strings import hash_of

TOKEN = re.compile(r"\b\w\w+\b")  # scikit-learn's default: no one-letter words
CHARACTER_BITS = 21


def normal(text: str) -> str:
    """The normal form of a text, which determines its vector: ignores case and the amount of white space."""
    return " ".join(text.lower().split())


@dataclasses.dataclass(frozen=True)
class Analyzer:
    """`pieces` of a normal text, and the `features` of pieces: int64 [pieces + 1] starts, uint64 keys."""

    pieces: Callable[[str], list[str]]
    features: Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]]


def character_ngrams(low: int, high: int) -> Analyzer:
    """`low`- to `high`-grams (at most 3) of each word with a blank on either side."""

    def features(words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        padded = [f" {word} " for word in words]
        starts = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in padded], out=starts[1:])
        codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return _ngrams(codes, starts, low, high)

    return Analyzer(str.split, features)


def _hashes(pieces: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    keys = (hash_of(piece.encode("utf-8", "surrogatepass")) for piece in pieces)
    return np.arange(len(pieces) + 1), np.fromiter(keys, dtype=np.uint64, count=len(pieces))


TOKENS = Analyzer(TOKEN.findall, _hashes)
WHOLE = Analyzer(lambda text: [text], _hashes)


@numba.njit(cache=True, nogil=True)
def _ngrams(codes, starts, low, high):
    """Keys of the n-grams of codes[starts[i]:starts[i + 1]], text after text."""
    found = np.zeros(len(starts), dtype=np.int64)
    for text in range(len(starts) - 1):
        length = starts[text + 1] - starts[text]
        count = 0
        for n in range(low, high + 1):
            count += max(0, length - n + 1)
        found[text + 1] = found[text] + count
    keys = np.empty(found[-1], dtype=np.uint64)
    at = 0
    for text in range(len(starts) - 1):
        for n in range(low, high + 1):
            for first in range(starts[text], starts[text + 1] - n + 1):
                key = np.uint64(0)
                for code in codes[first : first + n]:
                    # One more than the code point, so that a missing character differs from every character.
                    key = (key << np.uint64(CHARACTER_BITS)) | (np.uint64(code) + np.uint64(1))
                keys[at] = key
                at += 1
    return found, keys


@dataclasses.dataclass(frozen=True)
class Bags:
    """The features of texts: text i has keys[starts[i]:starts[i + 1]], ascending, counts times each."""

    starts: np.ndarray  # int64 [texts + 1]
    keys: np.ndarray  # uint64
    counts: np.ndarray  # int64


def bags(texts: Sequence[str], analyzer: Analyzer) -> Bags:
    """The features of a few thousand texts, as written."""
    numbers: dict[str, int] = {}
    pieces = [[numbers.setdefault(piece, len(numbers)) for piece in analyzer.pieces(normal(text))] for text in texts]
    piece_starts, piece_keys = analyzer.features(list(numbers))
    sizes = np.diff(piece_starts)
    distinct, ranks = np.unique(piece_keys, return_inverse=True)
    whose = np.repeat(np.arange(len(texts)), [len(some) for some in pieces])
    which = np.array([number for some in pieces for number in some], dtype=np.int64)
    lengths = sizes[which]
    # Positions of all features of all pieces: the runs of positions of the pieces, one after the other.
    positions = np.repeat(piece_starts[which] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    pairs, counts = np.unique(np.repeat(whose, lengths) << 32 | ranks[positions], return_counts=True)
    starts = np.searchsorted(pairs, np.arange(len(texts) + 1) << 32)
    return Bags(starts, distinct[pairs & 0xFFFFFFFF], counts)
