"""The tables of PDF pages: words within a grid of drawn lines, and lines whose pieces lie below each other."""

from __future__ import annotations

import bisect
import collections
import itertools
from collections.abc import Iterable, Iterator, Sequence

from lisax.documents import headers
from lisax.documents.pdf_lines import Line, Rule, Word, lines_of, text_of

CELL_CHARACTERS = 28  # mean of a table without drawn lines; lines of prose with wide gaps have longer pieces


def ruled(rules: Sequence[Rule], words: Sequence[Word]) -> Iterator[tuple[float, list[list[str]], set[int]]]:
    """(top, rows, ids of the words inside) of each grid of drawn lines with at least two rows and columns."""
    across, down = [], []
    for rule in rules:
        width, height = rule.x1 - rule.x0, rule.y1 - rule.y0
        if height <= 2 and width > 10:
            across.append((rule.x0, rule.x1, (rule.y0 + rule.y1) / 2))
        elif width <= 2 and height > 5:
            down.append((rule.y0, rule.y1, (rule.x0 + rule.x1) / 2))
        elif width > 10 and height > 5:  # a box has four sides
            across += [(rule.x0, rule.x1, rule.y0), (rule.x0, rule.x1, rule.y1)]
            down += [(rule.y0, rule.y1, rule.x0), (rule.y0, rule.y1, rule.x1)]
    for group_across, group_down in _grids(across, down):
        ys = _distinct(y for _, _, y in group_across)
        xs = _distinct(x for _, _, x in group_down)
        if len(ys) < 3 or len(xs) < 3:
            continue
        cells: dict[tuple[int, int], list[Word]] = collections.defaultdict(list)
        inside: set[int] = set()
        for word in words:
            x, y = (word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2
            if xs[0] <= x <= xs[-1] and ys[0] <= y <= ys[-1]:
                row = max(i for i, edge in enumerate(ys) if edge <= y)
                column = max(j for j, edge in enumerate(xs) if edge <= x)
                # A cell joined with its neighbours begins where a line is really drawn.
                while column > 0 and not _is_drawn(group_down, xs[column], y):
                    column -= 1
                while row > 0 and not _is_drawn(group_across, ys[row], x):
                    row -= 1
                cells[min(row, len(ys) - 2), min(column, len(xs) - 2)].append(word)
                inside.add(id(word))
        rows = [
            [
                " ".join(line.text for line in lines_of(cells[i, j])) if (i, j) in cells else ""
                for j in range(len(xs) - 1)
            ]
            for i in range(len(ys) - 1)
        ]
        for i, j in sorted(cells):  # the text of a joined cell is that of all its rows and columns
            right, below = j + 1, i + 1
            while right < len(xs) - 1 and not _is_drawn(group_down, xs[right], (ys[i] + ys[i + 1]) / 2):
                right += 1
            while below < len(ys) - 1 and not _is_drawn(group_across, ys[below], (xs[j] + xs[j + 1]) / 2):
                below += 1
            for row in rows[i:below]:
                row[j:right] = [cell or rows[i][j] for cell in row[j:right]]
        if sum(bool(cell) for row in rows for cell in row) >= 4 and sum(any(row) for row in rows) >= 2:
            yield ys[0], rows, inside


def _is_drawn(down: Sequence[tuple[float, float, float]], x: float, y: float) -> bool:
    return any(abs(at - x) <= 2 and y0 - 1 <= y <= y1 + 1 for y0, y1, at in down)


def _grids(across, down) -> Iterator[tuple[list, list]]:
    """Lines across and down that touch each other, directly or by way of others, as groups of their own."""
    lines = [("a", *line) for line in across] + [("d", *line) for line in down]
    leader = list(range(len(lines)))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    # Sorted by place, only lines that may touch are compared.
    downs = sorted((x, y0, y1, i + len(across)) for i, (y0, y1, x) in enumerate(down))
    places = [x for x, *_ in downs]
    for i, (x0, x1, y) in enumerate(across):
        for at in range(bisect.bisect_left(places, x0 - 3), bisect.bisect_right(places, x1 + 3)):
            _, y0, y1, j = downs[at]
            if y0 - 3 <= y <= y1 + 3:
                leader[find(i)] = find(j)
    groups: dict[int, tuple[list, list]] = collections.defaultdict(lambda: ([], []))
    for i, (kind, *line) in enumerate(lines):
        groups[find(i)][kind == "d"].append(tuple(line))
    yield from (group for group in groups.values() if group[0] and group[1])


def _distinct(places: Iterable[float]) -> list[float]:
    """Places in order, without those closer than 3 points to the one before."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > 3:
            found.append(place)
    return found


def end_of_rows(lines: Sequence[Line], at: int) -> int:
    """The end of the run of lines from `at` on that may be rows; `at` if the line there has only one piece."""
    end = at
    while end < len(lines) and (len(lines[end].pieces()) > 1 or (end > at and _continues(lines, end))):
        if end > at + 1 and _names_others(lines[end - 2 : end + 2]):
            break
        end += 1
    while end > at and len(lines[end - 1].pieces()) == 1:
        end -= 1
    while end - at > 1 and end < len(lines) and _ends_cell(lines[at : end + 1]):
        end += 1
    return end


def _names_others(lines: Sequence[Line]) -> bool:
    """Whether the third of four lines names the columns of another table: it is far below, and only the others have
    numbers."""
    steps = [below.baseline - above.baseline for above, below in itertools.pairwise(lines)]
    has_numbers = [any(headers.is_number(text_of(piece)) for piece in line.pieces()) for line in lines]
    return len(lines) == 4 and steps[1] > 1.8 * max(steps[0], steps[2]) and has_numbers[1:] == [True, False, True]


def _ends_cell(lines: Sequence[Line]) -> bool:
    """Whether the last line is the rest of a cell of the row above it: rows are further apart."""
    *steps, last = [b.baseline - a.baseline for a, b in itertools.pairwise(lines)]
    return (
        len(lines[-1].pieces()) == 1
        and len(lines[-1].text) < 40
        and last < 1.3 * lines[-1].size < 1.3 * max(steps)
        and (max(steps) > 1.25 * last)
    )


def _continues(lines: Sequence[Line], at: int) -> bool:
    """Whether a line of one piece is within a table: between rows, close to the one above, and short."""
    return (
        at + 1 < len(lines)
        and len(lines[at + 1].pieces()) > 1
        and lines[at].baseline - lines[at - 1].baseline < 1.6 * lines[at].size
        and len(lines[at].text) < 40
    )


def aligned(lines: Sequence[Line]) -> list[list[str]] | None:
    """The rows of lines whose pieces lie in the same columns; None if they are not a table."""
    pieces = [line.pieces() for line in lines]
    if len(pieces) < 2 or (len(pieces) == 2 and len(pieces[0]) < 3):  # too few to show columns
        return None
    columns: list[list[float]] = []  # [x0, x1] of each
    for x0, x1 in sorted((piece[0].x0, piece[-1].x1) for line in pieces if len(line) > 1 for piece in line):
        if columns and x0 < columns[-1][1] + 2:
            columns[-1][1] = max(columns[-1][1], x1)
        else:
            columns.append([x0, x1])
    if len(columns) < 2:
        return None
    rows: list[list[str]] = []
    steps = [b.baseline - a.baseline for a, b in itertools.pairwise(lines)]
    is_wrapped = max(steps, default=0) > 1.25 * min(steps, default=0)  # rows are further apart than lines of a cell
    for step, line in zip([float("inf"), *steps], pieces):
        cells = [""] * len(columns)
        for piece in line:
            middle = (piece[0].x0 + piece[-1].x1) / 2
            at = min(range(len(columns)), key=lambda j: abs(middle - sum(columns[j]) / 2))
            cells[at] = f"{cells[at]} {text_of(piece)}".strip()
        if (
            rows
            and (
                (not cells[0] and sum(map(bool, cells)) <= len(columns) / 2)
                or (is_wrapped and step < 1.1 * min(steps) and not all(cells))
            )
            and not any(map(headers.is_number, cells))
        ):
            rows[-1] = [f"{above} {below}".strip() for above, below in zip(rows[-1], cells)]  # a cell of two lines
        else:
            rows.append(cells)
    filled = sum(bool(cell) for row in rows for cell in row)
    if len(rows) < 2 or filled < 0.6 * len(rows) * len(columns):
        return None
    # Lines of prose with wide gaps have long pieces.
    return rows if sum(len(cell) for row in rows for cell in row) <= CELL_CHARACTERS * filled else None
