"""Prepares stored answers for the templates: tables with heatmaps, verdicts with evidence, and the feedback on each."""

from __future__ import annotations

import dataclasses
import re
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from lisax.errors import DataError
from lisax.predict.joining import join
from lisax.predict.table_answers import TableScores, named_cells
from lisax.predict.verdicts import Disagreement, Evidence, Verdict, written
from lisax.records import LABELS, Label, Table, split_cell_id, split_sentence_id
from lisax.report import heatmap as heatmaps
from lisax.report import render
from lisax.retrieval.passages import Source
from lisax.serve.answering import Engine
from lisax.serve.library import ServedCorpus
from lisax.serve.matching import Matching, Rows
from lisax.serve.opened import PASSAGES, TABLES, TEXT
from lisax.serve.store import Feedback, StoredAnswer

if TYPE_CHECKING:
    from lisax.predict.passage_index import PassageIndex

BY = {TEXT: "text", TABLES: "tables", PASSAGES: "text, tables and graphs"}
HEADLINES = {Label.SUPPORTS: "Supported", Label.REFUTES: "Refuted", Label.NOT_ENOUGH_INFO: "Not enough evidence"}
# On which claims the shares of a model were measured, and the expectation for others: for shipped models, and for any
# other.
_FEVER = "FEVER's claims, about pages of Wikipedia,"
_FEWER = "On other documents expect fewer: of {} verdicts on folders of another kind{}, {} were right."
MEASURED = {
    "light": (_FEVER, _FEWER.format(600, "", 314)),
    "accurate": (_FEVER, _FEWER.format(490, " that were at least 70 % sure", 388)),
    "tables": ("InfoTabs' and TabFact's claims", "On other tables it was not measured."),
}
OWN = ("the claims that its probabilities were fitted to,", "On other documents it was not measured.")
DISAGREE = "Documents disagree"
ASKS = {  # by kind: its name, and the purpose of the form
    "question": ("a question", "Ask"),
    "claim": ("a claim or text", "Check"),
    "search": ("a search", "Search"),
}
SEEN_BY = {"everyone": "everyone", "session": "only you, in this browser", "token": "everyone with your token"}
TIERS = {"light": "the light model", "accurate": "the accurate model"}
SEVERAL = {"question": "questions", "claim": "claims", "search": "searches"}
AROUND = 400  # characters shown of a page
CONTEXT = 2  # sentences shown before and after one
TEMPLATES = Path(__file__).parent / "templates"


@dataclasses.dataclass(frozen=True, slots=True)
class RankedTable:
    """A table of an answer, with the (row, column) of its `best` cell. `name` is the prefix of its element ids, `around`
    the beginning of the page that contains it."""

    name: str
    scores: TableScores
    best: tuple[int, int] | None
    map: Markup
    said: list[Feedback]
    around: str

    @property
    def table(self) -> Table:
        return self.scores.table

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
    """A sentence, row or edge (`text`) or a table (`rows`) that a verdict was read from, with the words marked that it
    shares with the claim; `computed` are the facts that were computed and read with it. `is_read`: the percentages are
    from it, too. `context` is the text before and after it, `stands` its source, for evidence from an index of
    passages; `kind` is the evidence's source in the corpus."""

    id: str
    kind: str
    title: str
    text: Markup
    rows: Rows | None
    score: float | None
    context: tuple[str, str] = ("", "")
    stands: Stands | None = None
    computed: tuple[Markup, ...] = ()
    is_read: bool = True

    @property
    def brief(self) -> str:
        return textwrap.shorten(self.text.striptags(), 120, placeholder=" …")


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictShown:
    """The stored verdict from one source, see `Engine._row`, with the feedback on it. `evidence` are the units
    that have not changed since, sorted by score, or in retrieval order if there are no scores."""

    row: dict[str, Any]
    evidence: list[EvidenceView]
    said: Feedback | None

    @property
    def by(self) -> str:
        return BY[self.row["source"]]

    @property
    def dates(self) -> dict[str, Any] | None:
        """The ruling of the dates; None if they do not decide."""
        return self.row.get("temporal")


@dataclasses.dataclass(frozen=True, slots=True)
class VoiceShown:
    """The unit of one document for a label, with its probability when it is read on its own, and the document's date,
    empty if it is not known. `unit` is None if it has changed in the corpus, or is gone."""

    unit: EvidenceView | None
    probability: float
    date: str


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimShown:
    """The verdict on a claim, joined from those of its `sources`; the one of them that decides is `decisive`. `share`
    is the probability of its label, None if unknown; `deciding` is the unit that decides, None if there is none.
    `measured`: on which claims the share was measured, and the expectation for others; None if it was not. `conflict`
    names the sources that disagree. `sides` are the labels and voices of documents that disagree, newest first; empty if
    they do not. `taken_back`: a later document takes back an earlier one, which decides. `is_of_several`: the model read several units together, of which the deciding unit
    was ranked first."""

    label: Label
    share: float | None
    measured: tuple[str, str] | None
    is_of_several: bool
    decisive: VerdictShown
    deciding: EvidenceView | None
    others: list[EvidenceView]
    sources: list[VerdictShown]
    conflict: str
    sides: list[tuple[Label, list[VoiceShown]]]
    taken_back: bool

    @property
    def headline(self) -> str:
        return DISAGREE if self.sides and not self.taken_back else HEADLINES[self.label]


def answer_sentences(answer: StoredAnswer, corpus: ServedCorpus, engine: Engine) -> list[dict[str, Any]]:
    """Returns a question's sentences that have not changed in the corpus. `parts`: the text before the marked part, that
    part, and the rest."""
    matching, shown = Matching(answer.text), []
    for row in answer.result.get("sentences", ()):
        view = None
        if row["digest"] == engine.digest(corpus, row["source"], row["unit"]):
            view = evidence_view(row["unit"], row["source"], matching, corpus, engine)
        if view is not None:
            parts = _parted(row["answer"], row.get("begin", 0), row.get("end", 0))
            shown.append({"unit": view, "parts": parts, "probability": row["probability"]})
    return shown


def _parted(text: str, begin: int, end: int) -> tuple[str, str, str]:
    return text[:begin], text[begin:end], text[end:]


def ranked_tables(
    answer: StoredAnswer, corpus: ServedCorpus, engine: Engine, said: list[Feedback]
) -> list[RankedTable]:
    """The tables of a question's answer; tables that have changed in the corpus are left out."""
    found = []
    for number, row in enumerate(answer.result["tables"]):
        if not engine.is_as_it_was(corpus, TABLES, row["id"], answer.result):
            continue
        table = engine.tables(corpus).get(row["id"])
        if table is not None and (len(table.rows), len(table.header)) == (len(row["rows"]), len(row["columns"])):
            parts, named = (np.float32(row["rows"]), np.float32(row["columns"])), named_cells(answer.text, table)
            fitted = row.get("relevance"), row.get("confidence")
            found.append((f"t{number}", TableScores(table, row["retrieval"], *parts, *fitted, named)))
    tops = heatmaps.Tops.of([scores for _, scores in found])
    return [
        RankedTable(
            name,
            scores,
            heatmaps.best_cell(scores),
            heatmaps.heatmap(scores, name, tops),
            [one for one in said if _table_of(one) == scores.table.id],
            _around(scores.table, corpus, engine),
        )
        for name, scores in found
    ]


def _around(table: Table, corpus: ServedCorpus, engine: Engine) -> str:
    if table.page is None or not corpus.has_pages or (page := engine.sentences(corpus).page(table.page)) is None:
        return ""
    return textwrap.shorten(page.text, AROUND, placeholder=" …")


def read_answers(answer: StoredAnswer, corpus: ServedCorpus, engine: Engine) -> list[dict[str, Any]]:
    """The answers of a reader, likeliest first. `parts`: the passage before the answer, the answer there, and the rest;
    None if no passage contains the answer, or the passage has changed."""
    evidence, shown = engine.evidence(corpus), []
    for row in answer.result["answers"]:
        passage, parts = evidence.index.passage(row["passage"]) if "passage" in row else None, None
        if passage is not None and passage.text[row["begin"] : row["end"]] == row["marked"]:
            parts = _parted(passage.text, row["begin"], row["end"])
        where = {"title": passage.title, "stands": _stands(passage.source, row["unit"], evidence)} if parts else {}
        shown.append(row | where | {"parts": parts})
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


def joined(rows: Sequence[dict[str, Any]], claim: str) -> tuple[Verdict, int]:
    """The verdict of the stored ones of each source, and the place of the deciding one."""
    stored = [_stored(row, claim) for row in rows]
    whole = join(stored)
    return whole, next(
        place
        for place, one in enumerate(stored)
        if whole is one or (whole.label, whole.probabilities) == (one.label, one.probabilities)
    )


def _stored(row: dict[str, Any], claim: str) -> Verdict:
    return Verdict(
        claim,
        Label(row["label"]),
        dict(zip(LABELS, row["probabilities"])),
        tuple(Evidence(unit, "") for unit in row["evidence"]),
        ruling=row.get("temporal"),
        reads="tables" if row["source"] == TABLES else "sentences",
        abstained="abstained" in row,
        decided_by=row.get("deciding"),
        reason=row.get("reason", ""),
        disagreement=Disagreement.of_dict(row["disagreement"]) if "disagreement" in row else None,
    )


def verdict(answer: StoredAnswer, corpus: ServedCorpus, engine: Engine, said: list[Feedback]) -> ClaimShown:
    """A claim's verdict with its evidence, the unit that decides apart."""
    rows = answer.result["verdicts"]
    told = {one.unit: one for one in said if one.kind == "verdict"}
    sources = [VerdictShown(row, evidence(row, answer.text, corpus, engine), told.get(row["source"])) for row in rows]
    whole, place = joined(rows, answer.text)
    decisive = sources[place]
    ordered = [unit for one in (decisive, *(one for one in sources if one is not decisive)) for unit in one.evidence]
    deciding = next(
        (unit for unit in ordered if unit.id == whole.deciding and unit.kind == decisive.row["source"]), None
    )
    return ClaimShown(
        whole.label,
        share_of(whole),
        MEASURED.get(calibrated, OWN) if (calibrated := rows[place].get("calibrated")) else None,
        rows[place].get("read_together", False) and len(rows[place]["evidence"]) > 1,
        decisive,
        deciding,
        [unit for unit in ordered if unit is not deciding],
        sources,
        whole.reason,
        _sides(whole.disagreement, ordered),
        whole.disagreement is not None and whole.disagreement.retraction is not None,
    )


def _sides(disagreement: Disagreement | None, units: Sequence[EvidenceView]) -> list[tuple[Label, list[VoiceShown]]]:
    shown = {one.id: one for one in units}
    return [
        (side[0].label, [VoiceShown(shown.get(one.evidence.unit), one.probability, written(one.date)) for one in side])
        for side in (() if disagreement is None else disagreement.sides)
    ]


def share_of(whole: Verdict) -> float | None:
    """The probability of a verdict's label; None if it has none, or a document that was taken back decided it."""
    taken_back = whole.disagreement is not None and whole.disagreement.retraction is not None
    return None if taken_back else whole.probabilities.get(whole.label)


def headline(whole: Verdict) -> str:
    """A verdict in two words: its label, or that documents disagree."""
    disagreement = whole.disagreement
    return DISAGREE if disagreement and disagreement.retraction is None else HEADLINES[whole.label]


def parts(answer: StoredAnswer, find: Callable[[str], StoredAnswer | None]) -> list[dict[str, Any]]:
    """The sentences of a paragraph with their verdicts; `find` looks up an answer, which may have been deleted, or blanked with its upload."""
    shown = []
    for part in answer.result["parts"]:
        told: dict[str, Any] = {"answer": find(part["answer"]), "label": None, "share": None, "headline": "Forgotten"}
        if (own := told["answer"]) is not None and "verdicts" in own.result:
            whole, _ = joined(own.result["verdicts"], own.text)
            told |= {"label": whole.label, "share": share_of(whole), "headline": headline(whole)}
        shown.append({"text": part["text"]} | told)
    return shown


def evidence(row: dict[str, Any], asked: str, corpus: ServedCorpus, engine: Engine) -> list[EvidenceView]:
    """Returns the units of a verdict or a search that have not changed since."""
    matching, shown = Matching(asked), []
    scores = row.get("scores") or [None] * len(row["evidence"])
    for unit, score in zip(row["evidence"], scores, strict=True):
        if engine.is_as_it_was(corpus, row["source"], unit, row):
            view = evidence_view(unit, row["source"], matching, corpus, engine)
            computed = tuple(map(matching.marked, row.get("computed", {}).get(unit, ())))
            read = unit in row.get("read", row["evidence"])
            shown += [] if view is None else [dataclasses.replace(view, score=score, computed=computed, is_read=read)]
    return sorted(shown, key=lambda evidence: -(evidence.score or 0.0))


def evidence_view(
    unit: str, kind: str, matching: Matching, corpus: ServedCorpus, engine: Engine
) -> EvidenceView | None:
    """A unit of a corpus; None if the corpus does not have it."""
    if kind == TABLES:
        table = engine.tables(corpus).get(unit)
        if table is None:
            return None
        return EvidenceView(unit, kind, heatmaps.name_of(table), Markup(""), matching.rows(table), None)
    if kind == PASSAGES:
        evidence = engine.evidence(corpus)
        if (passage := evidence.passage_of(unit)) is None:
            return None
        text, stands = matching.marked(evidence.lookup(unit).text), _stands(passage.source, unit, evidence)
        start = passage.starts[passage.provenance.index(unit)]
        after = next((other for other in passage.starts if other > start), len(passage.text))
        context = passage.text[:start].strip(), passage.text[after:].strip()
        return EvidenceView(unit, kind, passage.title, text, None, None, context, stands)
    if (sentence := engine.sentences(corpus).lookup(unit)) is None:
        return None
    page_id, number = split_sentence_id(unit)
    texts = [one.text for one in engine.sentences(corpus).page(page_id).sentences]
    around = texts[max(0, number - CONTEXT) : number], texts[number + 1 : number + 1 + CONTEXT]
    context = tuple(" ".join(filter(None, part)) for part in around)
    return EvidenceView(unit, kind, sentence.title, matching.marked(sentence.text), None, None, context)


@dataclasses.dataclass(frozen=True, slots=True)
class SourceShown:
    """The context of a unit: a page's or graph's `texts` with their unit ids, or a `table`; `marked` are the ids or the
    row numbers of the requested unit."""

    title: str
    where: str
    texts: list[tuple[str, str]]
    table: Table | None = None
    marked: frozenset[str | int] = frozenset()


def source(unit: str, kind: str, corpus: ServedCorpus, engine: Engine) -> SourceShown | None:
    """The page, table or graph of a unit, whole; None if the corpus does not have it."""
    if kind == TABLES and (corpus.has_cells or corpus.has_table_texts):
        table = engine.tables(corpus).get(unit)
        return table and SourceShown(heatmaps.name_of(table), f"table {unit}", [], table)
    if kind == TEXT and corpus.has_pages:
        try:
            page = engine.sentences(corpus).page(split_sentence_id(unit)[0])
        except DataError:
            return None
        texts = [] if page is None else [(one.id, one.text) for one in page.sentences if one.text]
        return page and SourceShown(page.title, f"page {page.id}", texts, marked=frozenset([unit]))
    if kind == PASSAGES and corpus.has_passages:
        return _source_of_passage(unit, corpus, engine)
    return None


def _source_of_passage(unit: str, corpus: ServedCorpus, engine: Engine) -> SourceShown | None:
    evidence = engine.evidence(corpus)
    if (first := evidence.passage_of(unit)) is None:
        return None
    owner = first.id.partition(":")[2].rpartition(":")[0]
    if first.source is Source.TABLE and (corpus.has_cells or corpus.has_table_texts):
        if (table := engine.tables(corpus).get(owner)) is not None:
            row = int(unit.rpartition("#r")[2])
            return SourceShown(heatmaps.name_of(table), f"table {owner}", [], table, frozenset([row]))
    units: dict[str, str] = {}
    for passage in evidence.index.of_owner(first.source, owner):
        units |= {one: evidence.lookup(one).text for one in passage.leading if one not in units}
    return SourceShown(first.title, f"{first.source} {owner}", list(units.items()), marked=frozenset([unit]))


def described(one: Feedback, corpus: ServedCorpus | None, engine: Engine) -> str:
    """One line that describes feedback and its object; a text that has changed since is not shown as the object."""
    since = "" if corpus is None or is_as_it_was(one, corpus, engine) else " (which has changed since, or is gone)"
    if one.kind == "verdict":
        label = HEADLINES[Label(one.value["label"])].lower()
        return f"the right verdict from {BY[one.unit]}{' on evidence' + since if since else ''} is: {label}"
    what = f"table {one.unit}"
    if one.kind == "cell":
        table_id, row, column = split_cell_id(one.unit)
        table = None if corpus is None or since else engine.tables(corpus).get(table_id)
        text = "" if table is None else f"“{table.rows[row][column]}” "
        what = f"cell {text}(row {row + 1}, column {column + 1} of {table_id})"
    return f"{what}{since} is {one.value}"


def _lasting(seconds: float) -> str:
    """A time in words: `7 days`, `1 hour`."""
    length, unit = next(one for one in ((86_400, "day"), (3_600, "hour"), (60, "minute")) if seconds % one[0] == 0)
    count = int(seconds // length)
    return f"{count:,} {unit}{'s' * (count != 1)}"


def environment() -> jinja2.Environment:
    made = render.environment(
        TEMPLATES,
        percent=heatmaps.percent,
        name=heatmaps.name_of,
        slug=render.LABEL_SLUGS.__getitem__,
        headline=HEADLINES.__getitem__,
        several=lambda kinds: ", ".join(SEVERAL[kind] for kind in kinds),
        moment=lambda seconds: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)),
        lasting=_lasting,
    )
    made.globals |= {"labels": LABELS, "asks": ASKS, "tier_names": TIERS, "audiences": SEEN_BY}
    return made
