"""Prepare tasks and examples as Apache Beam pipelines.

lisax cache tasks list5_rank --data OUT --out CACHE
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from lisax.cli.verbs import Argument, Count, Local, Option, SkipBad, Target
from lisax.errors import LisaxError

Index = Annotated[Local, Option("An index of `lisax index documents`.", "INDEX")]
Runner = Annotated[
    str, Option("Beam runner: dask, dataflow, flink, spark, or a class; FnApiRunner runs in this process.", "RUNNER")
]
PipelineOptions = Annotated[str, Option("Further Beam options.", "--A=B,--C=D")]

DASK = "apache_beam.runners.dask.dask_runner.DaskRunner"  # which Beam knows by no shorter name


def tasks(
    names: Annotated[tuple[str, ...], Argument("Tasks or mixtures.", "NAME...")],
    *,
    module: Annotated[str, Option("The module that registers the tasks.", "MODULE")] = "tasks",
    data: Annotated[Local | None, Option("The tasks' data folder.", "DIR", "LISAX_DATA")] = None,
    out: Annotated[Local, Option("The cache folder.", "DIR")],
    min_shards: Annotated[
        Count, Option("Minimum number of files per split; at least the number of training hosts.")
    ] = 64,
    overwrite: Annotated[bool, Option("Overwrite the folder's caches.")] = False,
    runner: Runner = "FnApiRunner",
    pipeline_options: PipelineOptions = "",
) -> None:
    """Cache seqio tasks; train with --seqio_additional_cache_dirs=OUT --gin.USE_CACHED_TASKS=True.

    lisax cache tasks list5_rank --data OUT --out CACHE
    """
    options = _beam_options(runner, pipeline_options)
    if data is not None:
        os.environ["LISAX_DATA"] = str(data.resolve())
    from lisax.training.caching import cache_tasks

    with _running(runner):
        folders = cache_tasks(
            list(names), module, out.absolute(), min_shards=min_shards, overwrite=overwrite, options=options
        )
    for name, folder in folders.items():
        print(f"{name}: {folder}")


def candidates(
    *,
    run: Annotated[Local, Option("A run of documents.", "RUN")],
    index: Index,
    limit: Annotated[Count, Option("Maximum number of sentences per claim.")] = 200,
    out: Annotated[Target, Option("The run to write.", "RUN")],
    runner: Runner = "FnApiRunner",
    pipeline_options: PipelineOptions = "",
) -> None:
    """Write the first sentences of retrieved documents as a run.

    lisax cache candidates --run documents.trec --index INDEX --out candidates.trec
    """
    options = _beam_options(runner, pipeline_options)
    _must_exist(run, index)
    from lisax.papers.list5.beam_examples import expand_candidates

    with _running(runner):
        expand_candidates(run.absolute(), index.absolute(), out.absolute(), limit=limit, options=options)
    print(out)


def examples(
    *,
    data: Annotated[Local, Option("The dataset with the claims.", "DIR")],
    skip_bad: SkipBad = False,
    split: Annotated[
        str,
        Option("train writes training examples; other splits write examples as the model meets them in use.", "SPLIT"),
    ],
    candidates: Annotated[Local, Option("A run of sentences.", "RUN")],
    reranked: Annotated[Local | None, Option("The ranker's run.", "RUN", "the candidates")] = None,
    index: Index,
    variant: Annotated[
        tuple[Literal["rank", "label_pointwise", "label_listwise", "label_listwise_infused", "claim_only"], ...],
        Option("Kind of examples.", default="all"),
    ] = (),
    seed: Annotated[int, Option("Seed of the sampling.")] = 0,
    out: Annotated[Local, Option("The folder of example files.", "DIR")],
    runner: Runner = "FnApiRunner",
    pipeline_options: PipelineOptions = "",
) -> None:
    """Write the example files of the ranker and the labellers.

    lisax cache examples --data DIR --split train --candidates candidates.trec --index INDEX --out OUT/examples
    """
    options = _beam_options(runner, pipeline_options)
    _must_exist(candidates, index, *([reranked] if reranked else []))
    from lisax.corpora import open_folder
    from lisax.papers.list5.beam_examples import build_examples
    from lisax.sampling.examples import told
    from lisax.sampling.files import VARIANTS

    claims = list(open_folder(data, skip_bad=skip_bad).claims(split))
    with _running(runner):
        skipped = build_examples(
            claims,
            candidates.absolute(),
            reranked and reranked.absolute(),
            index.absolute(),
            out.absolute(),
            split,
            variants=variant or VARIANTS,
            seed=seed,
            training=split == "train",
            options=options,
        )
    for line in told(dict(sorted(skipped.items()))):
        print(line)
    print(out)


def _beam_options(runner: str, more: str) -> list[str]:
    if importlib.util.find_spec("apache_beam") is None:
        raise LisaxError(
            "`lisax cache` needs Apache Beam, which is not installed: run `make beam`, or "
            "`pip install --no-deps -r requirements-beam.txt`"
        )
    from apache_beam.runners.runner import create_runner

    name = DASK if runner.lower() in ("dask", "daskrunner") else runner
    try:
        create_runner(name)
    except (ValueError, ImportError, AttributeError) as error:
        raise LisaxError(f"the Beam runner '{runner}' cannot be used: {error}") from None
    return [f"--runner={name}", *(option for option in more.split(",") if option)]


@contextlib.contextmanager
def _running(runner: str) -> Iterator[None]:
    """An error of the runner becomes a LisaxError with its name."""
    try:
        yield
    except (LisaxError, ModuleNotFoundError):
        raise
    except Exception as error:  # of the runner, of its cluster, or of a function on a worker
        message = (str(error).strip() or "no message").splitlines()[-1]
        raise LisaxError(f"the Beam runner '{runner}' stopped: {type(error).__name__}: {message}") from error


def _must_exist(*paths: Path) -> None:
    for path in paths:
        if not path.exists():
            raise LisaxError(f"there is no {path}")


VERBS = (tasks, candidates, examples)
