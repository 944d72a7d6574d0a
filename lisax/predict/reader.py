"""Loads a trained reader, which extracts or generates answers from passages and locates them.

The pointing reader gives a probability to each span, among all spans of all passages of a question. An answer's
probability is the sum over its occurrences (UDT-QA, section 2); its source is the unit of the likeliest occurrence. The
generating reader's probabilities are those of its hypotheses; an answer's source is the first passage that contains it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.devices.batching import windows
from lisax.devices.workers import Opens, Workers, grouped
from lisax.files.resumable import resumable_groups
from lisax.files.writing import json_line
from lisax.formats import reading
from lisax.formats.reading import POINT, READ
from lisax.metrics.open_qa import answer_spans, normalize
from lisax.predict.verdicts import Evidence
from lisax.records import Question
from lisax.retrieval.passages import Passage
from lisax.weights.model_folder import ModelFolder

NO_ANSWER = "no answer here"
SPAN_TOKENS = 10  # maximum length of an answer
SPANS = 50  # best spans per question, whose probabilities are summed by answer
QUESTIONS_AT_A_TIME = 64  # questions read between two resume marks


@dataclasses.dataclass(frozen=True, slots=True)
class SpanPlace:
    """The place of an answer: characters of a passage's text, and the sentence, row or edge that contains them."""

    passage: str
    unit: str
    begin: int
    end: int


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """An answer's text with its probability. `place` is where a reader found it in its passages; `evidence` is the
    sentence, row, edge or cell that contains it; `reason` names the operation that computed it from cells, if any.
    `abstained`: there is no answer, because the likeliest one was below the minimum confidence, as `reason` states.

    An answer may be a whole sentence; `place` then marks a part of it.

    >>> print(Answer("Tarn", 0.83, evidence=Evidence("Mara_0", "Mara was born in Tarn.", "Mara", "sentence 1")))
    Tarn (0.830), from Mara, sentence 1: Mara was born in Tarn.
    """

    text: str
    probability: float
    place: SpanPlace | None = None
    evidence: Evidence | None = None
    reason: str = ""
    abstained: bool = False

    def __str__(self) -> str:
        text, found = self.text, "" if self.evidence is None else f", from {self.evidence}"
        if self.evidence is not None and self.evidence.text == text:  # a sentence, whose marked part is in brackets
            found = f", from {self.evidence.where}"
            if self.place is not None:
                begin, end = self.place.begin, self.place.end
                text = f"{text[:begin]}[{text[begin:end]}]{text[end:]}"
        return f"{text} ({self.probability:.3f}){found}" + (f" ({self.reason})" if self.reason else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data: `row` with the evidence and the reason."""
        evidence = None if self.evidence is None else self.evidence.to_dict()
        return self.row() | {"evidence": evidence, "reason": self.reason}

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def row(self) -> dict[str, Any]:
        """The answer with its place in a passage, or the unit that contains it."""
        row = {"answer": self.text, "probability": self.probability}
        if self.abstained:
            row["abstained"] = True
        if self.place is not None:
            return row | dataclasses.asdict(self.place)
        return row | ({} if self.evidence is None else {"unit": self.evidence.unit})


def withheld(answers: list[Answer], min_confidence: float | None) -> list[Answer]:
    """The answers, or only `no answer here` if the first is less probable than `min_confidence`. Its probability is
    that the first answer is wrong."""
    if min_confidence is None or not answers or answers[0].probability >= min_confidence:
        return answers
    first = answers[0]
    reason = (
        f"the likeliest answer, {first.text!r}, has a probability of {first.probability:.3f}, "
        f"below the minimum confidence {min_confidence:.3g}"
    )
    return [Answer(NO_ANSWER, 1 - first.probability, reason=reason, abstained=True)]


class Reader:
    """Answers questions from passages."""

    def __init__(self, model: str | os.PathLike | ModelFolder):
        from lisax.scoring.generating import AnswerGenerator
        from lisax.scoring.texts import SpanScorer

        found = ModelFolder.find(model)
        card = found.card
        self.format = card.format_among(READ, POINT)
        self.max_tokens, self.passages = card.needed("text.max_tokens", "text.passages")
        self._points = self.format is POINT
        self._answer_tokens = 0 if self._points else card.needed("text.answer_tokens")[0]
        self.vocabulary = card.open_vocabulary()
        scorer = SpanScorer if self._points else AnswerGenerator
        self._scorer = scorer.open(found, max_tokens=self.max_tokens)

    def read(self, questions: Sequence[tuple[str, Sequence[Passage]]], *, answers: int = 5) -> list[list[Answer]]:
        """Up to `answers` answers for each (question, passages best first), likeliest first; empty without passages."""
        limits = {"max_tokens": self.max_tokens, "count_tokens": self.vocabulary.count}
        texts = [
            [reading.encode_reading(question, one.title, one.text, **limits) for one in passages[: self.passages]]
            for question, passages in questions
        ]
        read = self._point if self._points else self._generate
        return list(read(questions, texts, answers))

    # --- Pointing ---------------------------------------------------------------------------

    def _point(self, questions, texts, count: int) -> Iterator[list[Answer]]:
        encoded = [[self.vocabulary.encode_with_places(text.inputs) for text in of_question] for of_question in texts]
        ends = iter(self._scorer.ends([ids for of_question in encoded for ids, _ in of_question]))
        for (_, passages), of_question, of_tokens in zip(questions, texts, encoded, strict=True):
            logits = [next(ends) for _ in of_question]
            yield self._added_up(passages, of_question, [places for _, places in of_tokens], logits)[:count]

    def _added_up(
        self,
        passages: Sequence[Passage],
        texts: Sequence[reading.ReadingText],
        places: Sequence[reading.Places],
        logits: Sequence[np.ndarray],
    ) -> list[Answer]:
        if not texts:
            return []
        total = np.logaddexp.reduce(np.concatenate(logits).astype(np.float64), axis=0)  # of first, of last tokens
        spans: list[tuple[float, int, int, int]] = []
        for number, (text, of_text, ends) in enumerate(zip(texts, places, logits)):
            spans += [(score, number, begin, end) for score, begin, end in _best_spans(text, of_text, ends - total)]
        found: dict[str, list[tuple[float, int, int, int]]] = {}
        for span in sorted(spans, key=lambda span: -span[0])[:SPANS]:
            said = normalize(_said(texts[span[1]], places[span[1]], span)[0])
            if said:
                found.setdefault(said, []).append(span)
        answers = []
        for of_answer in found.values():
            _, number, _, _ = best = of_answer[0]
            said, begin = _said(texts[number], places[number], best)
            passage = passages[number]
            share = float(sum(np.exp(span[0]) for span in of_answer))
            place = SpanPlace(passage.id, passage.unit_at(begin), begin, begin + len(said))
            answers.append(Answer(said, share, place))
        return sorted(answers, key=lambda answer: -answer.probability)

    # --- Generating -------------------------------------------------------------------------

    def _generate(self, questions, texts, count: int) -> Iterator[list[Answer]]:
        from lisax.models.decoding import Decoding

        tokens = [self.vocabulary.encode_inputs([text.inputs for text in of_question]) for of_question in texts]
        decoding = Decoding(beam_size=count, length_penalty=0.0)
        found = self._scorer.answers(tokens, length=self._answer_tokens, decoding=decoding)
        for (_, passages), (hypotheses, scores) in zip(questions, found, strict=True):
            shares: dict[str, tuple[str, float]] = {}
            for row, score in zip(hypotheses, scores):
                said = self.vocabulary.decode(row)
                first, share = shares.get(normalize(said), (said, 0.0))
                shares[normalize(said)] = first, share + float(np.exp(score))
            ranked = sorted(shares.values(), key=lambda answer: -answer[1]) if passages else []
            yield [Answer(said, share, _first_place(passages[: self.passages], said)) for said, share in ranked]


def _best_spans(text: reading.ReadingText, places: reading.Places, shares: np.ndarray) -> list[tuple[float, int, int]]:
    """(log-probability, first token, last token) of the `SPANS` best spans within the passage's own text."""
    spans = zip(places.begins, places.ends)
    inside = np.array([begin >= text.context - 1 and end > max(begin, text.context) for begin, end in spans], bool)
    size = len(inside)
    if not inside.any():
        return []
    first, last = np.where(inside, shares[:size, 0], -np.inf), np.where(inside, shares[:size, 1], -np.inf)
    joint = first[:, None] + last[None]
    lengths = np.arange(size)[None] - np.arange(size)[:, None]
    joint[(lengths < 0) | (lengths >= SPAN_TOKENS)] = -np.inf
    best = np.argsort(-joint, axis=None, kind="stable")[:SPANS]
    return [(float(joint.flat[i]), int(i // size), int(i % size)) for i in best if joint.flat[i] > -np.inf]


def _said(text: reading.ReadingText, places: reading.Places, span: tuple[float, int, int, int]) -> tuple[str, int]:
    """The text of a span, and its first character in the passage's text."""
    begin, end = max(places.begins[span[2]], text.context), places.ends[span[3]]
    written = text.inputs[begin:end]
    return written.strip(), begin - text.context + len(written) - len(written.lstrip())


def _first_place(passages: Sequence[Passage], answer: str) -> SpanPlace | None:
    for passage in passages:
        for begin, end in answer_spans(passage.text, [answer]):
            return SpanPlace(passage.id, passage.unit_at(begin), begin, end)
    return None


def answer_to_file(
    opens: Opens,
    asked: Sequence[tuple[Question, Any]],
    out: Path,
    made_from: str = "",
    more: Callable[[Question], dict] = lambda question: {},
    workers: Workers | None = None,
) -> None:
    """Writes a line for each question: {"id", "question", "answers", "found"} and the fields that `more` returns.

    `opens` returns the work on questions with the passages that are read for them: the answers to each. An interrupted
    call with the same `made_from` resumes."""

    def groups_after(done: int) -> Iterator[list[str]]:
        answered = grouped(opens, asked, QUESTIONS_AT_A_TIME, workers, "questions", done)
        for group, answers in zip(list(windows(asked, QUESTIONS_AT_A_TIME))[done:], answered):
            yield [_line(question, found, more(question)) for (question, _), found in zip(group, answers, strict=True)]

    resumable_groups(out, groups_after, made_from)


def _line(question: Question, found: Sequence[Answer], more: dict) -> str:
    given = [answer.text for answer in found if not answer.abstained]
    row = {"id": question.id, "question": question.text, "answers": given, "found": [answer.row() for answer in found]}
    return json_line(row | more)
