"""How many of the held-out entries of feedback a model gets right: measured before and after a training, in a process
of its own (`python -m lisax.serve.held_out ROLE FOLDER BEFORE AFTER OUT`), which writes {"count", "before", "after"}.

The role determines what is right: for questions the best cell of the tables that answer them is marked as right; for a
ranker its first sentence is marked as deciding; a labeller and a table verifier give the label of the feedback, from
the evidence marked as deciding or, without any, from the evidence found.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lisax.corpora import Dataset, open_folder
from lisax.files.writing import write_json
from lisax.predict.opening import open_model
from lisax.predict.ranker import ranker_of
from lisax.predict.verdicts import Evidence
from lisax.predict.verifier import verifier_of
from lisax.records import Label, is_cell, split_cell_id
from lisax.serve.models import LABELLER, PARTS, RANKER

READ = 5  # sentences that a labeller reads if none decides


def right(role: str, model: Any, held: Dataset) -> list[bool]:
    """Whether the model is right, for each held-out entry that can be measured."""
    return list({PARTS: _questions, RANKER: _ranked, LABELLER: _labelled}.get(role, _by_tables)(model, held))


def _questions(model: Any, held: Dataset) -> Iterator[bool]:
    import numpy as np

    from lisax.formats.parts import PartKind
    from lisax.predict.table_answers import PartScorer, TableScores, named_cells

    scorer, tables = PartScorer.of(model), {table.id: table for table in held.tables()}
    for question in held.questions("train"):
        places = {split_cell_id(unit) for unit in filter(is_cell, question.evidence)}
        shown = [tables[name] for name in dict.fromkeys(place[0] for place in places) if name in tables]
        rows, columns = (scorer.scores(question.text, kind, shown) for kind in (PartKind.ROW, PartKind.COLUMN))
        scores = [
            TableScores(table, 0.0, *parts, named=named_cells(question.text, table))
            for table, *parts in zip(shown, rows, columns)
        ]
        if scores:
            best = scores[int(np.argmax([one.score() for one in scores]))]
            yield (best.table.id, *best.best) in places


def _sentences(held: Dataset) -> dict[str, Evidence]:
    return {
        sentence.id: Evidence(sentence.id, sentence.text, page.title)
        for page in held.documents()
        for sentence in page.sentences
    }


def _ranked(model: Any, held: Dataset) -> Iterator[bool]:
    ranker, sentences = ranker_of(model), _sentences(held)
    for claim in held.claims("train"):
        gold = {unit for units in claim.evidence_sets for unit in units}
        # By id: in the file the deciding ones come first.
        candidates = [sentences[unit] for unit in sorted(claim.candidates) if unit in sentences]
        if gold and candidates:
            yield ranker.rank(claim.text, candidates)[0].unit in gold


def _labelled(model: Any, held: Dataset) -> Iterator[bool]:
    verifier, sentences = verifier_of(model), _sentences(held)
    for claim in held.claims("train"):
        units = [unit for units in claim.evidence_sets for unit in units] or claim.candidates[:READ]
        evidence = [sentences[unit] for unit in units if unit in sentences]
        yield verifier.verify(claim.text, evidence).label is claim.label


def _by_tables(model: Any, held: Dataset) -> Iterator[bool]:
    from lisax.predict.table_index import TableIndex
    from lisax.retrieval.tables import Strategy, build_index

    verifier, tables = verifier_of(model), [table.id for table in held.tables()]
    with tempfile.TemporaryDirectory() as scratch:
        # It chooses the columns that are read, as for the page.
        build_index(held.tables(), folder := Path(scratch) / "index", Strategy.ENTITY_CHAR_23)
        index = TableIndex(folder)
        if verifier.columns is not None:
            index = index.keeping(verifier.columns)
        for claim in held.table_claims("train"):
            units = [unit for units in claim.evidence_sets for unit in units] or tables[:READ]
            evidence = index.evidence(units, verifier.depth, claim.text)
            if claim.label is not Label.NOT_ENOUGH_INFO:
                yield verifier.verify(claim.text, evidence).label is claim.label


def main(role: str, folder: str, before: str, after: str, out: str) -> None:
    held = open_folder(Path(folder))
    found = [right(role, open_model(path), held) for path in (before, after)]
    write_json(Path(out), {"count": len(found[0]), "before": sum(found[0]), "after": sum(found[1])})


if __name__ == "__main__":
    main(*sys.argv[1:])
