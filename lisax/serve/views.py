"""Prepares stored answers for the templates: tables with heatmaps, verdicts with evidence, and the feedback on each."""

from __future__ import annotations

import dataclasses
import re
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from lisax.predict.table_answers import TableScores
from lisax.records import LABELS, Label, LisaxError, Table, split_cell_id, split_sentence_id
from lisax.report import heatmap as heatmaps
from lisax.report.render import LABEL_SLUGS, LABEL_WORDS
from lisax.retrieval.passages import Source
from lisax.serve.answering import PASSAGES, TABLES, TEXT, Engine
from lisax.serve.library import ServedCorpus
from lisax.serve.store import Feedback, StoredAnswer

if TYPE_CHECKING:
    from lisax.predict.passage_index import PassageIndex

BY = {TEXT: "text", TABLES: "tables", PASSAGES: "text, tables and graphs"}
AROUND = 400  # characters shown of a page
TEMPLATES = Path(__file__).parent / "templates"


@dataclasses.dataclass(frozen=True, slots=True)
class RankedTable:
    """A table of an answer. `name` is the prefix of its element ids; `score` and `best` are the score and (row, column)
    of its best cell; `relevance` is the value it is ranked by; `confidence` is the fitted probability that the cell is
    right, if any; `around` is the beginning of the page that contains it.
    """

    name: str
    table: Table
    score: float
    relevance: float
    retrieval: float
    best: tuple[int, int] | None
    map: Markup
    said: list[Feedback]
    around: str
    confidence: float | None = None

    @property
    def title(self) -> str:
        return self.table.title or self.table.caption or self.table.id

    @property
    def best_text(self) -> str:
        return self.table.rows[self.best[0]][self.best[1]] if self.best else ""

    @property
    def best_anchor(self) -> str:
        return f"#{self.name}-r{self.best[0]}c{self.best[1]}" if self.best else f"#{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Stands:
    """The source of a unit in an index of passages: "text", "table (raw)", …, and its place there in words."""

    source: str
    place: str


@dataclasses.dataclass(frozen=True, slots=True)
class EvidenceView:
    """A sentence, row or edge (`text`) or a table (`table`) that a verdict was read from. `stands`: its source, for
    evidence from an index of passages."""

    id: str
    title: str
    text: str
    table: Table | None
    score: float | None
    stands: Stands | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictShown:
    """`evidence` is sorted by score, or in retrieval order if it has no scores. `changed`: how many units are left out
    because the corpus has changed. `dates`: why dates decided the verdict, and `verifier`: the verifier's own label;
    both are None if dates did not decide. `note`: a further remark. `abstained`: why no label was sure enough."""

    source: str
    label: Label
    probabilities: list[tuple[Label, float]]
    evidence: list[EvidenceView]
    changed: int
    said: Feedback | None
    dates: str | None = None
    verifier: Label | None = None
    note: str = ""
    abstained: str = ""

    @property
    def is_scored(self) -> bool:
        return all(unit.score is not None for unit in self.evidence)

    @property
    def by(self) -> str:
        return BY[self.source]


@dataclasses.dataclass(frozen=True, slots=True)
class ReadAnswer:
    """A reader's answer. `parts`: its passage before the answer, the answer there, and the rest; None if no passage
    contains the answer, or the passage has changed."""

    text: str
    probability: float
    unit: str = ""
    title: str = ""
    stands: Stands | None = None
    parts: tuple[str, str, str] | None = None


def ranked_tables(
    answer: StoredAnswer, corpus: ServedCorpus, engine: Engine, said: list[Feedback]
) -> list[RankedTable]:
    """The tables of a question's answer; tables that have changed in the corpus are left out."""
    store, found = engine.tables(corpus), []
    for number, row in enumerate(answer.result["tables"]):
        table = store.get(row["id"])
        is_as_it_was = engine.is_as_it_was(corpus, TABLES, row["id"], answer.result)
        if table is not None and is_as_it_was and _shape(table) == (len(row["rows"]), len(row["columns"])):
            scores = TableScores(
                table,
                row["retrieval"],
                np.float32(row["rows"]),
                np.float32(row["columns"]),
                row.get("relevance"),
                row.get("confidence"),
            )
            found.append((f"t{number}", scores))
    tops = heatmaps.Tops.of([scores for _, scores in found])
    return [
        RankedTable(
            name,
            scores.table,
            scores.score(),
            scores.value,
            scores.retrieval,
            heatmaps.best_cell(scores),
            heatmaps.heatmap(scores, name, tops),
            [one for one in said if _table_of(one) == scores.table.id],
            _around(scores.table, corpus, engine),
            scores.confidence,
        )
        for name, scores in found
    ]


def _shape(table: Table) -> tuple[int, int]:
    return len(table.rows), len(table.header)


def _around(table: Table, corpus: ServedCorpus, engine: Engine) -> str:
    if table.page is None or not corpus.has_pages or (page := engine.sentences(corpus).page(table.page)) is None:
        return ""
    return textwrap.shorten(page.text, AROUND, placeholder=" …")


def read_answers(answer: StoredAnswer, corpus: ServedCorpus, engine: Engine) -> list[ReadAnswer]:
    """The answers of a reader, likeliest first."""
    evidence, shown = engine.evidence(corpus), []
    for row in answer.result["answers"]:
        passage = evidence.index.passage(row["passage"]) if "passage" in row else None
        if passage is None or passage.text[row["begin"] : row["end"]] != row["marked"]:
            shown.append(ReadAnswer(row["answer"], row["probability"]))
            continue
        parts = passage.text[: row["begin"]], row["marked"], passage.text[row["end"] :]
        shown.append(
            ReadAnswer(
                row["answer"],
                row["probability"],
                row["unit"],
                passage.title,
                _stands(passage.source, row["unit"], evidence),
                parts,
            )
        )
    return shown


def _stands(source: Source, unit: str, evidence: PassageIndex) -> Stands:
    form = evidence.index.sources[source]["form"]
    shown = str(source) if form == source else f"{source} ({form})"
    if source is Source.TEXT:
        page, number = split_sentence_id(unit)
        return Stands(shown, f"sentence {number + 1} of the page {page}")
    if (part := re.fullmatch(r"(.+)#([re])([0-9]+)", unit, re.DOTALL)) is None:
        return Stands(shown, f"the {source} {unit}")
    owner, kind, number = part.groups()
    return Stands(shown, f"{'row' if kind == 'r' else 'edge'} {int(number) + 1} of the {source} {owner}")


def _table_of(said: Feedback) -> str:
    return split_cell_id(said.unit)[0] if said.kind == "cell" else said.unit


def is_as_it_was(said: Feedback, corpus: ServedCorpus, engine: Engine) -> bool:
    """Whether the object of feedback is unchanged: for a verdict its evidence or, if nothing decides, everything that
    was shown."""
    result = said.answer.result
    if said.kind != "verdict":
        return engine.is_as_it_was(corpus, TABLES, _table_of(said), result)
    row = next(row for row in result["verdicts"] if row["source"] == said.unit)
    return all(engine.is_as_it_was(corpus, said.unit, unit, row) for unit in said.value["evidence"] or row["evidence"])


def verdicts(answer: StoredAnswer, corpus: ServedCorpus, engine: Engine, said: list[Feedback]) -> list[VerdictShown]:
    shown = []
    for row in answer.result["verdicts"]:
        evidence, dates = _evidence(row, corpus, engine), row.get("temporal") or {}
        shown.append(
            VerdictShown(
                row["source"],
                Label(row["label"]),
                list(zip(LABELS, row["probabilities"])),
                evidence,
                len(row["evidence"]) - len(evidence),
                next((one for one in said if one.kind == "verdict" and one.unit == row["source"]), None),
                dates.get("reason"),
                Label(dates["verifier_label"]) if dates else None,
                row.get("note", ""),
                row.get("abstained", ""),
            )
        )
    return shown


def _evidence(row: dict[str, Any], corpus: ServedCorpus, engine: Engine) -> list[EvidenceView]:
    shown = []
    for i, unit in enumerate(row["evidence"]):
        score = row["scores"][i] if i < len(row["scores"]) else None
        if not engine.is_as_it_was(corpus, row["source"], unit, row):
            continue
        if row["source"] == TABLES:
            if (table := engine.tables(corpus).get(unit)) is not None:
                shown.append(EvidenceView(unit, table.title or unit, table.caption, table, score))
        elif row["source"] == PASSAGES:
            evidence = engine.evidence(corpus)
            if (passage := evidence.passage_of(unit)) is not None:
                shown.append(
                    EvidenceView(
                        unit,
                        passage.title,
                        evidence.lookup(unit).text,
                        None,
                        score,
                        _stands(passage.source, unit, evidence),
                    )
                )
        elif (passage := engine.sentences(corpus).lookup(unit)) is not None:
            shown.append(EvidenceView(unit, passage.title, passage.text, None, score))
    return sorted(shown, key=lambda evidence: -(evidence.score or 0.0))


def described(one: Feedback, corpus: ServedCorpus | None, engine: Engine) -> str:
    """One line that describes feedback and its object; a text that has changed since is not shown as the object."""
    since = "" if corpus is None or is_as_it_was(one, corpus, engine) else " (which has changed since, or is gone)"
    if one.kind == "verdict":
        label = LABEL_WORDS[Label(one.value["label"])].lower()
        return f"the verdict by {BY[one.unit]}{' on evidence' + since if since else ''} should be: {label}"
    what = f"table {one.unit}"
    if one.kind == "cell":
        try:
            table_id, row, column = split_cell_id(one.unit)
            table = engine.tables(corpus).get(table_id) if corpus is not None and not since else None
            text = "" if table is None else f"“{table.rows[row][column]}” "
        except (LisaxError, IndexError):
            text, table_id, row, column = "", one.unit, 0, 0
        what = f"cell {text}(row {row + 1}, column {column + 1} of {table_id})"
    return f"{what}{since} is {one.value}"


def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "percent": heatmaps.percent,
        "word": LABEL_WORDS.__getitem__,
        "slug": LABEL_SLUGS.__getitem__,
        "moment": lambda seconds: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)),
    }
    made.globals["labels"] = LABELS
    return made
