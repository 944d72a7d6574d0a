"""Renders a report as HTML: jinja2 templates with autoescape, one style sheet, one script, all inside the page.

By a Content-Security-Policy with the script's digest, the page allows nothing from outside and no other script: even a
string that slipped through escaping would not run.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from lisax.files.writing import atomic_write
from lisax.metrics.calibration import expected_error
from lisax.records import LABELS, Label
from lisax.report import charts
from lisax.report.report import WHY_MARKED, ClaimView, Report, known

TEMPLATES = Path(__file__).parent / "templates"
MAX_CLAIMS = 3000  # larger files are slow on phones

LABEL_WORDS = {Label.SUPPORTS: "Supports", Label.REFUTES: "Refutes", Label.NOT_ENOUGH_INFO: "Not enough info"}
LABEL_SLUGS = {Label.SUPPORTS: "s", Label.REFUTES: "r", Label.NOT_ENOUGH_INFO: "n"}


def environment(templates: Path, **filters: Callable[..., Any]) -> jinja2.Environment:
    """Escapes what templates are given, and refuses names that they are not given."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters
    return made


def render(report: Report) -> str:
    """The page, with at most `MAX_CLAIMS` claims; it notes if there are more."""
    words, slugs = LABEL_WORDS.__getitem__, LABEL_SLUGS.__getitem__
    made = environment(TEMPLATES, percent=percent, plain=plain, word=words, slug=slugs, mark=mark)
    made.tests["known"] = known
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    claims = report.claims[:MAX_CLAIMS]
    return made.get_template("report.html").render(
        report=report,
        labels=LABELS,
        result_tables=report.filled_tables,
        why_marked=WHY_MARKED,
        style=markupsafe.Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        script=markupsafe.Markup(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        stages=[made for name, rows in report.curves.items() if (made := charts.stage(name, rows))],
        recall=charts.recall_chart(report.recall_curves),
        recall_ks=sorted({int(k) for curve in report.recall_curves.values() for k in curve}),
        frame=charts.unit_frame("confidence, %", "claims right, %", "Share of right verdicts by their probability."),
        bars=charts.reliability_bars(report.reliability),
        expected_error=expected_error(report.reliability),
        coverage=charts.risk_coverage_chart(report.risk_coverage),
        confusion=_shaded(report.confusion),
        claims=claims,
        outcomes=Counter(claim.outcome for claim in claims if claim.outcome).most_common(),
        kinds=sorted({claim.kind for claim in claims if claim.kind}),
    )


def write_report(out_html: str | os.PathLike, report: Report) -> None:
    """Writes the report as one self-contained HTML file, atomically."""
    html = render(report)
    with atomic_write(out_html) as file:
        file.write(html)


def percent(value: float | None, digits: int = 2) -> str:
    """A fraction as a percentage without its sign: 0.8126 is 81.26; an unknown figure is a dash."""
    return f"{100 * value:.{digits}f}" if known(value) else "–"


def plain(value: Any) -> str:
    """A fact as text: floats shortened, everything else unchanged."""
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(plain, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {plain(item)}" for name, item in value.items())
    return str(value)


def mark(claim: ClaimView) -> str:
    """A sign in addition to the colour: right, half right (label or evidence), wrong."""
    right = claim.gold == claim.predicted
    if claim.outcome == "correct" or (right and not claim.outcome):
        return "right"
    return "half" if right else "wrong"


def _shaded(confusion) -> list[list[tuple[int, float]]]:
    """(count, share of its row) for each cell."""
    return [[(int(count), count / sum(row) if sum(row) else 0.0) for count in row] for row in confusion]
