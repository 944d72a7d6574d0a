"""The layouts of structured data (UDT-QA), recognised by file names."""

from __future__ import annotations

from pathlib import Path

from lisax.corpora import kelm, open_questions, ottqa, totto, triple_sets, wikidata
from lisax.corpora.dataset import Dataset

# How each layout is recognised, in this order; a dump of Wikidata must be opened for it, and so comes last.
LAYOUTS = (
    (triple_sets.dart_files, triple_sets.Dart),
    (triple_sets.webnlg_files, triple_sets.WebNlg),
    (totto.totto_files, totto.Totto),
    (kelm.kelm_files, kelm.Kelm),
    (ottqa.tables_path, ottqa.OttQa),
    (open_questions.question_files, open_questions.OpenQuestions),
    (wikidata.dump_file, wikidata.WikidataDump),
)


def find(folder: Path) -> Dataset | None:
    """The dataset of structured data in a folder, or None."""
    return next((layout(folder) for is_there, layout in LAYOUTS if is_there(folder)), None)
