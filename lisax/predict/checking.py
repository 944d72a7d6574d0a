"""Checks claims and answers questions for the command line: a single one, a stream or a file."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax import shipped
from lisax.corpora import read_claims
from lisax.corpora.reading import Watch, skipping
from lisax.devices.batching import windows
from lisax.devices.workers import Workers, lines_to_file, mapped
from lisax.errors import DataError, LisaxError
from lisax.files.places import is_cluster
from lisax.files.reading import get_field, parse_json_object
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.tables import TABLE_FUSION, TABLES
from lisax.predict.building import build_index
from lisax.predict.checker import CLAIMS_AT_A_TIME, Checker, default_ranker, is_here, shipped_for, tier_of
from lisax.predict.index import Index
from lisax.predict.opening import find_model
from lisax.predict.ranker import Ranker
from lisax.predict.reader import Answer
from lisax.predict.verdicts import Verdict
from lisax.predict.verifier import Labeller, PromptVerifier, Verifier
from lisax.predict.wiki_index import WikiIndex
from lisax.progress import say
from lisax.records import Claim, is_text
from lisax.retrieval.cluster import print_of
from lisax.weights import pretrained
from lisax.weights.pretrained import sendable
from lisax.weights.public_models import Job, given_use

STDIN = Path("standard input")
SHIPPED_RANKER = "the shipped ranker: BM25, vectors of MiniLM and an adapter of it"
ONLY_LIGHT = (
    f"light; `lisax models get {shipped.ENCODERS[shipped.ACCURATE]}` fetches accurate, which is right more often"
)
BM25_ALONE = f"BM25; after `lisax models get {shipped.ENCODER}` by the shipped ranker"
FILES = ("corpus", "index", "model", "ranker")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options of a check: `corpus` or `index`, model folders, and the arguments of `Checker`."""

    corpus: Path | None
    index: Path | str | None  # a folder, or the address of a cluster's index
    model: Path | None = None  # None: the shipped one of the tier
    ranker: str | None = None
    aggregate: str | None = None
    threshold: float | None = None
    temporal: bool = True
    hops: int = 1
    documents: int | None = None
    candidates: int | None = None
    evidence: int | None = None
    min_confidence: float | None = None
    two_way: bool = False  # choose between SUPPORTS and REFUTES
    calibrate: bool = False  # give the model's own probabilities, and fit a temperature on them
    # The settings of published models that are not listed: see `public_models.given_use`.
    prompt: str | None = None
    label_words: tuple[str, ...] = ()
    ranker_prompt: str | None = None
    ranker_words: tuple[str, ...] = ()
    skip_bad: bool = False  # skip bad lines of files of claims
    tier: str | None = None  # of the shipped labeller, which no model replaces; None: see `checker.tier_of`
    strict: bool = False  # a file of the corpus that cannot be read is an error
    wiki: str | None = None  # instead of an index, the URL of a live MediaWiki's api.php

    def __post_init__(self):
        # Workers and a call that resumes must not choose again: they may have other encoders.
        if self.model is None:
            object.__setattr__(self, "tier", tier_of(self.tier))

    def open(self, by_encoder: bool | None = None) -> Checker:
        """Opens the checker. `by_encoder`: whether the shipped ranker orders sentences for a named labeller; None: if its
        encoder is in the cache. A corpus is indexed in the kind that the model reads."""
        model, ranker, index, tables = self.model, self.ranker, None, None
        if model is None:
            index = self._open_index()
            model, ranker, tables = shipped_for(index, ranker, self.tier)
            only_light = self.tier == shipped.LIGHT and not is_here(shipped.ACCURATE)
            say(f"verdicts by the shipped labeller {ONLY_LIGHT if only_light else self.tier}")
        verifier = self.open_verifier(model)
        if index is None:
            kind = "cells" if verifier.reads == "tables" else None
            index = self._open_index(kind)
            if ranker is None and isinstance(verifier, (Labeller, PromptVerifier)):
                ranker = default_ranker(by_encoder)
                say(f"evidence is ordered by {BM25_ALONE if ranker == 'bm25' else SHIPPED_RANKER}")
        use = given_use(self.ranker_prompt, self.ranker_words, ranks=True)
        if use is not None and ranker is None:
            raise LisaxError("a prompt of a ranker was given and no ranker: name it with --ranker")
        return Checker(
            index,
            ranker if ranker is None else Ranker.open(ranker, use),
            verifier,
            tables=tables,
            temporal=self.temporal,
            hops=self.hops,
            documents=self.documents,
            candidates=self.candidates,
            min_confidence=self.min_confidence,
            two_way=self.two_way,
        )

    def _open_index(self, kind: str | None = None) -> Index:
        if self.wiki is not None:
            return WikiIndex.open(self.wiki)
        return open_index(self.corpus, self.index, kind, strict=self.strict)

    def open_verifier(self, model: str | os.PathLike) -> Verifier:
        """Opens the verifier, of a `model` that may be the shipped one."""
        verifier = Verifier.open(
            model,
            aggregate=self.aggregate,
            threshold=self.threshold,
            evidence=self.evidence,
            use=given_use(self.prompt, self.label_words, ranks=False),
        )
        if self.calibrate:
            from lisax.predict import calibrating

            calibrating.uncalibrated(verifier)
        return verifier

    def for_workers(self) -> Settings:
        """The settings for another machine: the index of the corpus, built here, in its place."""
        index = self.index
        if self.corpus is not None:
            kind = "cells" if self.model is not None and _reads_tables(self.model) else None
            index = open_index(self.corpus, None, kind, strict=self.strict).folder
        return dataclasses.replace(
            self, corpus=None, index=index, model=sendable(self.model), ranker=sendable(self.ranker)
        )

    def digest(self, claims: Path) -> str:
        """A digest of everything that determines the verdicts on a file of claims."""
        values = dataclasses.asdict(self) | {"ranks_by_encoder": pretrained.find(shipped.ENCODER).is_there}
        prints = [_print_of(path) for path in (claims, *(values.pop(name) for name in FILES))]
        return json.dumps([values, prints])


def open_index(
    corpus: Path | None,
    index: Path | str | None,
    kind: str | None = None,
    vectors: str | None = None,
    *,
    strict: bool = False,
) -> Index:
    """Opens the given index, or the index of a corpus, building it in the cache where necessary."""
    if index is not None:
        return Index.open(index)
    built = build_index(corpus, kind=kind, vectors=vectors, strict=strict)
    say(f"{'reused' if built.reused else 'built'} the index of {corpus} ({built.kind}): {built.folder}")
    return Index.open(built.folder)


def check_one(settings: Settings, claim: str) -> Verdict:
    claim = " ".join(claim.split())
    if not claim:
        raise LisaxError("the claim is empty")
    return settings.open().check(claim)


def check_stream(settings: Settings, claims: Path | None, workers: Workers | None = None) -> Iterator[str]:
    """Yields verdicts as JSON lines, in order and as they finish. Claims come from a file, or from standard input
    (None)."""
    groups = windows(_claims(settings, claims), CLAIMS_AT_A_TIME)
    yield from itertools.chain.from_iterable(mapped(_opens(settings, workers), groups, workers))


def _opens(settings: Settings, workers: Workers | None) -> Callable[[], Callable[[Sequence[Claim]], list[str]]]:
    """A function that opens the checker and returns the work on a group of claims: their verdicts as JSON lines."""
    by_encoder = pretrained.find(shipped.ENCODER).is_there
    return functools.partial(_opened, settings if workers is None else settings.for_workers(), by_encoder)


def _opened(settings: Settings, by_encoder: bool) -> Callable[[Sequence[Claim]], list[str]]:
    checker = settings.open(by_encoder)
    return lambda claims: [verdict.to_json() for verdict in checker.check_many(claims)]


def _claims(settings: Settings, claims: Path | None) -> Iterator[Claim]:
    if claims is None:
        return skipping(functools.partial(read_stream, sys.stdin), settings.skip_bad)
    return read_claims(claims, skip_bad=settings.skip_bad)


def check_file(settings: Settings, claims: Path, out: Path, workers: Workers | None = None) -> None:
    """Writes the verdicts on a file's claims as JSON Lines and logs how many claims have each label.

    An interrupted call with the same settings resumes at the first unfinished batch of claims; the result is the same.
    """
    asked = list(_claims(settings, claims))
    if settings.calibrate:
        from lisax.predict import calibrating

        calibrating.check_calibratable(settings.model, asked, claims)
    opens, labels, made_from = _opens(settings, workers), Counter(), settings.digest(claims)
    lines_to_file(out, opens, asked, CLAIMS_AT_A_TIME, made_from=made_from, workers=workers)
    with out.open(encoding="utf-8") as file:
        labels.update(json.loads(line)["predicted_label"] for line in file)
    if settings.calibrate:
        from lisax.predict import calibrating

        calibrating.calibrate_file(settings.model, settings.open_verifier(settings.model), asked, out)
    say(f"{out}: " + ", ".join(f"{count:,} {label}" for label, count in sorted(labels.items())))


def _reads_tables(model: str | os.PathLike) -> bool:
    """Whether a verifier reads tables, as `Verifier.reads` has it, which is not loaded."""
    found = find_model(model)
    return found.format in (TABLES, TABLE_FUSION) or (found.family is not None and found.family.job is Job.TABLES)


def ask(
    question: str,
    corpus: Path | None,
    index: Path | None,
    model: Path | None,
    *,
    retriever: Path | None = None,
    columns: Path | None = None,
    aggregation: Path | None = None,
    answers: int = 5,
    min_confidence: float | None = None,
) -> list[Answer]:
    """Answers one question, and logs the numbers of pages and tables searched. A corpus is indexed in the kind that the model reads; the shipped
    models (None) read its text and its tables, and search both by vectors too."""
    from lisax.predict.answerer import Answerer

    question = " ".join(question.split())
    if not question:
        raise LisaxError("the question is empty")
    if model is None:
        opened = open_index(corpus, index, None, shipped.ENCODER)
    else:
        opened = open_index(corpus, index, "tables" if find_model(model).format is TABLE_PARTS else "mixed")
    answerer = Answerer.open(
        opened,
        model,
        retriever=retriever,
        columns=columns,
        aggregation=aggregation,
        min_confidence=min_confidence,
    )
    found = answerer.ask(question, answers)
    say(f"searched {in_words(answerer.searched)}")
    return found


def in_words(searched: Mapping[str, int]) -> str:
    """The numbers of pages and tables that were searched, for readers: `29 pages and 12 tables`."""
    counts = (f"{number:,} {what if number != 1 else what.removesuffix('s')}" for what, number in searched.items())
    return " and ".join(counts) or "nothing"


def read_stream(lines: Iterable[str], watch: Watch | None = None) -> Iterator[Claim]:
    """Yields claims from JSON lines as they arrive: `{"claim": text}`, with an optional `id` (default: the line's
    number). An id that occurs twice is an error, as in a file: verdicts are known by their ids."""
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where: dict[str, Any] = {"path": STDIN, "line": number}
        try:
            claim = _claim_of(line, where)
            if (first := seen.setdefault(claim.id, number)) != number:
                raise DataError(f"duplicate id {claim.id!r}, first on line {first}", field="id", **where)
        except DataError as error:
            (watch or Watch()).problem(error)
            continue
        yield claim


def _claim_of(line: str, where: dict[str, Any]) -> Claim:
    if not is_text(line):
        raise DataError("the line is not UTF-8", **where)
    row = parse_json_object(line, **where)
    text = " ".join(get_field(row, "claim", str, **where).split())
    if not text:
        raise DataError("the text is empty", field="claim", **where)
    original = get_field(row, "id", (str, int), default=where["line"], **where)
    return Claim(str(original), text, original_id=original)


def _print_of(path: Any) -> Any:
    """A fingerprint that changes with the file, folder or index of a cluster. A word that is not a path (`bm25`) is its own fingerprint."""
    if path is None or not (is_cluster(path) or Path(path).exists()):
        return path and str(path)
    return print_of(path)
