"""The tables of a report as plain text, for the end of a run in a terminal."""

from __future__ import annotations

from lisax.report.report import WHY_MARKED, Report, ResultTable, known


def text_tables(report: Report) -> str:
    """All tables, in percent; published rows follow a separating line."""
    tables = report.filled_tables
    marked = [f"* {WHY_MARKED}"] if any(row.best for table in tables for row in table.rows) else []
    return "\n\n".join([*map(text_table, tables), *marked])


def text_table(table: ResultTable) -> str:
    """One table, in percent: names on the left, figures right-aligned under their headings."""
    names = [row.name + (" *" if row.best else "") for row in table.rows]
    wide = max(map(len, (table.name, "published", *names)))
    widths = [max(len(head), 6) for head in table.columns]
    rule = "-" * (wide + sum(width + 2 for width in widths))
    lines = [table.name.ljust(wide) + "".join(f"  {head:>{width}}" for head, width in zip(table.columns, widths)), rule]
    for published in (False, True):
        group = [(name, row.values) for name, row in zip(names, table.rows) if row.published == published]
        if published and group:
            lines.append(" published ".center(len(rule), "-"))
        for name, values in group:
            cells = (f"{100 * value:.2f}" if known(value) else "-" for value in values)
            lines.append(name.ljust(wide) + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths)))
    return "\n".join(lines)
