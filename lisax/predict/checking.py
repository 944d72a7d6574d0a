"""Checking from files and streams: what `lisax check` and `lisax ask` do with their arguments."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lisax.corpora import read_claims
from lisax.predict.building import build_index
from lisax.predict.checker import CLAIMS_AT_A_TIME, Checker
from lisax.predict.index import Index
from lisax.predict.opening import open_model
from lisax.predict.verifier import verifier_of
from lisax.progress import counting, say
from lisax.records import Claim, DataError, get_field, is_text, parse_json_object
from lisax.runtime.batching import windows
from lisax.runtime.resumable import fingerprint, resumable_groups

STDIN = Path("standard input")
SETTINGS = ("aggregate", "threshold", "temporal", "hops", "documents", "candidates", "evidence")
FILES = ("claims", "corpus", "index", "model", "ranker")  # what verdicts are made from


def open_index(corpus: Path | None, index: Path | None, kind: str | None = None) -> Index:
    """The index that was given, or that of a corpus, which is built in the cache where it is not there yet."""
    if index is not None:
        return Index.open(index)
    built = build_index(corpus, kind=kind)
    say(f"{'reused' if built.reused else 'built'} the index of {corpus} ({built.kind}): {built.folder}")
    return Index.open(built.folder)


def open_checker(corpus: Path | None, index: Path | None, *, model: Path, **options: Any) -> Checker:
    """A checker over a corpus or an index; a corpus is indexed as the model reads it."""
    opened = {name: options.pop(name) for name in ("aggregate", "threshold", "evidence")}
    verifier = verifier_of(open_model(model), model, **opened)
    found = open_index(corpus, index, "cells" if verifier.reads == "tables" else None)
    return Checker(found, verifier=verifier, **options)


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


def check_to_file(checker: Checker, claims: Path, out: Path, arguments: Mapping[str, Any]) -> None:
    """Writes the verdicts on a file's claims as JSON Lines; an interrupted call with the same `arguments` goes on at the
    first group that was not finished, which changes no result. Says how many claims have which label."""
    read, labels = list(read_claims(claims)), Counter()
    made_from = [
        [arguments[name] for name in SETTINGS],
        *(_print_of(arguments[name]) for name in FILES),
    ]
    with counting(len(read), "claims") as advance:

        def groups_after(done: int) -> Iterator[list[str]]:
            advance(min(done * CLAIMS_AT_A_TIME, len(read)))
            for group in itertools.islice(windows(read, CLAIMS_AT_A_TIME), done, None):
                yield [verdict.to_json() for verdict in checker.check_many(group)]
                advance(len(group))

        resumable_groups(out, groups_after, json.dumps(made_from, default=str))
    with out.open(encoding="utf-8") as file:
        labels.update(json.loads(line)["predicted_label"] for line in file)
    say(f"{out}: " + ", ".join(f"{count:,} {label}" for label, count in sorted(labels.items())))


def _print_of(path: Any) -> Any:
    """What tells whether a file or folder has changed; a word that names none (`bm25`) stands for itself."""
    return fingerprint(Path(path)) if path is not None and Path(path).exists() else path
