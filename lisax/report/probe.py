"""The findings of `lisax probe`, as a report and as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from lisax.predict.probing import Probed
from lisax.records import LABELS, Label
from lisax.report.report import ClaimView, EvidenceView, Report, ResultRow, ResultTable
from lisax.report.text_table import text_table

COLUMNS = ("right", *map(str, LABELS), "calibration error")


def probe_report(found: Probed, model: str, suite: str) -> Report:
    """The report: a table of capabilities, calibration, and all cases with their verdicts."""
    fitted = found.calibration() or {}
    return Report(
        f"Capabilities of {model}",
        summary(found, suite),
        notes=["Percentages of cases whose verdict is right: of all, and of the cases of each label."],
        tiles={"cases right": found.accuracy, "calibration error": fitted.get("expected_error")},
        tiles_of=model,
        result_tables=[capability_table(found)],
        confusion=found.confusion(),
        reliability=fitted.get("bins", ()),
        risk_coverage=fitted.get("risk_coverage", ()),
        claims=[*_views(found)],
        facts={
            "verifier": model,
            "suite": suite,
            "seconds of processor time per claim": found.seconds / len(found.cases),
        },
    )


def probe_text(found: Probed, suite: str, examples: int) -> str:
    """The table, the surest wrong verdicts of each capability, and the summary."""
    parts = [text_table(capability_table(found))]
    for name, part in found.capabilities().items():
        for case, verdict in part.wrong()[:examples]:
            share = verdict.probabilities.get(verdict.label)
            sure = "" if share is None else f" {share:.3f}"
            lines = [f"{name}: {verdict.called(verdict.label)}{sure}, the suite has {case.claim.label}"]
            lines += [f"  {line}" for line in textwrap.wrap(case.claim.text, 100)]
            for one in case.evidence:
                text = f"{one.source}: {one.text}" if one.source else one.text
                lines += textwrap.wrap(text, 100, initial_indent="  - ", subsequent_indent="    ")
            parts.append("\n".join(lines))
    return "\n\n".join([*parts, summary(found, suite)])


def summary(found: Probed, suite: str) -> str:
    """The main figures in a sentence."""
    parts, fitted = found.capabilities().values(), found.calibration()
    error = "" if fitted is None else f" Expected calibration error {100 * fitted['expected_error']:.1f} %."
    return (
        f"{100 * found.accuracy:.1f} % of {_cases(found)} of {suite} are right, and "
        f"{sum(part.passed for part in parts)} of {len(parts)} capabilities passed (three of four cases right).{error} "
        f"{found.seconds / len(found.cases):.2g} seconds of processor time per claim."
    )


def _cases(part: Probed) -> str:
    return f"{len(part.cases):,} case{'s' if len(part.cases) > 1 else ''}"


def capability_table(found: Probed) -> ResultTable:
    """A row per capability, and one of all."""
    rows = [
        _row(f"{name}, {_cases(part)}: {'passed' if part.passed else 'failed'}", part)
        for name, part in found.capabilities().items()
    ]
    return ResultTable("Capabilities", COLUMNS, (*rows, _row(f"all {_cases(found)}", found)))


def _row(name: str, part: Probed) -> ResultRow:
    fitted = part.calibration() or {}
    return ResultRow(name, (part.accuracy, *map(part.recall, Label), fitted.get("expected_error")))


def _views(found: Probed) -> Iterator[ClaimView]:
    for case, verdict, right in zip(found.cases, found.verdicts, found.right):
        yield ClaimView(
            f"of line {case.claim.id}",
            case.claim.text,
            case.claim.label,
            verdict.label,
            verdict.prediction().probabilities,
            tuple(EvidenceView(one.unit, one.source, one.text) for one in case.evidence),
            outcome="correct" if right else "wrong",
            kind=case.claim.kind,
        )
