"""The inner loop of BM25 search: sums precomputed scores and keeps the best k of each query.

bm25s's own retrieval, which `benchmarks/retrieval.py` compares with this, fills an array as long as the collection for
each query and breaks ties by the shape of its heap. Here a query of rare words visits only the documents it touches,
shards share one heap per query, and of equal scores the earlier document wins, so results do not depend on how the
collection is split.

Compiled on first use and cached on disk by numba. The kernel has no parallel mode, hence no threading layer to choose:
it releases the GIL and callers run it in Python threads.
"""

from __future__ import annotations

import numba
import numpy as np

# With at least one posting per this many documents, scanning all sums is faster than listing the touched ones.
DENSE = 16
SMALLEST = np.finfo(np.float32).tiny


@numba.njit(cache=True, nogil=True, inline="always")
def _worse(score, document, other_score, other_document):
    return score < other_score or (score == other_score and document > other_document)


@numba.njit(cache=True, nogil=True)
def _sift_down(scores, documents, size):
    """Restores the heap (the worst at 0) after its root was replaced."""
    at = 0
    score, document = scores[0], documents[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _worse(scores[child + 1], documents[child + 1], scores[child], documents[child]):
            child += 1
        if not _worse(scores[child], documents[child], score, document):
            break
        scores[at], documents[at] = scores[child], documents[child]
        at = child
    scores[at], documents[at] = score, document


@numba.njit(cache=True, nogil=True)
def _sift_up(scores, documents, at):
    score, document = scores[at], documents[at]
    while at > 0:
        parent = (at - 1) >> 1
        if not _worse(score, document, scores[parent], documents[parent]):
            break
        scores[at], documents[at] = scores[parent], documents[parent]
        at = parent
    scores[at], documents[at] = score, document


@numba.njit(cache=True, nogil=True)
def push(scores, documents, size, score, document):
    """Offers one more document to a heap of `size`; returns the new size."""
    if size < len(scores):
        scores[size], documents[size] = score, document
        _sift_up(scores, documents, size)
        return size + 1
    if _worse(scores[0], documents[0], score, document):
        scores[0], documents[0] = score, document
        _sift_down(scores, documents, size)
    return size


@numba.njit(cache=True, nogil=True)
def accumulate(data, indices, indptr, first_document, documents, terms, pointers, sums, touched, scores, found, sizes):
    """Scores queries against one shard and pushes its documents into the queries' heaps.

    data float32 [postings], indices int32 [postings], indptr int64 [shard terms + 1]: the shard, term by term. It has
    `documents` documents, the first of which is `first_document` in the whole index. terms int64, pointers int64
    [queries + 1]: query q has terms[pointers[q]:pointers[q + 1]]. sums float32 [>= documents] (all zero before and
    after) and touched int32 [>= documents] are scratch. scores float32 [queries, k], found int64 [queries, k], sizes
    int64 [queries]: the heaps of scores and document indices.
    """
    known_terms = len(indptr) - 1
    for query in range(len(pointers) - 1):
        query_terms = terms[pointers[query] : pointers[query + 1]]
        postings = 0
        for term in query_terms:
            if term < known_terms:
                postings += indptr[term + 1] - indptr[term]
        heap_scores, heap_found, size = scores[query], found[query], sizes[query]
        # The least score of interest; never zero, which marks unseen documents.
        bar = heap_scores[0] if size == len(heap_scores) else SMALLEST
        if postings * DENSE < documents:
            count = 0
            for term in query_terms:
                if term < known_terms:
                    for at in range(indptr[term], indptr[term + 1]):
                        document = indices[at]
                        if sums[document] == 0:
                            touched[count] = document
                            count += 1
                        sums[document] += data[at]
            for at in range(count):
                document = touched[at]
                if sums[document] >= bar:
                    size = push(heap_scores, heap_found, size, sums[document], first_document + document)
                    bar = heap_scores[0] if size == len(heap_scores) else SMALLEST
                sums[document] = 0
        else:
            for term in query_terms:
                if term < known_terms:
                    for at in range(indptr[term], indptr[term + 1]):
                        sums[indices[at]] += data[at]
            for document in range(documents):
                if sums[document] >= bar:
                    size = push(heap_scores, heap_found, size, sums[document], first_document + document)
                    bar = heap_scores[0] if size == len(heap_scores) else SMALLEST
            sums[:documents] = 0
        sizes[query] = size


@numba.njit(cache=True, nogil=True)
def sort_heaps(scores, documents, sizes):
    """Sorts the heaps into lists, best first."""
    for query in range(len(sizes)):
        heap_scores, heap_documents = scores[query], documents[query]
        for last in range(sizes[query] - 1, 0, -1):
            heap_scores[0], heap_scores[last] = heap_scores[last], heap_scores[0]
            heap_documents[0], heap_documents[last] = heap_documents[last], heap_documents[0]
            _sift_down(heap_scores, heap_documents, last)


@numba.njit(cache=True, nogil=True)
def add_up(best, members, pointers, first_document, scores, found, sizes):
    """Sums rows of `best` for each query and pushes the columns into the queries' heaps.

    best float32 [entities, documents], of which column 0 is `first_document`; members int64, pointers int64
    [queries + 1]: query q has the rows members[pointers[q]:pointers[q + 1]]; the heaps as in `accumulate`.
    """
    sums = np.empty(best.shape[1], dtype=np.float32)
    for query in range(len(pointers) - 1):
        sums[:] = 0
        for row in members[pointers[query] : pointers[query + 1]]:
            sums += best[row]
        heap_scores, heap_found, size = scores[query], found[query], sizes[query]
        bar = heap_scores[0] if size == len(heap_scores) else SMALLEST
        for document in range(len(sums)):
            if sums[document] >= bar:
                size = push(heap_scores, heap_found, size, sums[document], first_document + document)
                bar = heap_scores[0] if size == len(heap_scores) else SMALLEST
        sizes[query] = size


@numba.njit(cache=True, nogil=True)
def merge(scores, documents, sizes, other_scores, other_documents, other_sizes):
    """Pushes other heaps of the same queries into these."""
    for query in range(len(sizes)):
        for at in range(other_sizes[query]):
            sizes[query] = push(
                scores[query], documents[query], sizes[query], other_scores[query, at], other_documents[query, at]
            )
