"""Exports feedback as training data, in the plain layout that `lisax.tasks.register` and `lisax train` read.

    questions.train.jsonl     questions whose answer cells were selected, with those cells as evidence
    tables.jsonl              the tables that were shown for them, and for claims over tables
    claims.train.jsonl        claims with the label that a reader gave and the sentences that decide
    pages.jsonl               the pages of those sentences and of all that was retrieved for the claims
    table_claims.train.jsonl  claims with the table that decides
    table_judgements.jsonl    {"id", "question", "table", "relevant"}: tables judged right or wrong; the wrong ones for a question with a right cell are its negative tables in training. A table is wrong too
                              if a cell of it was, and the right one is in another.

For a verdict from an index of passages, each retrieved sentence, row or edge becomes a page of one sentence, so that
models read it in training as in inference.

Ids begin with the corpus they come from, so that corpora with equal ids can share a folder.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from lisax.corpora import plain
from lisax.errors import LisaxError
from lisax.files.writing import write_json_lines
from lisax.records import Claim, Document, Label, Question, Sentence, Table, split_cell_id, split_sentence_id
from lisax.serve import views
from lisax.serve.answering import Engine
from lisax.serve.library import Library, ServedCorpus
from lisax.serve.limits import LIMITS
from lisax.serve.models import Models
from lisax.serve.opened import PASSAGES, TABLES
from lisax.serve.store import NAME, Feedback, Store, StoredAnswer

HELD = 5  # one in this number of entries is held out of training
CANDIDATES = 50  # sentences per claim that training draws its negatives from
GONE = "feedback on a corpus that is gone"
CHANGED = "feedback on tables or sentences that have changed since, or are gone"


@dataclasses.dataclass
class Export:
    """Records by id, and `skipped`: counts of unusable feedback by reason."""

    questions: dict[str, Question] = dataclasses.field(default_factory=dict)
    claims: dict[str, Claim] = dataclasses.field(default_factory=dict)
    table_claims: dict[str, Claim] = dataclasses.field(default_factory=dict)
    tables: dict[str, Table] = dataclasses.field(default_factory=dict)
    pages: dict[str, Document] = dataclasses.field(default_factory=dict)
    judgements: list[dict] = dataclasses.field(default_factory=list)
    skipped: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def divided(self) -> tuple[Export, Export]:
        """(to learn from, held out): about every fifth entry is held out, the same ones each time; tables and pages are
        in both."""

        def part(is_held: bool) -> Export:
            own = {
                name: {key: one for key, one in getattr(self, name).items() if _is_held(key) is is_held}
                for name in ("questions", "claims", "table_claims")
            }
            judged = [one for one in self.judgements if _is_held(one["id"]) is is_held]
            return dataclasses.replace(self, **own, judgements=judged)

        return part(False), part(True)

    def write(self, folder: str | os.PathLike) -> dict[str, int]:
        """Writes the files that have content. Returns their numbers of lines."""
        folder, counts = Path(folder), {}
        for name, write, records in (
            ("questions.train", plain.write_questions, self.questions.values()),
            ("claims.train", plain.write_claims, self.claims.values()),
            ("table_claims.train", plain.write_claims, self.table_claims.values()),
            ("tables", plain.write_tables, self.tables.values()),
            ("pages", plain.write_pages, self.pages.values()),
            ("table_judgements", write_json_lines, self.judgements),
        ):
            if records:
                counts[name] = write(folder / f"{name}.jsonl", records)
        return counts


def export_feedback(state: Path, indexes: Sequence[Path], out: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Writes the feedback in a page's folder `state`, on these indexes or on uploaded tables, to a new folder.

    Returns ({file name: records}, {reason: number of skipped entries})."""
    if not (state / NAME).is_file():
        raise LisaxError(f"there is no feedback in {state}: --state names the folder that `lisax serve` was given")
    if out.exists():
        raise LisaxError(f"{out} is there already; name a new folder")
    with contextlib.closing(Store(state)) as store:
        gathered = gather(store.feedback(), Library(indexes, state / "corpora", LIMITS), Engine(Models({})))
    return gathered.write(out), dict(gathered.skipped)


def gather(said: Iterable[Feedback], library: Library, engine: Engine) -> Export:
    """Collects all feedback that can be trained on."""
    export = Export()
    cells: dict[str, tuple[ServedCorpus, list[Feedback]]] = {}
    for one in said:
        corpus = library.get(one.answer.corpus)
        if corpus is None:
            export.skipped[GONE] += 1
        elif not views.is_as_it_was(one, corpus, engine):
            export.skipped[CHANGED] += 1
        elif one.kind == "cell":
            cells.setdefault(one.answer.id, (corpus, []))[1].append(one)
        elif one.kind == "table":
            export.judgements.append(_judgement(one.answer, _own(corpus, one.unit), one.value == "right"))
            _add_tables(export, corpus, engine, [one.unit])
        else:
            _add_claim(export, corpus, engine, one)
    for corpus, of_answer in cells.values():
        _add_question(export, corpus, engine, of_answer)
    return export


def _add_question(export: Export, corpus: ServedCorpus, engine: Engine, said: list[Feedback]) -> None:
    answer, store = said[0].answer, engine.tables(corpus)
    right: dict[str, str] = {}
    for one in said:
        table, row, column = split_cell_id(one.unit)
        found = store.get(table)
        if one.value == "right" and found is not None and row < len(found.rows) and column < len(found.header):
            if found.rows[row][column].strip():  # an empty cell is not an answer
                right[_own(corpus, one.unit)] = found.rows[row][column]
    if not right:
        export.skipped["questions without a cell marked as right"] += 1
        return
    name, judged = _name(answer), {one["table"] for one in export.judgements if one["id"] == _name(answer)}
    answering = {split_cell_id(unit)[0] for unit in right}
    wrong = dict.fromkeys(_own(corpus, split_cell_id(one.unit)[0]) for one in said if one.value == "wrong")
    export.judgements += [_judgement(answer, table, False) for table in wrong if table not in answering | judged]
    export.questions[name] = Question(name, answer.text, tuple(dict.fromkeys(right.values())), tuple(right))
    _add_tables(export, corpus, engine, [split_cell_id(one.unit)[0] for one in said])
    _add_tables(export, corpus, engine, [table["id"] for table in answer.result["tables"]])


def _add_claim(export: Export, corpus: ServedCorpus, engine: Engine, one: Feedback) -> None:
    label, units = Label(one.value["label"]), one.value["evidence"]
    if label is not Label.NOT_ENOUGH_INFO and not units:
        export.skipped["claims labelled true or false without marked evidence"] += 1
        return
    name = _name(one.answer)
    result = next(row for row in one.answer.result["verdicts"] if row["source"] == one.unit)
    if not units and not result["candidates"]:
        export.skipped["claims for which nothing was found"] += 1
        return
    evidence = [_own(corpus, unit) for unit in units] if label is not Label.NOT_ENOUGH_INFO else []
    if one.unit == TABLES:
        # Each of the tables suffices.
        export.table_claims[name] = Claim(name, one.answer.text, label, tuple((unit,) for unit in evidence))
        _add_tables(export, corpus, engine, [*units, *result["candidates"]])
        return
    candidates = list(dict.fromkeys([*units, *result["candidates"][:CANDIDATES]]))
    if one.unit == PASSAGES:
        made = _add_unit_pages(export, corpus, engine, candidates)
        if not all(unit in made for unit in units):
            export.skipped["claims whose evidence the corpus no longer has"] += 1
            return
        evidence, known = [made[unit] for unit in units] if evidence else [], made.values()
    else:
        known, sentences = [_own(corpus, unit) for unit in candidates], engine.sentences(corpus)
        for page in map(sentences.page, dict.fromkeys(split_sentence_id(unit)[0] for unit in candidates)):
            if page is not None:
                own = _own(corpus, page.id)
                export.pages[own] = dataclasses.replace(page, id=own, redirects=(), original_id=None)
    export.claims[name] = Claim(name, one.answer.text, label, (tuple(evidence),) if evidence else (), tuple(known))


def _add_unit_pages(export: Export, corpus: ServedCorpus, engine: Engine, units: Iterable[str]) -> dict[str, str]:
    """{unit: id of the sentence that represents it}, for the units that the index of passages still has."""
    made = {}
    for unit in units:
        if (found := engine.evidence(corpus).lookup(unit)) is not None:
            sentence = Sentence(own := _own(corpus, unit), 0, found.text)
            export.pages[own], made[unit] = Document(own, found.title, (sentence,)), sentence.id
    return made


def _add_tables(export: Export, corpus: ServedCorpus, engine: Engine, ids: Iterable[str]) -> None:
    store = engine.tables(corpus)
    for table_id in ids:
        own = _own(corpus, table_id)
        if own not in export.tables and (table := store.get(table_id)) is not None:
            export.tables[own] = dataclasses.replace(table, id=own, page=None, original_id=None)


def _name(answer: StoredAnswer) -> str:
    return f"feedback-{answer.id}"


def _judgement(answer: StoredAnswer, table: str, relevant: bool) -> dict:
    return {"id": _name(answer), "question": answer.text, "table": table, "relevant": relevant}


def _is_held(name: str) -> bool:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % HELD == 0


def _own(corpus: ServedCorpus, unit: str) -> str:
    return f"{corpus.id}:{unit}"
