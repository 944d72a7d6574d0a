"""The two tables of a report as plain text, for the end of a run in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from lisax.page.columns import SELECTION_COLUMNS, VERDICT_COLUMNS, known, known_columns
from lisax.page.report import Report, SelectionRow, VerdictRow

def text_tables(report: Report, published: bool = True) -> str:
    """Both tables, in percent; `published` rows below a line of their own. A column without figures is left out.

    `*` marks the best row, the one that the report is about.
    """
    parts = [table(name, rows, columns, published) for name, rows, columns in (
        ("Sentence selection", report.selection_rows, SELECTION_COLUMNS),
        ("Label prediction", report.verdict_rows, VERDICT_COLUMNS)) if rows]
    parts += [_lay_out(result.name, result.columns,
                       [(row.name, row.values, row.published, row.best) for row in result.rows
                        if published or not row.published]) for result in report.result_tables]
    return "\n\n".join(parts)


def table(name: str, rows: Sequence[SelectionRow | VerdictRow], columns: Sequence[tuple[str, str]],
          published: bool = True) -> str:
    """One table: names left, figures right-aligned under their headings."""
    shown = [row for row in rows if published or not row.published]
    columns = known_columns(columns, shown)
    return _lay_out(name, [head for head, _ in columns],
                    [(row.name, [getattr(row, field) for _, field in columns], row.published, getattr(row, "best", False))
                     for row in shown])


def _lay_out(name: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[float | None], bool, bool]]) -> str:
    """`rows`: name, figures, published, best."""
    names = [label + (" *" if best else "") for label, _, _, best in rows]
    wide = max(map(len, (name, "published", *names)))
    widths = [max(len(head), 6) for head in heads]
    rule = "-" * (wide + sum(width + 2 for width in widths))
    lines = [name.ljust(wide) + "".join(f"  {head:>{width}}" for head, width in zip(heads, widths)), rule]
    for is_published in (False, True):
        group = [(label, values) for label, (_, values, published, _) in zip(names, rows) if published == is_published]
        if is_published and group:
            lines.append(" published ".center(len(rule), "-"))
        for label, values in group:
            cells = (f"{100 * value:.2f}" if known(value) else "-" for value in values)
            lines.append(label.ljust(wide) + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths)))
    return "\n".join(lines)
