"""Questions with their passages, as training examples for retrievers and readers.

A passage is gold if a unit that the question names as evidence (a sentence, a row, a sub-graph, or a whole table)
contains an answer; for questions without evidence, such as those of Natural Questions, if an answer occurs anywhere in
it. These are UDT-QA's gold passages made from answer rows (section 4.1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lisax.formats.reading import PassageView, QuestionExample
from lisax.metrics.open_qa import answer_spans
from lisax.records import Question
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.passages import Passage
from lisax.sampling.negatives import generator

NEAR = 12  # ranked tables that negative ones are drawn from
DEPTHS = (1, 5, 10, 20, 50, 100)  # passages read per question
_CELL, _PART = re.compile(r"(#r\d+)c\d+$"), re.compile(r"#[er]\d+$")


class AnswerEvidence:
    """The units that a question's answers may be learned from."""

    def __init__(self, question: Question):
        self.question = question
        self.units = {_CELL.sub(r"\1", unit) for unit in question.evidence}

    def view(self, passage: Passage) -> PassageView:
        spans = answer_spans(passage.text, self.question.answers)
        if self.units:
            spans = [span for span in spans if any(map(self.names, passage.units_at(span[0])))]
        return PassageView(passage.id, passage.title, passage.text, tuple(spans))

    def names(self, unit: str) -> bool:
        """Whether a unit of a passage is evidence of the question, or part of its evidence."""
        return not self.units.isdisjoint(_with_owner(unit))


def _with_owner(unit: str) -> set[str]:
    """A unit's id, and that of the sub-graph or table whose edge or row it is, which a question may name."""
    return {unit, _PART.sub("", unit)}


def gold_passages(index: MixedIndex, questions: Iterable[Question]) -> dict[str, list[str]]:
    """Ids of the passages that contain evidence, for questions that have some, in index order. Takes one pass."""
    wanted: dict[str, list[AnswerEvidence]] = {}
    for question in questions:
        evidence = AnswerEvidence(question)
        for unit in evidence.units:
            wanted.setdefault(unit, []).append(evidence)
    found: dict[str, dict[str, None]] = {}
    for store in index.stores.values():
        for passage in store:
            for unit in set().union(*map(_with_owner, passage.provenance)):
                for evidence in wanted.get(unit, ()):
                    if evidence.view(passage).spans:
                        found.setdefault(evidence.question.id, {})[passage.id] = None
    return {i: list(passages) for i, passages in found.items()}


def for_retriever(
    index: MixedIndex,
    questions: Iterable[Question],
    ranked: Mapping[str, Sequence[str]],
    gold: Mapping[str, Sequence[str]],
    *,
    negatives: int,
    skipped: Counter | None = None,
) -> Iterator[QuestionExample]:
    """Each gold passage with the best ranked passages that contain no answer: hard negatives from BM25 or a first
    model.

    The gold passages are those of `gold`; for a question without evidence, the first ranked one with an answer."""
    skipped = Counter() if skipped is None else skipped
    for question in questions:
        evidence = AnswerEvidence(question)
        passages = [passage for i in ranked.get(question.id, ()) if (passage := index.passage(i)) is not None]
        if evidence.units:
            positives = [evidence.view(index.passage(i)) for i in gold.get(question.id, ())]
        else:
            positives = [view for passage in passages if (view := evidence.view(passage)).spans][:1]
        hard = [
            PassageView(passage.id, passage.title, passage.text)
            for passage in passages
            if not answer_spans(passage.text, question.answers)
        ]
        if not positives:
            skipped["questions without a gold passage in the index"] += 1
        for number, positive in enumerate(positives):
            chosen = [hard[(number * negatives + i) % len(hard)] for i in range(min(negatives, len(hard)))]
            yield QuestionExample(question.id, question.text, question.answers, (positive, *chosen))


def for_table_retriever(
    questions: Iterable[Question],
    ranked: Mapping[str, Sequence[str]],
    gold: Callable[[Question], Sequence[str]],
    view: Callable[[str], PassageView],
    *,
    negatives: int,
    seed: int = 0,
) -> Iterator[QuestionExample]:
    """A gold table of each question, drawn, with ranked tables that are none: hard negatives, drawn from the first
    `NEAR`. A question without enough of them is left out, since all examples have the same number of tables."""
    for question in questions:
        rng = generator(seed, question.id, "retriever")
        own = gold(question)
        near = [table for table in ranked.get(question.id, ()) if table not in own][:NEAR]
        if own and len(near) >= negatives:
            chosen = [own[int(rng.integers(len(own)))], *(near[i] for i in rng.permutation(len(near))[:negatives])]
            yield QuestionExample(question.id, question.text, question.answers, tuple(map(view, chosen)))


def for_reader(
    index: MixedIndex,
    questions: Iterable[Question],
    ranked: Mapping[str, Sequence[str]],
    *,
    passages: int,
    gold: Mapping[str, Sequence[str]] | None = None,
    skipped: Counter | None = None,
) -> Iterator[QuestionExample]:
    """The first `passages` ranked passages of each question.

    In training (`gold` given), if none of a question's ranked passages can be learned from, its first gold one replaces
    the last; a question without either is left out."""
    skipped = Counter() if skipped is None else skipped
    for question in questions:
        evidence = AnswerEvidence(question)
        found = [passage for i in ranked.get(question.id, ())[:passages] if (passage := index.passage(i)) is not None]
        views = [evidence.view(passage) for passage in found]
        if gold is not None and not any(view.spans for view in views):
            own = gold.get(question.id, ())
            if not own:
                skipped["questions without an answer in any of their passages"] += 1
                continue
            views = [*views[: passages - 1], evidence.view(index.passage(own[0]))]
        yield QuestionExample(question.id, question.text, question.answers, tuple(views))


def file_name(name: str, split: str) -> Path:
    return Path("examples") / f"{name}.{split}.jsonl"
