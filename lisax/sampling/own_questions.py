"""Questions put together from a collection's own tables, which teach a model of rows and columns to find words of a
question in them before real questions do (ours; what the inverse cloze task is to retrievers of text).

A question asks for a cell by names of columns and by words of other cells of its row, in a random order. Its evidence
is that cell; another row may fit as well, as in real questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from lisax.records import Question, Table, cell_id

WORDS_OF_A_NAME, WORDS_OF_A_CELL = 3, 4
CONDITIONS = (0, 1, 1, 1, 2)  # other cells of the row that a question names, one of these numbers
_OPENINGS = ("what is the", "what was the", "when was the", "which", "who", "how many", "name the", "what")
_JOINTS = ("with", "of", "the", "in", "is", "was", "for", "by")
_RELATIONS = ("most", "least", "first", "last", "after", "before", "next", "previous", "only", "total", "same")


def own_questions(tables: Iterable[Table], total: int, count: int, seed: int) -> list[Question]:
    """About `count` questions of `total` tables in a random order, as many of each but for tables without a row of two
    cells. What is asked of a table depends on the seed, its id and the number alone."""
    made: list[Question] = []
    for number, table in enumerate(tables):
        rng = random.Random(f"lisax.own:{seed}:{table.id}")
        due = (number + 1) * count // total - number * count // total
        for text, row, column in _of_table(table, due, rng):
            made.append(
                Question(f"own{len(made)}", text, (table.rows[row][column],), (cell_id(table.id, row, column),))
            )
    random.Random(f"lisax.own:{seed}").shuffle(made)
    return made


def _of_table(table: Table, count: int, rng: random.Random) -> Iterator[tuple[str, int, int]]:
    """(question, row and column of its answer)"""
    filled = [
        (row, columns)
        for row, cells in enumerate(table.rows)
        if len(columns := [column for column, cell in enumerate(cells) if cell.strip()]) > 1
    ]
    for _ in range(count if filled else 0):
        row, columns = rng.choice(filled)
        column, *others = rng.sample(columns, len(columns))
        yield _question(table, row, column, others, rng), row, column


def _question(table: Table, row: int, asked: int, others: list[int], rng: random.Random) -> str:
    def name(column: int) -> list[str]:
        return _some(table.header[column], WORDS_OF_A_NAME, rng)

    conditions = others[: rng.choice(CONDITIONS)]
    related = rng.sample(others, min(len(others), rng.choice((0, 0, 1) if conditions else (1, 2))))
    phrases = [
        (name(column) if rng.random() < 0.5 else []) + _some(table.rows[row][column], WORDS_OF_A_CELL, rng)
        for column in conditions
    ]
    phrases += [[rng.choice(_RELATIONS), *name(column)] for column in related]
    rng.shuffle(phrases)
    words = rng.choice(_OPENINGS).split() + (name(asked) if rng.random() < 0.8 else [])
    for phrase in phrases:
        words += [rng.choice(_JOINTS), *phrase]
    return " ".join(words).lower() + rng.choice(("?", "?", ""))


def _some(text: str, most: int, rng: random.Random) -> list[str]:
    """All words of a text or, of a longer one, up to `most` in a row."""
    words = text.split()
    if len(words) <= most:
        return words
    length = rng.randint(1, most)
    start = rng.randint(0, len(words) - length)
    return words[start : start + length]
