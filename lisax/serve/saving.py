"""A verdict with its sources as JSON or Markdown, to be kept or passed on."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urlencode

from lisax.report.heatmap import percent
from lisax.serve.library import ServedCorpus
from lisax.serve.store import StoredAnswer
from lisax.serve.views import HEADLINES, ClaimShown, EvidenceView

FORMS = {"md": "text/markdown", "json": "application/json"}


def row(answer: StoredAnswer, shown: ClaimShown, corpus: ServedCorpus, base: str) -> dict[str, Any]:
    """A verdict as plain data; `base` is the address of the page, with its closing slash."""
    units = [*filter(None, [shown.deciding]), *shown.others]
    dates = shown.decisive.dates
    return {
        "claim": answer.text,
        "label": str(shown.label),
        "probability": shown.share,
        "reasons": [*filter(None, [shown.conflict, dates and f"the dates decide: {dates['reason']}"])],
        "disagreement": [
            {
                "label": str(label),
                "documents": [
                    {"unit": one.unit and one.unit.id, "probability": one.probability, "date": one.date or None}
                    for one in voices
                ],
            }
            for label, voices in shown.sides
        ],
        "checked": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(answer.created)),
        "documents": corpus.name,
        "address": f"{base}answers/{answer.id}",
        "evidence": [_unit(unit, corpus, base) | {"decides": unit is shown.deciding} for unit in units],
    }


def _unit(unit: EvidenceView, corpus: ServedCorpus, base: str) -> dict[str, Any]:
    text = unit.text.striptags()
    if unit.rows is not None:
        rows = [[cell.striptags() for cell in cells] for _, cells in unit.rows.shown]
        text = "; ".join(" | ".join(cells) for cells in [list(unit.rows.header), *rows])
    address = f"{base}sources/{corpus.id}/{unit.kind}?{urlencode({'unit': unit.id})}"
    return {"unit": unit.id, "source": unit.title, "text": text, "relevance": unit.score, "address": address}


def markdown(verdicts: list[dict[str, Any]]) -> str:
    """The rows as Markdown. Texts of pages, tables and people are escaped, so that it stays text."""
    made = []
    for one in verdicts:
        label = next(said for label, said in HEADLINES.items() if str(label) == one["label"])
        label += ", but documents disagree" if one["disagreement"] else ""
        share = "" if one["probability"] is None else f" ({percent(one['probability'])})"
        made += [f"## {label}{share}: {_plain(one['claim'])}", ""]
        made += [f"{_plain(reason[:1].upper() + reason[1:])}.\n" for reason in one["reasons"]]
        for number, unit in enumerate(one["evidence"], start=1):
            decides = " (decides)" if unit["decides"] else ""
            made.append(f"{number}. **{_plain(unit['source'])}**{decides}: {_plain(unit['text'])} <{unit['address']}>")
        made += ["", f"Checked {one['checked']} against {_plain(one['documents'])}: <{one['address']}>", ""]
    return "\n".join(made)


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|!&~])", r"\\\1", " ".join(text.split()))
