"""The result of a check: a verdict with its evidence, printable in a terminal and a notebook."""

from __future__ import annotations

import dataclasses
import html
import itertools
import json
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from lisax.corpora import fever, table_predictions
from lisax.corpora.table_predictions import TablePrediction
from lisax.files.writing import write_json_lines
from lisax.formats.tables import TableView, view
from lisax.records import LABELS, Label, Prediction, Table, is_row, split_sentence_id
from lisax.text.dates import Date

SHOWN = 5  # units of evidence that are printed
WIDTH = 100
ABSTAINED = " (abstained)"
DISAGREE = "documents disagree"
NOT_SUPPORTED = "NOT SUPPORTED"
_COLORS = {Label.SUPPORTS: "#1a7f37", Label.REFUTES: "#b42318", Label.NOT_ENOUGH_INFO: "#6b7280"}
_EDGE = re.compile(r".+#e[0-9]+", re.DOTALL)
SHOWN_ROWS = 20  # shown of a table


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """One unit of evidence: a sentence, a table's row, a graph's edge, or a whole table.

    `unit` is its id, and `source` the title of its page, table or graph. `place` is its position in the source for
    people (`sentence 1`, `row 3`), counted from 1; ids count from 0. Empty for a whole table. `score` comes from the
    last step that ranked it: the search, a ranker (a probability of relevance), or an evidence pointer; None if nothing
    did. `page` is the page's id as its corpus writes it; `table` is the part of a table that a model reads;
    `similarity` is the cosine of the claim's vector with its own, if it was found in an index with vectors; `computed`
    are the facts that were computed for the claim and read: from this table (`formats.table_facts`), or at the first of
    several sentences from the numbers of all (`formats.number_facts`). Of a live wiki, `url` is the page's address and `revision_url` that of the revision that was read.

    >>> Evidence("Vova_Brugard_0", "Vova Brugard was born in Torimoor.", "Vova Brugard", "sentence 1", 0.98)
    Evidence(unit='Vova_Brugard_0', text='Vova Brugard was born in Torimoor.', source='Vova Brugard', place='sentence 1', score=0.98)
    """

    unit: str
    text: str
    source: str = ""
    place: str = ""
    score: float | None = None
    page: str = dataclasses.field(default="", repr=False)
    table: TableView | None = dataclasses.field(default=None, repr=False)
    similarity: float | None = dataclasses.field(default=None, repr=False)
    url: str = dataclasses.field(default="", repr=False)
    revision_url: str = dataclasses.field(default="", repr=False)
    computed: tuple[str, ...] = dataclasses.field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        more = {name: getattr(self, name) for name in ("url", "revision_url") if getattr(self, name)}
        more |= {"computed": list(self.computed)} if self.computed else {}
        return {name: getattr(self, name) for name in ("unit", "text", "source", "place", "score")} | more

    def __str__(self) -> str:
        return f"{self.where}{'' if self.score is None else f' ({self.score:.3g})'}: {self.text}"

    @property
    def pair(self) -> tuple[str, int | None]:
        """The page, table or graph and the number of the sentence, row or edge in it, from 0; None of a whole table,
        and of a unit without a number."""
        if self.table is not None:
            return self.unit, None
        for mark in ("#r", "#e", "_"):
            owner, _, number = self.unit.rpartition(mark)
            if owner and number.isdecimal():
                return (self.page if mark == "_" else "") or owner, int(number)
        return self.unit, None

    @property
    def where(self) -> str:
        """Source and place in words, or the id where the source has no title."""
        return ", ".join(filter(None, (self.source, self.place))) if self.source else self.unit


def place_of(unit: str) -> str:
    """A unit's position in its page, table or graph, counted from 1, from its id."""
    if is_row(unit):
        return f"row {int(unit.rpartition('#r')[2]) + 1}"
    if _EDGE.fullmatch(unit):
        return f"edge {int(unit.rpartition('#e')[2]) + 1}"
    return f"sentence {split_sentence_id(unit)[1] + 1}"


@dataclasses.dataclass(frozen=True, slots=True)
class Voice:
    """The surest unit of one document for a label, with its probability when the unit is read on its own. `date` is
    the document's, (year, month, day), with 0 for a part that is missing; None if none is known. `takes_back`: the unit
    takes a statement back, whose opposite label this is."""

    evidence: Evidence
    label: Label
    probability: float
    date: Date | None = None
    takes_back: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data, without the texts of the unit."""
        return {"unit": self.evidence.unit, "probability": self.probability, "date": written(self.date) or None}

    def __str__(self) -> str:
        dated = f", {written(self.date)}" if self.date else ""
        return f"{self.label} {self.probability:.3f} ({self.evidence.where}{dated}): {self.evidence.text}"


@dataclasses.dataclass(frozen=True, slots=True)
class Disagreement:
    """The voices of documents that support a claim and of documents that refute it, each newest first. `retraction` is
    the unit of a later document that takes back the statement of an earlier one, which decides the verdict; None if no document
    takes anything back."""

    supports: tuple[Voice, ...]
    refutes: tuple[Voice, ...]
    retraction: str | None = None

    @property
    def sides(self) -> tuple[tuple[Voice, ...], tuple[Voice, ...]]:
        """Both sides, the one with the newest document first; of undated ones the surest."""
        first, second = sorted(
            (self.supports, self.refutes),
            key=lambda side: (side[0].date or (0, 0, 0), max(one.probability for one in side)),
            reverse=True,
        )
        return first, second

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        sides = {name: [one.to_dict() for one in getattr(self, name)] for name in ("supports", "refutes")}
        return sides | {"retraction": self.retraction}

    @classmethod
    def of_dict(cls, row: Mapping[str, Any]) -> Disagreement:
        """The record of plain data; its units have no texts."""
        sides = [
            tuple(
                Voice(
                    Evidence(one["unit"], ""),
                    label,
                    one["probability"],
                    (*map(int, one["date"].split("-")), 0, 0)[:3] if one["date"] else None,
                )
                for one in row[name]
            )
            for name, label in (("supports", Label.SUPPORTS), ("refutes", Label.REFUTES))
        ]
        return cls(*sides, row["retraction"])


def written(date: Date | None) -> str:
    """A date in ISO's form, without the parts that are missing; empty for None."""
    return "" if date is None else "-".join(f"{part:0{2 if place else 4}}" for place, part in enumerate(date) if part)


@dataclasses.dataclass(frozen=True, repr=False)
class Verdict:
    """A claim's label with the evidence that was found for it, best first.

    `read` are the ids of the units that the probabilities are from, where a labeller reads fewer of them together than
    it looks through; None if they are from all. Dates and documents that disagree may come from any unit.
    `probabilities` are the verifier's, one per label that it has; empty if a threshold of unknown precision decided. A
    published checker may have two, SUPPORTS and NOT ENOUGH INFO, which is printed as NOT SUPPORTED: such a claim may be
    refuted, too. `reason` names the rule that decided; empty if the verifier's most probable label was kept.
    `abstained`: the label is NOT ENOUGH INFO because the most probable one was below the minimum confidence
    (`Checker`). `ruling` is the temporal rules' ruling as plain data, with the verifier's own label. `sufficiency` is
    the probability that one of the tables decides the claim (table fusion). `id` is the claim's own id, if any; `reads`
    is the kind of evidence that the verifier read. `decided_by` is the unit that weighed most, where the verifier reads
    each unit on its own. `sources` are the verdicts that this one was joined from (`joining.join`). `disagreement` has
    both sides if documents disagree (`disagreement.with_disagreement`).

    >>> from lisax.records import Label
    >>> evidence = Evidence("Vova_Brugard_0", "Vova Brugard was born in Torimoor.", "Vova Brugard", "sentence 1", 0.98)
    >>> shares = {Label.SUPPORTS: 0.9, Label.REFUTES: 0.04, Label.NOT_ENOUGH_INFO: 0.06}
    >>> verdict = Verdict("Vova Brugard was born in Torimoor.", Label.SUPPORTS, shares, (evidence,))
    >>> print(verdict)
    SUPPORTS  Vova Brugard was born in Torimoor.
      SUPPORTS 0.900  NOT ENOUGH INFO 0.060  REFUTES 0.040
      1. Vova Brugard, sentence 1 (0.98): Vova Brugard was born in Torimoor.
    >>> verdict.to_dict()["predicted_evidence"]
    [['Vova_Brugard', 0]]
    """

    claim: str
    label: Label
    probabilities: Mapping[Label, float]
    evidence: tuple[Evidence, ...] = ()
    reason: str = ""
    id: int | str | None = None
    ruling: Mapping[str, Any] | None = None
    sufficiency: float | None = None
    reads: Literal["sentences", "tables"] = "sentences"
    abstained: bool = False
    decided_by: str | None = None
    sources: tuple[Verdict, ...] = ()
    disagreement: Disagreement | None = None
    read: tuple[str, ...] | None = None

    @property
    def read_units(self) -> list[str]:
        """The ids of the units that the probabilities are from."""
        return [one.unit for one in self.evidence if self.read is None or one.unit in self.read]

    @property
    def _read_in_words(self) -> str:
        """The numbers of these units in words; empty if they are all units."""
        if len(self.read_units) == len(self.evidence):
            return ""
        numbers = [str(number) for number, one in enumerate(self.evidence, start=1) if one.unit in self.read]
        first, last = ", ".join(numbers[:-1]), "".join(numbers[-1:])
        return f"the probabilities are from {f'{first} and {last}' if first else last or 'the claim'}"

    @property
    def deciding(self) -> str | None:
        """The unit of evidence that decided: the one whose dates a rule compared, else `decided_by`, else the first,
        which is the best. None if nothing decides."""
        if self.label is Label.NOT_ENOUGH_INFO or not self.evidence:
            return None
        units = [one.unit for one in self.evidence]
        dated = [one["id"] for one in (self.ruling or {}).get("evidence", ()) if one["id"] in units]
        return next(iter(dated), self.decided_by or units[0])

    @property
    def likeliest(self) -> Label:
        """The label before abstention."""
        return max(self.probabilities, key=self.probabilities.__getitem__) if self.abstained else self.label

    def called(self, label: Label) -> str:
        """The name of a verifier's label for readers."""
        two_way = self.probabilities and Label.REFUTES not in self.probabilities
        return NOT_SUPPORTED if two_way and label is Label.NOT_ENOUGH_INFO else str(label)

    @property
    def headline(self) -> str:
        """The label where people read it."""
        label = f"{self.label}{ABSTAINED}" if self.abstained else self.called(self.label)
        return label if self.disagreement is None else f"{label}, but {DISAGREE}"

    def __repr__(self) -> str:
        share = self.probabilities.get(self.label)
        return f"<Verdict {self.called(self.label)}{'' if share is None else f' {share:.3f}'}: {self.claim!r}>"

    def __str__(self) -> str:
        lines = [f"{self.headline}  {self.claim}"]
        if self.probabilities:
            ranked = sorted(self.probabilities.items(), key=lambda item: -item[1])
            lines.append("  " + "  ".join(f"{self.called(label)} {share:.3f}" for label, share in ranked))
        if self.reason:
            lines += textwrap.wrap(f"because {self.reason}", WIDTH, initial_indent="  ", subsequent_indent="    ")
        if self.disagreement is not None:
            for voice in itertools.chain(*self.disagreement.sides):
                lines += _wrapped(str(voice), "  - ", "    ")
        for number, evidence in enumerate(self.evidence[:SHOWN], start=1):
            lines += _wrapped(f"{number}. {evidence}", "  ", "     ")
            for fact in evidence.computed:
                lines += _wrapped(f"computed: {fact}", "     ", "       ")
            if evidence.url:
                lines.append(f"     {evidence.url}, as read: {evidence.revision_url}")
        if len(self.evidence) > SHOWN:
            lines.append(f"  … and {len(self.evidence) - SHOWN} more")
        if self._read_in_words:
            lines.append(f"  {self._read_in_words}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """HTML for notebooks. All texts are escaped: pages and claims may come from anyone."""
        said = html.escape
        shares = " · ".join(
            f"{said(self.called(label))} {share:.3f}"
            for label, share in sorted(self.probabilities.items(), key=lambda item: -item[1])
        )
        rows = "".join(
            f"<tr><td>{_linked(one)}</td><td>{'' if one.score is None else f'{one.score:.3g}'}</td>"
            f"<td style='text-align:left'>{'<br>computed: '.join(map(said, (one.text, *one.computed)))}</td></tr>"
            for one in self.evidence
        )
        return (
            f"<div><p><b style='color:{_COLORS[self.label]}'>{said(self.headline)}</b> {said(self.claim)}"
            + (f"<br><small>{shares}</small>" if shares else "")
            + (f"<br><small>{self._read_in_words}</small>" if self._read_in_words else "")
            + (f"<br><small>because {said(self.reason)}</small>" if self.reason else "")
            + "</p>"
            + (_sides(self.disagreement) if self.disagreement else "")
            + (f"<table><tr><th>source</th><th>score</th><th>evidence</th></tr>{rows}</table>" if rows else "")
            + "</div>"
        )

    def prediction(self) -> Prediction:
        """The verdict as it is stored in predictions files: ids and scores without texts."""
        shares = tuple(self.probabilities.get(label, float("nan")) for label in LABELS)
        return Prediction(
            "" if self.id is None else str(self.id),
            self.label,
            shares,
            tuple(one.unit for one in self.evidence),
            tuple(one.score for one in self.evidence if one.score is not None),
            None if self.ruling is None else dict(self.ruling),
            self.abstained,
        )

    def submission(self) -> dict[str, Any]:
        """A line of a predictions file, as `lisax verify` writes and `lisax score` reads it: FEVER's fields and our
        own."""
        made, own = self.prediction(), {} if self.id is None else {"id": self.id}
        if self.reads == "tables":
            return own | table_predictions.prediction_row(TablePrediction(made, self.sufficiency))
        pages = {one.unit.rpartition("_")[0]: one.page for one in self.evidence if one.page}
        return own | fever.prediction_row(made, lambda page: pages.get(page, page))

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the `submission` plus the claim, the reason and the texts of the evidence; of joined verdicts
        also the unit that decides, and each source's verdict.

        `predicted_evidence` (`Evidence.pair`), `evidence_units` and `evidence_scores` name the same units in the same
        order, whatever they are; a unit that nothing scored has None. `read_units` are the units that the probabilities
        are from. `disagreement` is there only if there is one."""
        found: dict[str, Any] = {
            "predicted_evidence": [list(one.pair) for one in self.evidence],
            "evidence_units": [one.unit for one in self.evidence],
            "evidence_scores": [one.score for one in self.evidence],
            "read_units": self.read_units,
            "reason": self.reason,
            "evidence": [one.to_dict() for one in self.evidence],
        }
        if self.disagreement is not None:
            found["disagreement"] = self.disagreement.to_dict()
        if self.sources:
            found |= {"deciding": self.deciding, "sources": [source.summary() for source in self.sources]}
        return {"claim": self.claim} | self.submission() | found

    def summary(self) -> dict[str, Any]:
        """Only the label, as one of the `sources` of a joined verdict."""
        shares = {str(label): share for label, share in self.probabilities.items()}
        return {"reads": self.reads, "label": str(self.label), "label_probabilities": shares, "reason": self.reason}

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False)


def _sides(disagreement: Disagreement) -> str:
    """Both sides in HTML, side by side."""
    cells = "".join(
        f"<td style='text-align:left;vertical-align:top;color:{_COLORS[side[0].label]}'>"
        + "<br>".join(html.escape(str(voice)) for voice in side)
        + "</td>"
        for side in disagreement.sides
    )
    return f"<table><tr>{cells}</tr></table>"


def _linked(evidence: Evidence) -> str:
    """The place of a unit in HTML, with a link to the revision of its page that was read."""
    where = html.escape(evidence.where)
    # Only web addresses: a wiki's answer may come from anyone.
    if not evidence.revision_url.startswith(("https://", "http://")):
        return where
    return f'<a href="{html.escape(evidence.revision_url)}">{where}</a>'


def write_predictions(path: str | os.PathLike, verdicts: Iterable[Verdict]) -> int:
    """Writes the verdicts' submissions as JSON Lines, atomically. Returns their number."""
    return write_json_lines(path, (verdict.submission() for verdict in verdicts))


def table_evidence(table: Table, columns: Sequence[int], score: float | None = None) -> Evidence:
    """A table as evidence, cut to `columns`; its text is that of its first rows."""
    seen = view(table, columns)
    rows = [", ".join(row) for row in (seen.header, *seen.rows[:SHOWN_ROWS])]
    text = " | ".join(rows) + (" | …" if len(seen.rows) > SHOWN_ROWS else "")
    return Evidence(table.id, text, table.title or seen.caption, "", score, table.original_id or table.id, seen)
