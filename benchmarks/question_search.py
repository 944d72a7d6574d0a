"""Why CLTR's BM25 finds fewer tables than ours: all questions of E2E_WTQ at hand, by BM25 over differently made words.

    .venv/bin/python -m benchmarks.question_search --data ../shared/data/wtq

Prints MAP (of one right table the mean reciprocal rank, of the first 300) and success among 1, 5 and 10, in percent.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lisax.corpora import open_folder
from lisax.records import Question, Table
from lisax.text.stop_words import INDEX_STOP_WORDS
from lisax.text.words import stemmer

POOL, CUTOFFS = 300, (1, 5, 10)
WORDS = re.compile(r"\w+")


def words(text: str) -> list[str]:
    return WORDS.findall(text.lower())


def stems(text: str) -> list[str]:
    return [stem(word) for word in words(text) if word not in INDEX_STOP_WORDS]


def cells(table: Table) -> str:
    return " ".join((*table.header, rows(table)))


def rows(table: Table) -> str:
    return " ".join(cell for row in table.rows for cell in row)


stem = stemmer()
SEARCHES = {
    "stems without stop words": (cells, stems, 1.2, 0.75),
    "stems, k1 0.9, b 0.4": (cells, stems, 0.9, 0.4),
    "stems of rows without headers": (rows, stems, 1.2, 0.75),
    "words as they are": (cells, words, 1.2, 0.75),
    "words as they are, k1 0.9, b 0.4": (cells, words, 0.9, 0.4),
    "split at blanks": (cells, lambda text: text.lower().split(), 1.2, 0.75),
}


def ranks(
    tables: list[Table], questions: list[Question], text: Callable, split: Callable, k1: float, b: float
) -> np.ndarray:
    """The rank of each question's table: int [questions]."""
    bags = [Counter(split(text(table))) for table in tables]
    lengths = np.array([bag.total() for bag in bags], float)
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for at, bag in enumerate(bags):
        for word, count in bag.items():
            postings[word].append((at, count))
    found = []
    for question in questions:
        scores = np.zeros(len(tables))
        for word in split(question.text):
            if word in postings:
                at, count = np.array(postings[word]).T
                idf = np.log(1 + (len(tables) - len(at) + 0.5) / (len(at) + 0.5))
                scores[at] += idf * count * (k1 + 1) / (count + k1 * (1 - b + b * lengths[at] / lengths.mean()))
        gold = {unit.split("#")[0] for unit in question.evidence}
        order = np.argsort(-scores, kind="stable")
        found.append(next(rank for rank, at in enumerate(order, start=1) if tables[at].id in gold))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data = open_folder(parser.parse_args().data)
    tables = list(data.tables())
    questions = [question for split in ("e2e_train", "e2e_dev") for question in data.questions(split)]
    print(
        f"{len(questions)} questions, {len(tables)} tables\n| words | MAP | S@1 | S@5 | S@10 |\n|---|---|---|---|---|"
    )
    for name, settings in SEARCHES.items():
        found = ranks(tables, questions, *settings)
        cut = [100 * np.mean(found <= k) for k in CUTOFFS]
        figures = (100 * np.mean(np.where(found <= POOL, 1 / found, 0)), *cut)
        print(f"| {name} | {' | '.join(f'{figure:.1f}' for figure in figures)} |", flush=True)


if __name__ == "__main__":
    main()
