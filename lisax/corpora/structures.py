"""The layouts of structured data (UDT-QA), recognised by file names."""

from __future__ import annotations

from pathlib import Path

from lisax.corpora import open_questions, ottqa, triple_sets
from lisax.corpora.dataset import Dataset

# How each layout is recognised, in this order.
LAYOUTS = (
    (triple_sets.dart_files, triple_sets.Dart),
    (triple_sets.webnlg_files, triple_sets.WebNlg),
    (ottqa.tables_path, ottqa.OttQa),
    (open_questions.question_files, open_questions.OpenQuestions),
)


def find(folder: Path) -> Dataset | None:
    """The dataset of structured data in a folder, or None."""
    return next((layout(folder) for is_there, layout in LAYOUTS if is_there(folder)), None)
