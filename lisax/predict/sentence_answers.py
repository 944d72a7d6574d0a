"""Answers questions by sentences: a search finds them, a ranker orders them, and a fitted probability decides whether
the best one answers at all.

The probability is a logistic regression's of the ranker's score and of the words (`features`), fitted on
held-out questions, each asked twice: of all pages, and without the pages of the sentences that answer it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lisax.devices.batching import windows
from lisax.predict import score_fusion
from lisax.predict.answer_confidence import AnswerConfidence, leads
from lisax.predict.answer_marks import asked, cell_marks, marks
from lisax.predict.index import Index
from lisax.predict.page_index import PageIndex
from lisax.predict.passage_index import PassageIndex
from lisax.predict.ranker import Ranker
from lisax.predict.reader import Answer, SpanPlace, withheld
from lisax.predict.verdicts import Evidence
from lisax.records import check_text, is_row
from lisax.retrieval.passages import Source
from lisax.text.words import content_stems

QUESTIONS_AT_A_TIME = 32  # batched together
COUNTED = 50_000  # passages of text whose pages are counted
ASKING = frozenset("who whom whose what which when where why how much many long does did do is was are were".split())


def features(question: str, found: Sequence[Evidence]) -> np.ndarray:
    """float64 [sentences, 6] of ranked sentences: log-odds of the score; by how much they exceed those of the best other
    sentence; the share of the question's words in the sentence and its title; whether the sentence has a part of the
    kind that the question asks for; whether it lacks one; and 1."""
    scores = score_fusion.log_odds(np.clip([one.score or 0.0 for one in found], 0.0, 1.0))
    wanted, kind = content_stems(question) - ASKING, asked(question)
    shared, marked = [], []
    for one in found:
        there = content_stems(f"{one.source} {one.text}")
        shared.append(len(wanted & there) / max(len(wanted), 1))
        marked.append(bool(marks(question, one.text)))
    has = np.array(marked, float).reshape(len(found))
    lacks = (1 - has) * (kind is not None)
    return np.stack([scores, leads(scores), np.array(shared, float), has, lacks, np.ones(len(found))], axis=1)


Asked = tuple[str, Sequence[Evidence], Sequence[bool]]  # a question, its best sentences, and which of them answer it


def fit(questions: Sequence[Asked]) -> AnswerConfidence:
    """See `AnswerConfidence.fit`."""
    return AnswerConfidence.fit([(features(question, found), right) for question, found, right in questions if found])


class SentenceAnswerer:
    """Answers with sentences of an index of pages, likeliest first, or of an index of passages, where rows of tables and
    edges of graphs are candidates too. A part of a sentence is marked (`Answer.place`) if it is the only one of the kind
    that the question asks for, and of a row the cell in the only column that the question names.

    `min_confidence`: see `withheld`; None: as fitted."""

    def __init__(
        self,
        index: Index,
        ranker: Ranker,
        confidence: AnswerConfidence,
        min_confidence: float | None = None,
    ):
        self.index, self.ranker, self.confidence = index, ranker, confidence
        self.min_confidence = confidence.threshold if min_confidence is None else min_confidence

    @property
    def searched(self) -> dict[str, int]:
        """How many pages, and tables as rows, it searches, by their name in the plural; of a large index of passages,
        how many of these."""
        index = self.index
        if isinstance(index, PageIndex):
            return {"pages": len(index.index.pages)}
        stores = index.index.stores if isinstance(index, PassageIndex) else {}
        found = {
            name: stores[source]
            for name, source in (("pages", Source.TEXT), ("tables", Source.TABLE))
            if source in stores
        }
        if sum(map(len, found.values())) > COUNTED:
            return {"passages": sum(map(len, found.values()))}
        return {name: len({passage.id.rpartition(":")[0] for passage in store}) for name, store in found.items()}

    def ask(self, question: str, answers: int = 5) -> list[Answer]:
        """Up to `answers` sentences, likeliest first, or only `no answer here`."""
        return next(self.ask_many([question], answers))

    def ask_many(self, questions: Sequence[str], answers: int = 5) -> Iterator[list[Answer]]:
        for group in windows(map(check_text, questions), QUESTIONS_AT_A_TIME):
            for made in self.guesses(group, answers):
                yield withheld(made, self.min_confidence)

    def guesses(self, questions: Sequence[str], answers: int = 5) -> list[list[Answer]]:
        """The likeliest sentences for each question, however unlikely they are."""
        made = []
        for question, found in zip(questions, self.find(questions), strict=True):
            shares = self.confidence.probabilities(features(question, found[: max(answers, 2)]))
            some = [_answer(question, one, float(share)) for one, share in zip(found[:answers], shares)]
            made.append(sorted(some, key=lambda one: -one.probability))
        return made

    def find(self, questions: Sequence[str]) -> Iterator[list[Evidence]]:
        """The sentences for each question, ranked."""
        found = self.index.candidates_many(questions, quick=self.ranker.is_quick)
        return self.ranker.rank_many(questions, found)


def _answer(question: str, evidence: Evidence, probability: float) -> Answer:
    spans = (cell_marks if is_row(evidence.unit) else marks)(question, evidence.text)
    place = SpanPlace(evidence.unit, evidence.unit, *spans[0]) if len(spans) == 1 else None
    return Answer(evidence.text, probability, place, evidence)
