"""Answers questions by sentences: a search finds them, a ranker orders them, and a fitted probability decides whether
the best one answers at all.

The probability is a logistic regression's of the ranker's score and of the words (`features`), fitted on
held-out questions, each asked twice: of all pages, and without the pages of the sentences that answer it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from lisax.devices.batching import windows
from lisax.formats.triples import EMPTY, is_missing
from lisax.predict import score_fusion
from lisax.predict.answer_confidence import AnswerConfidence, leads
from lisax.predict.index import DOCUMENTS, Index
from lisax.predict.page_index import PageIndex
from lisax.predict.passage_index import PassageIndex
from lisax.predict.ranker import Ranker
from lisax.predict.reader import Answer, SpanPlace, withheld
from lisax.predict.verdicts import Evidence
from lisax.records import check_text, is_row
from lisax.retrieval.passages import Source
from lisax.text import quantities
from lisax.text.dates import YEAR, find_dates
from lisax.text.quantities import Kind
from lisax.text.stop_words import FUNCTION_WORDS
from lisax.text.words import content_stems, words

CANDIDATES = 100  # sentences that are ranked
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
        documents: int = DOCUMENTS,
    ):
        self.index, self.ranker, self.confidence, self.documents = index, ranker, confidence, documents
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
        found = self.index.search_many(questions, CANDIDATES, documents=self.documents)
        return self.ranker.rank_many(questions, found)


def _answer(question: str, evidence: Evidence, probability: float) -> Answer:
    spans = (cell_marks if is_row(evidence.unit) else marks)(question, evidence.text)
    place = SpanPlace(evidence.unit, evidence.unit, *spans[0]) if len(spans) == 1 else None
    return Answer(evidence.text, probability, place, evidence)


AnswerKind = Literal["time", "number", "name"]
Span = tuple[int, int]

_ASKED: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?:{forms})\b", re.IGNORECASE))
    for kind, forms in (
        (
            "number",
            "how (?:many|much|long|tall|high|far|old|deep|wide|large|big|heavy|fast|hot|cold|often)"
            "|wie (?:viele?|hoch|lang|weit|alt|tief|breit|groß|schwer)|combien|what (?:percentage|share|temperature)",
        ),
        ("time", "when|wh(?:at|ich) (?:year|date|day|month|time)|wann|quand|cuándo"),
        ("name", "who|whom|whose|wer|wen|wem|qui|quién"),
    )
)
_YEAR = re.compile(rf"(?<![\d.,]){YEAR}(?![\d.,]*\d)")
_CLOCK = re.compile(r"(?<![\d.:])\d{1,2}(?:[:.]\d{2}(?:\s?[ap]\.?m\b\.?)?|\s?[ap]\.?m\b\.?)(?![\d:])", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w'’-]*\.?")


def asked(question: str) -> AnswerKind | None:
    """The kind of answer that a question asks for; None if its words do not show it."""
    found = [(match.start(), kind) for kind, forms in _ASKED if (match := forms.search(question))]
    return min(found)[1] if found else None


def marks(question: str, sentence: str) -> list[Span]:
    """The parts of a sentence, [start, end), that are of the kind that the question asks for and that the question does
    not have itself; empty if the kind is not known."""
    kind = asked(question)
    if kind is None:
        return []
    known = set(words(question))
    found = {"time": _times, "number": _numbers, "name": _names}[kind](sentence)
    return [(start, end) for start, end in found if not set(words(sentence[start:end])) <= known]


def cell_marks(question: str, row: str) -> list[Span]:
    """The cells of a row, `town, mayor | Tarn, Olin Marsh`, in a column whose name is in the question, if the question
    does not have the cell itself; for "who" only names, and the first of the row if the question names no column of
    names; empty for a row with commas within its cells, and if the cells that the question asks for have no value."""
    header, between, values = row.partition(" | ")
    names, cells, known = header.split(", "), values.split(", "), content_stems(question)
    who, found, others, start = asked(question) == "name", [], [], len(header) + len(between)
    missing = False
    if not between or len(names) != len(cells):
        return []
    for name, cell in zip(names, cells):
        stems = content_stems(name)
        is_asked, is_empty = bool(stems) and stems <= known, cell == EMPTY or is_missing(cell)
        missing |= is_asked and is_empty
        is_name = any(_names(f". {cell}")) and not any(map(str.isdigit, cell))
        if not is_empty and not content_stems(cell) <= known and (is_name or not who):
            (found if is_asked else others).append((start, start + len(cell)))
        start += len(cell) + len(", ")
    return found or (others[:1] if who and not missing else [])


def _times(text: str) -> Iterator[Span]:
    end = 0
    dates = [(start, stop) for _, start, stop in find_dates(text.lower())]
    years = [match.span() for match in _YEAR.finditer(text)]
    for start, stop in sorted([*dates, *years, *(match.span() for match in _CLOCK.finditer(text))]):
        if start >= end:
            yield start, stop
            end = stop


def _numbers(text: str) -> Iterator[Span]:
    dates = [(start, stop) for _, start, stop in find_dates(text.lower())]
    for one in quantities.find(text):
        year = one.kind is Kind.PLAIN and _YEAR.fullmatch(text[one.start : one.end])
        if one.kind is not Kind.ORDINAL and not year and not any(a < one.end and one.start < b for a, b in dates):
            yield one.start, one.end


def _names(text: str) -> Iterator[Span]:
    """Runs of capitalised words other than function words: `Olin B. Marsh`. The first word of a text has a capital in
    any case and is left out if it is the only one of its run."""
    run: list[Span] = []
    for match in _WORD.finditer(text):
        word = match[0].rstrip(".")
        adjoins = not run or not text[run[-1][1] : match.start()].strip()
        if word[0].isupper() and word.lower() not in FUNCTION_WORDS:
            if not adjoins:
                yield from _run(run)
                run = []
            run.append((match.start(), match.start() + len(word)) if len(word) > 2 else match.span())
        elif run:
            yield from _run(run)
            run = []
    yield from _run(run)


def _run(words_at: list[Span]) -> Iterator[Span]:
    if words_at and (len(words_at) > 1 or words_at[0][0] > 0):
        yield words_at[0][0], words_at[-1][1]
