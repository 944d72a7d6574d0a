"""Ranks evidence by BM25 and by the vectors of a pretrained sentence encoder together, without training and without an
index of vectors."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from lisax.predict.ranker import Bm25Ranker, Ranker
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.retrieval.dense_texts import Text

KEPT = 20_000  # vectors of sentences that are kept for further claims: 30 MB of MiniLM's


class VectorRanker(Ranker):
    """What `Bm25Ranker` is for an index with vectors, for any other: it encodes the claim's candidates itself."""

    tag = "vectors"

    def __init__(self, encoder: SentenceEncoder):
        self.encoder = encoder
        self._known: OrderedDict[Text, np.ndarray] = OrderedDict()

    def rank_many(self, claims, evidence, *, spot=None, progress=None):
        new = (one for found in evidence for one in found if one.similarity is None)
        vectors = self._passages(Text(one.source, one.text) for one in new)
        for claim, question, found in zip(claims, self.encoder.questions(claims), evidence, strict=True):
            compared = [
                dataclasses.replace(one, similarity=float(vectors[one.source, one.text] @ question))
                if one.similarity is None
                else one
                for one in found
            ]
            yield Bm25Ranker().rank(claim, compared)
            if progress is not None:
                progress(len(found))

    def _passages(self, texts: Iterable[Text]) -> dict[Text, np.ndarray]:
        """The vector of each text; those that are not known from earlier claims are computed together."""
        wanted = dict.fromkeys(texts)
        new = [text for text in wanted if text not in self._known]
        self._known.update(zip(new, self.encoder.passages(new)))
        for text in wanted:
            self._known.move_to_end(text)
        found = {text: self._known[text] for text in wanted}
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return found
