"""Builds candidates and examples as Apache Beam pipelines, for corpora and machines beyond one process.

Claims are processed independently, by the functions that `lisax run` uses; their numbers keep their order. Workers
write parts of CLAIMS_PER_PART claims next to the result, and the caller joins them. The files are byte-identical to
those of the in-process path, whatever the runner and its number of workers. All workers must see the same files.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from lisax.files.writing import atomic_write
from lisax.predict.page_index import PageIndex
from lisax.records import Claim, Hit
from lisax.retrieval.cluster import open_documents
from lisax.retrieval.runs import read_run, run_line
from lisax.sampling import examples, files

CLAIMS_PER_PART = 1000
SKIPPED = "skipped"  # the name of parts with the counts of skipped examples: not every runner has metrics

Numbered = tuple[str, tuple[int, str]]  # (file name, (number of the claim, its lines))


def expand_candidates(
    run: str | os.PathLike, index: str | os.PathLike, out: str | os.PathLike, *, limit: int, options: Sequence[str]
) -> None:
    """Writes the first `limit` sentences of each query's documents in `run` as a run, as LisT5's run does."""
    out = Path(out)

    def work(pipeline: beam.Pipeline) -> beam.PCollection:
        return (
            pipeline
            | "run" >> beam.Create([str(run)])
            | beam.FlatMap(_numbered_queries)
            | beam.Reshuffle()
            | beam.ParDo(Candidates(str(index), limit, out.name))
        )

    _write_files(work, out.parent, [out.name], options)


def build_examples(
    claims: Sequence[Claim],
    candidates: str | os.PathLike,
    reranked: str | os.PathLike | None,
    index: str | os.PathLike,
    out: str | os.PathLike,
    split: str,
    *,
    variants: Sequence[str],
    seed: int,
    training: bool,
    options: Sequence[str],
) -> Counter:
    """Writes `{variant}.{split}.jsonl` in `out`, as `sampling.files.write_all` does; returns counts of skipped
    examples.

    `candidates` and `reranked` are run files of sentences; without `reranked` there is no ranker yet."""

    def work(pipeline: beam.Pipeline) -> beam.PCollection:
        numbered = pipeline | "claims" >> beam.Create([(claim.id, (i, claim)) for i, claim in enumerate(claims)])
        ranked = {
            name: pipeline | name >> beam.Create([str(path)]) | f"read {name}" >> beam.FlatMap(_ranked)
            for name, path in (("candidates", candidates), ("reranked", reranked))
            if path
        }
        return (
            {"claim": numbered, **ranked}
            | beam.CoGroupByKey()
            | beam.ParDo(Examples(str(index), list(variants), split, seed, training, examples.set_sizes(claims)))
        )

    return _write_files(work, Path(out), [files.file_name(variant, split) for variant in variants], options)


class WithSentences(beam.DoFn):
    """Opens the index once per worker."""

    def __init__(self, index: str):
        self.index = index

    def setup(self) -> None:
        self.sentences = PageIndex(open_documents(Path(self.index)))


class Candidates(WithSentences):
    """(number, query, its documents) -> lines of the run of sentences."""

    def __init__(self, index: str, limit: int, name: str):
        super().__init__(index)
        self.limit, self.name = limit, name

    def process(self, element: tuple[int, str, list[Hit]]) -> Iterator[Numbered]:
        number, query, documents = element
        hits = self.sentences.candidates(query, documents, self.limit)
        yield self.name, (number, "".join(run_line(hit, "candidates") for hit in hits))


class Examples(WithSentences):
    """(claim id, {"claim": [(number, claim)], "candidates": [ids], "reranked": [ids]}) -> lines of each variant."""

    def __init__(self, index: str, variants: list[str], split: str, seed: int, training: bool, sizes: list[int]):
        super().__init__(index)
        self.variants, self.split, self.seed, self.training, self.sizes = variants, split, seed, training, sizes

    def process(self, element: tuple[str, dict]) -> Iterator[Numbered]:
        claim_id, grouped = element
        candidates = {claim_id: ids for ids in grouped["candidates"]}  # noqa: B035, at most one
        reranked = {claim_id: ids for ids in grouped["reranked"]} if "reranked" in grouped else candidates  # noqa: B035
        for number, claim in grouped["claim"]:  # none for a query outside this split
            for variant in self.variants:
                skipped: Counter = Counter()
                made = files.build(
                    variant,
                    [claim],
                    candidates,
                    reranked,
                    self.sentences.lookup,
                    draws=examples.Draws(self.seed, sizes=self.sizes),
                    training=self.training,
                    skipped=skipped,
                )
                text = "".join(json.dumps(example.row(), ensure_ascii=False) + "\n" for example in made)
                if skipped:
                    yield SKIPPED, (number, json.dumps(skipped) + "\n")
                yield files.file_name(variant, self.split), (number, text)


def _numbered_queries(path: str) -> Iterator[tuple[int, str, list[Hit]]]:
    return ((number, query, hits) for number, (query, hits) in enumerate(read_run(path).items()))


def _ranked(path: str) -> Iterable[tuple[str, list[str]]]:
    return examples.ranked_ids(read_run(path)).items()


def _write_files(
    work: Callable[[beam.Pipeline], beam.PCollection], folder: Path, names: Sequence[str], options: Sequence[str]
) -> Counter:
    """Runs `work` and writes the named files from its output; returns the counts of skipped examples."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = Path(tempfile.mkdtemp(prefix=".beam-", dir=folder))
    try:
        pipeline = beam.Pipeline(options=PipelineOptions(list(options)))
        _ = (
            work(pipeline)
            | "part" >> beam.Map(lambda named: ((named[0], named[1][0] // CLAIMS_PER_PART), named[1]))
            | beam.GroupByKey()
            | beam.Map(_write_part, str(parts))
        )
        pipeline.run().wait_until_finish()
        for name in names:
            with atomic_write(folder / name) as file:
                for part in sorted(parts.glob(f"{name}-*")):
                    with part.open(encoding="utf-8", newline="\n") as lines:
                        shutil.copyfileobj(lines, file)
        counts = (line for part in parts.glob(f"{SKIPPED}-*") for line in part.read_text(encoding="utf-8").splitlines())
        return sum((Counter(json.loads(line)) for line in counts), Counter())
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def _write_part(part: tuple[tuple[str, int], Iterable[tuple[int, str]]], folder: str) -> None:
    (name, number), texts = part
    # Written atomically: when a runner retries a bundle, it writes the same file.
    with atomic_write(Path(folder) / f"{name}-{number:08}") as file:
        file.writelines(text for _, text in sorted(texts))
