"""The steps from claims to verdicts and from questions to answers, each reading files and writing one."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.corpora import open_folder, plain, read_claims, read_questions
from lisax.devices.workers import Workers, lines_to_file
from lisax.errors import DataError, LisaxError
from lisax.files.reading import read_json_lines
from lisax.files.resumable import fingerprint
from lisax.files.writing import json_line
from lisax.formats.triples import Triples, graph_triples, table_triples
from lisax.predict import calibrating
from lisax.predict.index import Index
from lisax.predict.judging import VERIFIED_AT_A_TIME, verifying
from lisax.predict.opening import find_model
from lisax.predict.ranker import CLAIMS_AT_A_TIME as RANKED_AT_A_TIME
from lisax.predict.ranker import Bm25Ranker, Ranker, ranking
from lisax.predict.table_index import COLUMNS, TableIndex
from lisax.predict.table_verifier import TableVerifier, tell_open
from lisax.predict.verdicts import Evidence
from lisax.predict.verifier import PointerVerifier, Verifier
from lisax.progress import counting
from lisax.records import Claim, Question
from lisax.retrieval.cluster import print_of
from lisax.retrieval.entities import default_spotter
from lisax.retrieval.passages import has_passages
from lisax.retrieval.runs import read_run
from lisax.sampling.examples import ranked_ids
from lisax.weights.pretrained import is_named, sendable
from lisax.weights.public_models import Use

if TYPE_CHECKING:
    from lisax.predict.reader import Answer


def rerank_file(
    model: Path,
    claims: Path,
    run: Path,
    index: Path | str,
    out: Path,
    *,
    depth: int = 200,
    use: Use | None = None,
    skip_bad: bool = False,
    workers: Workers | None = None,
) -> None:
    """Reranks the first `depth` sentences of each claim. `run` holds documents or sentences; `use` has the settings of
    a published model (`Ranker.open`). `workers`: do it at them (`devices.workers`)."""
    asked = list(read_claims(claims, skip_bad=skip_bad))
    prints = [fingerprint(model) or [str(model), repr(use)], *map(print_of, (claims, run, index))]
    opens = functools.partial(_open_ranking, sendable(model), run, index, depth, use)
    made_from = json.dumps([depth, *prints])
    lines_to_file(out, opens, asked, RANKED_AT_A_TIME, made_from=made_from, workers=workers)


def _open_ranking(
    model: Path | str, run: Path, index: Path | str, depth: int, use: Use | None
) -> Callable[[Sequence[Claim]], list[str]]:
    ranker, opened = Ranker.open(model, use), Index.open(index).reading("sentences")
    candidates = opened.in_run(read_run(run))
    if not any(opened.lookup(unit) for units in candidates.values() for unit in units):
        raise DataError(f"nothing in it has text in {index}", path=run)

    def found(claim: Claim) -> list[Evidence]:
        evidence = opened.evidence(candidates.get(claim.id, ()), depth)
        return opened.compared(claim.text, evidence) if isinstance(ranker, Bm25Ranker) else evidence

    return ranking(ranker, found, default_spotter(opened.titles).spot, ranker.tag)


def verify_file(
    model: Path,
    claims: Path,
    run: Path,
    index: Path | str,
    out: Path,
    *,
    aggregate: str | None = None,
    temporal: bool = False,
    threshold: float | None = None,
    min_confidence: float | None = None,
    columns: int | None = None,
    calibrate: bool = False,
    use: Use | None = None,
    skip_bad: bool = False,
    workers: Workers | None = None,
) -> None:
    """Labels claims from a run of sentences or tables, and writes a FEVER submission.

    `aggregate`: how a pointwise labeller's labels of single sentences are combined. `temporal`: let dates decide if
    they can. `min_confidence`: a less probable label becomes NOT ENOUGH INFO. A model of tables reads `columns` columns
    of each table, by default the number it was trained on; with `threshold` it leaves a claim undecided whose
    sufficiency is at most that. `calibrate`: write the model's own probabilities, fit its temperature on them, and
    store that with the model. `workers`: do it at them (`devices.workers`). An interrupted call resumes."""
    if not is_named(model):
        find_model(model)  # its absence is an error before anything is read
    asked = list(read_claims(claims, skip_bad=skip_bad))
    if calibrate:
        calibrating.check_calibratable(model, asked, claims)
    settings = [aggregate, temporal, threshold, min_confidence, columns, calibrate]
    made_from = [*settings, fingerprint(model) or str(model), repr(use), *map(print_of, (claims, run, index))]
    opens = functools.partial(_open_verifying, sendable(model), run, index, *settings, use)
    lines_to_file(out, opens, asked, VERIFIED_AT_A_TIME, made_from=json.dumps(made_from), workers=workers)
    if calibrate:
        verifier = Verifier.open(model, aggregate=aggregate, threshold=threshold, use=use)
        calibrating.calibrate_file(model, calibrating.uncalibrated(verifier), asked, out)


def _open_verifying(
    model: Path | str,
    run: Path,
    index: Path | str,
    aggregate: str | None,
    temporal: bool,
    threshold: float | None,
    min_confidence: float | None,
    columns: int | None,
    calibrate: bool,
    use: Use | None,
) -> Callable[[Sequence[Claim]], list[str]]:
    verifier = Verifier.open(model, aggregate=aggregate, threshold=threshold, use=use)
    if calibrate:
        calibrating.uncalibrated(verifier)
    if isinstance(verifier, TableVerifier) and temporal:
        raise LisaxError("--temporal reads sentences: leave it out with a model of tables")
    opened = Index.open(index).reading(verifier.reads)
    if isinstance(verifier, TableVerifier):
        opened = opened.keeping(columns or verifier.columns or COLUMNS)
        ranked = _ranked_tables(verifier, run, opened)
    else:
        ranked = read_run(run)
        if isinstance(verifier, PointerVerifier):
            ranked = opened.in_run(ranked)
    verify = verifying(verifier, ranked, opened, temporal=temporal, min_confidence=min_confidence)
    return lambda claims: [json_line(verdict.submission()) for verdict in verify(claims)]


def _ranked_tables(verifier: TableVerifier, run: Path, index: TableIndex) -> dict[str, list[str]]:
    """The tables of each claim. Raises DataError if the index has none of them."""
    if verifier.decision is not None and not verifier.decision.in_data:
        verifier.decision = None
    tell_open(verifier.model, verifier.decision)
    ranked = ranked_ids(read_run(run))
    if not any(index.table(table) for tables in ranked.values() for table in tables):
        raise DataError("none of its tables is in the index", path=run)
    return ranked


def answer_file(
    index: Path | str,
    reader_folder: Path | None,
    questions_file: Path,
    out: Path,
    *,
    retriever_folder: Path | None = None,
    method: str = "bm25",
    approximate: bool = False,
    k: int = 100,
    workers: Workers | None = None,
) -> dict[str, float] | None:
    """Answers questions from `k` passages each of a mixed index, or from the cells of an index of tables, with a model
    of rows and columns or, without one, with the shipped one. Of a reader `method` is bm25 or, with a retriever, dense
    or fused. `workers`: do it at them (`devices.workers`). An interrupted call resumes.

    Returns exact match over the questions with known answers (`open_qa.answered`), or None if no answers are known.
    """
    from lisax.metrics import open_qa
    from lisax.predict.answerer import shipped_parts
    from lisax.predict.reader import answer_to_file

    model = shipped_parts() if reader_folder is None else reader_folder
    questions = {question.id: question for question in read_questions(questions_file)}
    if reader_folder is None and has_passages(Index.open(index).components):
        raise LisaxError(f"{index} has passages, which a reader reads: name one by --reader")
    encoder = retriever_folder and (fingerprint(retriever_folder) or str(retriever_folder))
    made_from = json.dumps([method, k, approximate, encoder, *map(print_of, (index, model, questions_file))])
    opens = functools.partial(_open_answering, index, model, sendable(retriever_folder), method, approximate, k)
    answer_to_file(opens, [(question, ()) for question in questions.values()], out, made_from, workers=workers)
    gold = {i: question.answers for i, question in questions.items() if question.answers}
    if not gold:
        return None
    return open_qa.answered(gold, {row["id"]: row["answers"][0] for _, row in read_json_lines(out) if row["answers"]})


def _open_answering(
    index: Path | str, model: Path, retriever: Path | str | None, method: str, approximate: bool, k: int
) -> Callable[[Sequence[tuple[Question, tuple]]], list[list[Answer]]]:
    from lisax.predict.answerer import Answerer, PassageAnswerer
    from lisax.predict.reader import Reader
    from lisax.predict.retriever import open_encoder

    opened = Index.open(index)
    if not has_passages(opened.components):
        answerer = Answerer.open(opened, model, retriever=retriever)
        return lambda group: list(answerer.ask_many([question.text for question, _ in group]))
    encoder = None if retriever is None else open_encoder(retriever)
    reader = PassageAnswerer.of(opened, Reader(model), encoder, method, not approximate)

    def answers(group: Sequence[tuple[Question, tuple]]) -> list[list[Answer]]:
        passages = reader.find({question.id: question.text for question, _ in group}, k)
        return reader.reader.read([(question.text, passages[question.id]) for question, _ in group])

    return answers


def verbalize_file(
    model: Path | None,
    tables: Path | None,
    graphs: Path | None,
    out: Path,
    *,
    beams: int = 10,
    pairs: int | None = None,
    check: bool = True,
    workers: Workers | None = None,
) -> dict[str, float]:
    """Writes rows of tables and sub-graphs as sentences, without a `model` by rule. `workers`: do it at them
    (`devices.workers`). Returns the shares of `verbalizer.verbalize_to_file`."""
    from lisax.predict.verbalizer import Choices, RuleVerbalizer, Verbalizer, verbalize_to_file

    sources, choices = unit_sources(tables, graphs), Choices(beams, pairs, check=check)
    opens = RuleVerbalizer if model is None else functools.partial(Verbalizer.open, model, choices)
    read = sources if model is None else [model, *sources]
    # The output may be written next to the tables, so it is left out of their fingerprint.
    made_from = json.dumps([repr(choices) if model else "rule", *(fingerprint(path, besides=out) for path in read)])
    with counting(sum(1 for _ in units(tables, graphs)), "rows and sub-graphs") as advance:
        return verbalize_to_file(opens, units(tables, graphs), out, made_from, advance, workers)


def unit_sources(tables: Path | None, graphs: Path | None) -> list[Path]:
    """The paths that were given. Raises an error for one that does not exist."""
    sources = [path for path in (tables, graphs) if path is not None]
    if not sources:
        raise LisaxError("nothing to verbalize: give --tables, --graphs, or both")
    for path in sources:
        if not path.exists():
            raise LisaxError(f"there is no {path}")
    return sources


def units(tables: Path | None, graphs: Path | None) -> Iterator[Triples]:
    """Rows of all tables, then sub-graphs, from files or from folders in any layout. Units without a value are left
    out."""
    if tables is not None:
        for table in open_folder(tables).tables() if tables.is_dir() else plain.read_tables(tables):
            yield from table_triples(table)
    if graphs is not None:
        for graph in open_folder(graphs).graphs() if graphs.is_dir() else plain.read_graphs(graphs):
            if (found := graph_triples(graph)).pairs:
                yield found
