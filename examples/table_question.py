"""Answers questions from tables, and shows how much each cell of the best table has to do with the question.

    python examples/table_question.py [heatmaps.html]

A cell's score is the probability of its row times that of its column. Here both come from the similarity of MiniLM's
vectors, without training; `lisax run cltr` trains a model for it, which `lisax ask` and the page use. With a file named,
the heatmaps are written to it as a page of their own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from lisax import Index, Table
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.predict.table_answers import TableScores
from lisax.report.heatmap import write_page

TABLES = Path(__file__).parent / "tables"
QUESTIONS = [
    "When was Ostra Athletic founded?",
    "What is the capacity of Bridge Field?",
    "Where is the mouth of the Sel?",
]
SHARPNESS = 20  # of the softmax: similarities lie close together

encoder = SentenceEncoder.open("minilm")
index = Index.build(TABLES, kind="tables", vectors="minilm")


def probabilities(question: str, texts: list[str]) -> np.ndarray:
    """One for each text, by its similarity to the question; they add up to 1."""
    weights = np.exp(SHARPNESS * encoder.similarities(question, texts))
    return weights / weights.sum()


def scored(question: str, table: Table) -> TableScores:
    rows = [" * ".join(f"{name} : {cell}" for name, cell in zip(table.header, row)) for row in table.rows]
    return TableScores(table, 0.0, probabilities(question, rows), probabilities(question, list(table.header)))


def line(cells: list[str]) -> str:
    return "  " + "".join(f"{cell:<21}" for cell in cells).rstrip()


answers = []
for question in QUESTIONS:
    found = index.search(question, 1)[0]
    scores = scored(question, index.table(found.unit))
    row, column = scores.best
    print(f"{question}  {scores.table.rows[row][column]} ({found.unit}, row {row + 1}, column {column + 1})")
    print(line(scores.table.header))
    for cells, shares in zip(scores.table.rows, scores.cells):
        print(line([f"{cell} {100 * share:.0f} %" for cell, share in zip(cells, shares)]))
    answers.append((question, [scores]))

if len(sys.argv) > 1:
    write_page(sys.argv[1], "Three questions", answers)
