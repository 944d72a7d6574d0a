"""Answers questions from an index: by sentences of text, by cells of tables, or with a reader of passages."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lisax import shipped
from lisax.devices.batching import windows
from lisax.errors import DataError, LisaxError
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.reading import POINT, READ
from lisax.predict.aggregation import Aggregator
from lisax.predict.answer_confidence import AnswerConfidence
from lisax.predict.dense_search import PassageSearch
from lisax.predict.index import Index
from lisax.predict.judging import check_confidence
from lisax.predict.opening import find_model, open_model
from lisax.predict.ranker import ranker_of
from lisax.predict.reader import Answer, Reader, withheld
from lisax.predict.retriever import open_encoder
from lisax.predict.sentence_answers import SentenceAnswerer
from lisax.predict.table_answers import TableAnswerer, TableScores
from lisax.predict.verdicts import Evidence, place_of
from lisax.progress import say
from lisax.records import cell_id, check_text, is_cell, is_row, row_id, split_cell_id
from lisax.retrieval import table_text
from lisax.retrieval.dense import Encodes
from lisax.retrieval.passages import Passage, has_passages

PASSAGES = 100  # retrieved per question
POOL = 20  # tables per question whose cells are scored
QUESTIONS_AT_A_TIME = 32  # batched together

Folder = str | os.PathLike


class Answerer(Protocol):
    """Answers questions. The likeliest answer comes first; each has the evidence that it was found in.

    >>> from lisax import Answerer, Index, example_pages
    >>> index = Index.build(example_pages(), kind="mixed")
    >>> answerer = Answerer.open(index, "OUT/models/reader_text")  # trained by `lisax run udt-qa --out OUT`
    >>> answers = answerer.ask("Where was Vova Brugard born?", 2)
    >>> len(answers), answers[0].evidence.place.split()[0]
    (2, 'sentence')
    """

    @property
    def searched(self) -> dict[str, int]:
        """The number of pages, tables or passages that are searched, by name in the plural."""
        return {}

    def ask(self, question: str, answers: int = 5) -> list[Answer]:
        """Up to `answers` answers, likeliest first; empty if nothing is found, and `no answer here` (`withheld`) where
        the likeliest is not sure enough."""
        return next(self.ask_many([question], answers))

    def ask_many(self, questions: Sequence[str], answers: int = 5) -> Iterator[list[Answer]]:
        """`ask` for each question, in order."""
        return (self.ask(question, answers) for question in questions)

    @staticmethod
    def open(
        index: Index | Folder,
        model: Folder | None = None,
        *,
        retriever: Folder | None = None,
        columns: Folder | None = None,
        aggregation: Folder | None = None,
        min_confidence: float | None = None,
    ) -> Answerer:
        """Opens the answerer that fits an index and a model, by the model's kind. Without a model, the shipped ones
        answer from text by sentences (`lisax.shipped.answers`) and from tables by cells (`lisax.shipped.parts`), for
        whose search the index has vectors of `minilm`; of both, the likeliest come first.

        A reader needs an index of `lisax index mixed`; it reads passages found by BM25 or, with a `retriever`, by BM25
        and vectors. A model of rows and columns (CLTR) needs an index of `lisax index tables` and answers from cells.
        `columns` is a separate model for columns; `aggregation` is a model that chooses operations (a count, a sum).
        `min_confidence`: where the likeliest answer has a lower probability, the answer is `no answer here` (default:
        as fitted for a model of rows, else none).

        Raises LisaxError if the model answers no questions, or does not fit the index or the other models, and for a
        retriever without a reader."""
        check_confidence(min_confidence)
        if model is None and retriever is not None:
            raise LisaxError(
                f"the retriever {retriever} finds passages for a reader, and the shipped models use none: name a reader "
                "as the model, or leave the retriever out"
            )
        if isinstance(index, (str, os.PathLike)):
            index = Index.open(index)
        if model is None and columns is None and aggregation is None:
            return shipped_answerer(index, min_confidence)
        model = shipped_parts() if model is None else model
        named = find_model(model)
        found = named.format
        if found in (READ, POINT):
            if columns is not None or aggregation is not None:
                raise LisaxError(f"{model} reads passages: leave the models of columns and operations out")
            answerer = PassageAnswerer.of(index, Reader(named), retriever and open_encoder(retriever))
            answerer.min_confidence = min_confidence
            return answerer
        if found is TABLE_PARTS:
            if retriever is not None:
                raise LisaxError(f"{model} reads tables, which the index finds: leave the retriever out")
            if table_text.NAME not in index.components:
                raise LisaxError(f"{model} answers from an index of `lisax index tables`, and {_named(index)} is none")
            tables = TableAnswerer.open(index.folder or index.reading("tables"), named, columns)
            aggregator = None if aggregation is None else Aggregator.open(aggregation)
            return CellAnswerer(tables, aggregator, min_confidence=min_confidence)
        raise LisaxError(
            f"{model} answers no questions (its format is '{found}'): give a reader, or a model of table parts"
        )


def shipped_answerer(index: Index, min_confidence: float | None = None) -> Answerer:
    """The shipped answerers of an index's text and of its whole tables. Raises LisaxError if it has neither, or if only
    tables are there and they have no vectors."""
    components, found = index.components, []
    if table_text.NAME in components:
        try:
            tables = TableAnswerer.open(index.folder or index.reading("tables"), shipped_parts())
            found.append(CellAnswerer(tables, min_confidence=min_confidence))
        except DataError as error:
            if not (has_passages(components) or "pages" in components):
                raise
            say(f"tables are not searched for cells: {error}")
    if has_passages(components) or "pages" in components:
        found.insert(0, shipped_sentences(index, min_confidence))
    if not found:
        raise LisaxError("this index has no text and no whole tables, and `lisax ask` answers from these")
    return found[0] if len(found) == 1 else JoinedAnswerer(found)


def shipped_sentences(index: Index, min_confidence: float | None = None) -> SentenceAnswerer:
    """The shipped answerer of an index's text, and of the rows of its tables if they are among its passages."""
    model = open_model(shipped.answers())
    return SentenceAnswerer(index, ranker_of(model), AnswerConfidence.of(model.card, "asked"), min_confidence)


def shipped_parts() -> Path:
    """The model of rows and columns that LisaX ships. Raises LisaxError if none is shipped."""
    if not shipped.parts().is_dir():
        raise LisaxError("no model of table rows and columns comes with LisaX: name one, or a reader of passages")
    return shipped.parts()


def _named(index: Index) -> Path | str:
    return index.folder or "that of the cluster"


class PassageAnswerer(Answerer):
    """A reader of passages of text, tables and graphs (UDT-QA)."""

    min_confidence: float | None = None

    def __init__(self, search: PassageSearch, reader: Reader, passages: int = PASSAGES):
        self.search, self.reader, self.passages = search, reader, passages

    @classmethod
    def of(
        cls,
        index: Index,
        reader: Reader,
        retriever: Encodes | None = None,
        method: str | None = None,
        exact: bool = True,
    ) -> PassageAnswerer:
        """`method` is bm25, dense or fused (the default with a retriever)."""
        if not has_passages(index.components):
            raise LisaxError(f"a reader answers from an index of `lisax index mixed`, and {_named(index)} is none")
        method = method or ("bm25" if retriever is None else "fused")
        return cls(PassageSearch(index.index, method=method, retriever=retriever, exact=exact), reader)

    @property
    def searched(self) -> dict[str, int]:
        return {"passages": sum(map(len, self.search.index.stores.values()))}

    def find(self, questions: Mapping[str, str], k: int | None = None) -> dict[str, list[Passage]]:
        """The passages that the reader reads for each question, by question id, best first; `k` are retrieved."""
        found = self.search(questions, max(self.passages, self.reader.passages) if k is None else k)
        return {key: self._read([hit for hit, _ in hits[: self.reader.passages]]) for key, hits in found.items()}

    def _read(self, ids: Sequence[str]) -> list[Passage]:
        self.search.index.prepare(ids)
        return list(map(self.search.index.passage, ids))

    def ask_many(self, questions: Sequence[str], answers: int = 5) -> Iterator[list[Answer]]:
        for group in windows(map(check_text, questions), QUESTIONS_AT_A_TIME):
            asked = {str(number): text for number, text in enumerate(group)}
            passages = self.find(asked)
            pairs = [(text, passages[key]) for key, text in asked.items()]
            for found in self.reader.read(pairs, answers=answers):
                answered = [dataclasses.replace(answer, evidence=self._evidence(answer)) for answer in found]
                yield withheld(answered, self.min_confidence)

    def _evidence(self, answer: Answer) -> Evidence | None:
        """The unit that contains an answer; None for a generated answer that no passage contains."""
        if answer.place is None:
            return None
        passage, unit = self.search.index.passage(answer.place.passage), answer.place.unit
        return Evidence(unit, passage.unit_text(unit), passage.title, place_of(unit))


class CellAnswerer(Answerer):
    """Answers from table cells by the probabilities of their rows and columns (CLTR): each table's best cell, best
    table first. With an aggregator, a table's answer is the aggregate of its cells where an operation is chosen.

    `min_confidence`: see `withheld`; None: the threshold that was fitted for the model, if any."""

    def __init__(
        self,
        tables: TableAnswerer,
        aggregator: Aggregator | None = None,
        pool: int = POOL,
        min_confidence: float | None = None,
    ):
        self.tables, self.aggregator, self.pool = tables, aggregator, pool
        if min_confidence is None and tables.confidence is not None:
            min_confidence = tables.confidence.threshold
        self.min_confidence = min_confidence

    @property
    def searched(self) -> dict[str, int]:
        return {"tables": len(self.tables.store)}

    def ask(self, question: str, answers: int = 5) -> list[Answer]:
        scored = self.tables.answer(check_text(question), self.pool, answers)
        if self.aggregator is None:
            return withheld([_best_cell(scores) for scores in scored], self.min_confidence)
        answered = list(map(_best_cell, scored))
        for i, found in enumerate(self.aggregator.answers(question, scored)):
            if found.aggregate is not None:
                cells = len(found.aggregate.cells)
                reason = f"the {found.operation} of {cells} cell{'' if cells == 1 else 's'}"
                answered[i] = dataclasses.replace(answered[i], text=found.text, reason=reason)
        return withheld(answered, self.min_confidence)


class JoinedAnswerer(Answerer):
    """The answers of several answerers, likeliest first; `no answer here` only if each gives none. Their probabilities
    are compared as they are, so they should be calibrated. A cell that is marked in a row that another answerer gives
    is one answer, with the higher probability of the two."""

    def __init__(self, answerers: Sequence[Answerer]):
        self.answerers = answerers

    @property
    def searched(self) -> dict[str, int]:
        return {name: number for one in self.answerers for name, number in one.searched.items()}

    def ask_many(self, questions: Sequence[str], answers: int = 5) -> Iterator[list[Answer]]:
        for found in zip(*(one.ask_many(questions, answers) for one in self.answerers), strict=True):
            every = [answer for of_one in found for answer in of_one]
            given = sorted(_agreed([one for one in every if not one.abstained]), key=lambda one: -one.probability)
            # Without any answer: the least probable `no answer here`.
            yield given[:answers] or sorted(every, key=lambda one: one.probability)[:1]


def _agreed(answers: Sequence[Answer]) -> list[Answer]:
    """The answers without rows whose marked cell is an answer too, which has the higher probability of the two."""
    rows = {
        (one.evidence.unit, one.text[one.place.begin : one.place.end]): one
        for one in answers
        if one.place is not None and one.evidence is not None and is_row(one.evidence.unit)
    }
    made, merged = [], []
    for one in answers:
        if one.evidence is not None and is_cell(one.evidence.unit):
            table, row, _ = split_cell_id(one.evidence.unit)
            if (same := rows.get((row_id(table, row), one.text))) is not None:
                merged.append(same)
                one = dataclasses.replace(one, probability=max(one.probability, same.probability))
        made.append(one)
    return [one for one in made if not any(one is same for same in merged)]


def _best_cell(scores: TableScores) -> Answer:
    table, (row, column) = scores.table, scores.best
    text = ", ".join(f"{name}: {cell}" if name else cell for name, cell in zip(table.header, table.rows[row]))
    evidence = Evidence(
        cell_id(table.id, row, column), text, table.title or table.caption, f"row {row + 1}, column {column + 1}"
    )
    return Answer(table.rows[row][column], scores.probability, evidence=evidence)
