"""Checking claims and asking questions from the command line: one, a stream of them, or a file."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lisax.corpora import read_claims
from lisax.formats.parts import TABLE_PARTS
from lisax.predict.answerer import Answerer
from lisax.predict.building import build_index
from lisax.predict.checker import CLAIMS_AT_A_TIME, Checker
from lisax.predict.index import Index
from lisax.predict.opening import format_of, open_model
from lisax.predict.reader import Answer
from lisax.predict.verdicts import Verdict
from lisax.predict.verifier import verifier_of
from lisax.progress import counting, say
from lisax.records import Claim, DataError, LisaxError, get_field, is_text, parse_json_object
from lisax.runtime.batching import windows
from lisax.runtime.resumable import fingerprint, resumable_groups

STDIN = Path("standard input")
FILES = ("corpus", "index", "model", "ranker")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What claims are checked with: `corpus` or `index`, models by their folders, and `Checker`'s arguments."""

    corpus: Path | None
    index: Path | None
    model: Path
    ranker: str | None = None
    aggregate: str = "any"
    threshold: float | None = None
    temporal: bool = False
    hops: int = 1
    documents: int = 20
    candidates: int = 100
    evidence: int | None = None

    def open(self) -> Checker:
        """A corpus is indexed as the model reads it."""
        verifier = verifier_of(
            open_model(self.model),
            self.model,
            aggregate=self.aggregate,
            threshold=self.threshold,
            evidence=self.evidence,
        )
        return Checker(
            open_index(self.corpus, self.index, "cells" if verifier.reads == "tables" else None),
            self.ranker,
            verifier,
            temporal=self.temporal,
            hops=self.hops,
            documents=self.documents,
            candidates=self.candidates,
        )

    def digest(self, claims: Path) -> str:
        """What the verdicts on a file's claims are made from."""
        values = dataclasses.asdict(self)
        prints = [_print_of(path) for path in (claims, *(values.pop(name) for name in FILES))]
        return json.dumps([values, prints])


def open_index(corpus: Path | None, index: Path | None, kind: str | None = None) -> Index:
    """The index that was given, or that of a corpus, which is built in the cache where it is not there yet."""
    if index is not None:
        return Index.open(index)
    built = build_index(corpus, kind=kind)
    say(f"{'reused' if built.reused else 'built'} the index of {corpus} ({built.kind}): {built.folder}")
    return Index.open(built.folder)


def check_one(settings: Settings, claim: str) -> Verdict:
    claim = " ".join(claim.split())
    if not claim:
        raise LisaxError("the claim is empty")
    return settings.open().check(claim)


def check_stream(settings: Settings, claims: Path | None) -> Iterator[str]:
    """The verdicts on a file's claims, or those of standard input, as lines of JSON, in order and as they finish."""
    checker = settings.open()
    for verdict in checker.check_many(read_stream(sys.stdin) if claims is None else read_claims(claims)):
        yield verdict.to_json()


def check_file(settings: Settings, claims: Path, out: Path) -> None:
    """Writes the verdicts on a file's claims as JSON Lines and says how many have which label.

    An interrupted call with the same settings goes on at the first group of claims that was not finished, which changes
    no result."""
    checker, asked, labels = settings.open(), list(read_claims(claims)), Counter()
    with counting(len(asked), "claims") as advance:

        def groups_after(done: int) -> Iterator[list[str]]:
            advance(min(done * CLAIMS_AT_A_TIME, len(asked)))
            for group in itertools.islice(windows(asked, CLAIMS_AT_A_TIME), done, None):
                yield [verdict.to_json() for verdict in checker.check_many(group)]
                advance(len(group))

        resumable_groups(out, groups_after, settings.digest(claims))
    with out.open(encoding="utf-8") as file:
        labels.update(json.loads(line)["predicted_label"] for line in file)
    say(f"{out}: " + ", ".join(f"{count:,} {label}" for label, count in sorted(labels.items())))


def ask(
    question: str,
    corpus: Path | None,
    index: Path | None,
    model: Path,
    *,
    retriever: Path | None = None,
    columns: Path | None = None,
    aggregation: Path | None = None,
    answers: int = 5,
) -> list[Answer]:
    """The answers to one question; a corpus is indexed as the model reads it."""
    question = " ".join(question.split())
    if not question:
        raise LisaxError("the question is empty")
    kind = "tables" if format_of(model) is TABLE_PARTS else "mixed"
    opened = open_index(corpus, index, kind)
    answerer = Answerer.open(opened, model, retriever=retriever, columns=columns, aggregation=aggregation)
    return answerer.ask(question, answers)


def read_stream(lines: Iterable[str]) -> Iterator[Claim]:
    """Claims of JSON lines, as they come: `{"claim": text}`, and `id` where there is one; else it is the line's number."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = {"path": STDIN, "line": number}
        if not is_text(line):
            raise DataError("the line is not UTF-8", **where)
        row = parse_json_object(line, **where)
        text = " ".join(get_field(row, "claim", str, **where).split())
        if not text:
            raise DataError("the text is empty", field="claim", **where)
        original = get_field(row, "id", (str, int), default=number, **where)
        yield Claim(str(original), text, original_id=original)


def _print_of(path: Any) -> Any:
    """What tells whether a file or folder has changed; a word that names none (`bm25`) stands for itself."""
    return path if path is None or not Path(path).exists() else fingerprint(Path(path))
