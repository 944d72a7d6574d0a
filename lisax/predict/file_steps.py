"""The steps from claims or questions to verdicts or answers, each from files to a file."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora import open_folder, plain, read_claims, read_questions
from lisax.corpora.fever import write_predictions
from lisax.formats.families import Family
from lisax.formats.triples import Triples, graph_triples, table_triples
from lisax.predict.fusion_model import Decision, FusionModel
from lisax.predict.inference import judge_dates, rank_to_file, verify
from lisax.predict.mixed_evidence import MixedEvidence
from lisax.predict.opening import open_model
from lisax.predict.sentences import Sentences
from lisax.predict.text_model import TextModel
from lisax.progress import counting
from lisax.records import Claim, DataError, LisaxError, read_json_lines
from lisax.retrieval.documents import DocumentIndex
from lisax.retrieval.folder import read_components
from lisax.retrieval.passage_store import has_passages
from lisax.retrieval.runs import read_run
from lisax.runtime.resumable import fingerprint


def rerank_file(model: Path, claims: Path, run: Path, index: Path, out: Path, *, depth: int = 200) -> None:
    """Ranks each claim's first `depth` sentences of a run of documents or sentences."""
    from lisax.retrieval.entities import default_spotter

    ranker, asked, sentences = TextModel.open(model), list(read_claims(claims)), evidence_of(index)
    if not ranker.family.ranks:
        raise LisaxError(f"{model} labels ('{ranker.family}'); rerank needs a ranker")
    candidates = sentences.in_run(read_run(run))
    if not any(sentences.lookup(unit) for units in candidates.values() for unit in units):
        raise DataError(f"nothing in it has text in {index}", path=run)
    with counting(sum(min(len(units), depth) for units in candidates.values()), "sentences") as advance:
        rank_to_file(
            ranker,
            asked,
            candidates,
            sentences.lookup,
            out,
            depth=depth,
            spot=default_spotter(getattr(sentences.index, "titles", None)).spot,
            tag=str(ranker.family),
            progress=advance,
            made_from=json.dumps([depth, *map(fingerprint, (model, claims, run, index))]),
        )


def verify_file(
    model: Path,
    claims: Path,
    run: Path,
    index: Path,
    out: Path,
    *,
    aggregate: str = "max",
    temporal: bool = False,
    threshold: float | None = None,
    columns: int = 3,
) -> None:
    """Labels claims by the sentences or tables of a run and writes a FEVER submission.

    `aggregate` is how a pointwise labeller's labels of sentences become one; `temporal` lets dates decide where they
    can. A model of tables reads `columns` of each, and with `threshold` calls a claim undecided whose sufficiency is
    at most that."""
    verifier, asked = open_model(model), list(read_claims(claims))
    if verifier.family.reads_tables:
        if temporal:
            raise LisaxError("--temporal reads sentences: leave it out with a model of tables")
        _verify_tables(verifier, asked, run, index, out, threshold, columns)
        return
    if verifier.family.ranks or verifier.family is Family.TABLE_OPERATION:
        raise LisaxError(
            f"{model} {'ranks' if verifier.family.ranks else 'chooses operations'} "
            f"('{verifier.family}'); verify needs a labeller"
        )
    sentences = evidence_of(index)
    if verifier.family.points:
        from lisax.predict import pointer_inference

        verdicts = pointer_inference.verify(verifier, asked, sentences.in_run(read_run(run)), sentences.lookup)
    else:
        verdicts = verify(verifier, asked, read_run(run), sentences.lookup, aggregate=aggregate)
    by_id = {claim.id: claim for claim in asked}
    if temporal:
        verdicts = judge_dates(verdicts, by_id, sentences.lookup)
    write_predictions(out, verdicts, by_id, sentences.original_page)


def _verify_tables(
    model: FusionModel | TextModel,
    claims: list[Claim],
    run_file: Path,
    index: Path,
    out: Path,
    threshold: float | None,
    columns: int,
) -> None:
    from lisax.corpora import table_predictions
    from lisax.predict import table_inference
    from lisax.retrieval.cells import CellIndex
    from lisax.retrieval.linking import spans
    from lisax.retrieval.table_store import TableStore
    from lisax.sampling.examples import ranked_ids

    chosen = getattr(model, "decision", None)
    if threshold is not None:
        decision = Decision(threshold, True)
    else:
        decision = chosen if chosen and chosen.in_data else None
    table_inference.tell_open(model, decision)
    store, cells, run = TableStore.open(index), CellIndex.open(index), ranked_ids(read_run(run_file))
    if not any(store.get(table) for tables in run.values() for table in tables):
        raise DataError(f"none of its tables is in {index}", path=run_file)
    with counting(len(claims), "claims") as advance:
        verdicts = table_inference.verify(
            model,
            claims,
            run,
            functools.cache(store.get),
            depth=model.tables,
            decision=decision,
            columns=lambda table, claim: cells.columns(table, spans(claim), columns),
            progress=advance,
        )
        table_predictions.write_predictions(out, verdicts, {claim.id: claim for claim in claims})
    table_inference.tell_dropped_rows(model, "the tables")


def evidence_of(index: Path) -> Sentences | MixedEvidence:
    """The sentences of an index of documents, or the passages of a mixed one."""
    if has_passages(read_components(index)):
        from lisax.retrieval.mixed import MixedIndex

        return MixedEvidence(MixedIndex.open(index))
    return Sentences(DocumentIndex.open(index))


def answer_file(
    index: Path,
    reader_folder: Path,
    questions_file: Path,
    out: Path,
    *,
    retriever_folder: Path | None = None,
    method: str = "bm25",
    approximate: bool = False,
    k: int = 100,
) -> dict[str, float] | None:
    """Answers questions from `k` passages each of a mixed index; `method` is bm25 or, with a retriever, dense or fused.

    Returns exact match over the questions whose answers are known (`open_qa.answered`), None where none is."""
    from lisax.metrics import open_qa
    from lisax.predict.reader import Reader, answer_to_file
    from lisax.predict.retriever import PassageSearch, Retriever

    questions, reader = (
        {question.id: question for question in read_questions(questions_file)},
        Reader.open(reader_folder),
    )
    retriever = None if retriever_folder is None else Retriever.open(retriever_folder)
    search = PassageSearch(index, method=method, retriever=retriever, exact=not approximate)
    runs = search({i: question.text for i, question in questions.items()}, k)
    made_from = [
        method,
        k,
        approximate,
        *(path and fingerprint(path) for path in (index, reader_folder, retriever_folder, questions_file)),
    ]
    answer_to_file(
        reader,
        questions.values(),
        lambda i: [search.index.passage(hit) for hit, _ in runs[i][: reader.passages]],
        out,
        json.dumps(made_from),
    )
    gold = {i: question.answers for i, question in questions.items() if question.answers}
    if not gold:
        return None
    return open_qa.answered(gold, {row["id"]: row["answers"][0] for _, row in read_json_lines(out) if row["answers"]})


def verbalize_file(
    model: Path,
    tables: Path | None,
    graphs: Path | None,
    out: Path,
    *,
    beams: int = 10,
    pairs: int | None = None,
    check: bool = True,
) -> dict[str, float]:
    """Writes rows of tables and sub-graphs as sentences; the shares of `verbalizer.verbalize_to_file`."""
    from lisax.predict.verbalizer import Choices, Verbalizer, verbalize_to_file

    sources, choices = unit_sources(tables, graphs), Choices(beams, pairs, check=check)
    verbalizer = Verbalizer.open(model, choices)
    # The file itself, which may be written beside the tables, is nothing that it is made from.
    made_from = json.dumps([repr(choices), *(fingerprint(path, besides=out) for path in (model, *sources))])
    with counting(sum(1 for _ in units(tables, graphs)), "rows and sub-graphs") as advance:
        return verbalize_to_file(verbalizer, units(tables, graphs), out, made_from, advance)


def unit_sources(tables: Path | None, graphs: Path | None) -> list[Path]:
    """Those that were given, each of which must be there."""
    sources = [path for path in (tables, graphs) if path is not None]
    if not sources:
        raise LisaxError("nothing to verbalize: give --tables, --graphs, or both")
    for path in sources:
        if not path.exists():
            raise LisaxError(f"there is no {path}")
    return sources


def units(tables: Path | None, graphs: Path | None) -> Iterator[Triples]:
    """Rows of all tables, then sub-graphs, of files or of folders in any layout; those without a value are left out."""
    if tables is not None:
        for table in open_folder(tables).tables() if tables.is_dir() else plain.read_tables(tables):
            yield from table_triples(table)
    if graphs is not None:
        for graph in open_folder(graphs).graphs() if graphs.is_dir() else plain.read_graphs(graphs):
            if (found := graph_triples(graph)).pairs:
                yield found
