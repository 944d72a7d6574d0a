"""Joins the verdicts on one claim from several sources, such as text and tables, into one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lisax.predict.disagreement import date_of
from lisax.predict.verdicts import Disagreement, Verdict, Voice
from lisax.records import Label

STRONG = 0.6  # the least probability of a source's label that makes it a side of a disagreement
SOURCES = {"sentences": "text", "tables": "tables"}  # the source of a verdict, in words


def join(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict from those of several sources on the same claim, by this rule:

    1. A verdict that dates decided (`Verdict.ruling`), or a later document that takes back an earlier one, comes before
       all others.
    2. Otherwise the surest of the verdicts that are not NOT ENOUGH INFO decides: the one whose label is most probable,
       the first among equals. Probabilities of different models are compared as they are, so they should be calibrated.
    3. If no source decides, the verdict is NOT ENOUGH INFO, with the probabilities of the source that comes nearest to
       deciding.

    The label, the probabilities and the ruling are those of the source that decides; the evidence is that of all
    sources, its own first. If one source supports and another refutes the claim, `reason` reports it, and so does the
    `disagreement` if both are probable. `sources` holds the verdicts that were joined. A single verdict is returned as it is."""
    if len(verdicts) == 1:
        return verdicts[0]
    sure = [verdict for verdict in verdicts if verdict.label is not Label.NOT_ENOUGH_INFO]
    if sure:
        chosen = max(sure, key=_rank)
    else:
        chosen = min(verdicts, key=lambda verdict: verdict.probabilities.get(Label.NOT_ENOUGH_INFO, 1.0))
    others = [verdict for verdict in verdicts if verdict is not chosen]
    reasons = [chosen.reason, _conflict(chosen, sure)]
    return dataclasses.replace(
        chosen,
        evidence=tuple(one for verdict in (chosen, *others) for one in verdict.evidence),
        reason="; ".join(filter(None, reasons)),
        sources=tuple(verdicts),
        read=tuple(chosen.read_units),
        disagreement=chosen.disagreement or _disagreement(chosen, sure),
    )


def _rank(verdict: Verdict) -> tuple[bool, float]:
    is_ruled = verdict.ruling is not None or bool(verdict.disagreement and verdict.disagreement.retraction)
    return is_ruled, verdict.probabilities.get(verdict.label, 0.0)


def _disagreement(chosen: Verdict, sure: Sequence[Verdict]) -> Disagreement | None:
    """The units that decide in each source, where sources are probable and opposed; None if they are not, and where
    dates decide."""
    voices: dict[Label, list[Voice]] = {Label.SUPPORTS: [], Label.REFUTES: []}
    for verdict in sure:
        unit = next((one for one in verdict.evidence if one.unit == verdict.deciding), None)
        share = verdict.probabilities.get(verdict.label, 0.0)
        if unit is not None and share >= STRONG:
            voices[verdict.label].append(Voice(unit, verdict.label, share, date_of(unit)))
    if chosen.ruling is not None or not all(voices.values()):
        return None
    return Disagreement(tuple(voices[Label.SUPPORTS]), tuple(voices[Label.REFUTES]))


def _conflict(chosen: Verdict, sure: Sequence[Verdict]) -> str:
    """The sources whose labels are opposite to the deciding one's; empty if there are none."""
    opposed = [verdict for verdict in sure if verdict.label is not chosen.label]
    if not opposed:
        return ""
    why = "a decision by dates counts" if chosen.ruling is not None else "the surer one counts"
    return f"the sources disagree ({', '.join(map(_said, (chosen, *opposed)))}); {why}"


def _said(verdict: Verdict) -> str:
    share = verdict.probabilities.get(verdict.label)
    by = ", by its dates" if verdict.ruling is not None else "" if share is None else f" {share:.3f}"
    return f"{SOURCES[verdict.reads]}: {verdict.label}{by}"
