"""Questions generated from a collection's own tables. They train a model of rows and columns to match words of a
question with table parts before it sees real questions (ours; the counterpart of the inverse cloze task for text
retrievers).

A question asks for a cell by names of columns and by words of other cells of its row, in random order. Its evidence is
that cell; another row may fit as well, as with real questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from lisax.records import Question, Table, cell_id

WORDS_OF_A_NAME, WORDS_OF_A_CELL = 3, 4
CONDITIONS = (0, 1, 1, 1, 2)  # how many other cells of the row a question names: one of these
_OPENINGS = ("what is the", "what was the", "when was the", "which", "who", "how many", "name the", "what")
_JOINTS = ("with", "of", "the", "in", "is", "was", "for", "by")
_RELATIONS = ("most", "least", "first", "last", "after", "before", "next", "previous", "only", "total", "same")


def own_questions(tables: Iterable[Table], total: int, count: int, seed: int) -> list[Question]:
    """About `count` questions from `total` tables in random order, equally many per table; tables without a row of two
    cells give none. A table's questions depend only on the seed, its id and the number."""
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
    """(question, row and column of its answer)."""
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
    """All words of a text, or up to `most` consecutive words of a longer one."""
    words = text.split()
    if len(words) <= most:
        return words
    length = rng.randint(1, most)
    start = rng.randint(0, len(words) - length)
    return words[start : start + length]
