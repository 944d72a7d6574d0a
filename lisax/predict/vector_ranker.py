"""Ranks evidence by BM25 and by the vectors of a pretrained sentence encoder together, without any training."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from lisax.predict.ranker import Ranker
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.predict.verdicts import Evidence
from lisax.retrieval import few_texts
from lisax.retrieval.fusion import WEIGHT, fused

KEPT = 20_000  # vectors of sentences that are kept: 30 MB of MiniLM's


class VectorRanker(Ranker):
    """BM25 over the claim's own candidates and the cosine of claim and sentence, as one score (`retrieval.fusion`). A
    title counts as part of its sentence. Equal scores keep their order."""

    tag = "vectors"

    def __init__(self, encoder: SentenceEncoder, weight: float = WEIGHT):
        self.encoder, self.weight = encoder, weight
        self._known: OrderedDict[str, np.ndarray] = OrderedDict()

    def rank_many(self, claims, evidence, *, spot=None, progress=None):
        texts = [[_text(one) for one in found] for found in evidence]
        vectors = self._vectors([*claims, *(text for row in texts for text in row)])
        for claim, found, row in zip(claims, evidence, texts, strict=True):
            words = few_texts.scores(claim, [f"{one.source} {one.text}" for one in found])
            scores = fused(words, [vectors[text] @ vectors[claim] for text in row], self.weight)
            order = np.argsort(-scores, kind="stable")
            yield [dataclasses.replace(found[place], score=float(scores[place])) for place in order]
            if progress is not None:
                progress(len(found))

    def _vectors(self, texts: Iterable[str]) -> dict[str, np.ndarray]:
        """The vector of each text; those that are not kept from before are computed together."""
        wanted = dict.fromkeys(texts)
        new = [text for text in wanted if text not in self._known]
        found = dict(zip(new, self.encoder.encode(new))) if new else {}
        for text in wanted:
            if text in self._known:
                self._known.move_to_end(text)
                found[text] = self._known[text]
        self._known.update(found)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return found


def _text(one: Evidence) -> str:
    return f"{one.source}: {one.text}" if one.source else one.text
