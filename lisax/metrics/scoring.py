"""Scores files of predictions and runs against gold, with the names of metrics.json."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from pathlib import Path

from lisax.corpora import open_folder, read_claims, read_question_split
from lisax.corpora.answer_predictions import RankedAnswers
from lisax.errors import DataError
from lisax.files.reading import read_lines
from lisax.progress import say
from lisax.records import Claim, Hit, is_cell, split_cell_id, split_sentence_id


def read_gold(path: Path) -> dict[str, Claim]:
    """Claims by id, from a file in any layout."""
    return {claim.id: claim for claim in read_claims(path)}


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Adds the file to a `DataError` that has none."""
    try:
        yield
    except DataError as error:
        raise error if error.path is not None else DataError(str(error), path=path) from None


def score_fever(gold_file: Path, predictions_file: Path) -> dict:
    """Scores a FEVER submission, as the official scorer does."""
    from lisax.corpora.fever import read_predictions
    from lisax.metrics.fever import check_gold, evaluate

    claims = read_gold(gold_file)
    with naming(gold_file):
        check_gold(claims)
    verdicts = {verdict.claim_id: verdict for verdict in read_predictions(predictions_file)}
    with naming(predictions_file):
        return {"fever": evaluate(claims, verdicts)}


def score_run(run_file: Path, qrels_file: Path) -> dict:
    """Scores a TREC run by qrels, as trec_eval does: LisT5's measures and CLTR's."""
    from lisax.metrics import ranking
    from lisax.retrieval.runs import read_qrels, read_run

    qrels, run = read_qrels(qrels_file), read_run(run_file)
    _check_queries(run, qrels, run_file, qrels_file)
    if _counts_pages(run, {unit for judged in qrels.values() for unit in judged}, run_file):
        raise DataError(f"the run has pages, and the judgements of {qrels_file} are of sentences", path=run_file)
    with naming(qrels_file):
        return {"ranking": ranking.trec_measures(qrels, run) | ranking.table_measures(qrels, run)}


def score_selection(run_file: Path, gold_file: Path) -> dict:
    """Scores a TREC run of sentences by claims: recall requires a complete evidence set, as in LisT5. A run of pages is
    scored by the pages of the gold sentences (`counted`)."""
    from lisax.metrics.ranking import sentence_selection
    from lisax.retrieval.runs import read_run

    claims, run = read_gold(gold_file), read_run(run_file)
    _check_queries(run, claims, run_file, gold_file)
    by_page = _counts_pages(run, {unit for claim in claims.values() for unit in claim.gold_ids}, run_file)
    if by_page:
        claims = {name: _of_pages(claim) for name, claim in claims.items()}
    with naming(gold_file):
        return {"ranking": sentence_selection(claims, run) | ({"counted": "pages"} if by_page else {})}


def _page_of(unit: str) -> str | None:
    """The page of a sentence's id; None for another id."""
    try:
        return split_sentence_id(unit)[0]
    except DataError:
        return None


def _counts_pages(run: Mapping[str, Sequence[Hit]], gold: Collection[str], path: Path) -> bool:
    """Whether a run has pages, and the gold units are sentences. Raises an error for a run of other units."""
    found = {hit.id for hits in run.values() for hit in hits}
    pages = {_page_of(unit) for unit in gold}
    if not found or None in pages or not found.isdisjoint(gold):
        return False
    if found & pages:
        return True
    if any(map(_page_of, found)):
        return False  # sentences, of which none is right
    if any("#" in unit for unit in found):
        raise DataError(f"the run has units such as '{min(found)}', and the gold evidence is sentences", path=path)
    return True


def _of_pages(claim: Claim) -> Claim:
    """The claim with pages as evidence."""
    sets = dict.fromkeys(tuple(dict.fromkeys(map(_page_of, members))) for members in claim.evidence_sets)
    return dataclasses.replace(claim, evidence_sets=tuple(sets))


def score_tables(gold_file: Path, predictions_file: Path, run_file: Path | None = None) -> dict:
    """Scores verdicts over tables, with hits at k if their run is given."""
    from lisax.corpora.table_predictions import read_predictions
    from lisax.metrics import fever, tables
    from lisax.retrieval.runs import read_run

    claims, run = read_gold(gold_file), None
    if run_file is not None:
        run = read_run(run_file)
        _check_queries(run, claims, run_file, gold_file)
    with naming(gold_file):
        fever.check_gold(claims)
        figures = {} if run is None else {"retrieval": tables.hits(claims, run)}
    predictions = {row.verdict.claim_id: row for row in read_predictions(predictions_file)}
    verdicts = {i: row.verdict for i, row in predictions.items()}
    sufficiency = {i: row.sufficiency for i, row in predictions.items() if row.sufficiency is not None}
    with naming(predictions_file):
        complete = len(sufficiency) == len(predictions)
        if sufficiency and not complete:
            raise DataError(
                "`sufficiency` is given for some claims only, for example not for "
                f"'{min(predictions.keys() - sufficiency.keys())}'"
            )
        return figures | {"tables": tables.evaluate(claims, verdicts, run, sufficiency if complete else None)}


def score_answers(gold: Path, predictions_file: Path, split: str | None = None) -> dict:
    """Scores ranked answers to the questions of a file or of a folder's split, whose tables have the texts of cells."""
    from lisax.metrics.answers import evaluate

    questions = {question.id: question for question in read_question_split(gold, split)}
    answers = _ranked_answers(predictions_file, gold if gold.is_dir() else None)
    with naming(predictions_file):
        figures = {"answers": evaluate(questions, answers)}
    counted = [id for id, one in questions.items() if one.answers or any(map(is_cell, one.evidence))]
    _note_missing(counted, answers, predictions_file, "questions", "prediction")
    return figures


def _note_missing(wanted: Sequence[str], given: Container[str], file: Path, name: str, lacks: str) -> None:
    """Logs how many of the `wanted` ids a file lacks."""
    if missing := [id for id in wanted if id not in given]:
        say(
            f"{file}: {name} without a {lacks}, which count as wrong: {len(missing):,} of {len(wanted):,}, for example "
            f"'{min(missing)}'"
        )


def _ranked_answers(path: Path, folder: Path | None) -> dict[str, RankedAnswers]:
    """The predictions by question; cells without texts get those of the folder's tables."""
    from lisax.corpora.answer_predictions import read_predictions
    from lisax.retrieval.runs import read_run

    if next(read_lines(path))[1].lstrip().startswith("{"):
        found = {ranked.question_id: ranked for ranked in read_predictions(path)}
    else:
        found = {name: RankedAnswers(name, (), tuple(hit.id for hit in hits)) for name, hits in read_run(path).items()}
    texts: Mapping[str, str] = {}
    if folder is not None:
        with naming(path):
            texts = _texts_of({cell for ranked in found.values() if not ranked.texts for cell in ranked.cells}, folder)
    return {
        name: ranked
        if ranked.texts
        else ranked._replace(texts=tuple(texts.get(cell, "") for cell in ranked.cells if texts))
        for name, ranked in found.items()
    }


def _texts_of(cells: Collection[str], folder: Path) -> dict[str, str]:
    places: dict[str, list[tuple[str, int, int]]] = {}
    for cell in cells:
        table, i, j = split_cell_id(cell)
        places.setdefault(table, []).append((cell, i, j))
    return {
        cell: table.rows[i][j]
        for table in open_folder(folder).tables()
        for cell, i, j in places.get(table.id, ())
        if i < len(table.rows) and j < len(table.header)
    }


def score_texts(gold: Path, predictions_file: Path, split: str | None = None, measures: Sequence[str] = ()) -> dict:
    """Scores generated sentences: overlap with references, faithfulness to the data, answer coverage.

    `measures` are optional ones to require: `meteor`, `bertscore`."""
    from lisax.metrics import text
    from lisax.metrics.text_files import read_gold_texts, read_texts

    units, predictions = read_gold_texts(gold, split), read_texts(predictions_file)
    if missing := units.keys() - predictions.keys():
        raise DataError(
            f"gold ids without a prediction: {len(missing):,} of {len(units):,}, for example '{min(missing)}'",
            path=predictions_file,
        )
    if surplus := predictions.keys() - units.keys():
        raise DataError(
            f"predictions of ids that {gold} lacks: {len(surplus):,} of {len(predictions):,}, for example "
            f"'{min(surplus)}'",
            path=predictions_file,
        )
    figures: dict = {}
    with naming(gold):
        if any(row.texts for row in units.values()):
            compared = [(row.texts, predictions[i]) for i, row in units.items() if row.texts]
            figures |= text.overlap(*map(list, zip(*compared)), extra=list(measures))
    structured = [(row, predictions[i]) for i, row in units.items() if row.triples is not None]
    if structured:
        figures["faithfulness"] = text.faithfulness((row.triples, prediction) for row, prediction in structured)
    if any(row.answers for row, _ in structured):
        figures["coverage"] = text.answer_coverage(
            (row.answers, row.raw, prediction) for row, prediction in structured if row.answers
        )
    if not figures:
        raise DataError("nothing to compare with: no line has `texts`, or `pairs`", path=gold)
    return {"text": figures}


def _check_queries(run: Mapping, gold: Mapping, run_path: Path, gold_path: Path) -> None:
    if not run:
        raise DataError("the file is empty", path=run_path)
    if not gold.keys() & run.keys():
        raise DataError(
            f"no query of the run is in {gold_path}: do the two belong together? "
            f"(the run's first: '{next(iter(run))}')",
            path=run_path,
        )
    counted = [
        id
        for id, one in gold.items()
        if (one.gold_ids if isinstance(one, Claim) else any(relevance > 0 for relevance in one.values()))
    ]
    _note_missing(counted, run, run_path, "queries", "ranking")
