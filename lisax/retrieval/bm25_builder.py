"""Builds a BM25 index: documents to shards, then scores from the statistics of the whole collection.

See `bm25.py` for the content of a shard. Memory: the vocabulary, plus about 40 bytes for each term of one shard.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.records import check_id
from lisax.retrieval.blocks import Array
from lisax.retrieval.folder import Writing, open_component
from lisax.retrieval.strings import StringTable, StringTableWriter, first_duplicate
from lisax.retrieval.terms import Terms
from lisax.text import lucene
from lisax.text.languages import ENGLISH, check_language

K1, B = 0.6, 0.5  # LisT5, section 3.1: tuned on a training subset
# Small enough that the score sums of a shard (4 bytes per document) stay in the processor's cache during search.
SHARD_DOCUMENTS, SHARD_TERMS = 1 << 18, 1 << 24
POSTINGS_AT_A_TIME = 1 << 22
COUNTS, INDICES, INDPTR = "counts.npy", "indices.csc.index.npy", "indptr.csc.index.npy"


class Numbered(NamedTuple):
    """The terms of a block of documents: `numbers` int32 [terms], indices of `stems`, which are in the order of their
    first occurrence, and `lengths` uint32 [documents], the number of terms of each."""

    ids: list[str]
    stems: list[str]
    numbers: np.ndarray
    lengths: np.ndarray


class Numberer:
    """Finds the terms of blocks of documents for `Bm25Builder.add_block`, in another process."""

    def __init__(self, language: str = ENGLISH, analyzer: str | None = None):
        self._stems: dict[str, int] = {}
        self._terms = Terms(lambda stem: self._stems.setdefault(stem, len(self._stems)), language, analyzer)

    def __call__(self, documents: Iterable[tuple[str, str]]) -> Numbered:
        ids, found, lengths = [], array("i"), array("I")
        for document_id, text in documents:
            numbers = self._terms(text)
            ids.append(document_id)
            found.extend(numbers)
            lengths.append(len(numbers))
        distinct, first, inverse = np.unique(np.frombuffer(found, np.int32), return_index=True, return_inverse=True)
        order = np.argsort(first)
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        every = list(self._stems)
        stems = [every[number] for number in distinct[order].tolist()]
        return Numbered(ids, stems, places[inverse], np.frombuffer(lengths, np.uint32))


class Bm25Builder:
    """Takes documents one at a time; `finish` returns the manifest to commit.

    `analyzer`: `lucene.NAME` for the terms and lengths of Lucene (`lisax.text.lucene`), which are of English. With
    `extend`, the documents join those of the existing component, with its k1, b, language and analyzer; `keep` names its
    parts to keep (None: all).
    """

    def __init__(
        self,
        state: Writing,
        name: str = "bm25",
        *,
        k1: float = K1,
        b: float = B,
        language: str = ENGLISH,
        analyzer: str | None = None,
        shard_documents: int = SHARD_DOCUMENTS,
        extend: bool = False,
        keep: Collection[str] | None = None,
    ):
        self._state, self._name, self._shard_documents = state, name, shard_documents
        self._settings = {"k1": K1, "b": B, "method": "lucene", "revision": 0}
        if language != ENGLISH:  # left out for English, whose indexes then have the digests that they always had
            self._settings["language"] = check_language(language)
        if analyzer is not None:  # left out as well
            self._settings["analyzer"] = analyzer
        self.set_parameters(k1, b)
        self._parts: list[Path] = []
        vocabulary: Iterable[str] = ()
        if extend:
            manifest = open_component(state.folder, name)
            self._settings = manifest["settings"] | {"revision": manifest["settings"]["revision"] + 1}
            self._parts = [state.folder / part for part in manifest["parts"] if keep is None or part in keep]
            vocabulary = StringTable(state.folder / manifest["vocabulary"] / "terms")
        self._vocabulary: dict[str, int] = {term: number for number, term in enumerate(vocabulary)}
        self._terms = terms_of(self._settings, lambda stem: self._vocabulary.setdefault(stem, len(self._vocabulary)))
        self._clear()

    def set_parameters(self, k1: float, b: float) -> None:
        """Sets the statistics that the scores are computed with."""
        if not k1 >= 0 or not 0 <= b <= 1 or k1 == float("inf"):
            raise LisaxError(f"BM25 needs a finite k1 >= 0 and 0 <= b <= 1; found k1 = {k1}, b = {b}")
        self._settings |= {"k1": float(k1), "b": float(b)}

    def _clear(self) -> None:
        self._numbers, self._lengths = array("i"), array("I")
        self._ids: StringTableWriter | None = None

    def add(self, document_id: str, text: str) -> None:
        self._append(document_id, self._terms(text))

    def add_block(self, block: Numbered) -> None:
        """Adds documents with terms found by a `Numberer`; the index is the same as by `add` of their texts."""
        known, count, end = np.empty(len(block.stems), np.int32), 0, 0
        for document_id, length in zip(block.ids, block.lengths.tolist()):
            here = block.numbers[end : (end := end + length)]
            # Only now does the vocabulary get a document's stems: a shard that ends before it does not know them.
            seen = max(count, int(here.max(initial=-1)) + 1)
            for number in range(count, seen):
                known[number] = self._vocabulary.setdefault(block.stems[number], len(self._vocabulary))
            count = seen
            self._append(document_id, array("i", known[here].tobytes()))

    def _append(self, document_id: str, numbers: Sequence[int]) -> None:
        if self._ids is None:
            self._part = self._state.new_part(self._name)
            self._ids = StringTableWriter(self._part / "ids")
        self._ids.append(check_id(document_id))
        self._numbers.extend(numbers)
        self._lengths.append(len(numbers))
        if len(self._lengths) >= self._shard_documents or len(self._numbers) >= SHARD_TERMS:
            self.end_part()

    @property
    def parts(self) -> list[str]:
        """Names of the parts so far."""
        return list(map(self._state.name, self._parts))

    def end_part(self) -> None:
        """Starts a new part: later documents are not stored with earlier ones.

        Inverts the collected documents: their term numbers, term by term."""
        if self._ids is None:
            return
        self._ids.close()
        lengths = np.frombuffer(self._lengths, dtype=np.uint32).copy()
        pairs = np.frombuffer(self._numbers, dtype=np.int32).astype(np.int64) << 32
        pairs |= np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        self._clear()
        pairs.sort()
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        counts = np.diff(first, append=len(pairs))
        pairs = pairs[first]
        indptr = np.zeros(len(self._vocabulary) + 1, dtype=np.int64)
        np.cumsum(np.bincount(pairs >> 32, minlength=len(self._vocabulary)), out=indptr[1:])
        # A shard holds raw counts, since the statistics of the whole collection are not known yet.
        np.save(self._part / COUNTS, counts.astype(np.min_scalar_type(counts.max(initial=0))))
        np.save(self._part / INDICES, (pairs & 0xFFFFFFFF).astype(np.int32))
        np.save(self._part / INDPTR, indptr)
        np.save(self._part / "lengths.npy", lengths)
        self._parts.append(self._part)

    def finish(self) -> dict:
        self.end_part()
        if not self._parts:
            raise DataError("there are no documents to index", path=self._state.folder)
        duplicate = first_duplicate([StringTable(part / "ids") for part in self._parts])
        if duplicate is not None:
            raise DataError(
                f"the document id '{duplicate}' occurs twice, counting the index's earlier documents; ids must be distinct",
                path=self._state.folder,
                field="id",
            )
        self._score()
        vocabulary = self._state.new_part(self._name)
        terms = StringTableWriter(vocabulary / "terms")
        for term in self._vocabulary:
            terms.append(term)
        terms.close()
        return self._state.manifest(self._settings, self._parts, vocabulary, scores_name(self._settings))

    def _score(self) -> None:
        """Writes every shard's scores from its counts and the whole collection's statistics."""
        frequencies = np.zeros(len(self._vocabulary), dtype=np.int64)
        documents, length_sum, as_lucene = 0, 0, "analyzer" in self._settings
        for part in self._parts:
            here = np.diff(Array(part / INDPTR).whole())
            frequencies[: len(here)] += here
            lengths = Array(part / "lengths.npy").whole()
            # Lucene counts the documents that have a term.
            documents += int(np.count_nonzero(lengths)) if as_lucene else len(lengths)
            length_sum += int(lengths.sum(dtype=np.int64))
        distinct, inverse = np.unique(frequencies, return_inverse=True)
        idf = np.array([math.log(1 + (documents - n + 0.5) / (n + 0.5)) for n in distinct.tolist()])[inverse]
        k1, b = self._settings["k1"], self._settings["b"]
        # Without any term there is nothing to score, so any average will do.
        average = length_sum / max(documents, 1) or 1.0
        self._settings |= {"documents": documents, "average_length": average}
        for part in self._parts:
            shard = Shard(part, COUNTS)
            counts, indices, indptr = shard.data.whole(), shard.indices.whole(), shard.pointers
            lengths = Array(part / "lengths.npy").whole().astype(np.int64)
            lengths = (lucene.kept_lengths(lengths) if as_lucene else lengths).astype(np.float64)
            scores = np.empty(len(indices), dtype=np.float32)
            for start in range(0, len(scores), POSTINGS_AT_A_TIME):
                stop = min(start + POSTINGS_AT_A_TIME, len(scores))
                first = np.searchsorted(indptr, start, side="right") - 1
                last = np.searchsorted(indptr, stop, side="left")
                spans = np.diff(np.clip(indptr[first : last + 1], start, stop))
                frequency = counts[start:stop].astype(np.float64)
                length = lengths[indices[start:stop]]
                frequency = frequency / (k1 * ((1 - b) + b * length / average) + frequency)
                scores[start:stop] = np.repeat(idf[first:last], spans) * frequency
            np.save(part / scores_name(self._settings), scores)


def terms_of(settings: dict, number: Callable[[str], int]) -> Terms:
    """The terms of an index, by its settings."""
    return Terms(number, settings.get("language", ENGLISH), settings.get("analyzer"))


def scores_name(settings: dict) -> str:
    return f"scores-{settings['revision']}.npy"


class Shard:
    """A shard's postings, memory-mapped: those of term t are at `pointers[t]` to before `pointers[t + 1]` in `data` and
    `indices`."""

    def __init__(self, part: Path, data_name: str):
        self.data, self.indices, self._pointers = Array(part / data_name), Array(part / INDICES), Array(part / INDPTR)
        if self._pointers.whole()[-1] != len(self.indices) or len(self.data) != len(self.indices):
            raise ValueError("its files differ in length")

    @property
    def pointers(self) -> np.ndarray:
        return self._pointers.unchecked

    def check(self, terms: np.ndarray) -> None:
        """Compares the blocks of the terms' postings; see `blocks`."""
        for postings in (self.data, self.indices):
            if 1 in postings.unread:
                for term in np.unique(terms[terms < len(self.pointers) - 1]).tolist():
                    postings.rows(*self.pointers[term : term + 2].tolist())
