"""`lisax demo | run | rerank | verify | export`. Light to import."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax.places import fetched, is_remote, place
from lisax.records import DataError, LisaxError

if TYPE_CHECKING:
    from lisax.papers.base import Pipeline
    from lisax.predict.fusion_model import FusionModel
    from lisax.predict.text_model import TextModel

DEMO_PAGES = 12_000
RUN_PAGES = {"open-tables": 30_000, "cltr": 12_000, "deseption": 12_000, "udt-qa": 12_000}


def _add_run_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=place,
        default=Path("out"),
        metavar="DIR",
        help="folder of the run; stages that are done there are not done again (default: out)",
    )
    parser.add_argument(
        "--until",
        metavar="STAGE",
        help="stop after this stage, for example retrieve or "
        "select.rank_entities.test (the run prints each stage's name)",
    )
    parser.add_argument(
        "--gin_file", action="append", default=[], metavar="FILE", help="a recipe; repeatable, later ones win"
    )
    parser.add_argument(
        "--gin_bindings",
        action="append",
        default=[],
        metavar="NAME=value",
        help="settings after all files, also as --gin.Recipe.candidates=100",
    )
    parser.add_argument("--gin_search_paths", default="", metavar="DIR,DIR")


def add_demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=fetched,
        metavar="DIR",
        help="a folder in FEVER's own layout, or any that `lisax data check` knows (default: a generated world)",
    )
    parser.add_argument("--pages", type=int, default=DEMO_PAGES, help="size of the generated world")
    parser.add_argument("--seed", type=int, default=0, help="seed of the generated world and of training")
    _add_run_flags(parser)


def demo_main(args: argparse.Namespace) -> int:
    with _searching(args), _work_folder(args):
        return _demo(args)


@contextlib.contextmanager
def _work_folder(args: argparse.Namespace) -> Iterator[None]:
    """Of a run in a bucket `out` is its copy on this machine meanwhile (`mirror.Mirror`)."""
    args.mirror = None
    if not is_remote(args.out):
        yield
        return
    from lisax.papers.mirror import Mirror
    from lisax.runtime.run_lock import alone_in

    with alone_in(args.out):
        args.mirror = Mirror(args.out)
        args.mirror.pull()
        args.out = args.mirror.folder
        yield
        args.mirror.push()
        print(args.mirror.place)


def _demo(args: argparse.Namespace) -> int:
    from lisax.papers.list5.run import List5

    recipe = "experiments/list5/demo.gin" if args.data is None else "experiments/list5/scratch.gin"
    gin_files, bindings = args.gin_file or [recipe], [f"Recipe.seed = {args.seed}", *args.gin_bindings]
    data = args.data
    if data is None:
        List5.read_recipe(gin_files, bindings)  # what is wrong with it is said before a world is written
        data = args.out / "world"
        _write_world(List5, data, args.pages, args.seed)
    return _list5(args, data, gin_files, bindings)


def _write_world(
    pipeline: type[Pipeline], folder: Path, pages: int, seed: int, more: Mapping[str, Any] | None = None
) -> None:
    """Unless the folder has that very world: newer files would make every stage run again. `more` is what `world.write`
    takes beside the pipeline's settings."""
    from lisax.world.writing import VERSION, write

    settings = {**pipeline.world_settings, **(more or {})}
    try:
        made = json.loads((folder / "world.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        made = None
    if (
        made is None
        or (made["version"], made["counts"]["pages"], made["seed"]) != (VERSION, pages, seed)
        or not settings.items() <= made.items()
    ):
        write(folder, pages, seed, **settings)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pipeline", choices=["list5", *RUN_PAGES], help="the paper")
    parser.add_argument(
        "--data",
        type=fetched,
        metavar="DIR",
        help="claims and corpus, in a layout that `lisax data check` knows (default, but for list5: a generated world)",
    )
    parser.add_argument(
        "--pages",
        type=int,
        help="size of the generated world (default: "
        f"{', '.join(f'{pages} for {name}' for name, pages in RUN_PAGES.items())})",
    )
    parser.add_argument(
        "--attacks",
        action="store_true",
        help="list5: verify attacked claims too, and report by attack (deseption always does)",
    )
    parser.add_argument(
        "--model",
        type=place,
        metavar="DIR",
        help="cltr: a trained model of rows and columns, a "
        "checkpoint or bundle, to answer with in place of training one, as in transfer from other data",
    )
    parser.add_argument("--column-model", type=place, metavar="DIR", help="cltr: with it, --model is of rows alone")
    parser.add_argument(
        "--aggregation-model",
        type=place,
        metavar="DIR",
        help="cltr: with --model, a trained head for operations (a count, a sum …), whose answers are written too",
    )
    parser.add_argument("--folds", type=int, metavar="K", help="cltr: cross-validation over questions of all splits")
    _add_run_flags(parser)


def run_main(args: argparse.Namespace) -> int:
    with _searching(args), _work_folder(args):
        return _pipeline(args)


def _pipeline(args: argparse.Namespace) -> int:
    if args.pipeline == "cltr":
        return _cltr(args)
    for flag in ("model", "column_model", "aggregation_model", "folds"):
        if getattr(args, flag) is not None:
            raise LisaxError(f"--{flag.replace('_', '-')} belongs to `lisax run cltr`")
    if args.attacks and args.pipeline not in ("list5", "deseption"):
        raise LisaxError("--attacks belongs to `lisax run list5`: attacks are of claims over text")
    if args.pipeline == "open-tables":
        from lisax.papers.open_tables.report import finish
        from lisax.papers.open_tables.run import OpenTables

        return _run_or_world(OpenTables, finish, args, "experiments/open_tables")
    if args.pipeline == "deseption":
        from lisax.papers.deseption.report import finish
        from lisax.papers.deseption.run import Deseption

        return _run_or_world(Deseption, finish, args, "experiments/deseption")
    if args.pipeline == "udt-qa":
        from lisax.papers.udt_qa.report import finish
        from lisax.papers.udt_qa.run import UdtQa

        return _run_or_world(UdtQa, finish, args, "experiments/udt_qa")
    if args.data is None:
        raise LisaxError(f"`lisax run {args.pipeline}` needs --data DIR; `lisax demo` makes a world of its own")
    bindings = [*(["Recipe.attacks = True"] if args.attacks else []), *args.gin_bindings]
    return _list5(args, args.data, args.gin_file or ["experiments/list5/scratch.gin"], bindings)


def _run_or_world(
    pipeline: type[Pipeline], finish: Callable[[Any], str], args: argparse.Namespace, recipes: str
) -> int:
    """A run over the given data by `scratch.gin` of the recipes, or over a generated world by `world.gin`."""
    gin_files = args.gin_file or [f"{recipes}/{'world' if args.data is None else 'scratch'}.gin"]
    data = args.data
    if data is None:
        pipeline.read_recipe(gin_files, args.gin_bindings)  # what is wrong with it is said before a world is written
        data = args.out / "world"
        _write_world(pipeline, data, args.pages or RUN_PAGES[args.pipeline], 0)
    return _run(pipeline, finish, args, data, gin_files, args.gin_bindings)


def _cltr(args: argparse.Namespace) -> int:
    from lisax.papers.cltr.report import finish
    from lisax.papers.cltr.run import Cltr

    data, recipe, bindings = args.data, "experiments/cltr/scratch.gin", list(args.gin_bindings)
    if data is None:
        recipe = "experiments/cltr/world.gin"
    if args.model is not None:
        recipe = "experiments/cltr/transfer.gin"
        named = {"parts": args.model}
        if args.column_model is not None:
            named = {"rows": args.model, "columns": args.column_model}
        if args.aggregation_model is not None:
            named["aggregation"] = args.aggregation_model
        bindings.append(
            f"CltrRecipe.models = { {name: str(path if is_remote(path) else path.resolve()) for name, path in named.items()} }"
        )
    elif args.column_model is not None:
        raise LisaxError("--column-model stands beside --model, which is then of rows")
    elif args.aggregation_model is not None:
        raise LisaxError("--aggregation-model stands beside --model, which finds the cells")
    gin_files = args.gin_file or [recipe]
    if data is None:
        data = args.out / "world"
        head = Cltr.read_recipe(gin_files, bindings).aggregates
        _write_world(Cltr, data, args.pages or RUN_PAGES["cltr"], 0, {"aggregations_per_table": 2} if head else {})
    if args.folds is None:
        return _run(Cltr, finish, args, data, gin_files, bindings)
    if args.until is not None:
        raise LisaxError("--until names a stage of one run: leave it out with --folds")
    from lisax.corpora import open_folder
    from lisax.papers.cltr.folds import cross_validate
    from lisax.runtime.run_lock import alone_in

    made, dataset = Cltr.read_recipe(gin_files, bindings), open_folder(data)
    with alone_in(args.out):
        print(cross_validate(dataset, args.out, made, args.folds))
    return 0


def _list5(args: argparse.Namespace, data: Path, gin_files: list[str], bindings: list[str]) -> int:
    from lisax.papers.list5.report import finish
    from lisax.papers.list5.run import List5

    return _run(List5, finish, args, data, gin_files, bindings)


def _run(
    pipeline: type[Pipeline],
    finish: Callable[[Any], str],
    args: argparse.Namespace,
    data: Path,
    gin_files: list[str],
    bindings: list[str],
) -> int:
    """Runs a pipeline's stages; `finish` writes its report and gives the tables for a terminal."""
    from lisax.corpora import open_folder
    from lisax.papers.stages import Stopped, say
    from lisax.runtime.run_lock import alone_in

    recipe = pipeline.read_recipe(gin_files, bindings)
    dataset = open_folder(data)
    if args.mirror is not None:
        args.mirror.push()  # a world: the run goes by the times of its data
    run = pipeline(dataset, args.out, recipe, until=args.until)
    with alone_in(args.out):
        if args.mirror is not None:
            run.stages.known_as, run.stages.after_each = str(args.mirror.place), args.mirror.push
        try:
            run.run()
        except Stopped as stage:
            say(f"stopped after {stage}, as asked")
            return 0
        print(finish(run))
    return 0


def _searching(args: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    from lisax.runtime.gin_files import searching

    return searching([path for path in args.gin_search_paths.split(",") if path])


def _add_inference_flags(parser: argparse.ArgumentParser, run_help: str) -> None:
    parser.add_argument(
        "--checkpoint",
        type=place,
        required=True,
        metavar="DIR",
        help="a MODEL_DIR, one of its checkpoints, or a bundle",
    )
    parser.add_argument("--claims", type=fetched, required=True, metavar="FILE", help="claims as JSON Lines")
    parser.add_argument("--run", type=fetched, required=True, metavar="FILE", help=run_help)
    parser.add_argument(
        "--index",
        type=fetched,
        required=True,
        metavar="DIR",
        help="index of the corpus, made by `lisax index documents`",
    )
    parser.add_argument("--out", type=place, required=True, metavar="FILE")


def add_rerank_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--depth", type=int, default=200, help="sentences ranked for a claim (default: 200)")
    _add_inference_flags(parser, "run of documents, or of sentences, to rank")


def rerank_main(args: argparse.Namespace) -> int:
    from lisax.formats.format import RELEVANCE
    from lisax.papers.stages import counting
    from lisax.predict.inference import rank_to_file
    from lisax.predict.text_model import TextModel
    from lisax.retrieval.entities import default_spotter
    from lisax.retrieval.runs import read_run
    from lisax.runtime.resumable import fingerprint

    model, claims, sentences = TextModel.open(args.checkpoint), _claims(args.claims), _sentences(args.index)
    if model.format.answer is not RELEVANCE:
        raise LisaxError(f"{args.checkpoint} labels ('{model.format}'); rerank needs a ranker")
    run = read_run(args.run)
    candidates = sentences.in_run(run)
    if not any(sentences.lookup(unit) for units in candidates.values() for unit in units):
        raise DataError(f"nothing in it has text in {args.index}", path=args.run)
    with counting(sum(min(len(units), args.depth) for units in candidates.values()), "sentences") as advance:
        rank_to_file(
            model,
            claims,
            candidates,
            sentences.lookup,
            args.out,
            depth=args.depth,
            spot=default_spotter(getattr(sentences.index, "titles", None)).spot,
            tag=str(model.format),
            progress=advance,
            made_from=json.dumps([args.depth, *map(fingerprint, (args.checkpoint, args.claims, args.run, args.index))]),
        )
    return 0


def add_verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help="of table fusion: claims whose sufficiency is at "
        "most T have not enough information (default: the one that `lisax run open-tables` chose on "
        "dev, where its data has such claims; --threshold=-inf decides all that has a table); by a "
        "threshold that was not chosen on dev the label has no probability",
    )
    parser.add_argument("--columns", type=int, default=3, help="columns kept of a table (default: 3)")
    parser.add_argument(
        "--aggregate",
        choices=["max", "sum", "first", "any"],
        default="max",
        help="how a pointwise model's labels of single sentences become one (default: max)",
    )
    parser.add_argument(
        "--temporal",
        action="store_true",
        help="let the dates of claim and evidence decide where they "
        "can; such predictions have the rule, words and dates in their field `temporal`",
    )
    _add_inference_flags(
        parser, "run of sentences, best first, as `lisax rerank` writes it; or of tables, as `lisax retrieve` does"
    )


def verify_main(args: argparse.Namespace) -> int:
    from lisax.corpora.fever import write_predictions
    from lisax.formats.format import OPERATION, POINTERS, RELEVANCE
    from lisax.formats.tables import TABLE_FUSION, TABLES
    from lisax.predict.inference import judge_dates, verify
    from lisax.predict.opening import open_model
    from lisax.retrieval.runs import read_run

    model, claims = open_model(args.checkpoint), _claims(args.claims)
    if model.format in (TABLES, TABLE_FUSION):
        if args.temporal:
            raise LisaxError("--temporal reads sentences: leave it out with a model of tables")
        return _verify_tables(args, model, claims)
    sentences = _sentences(args.index)
    if model.format.answer in (RELEVANCE, OPERATION):
        raise LisaxError(
            f"{args.checkpoint} {'ranks' if model.format.answer is RELEVANCE else 'chooses operations'} "
            f"('{model.format}'); verify needs a labeller"
        )
    if model.format.answer is POINTERS:
        from lisax.predict import pointer_inference

        verdicts = pointer_inference.verify(model, claims, sentences.in_run(read_run(args.run)), sentences.lookup)
    else:
        verdicts = verify(model, claims, read_run(args.run), sentences.lookup, aggregate=args.aggregate)
    by_id = {claim.id: claim for claim in claims}
    if args.temporal:
        verdicts = judge_dates(verdicts, by_id, sentences.lookup)
    write_predictions(args.out, verdicts, by_id, sentences.original_page)
    return 0


def _verify_tables(args: argparse.Namespace, model: FusionModel | TextModel, claims: list) -> int:
    from lisax.corpora.table_predictions import write_predictions
    from lisax.papers.stages import counting
    from lisax.predict.fusion_model import Decision
    from lisax.predict.table_inference import tell_dropped_rows, tell_open, verify
    from lisax.retrieval.cells import CellIndex
    from lisax.retrieval.linking import spans
    from lisax.retrieval.runs import read_run
    from lisax.retrieval.table_store import TableStore
    from lisax.sampling.examples import ranked_ids

    chosen = getattr(model, "decision", None)
    if args.threshold is not None:
        decision = Decision(args.threshold, True)
    else:
        decision = chosen if chosen and chosen.in_data else None
    tell_open(model, decision)
    store, index, run = TableStore.open(args.index), CellIndex.open(args.index), ranked_ids(read_run(args.run))
    if not any(store.get(table) for tables in run.values() for table in tables):
        raise DataError(f"none of its tables is in {args.index}", path=args.run)
    with counting(len(claims), "claims") as advance:
        verdicts = verify(
            model,
            claims,
            run,
            functools.cache(store.get),
            depth=model.tables,
            decision=decision,
            columns=lambda table, claim: index.columns(table, spans(claim), args.columns),
            progress=advance,
        )
        write_predictions(args.out, verdicts, {claim.id: claim for claim in claims})
    tell_dropped_rows(model, "the tables")
    return 0


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", type=place, required=True, metavar="DIR", help="a MODEL_DIR or a checkpoint")
    parser.add_argument("--out", type=place, required=True, metavar="DIR", help="a folder that does not exist yet")
    parser.add_argument(
        "--format",
        action="append",
        choices=["bundle", "stablehlo", "savedmodel"],
        metavar="FORMAT",
        help="bundle (default, always written), stablehlo (adds scorer.jax_export, for "
        "jax.export.deserialize) or savedmodel (adds saved_model/, for TensorFlow); repeatable",
    )


def export_main(args: argparse.Namespace) -> int:
    from lisax.runtime.bundle import export

    print(export(args.checkpoint, args.out, args.format or ["bundle"]))
    return 0


def _claims(path: Path) -> list:
    from lisax.corpora import read_claims

    return list(read_claims(path))


def _sentences(index: Path):
    from lisax.retrieval.folder import read_components
    from lisax.retrieval.passage_store import has_passages

    if has_passages(read_components(index)):
        from lisax.predict.mixed_evidence import MixedEvidence
        from lisax.retrieval.mixed import MixedIndex

        return MixedEvidence(MixedIndex.open(index))
    from lisax.predict.sentences import Sentences
    from lisax.retrieval.documents import DocumentIndex

    return Sentences(DocumentIndex.open(index))
