"""The layouts of structured data (UDT-QA): told by the names of their files."""

from __future__ import annotations

from pathlib import Path

from lisax.corpora import kelm, open_questions, ottqa, totto, triple_sets, wikidata
from lisax.corpora.dataset import Dataset

# How each layout is told, in the order of asking; a dump of Wikidata is looked into, and so comes last.
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
    """The dataset of structured data in a folder, None where there is none."""
    return next((layout(folder) for is_there, layout in LAYOUTS if is_there(folder)), None)
