"""A user's description of claims or questions, and the claims, pages and tables that it names; for
`lisax.tasks.register`."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from lisax.corpora import Dataset, files, open_folder, plain, read_claims
from lisax.corpora.reading import SkippingWatch, Watch
from lisax.documents.reading import SUFFIXES
from lisax.errors import DataError, LisaxError
from lisax.records import LABELS, Claim, Document, Label, Question, Table
from lisax.sampling.examples import LIST_LENGTH
from lisax.sampling.files import file_name
from lisax.weights.pretrained import is_named

from .locations import FileOf

BY_SPLIT = ("claims", "questions")  # a path, or {split: path}
PATHS = ("folder", "corpus", "tables", "vocabulary", "run", "reranked", "out")
COLUMNS = 3
EVIDENCE = ("sentences", "tables", "cells")
Files = str | os.PathLike | Mapping[str, str | os.PathLike]  # one, which is "train", or {split: file}


@dataclasses.dataclass(frozen=True)
class ClaimDataset:
    """A user's description of a dataset. Paths in a JSON file are relative to it.

    name: prefix of the tasks. folder: a dataset folder; or else claims ({split: file} or one file, which is
    "train"; any layout) and corpus (pages, plain layout) or tables (tables.jsonl or a folder of tables); or else
    questions (the same, plain layout) and tables. evidence: the kind that decides the claims of a folder, "sentences"
    or "tables", or "cells" for its questions over tables; None for sentences if it has pages. vocabulary: a
    SentencePiece model, "train" (one is trained on the corpus), "bytes" (for `lisax train`, `eval` and `infer` only: such
    a model is neither exported nor used), or None for the file that `lisax.tasks.locations` finds; or, for pair scorers
    on an encoder, its `tokenizer.json` or its name, "minilm" or another that `lisax models list` shows. run, reranked:
    TREC runs of sentence ids, before and after a ranker; if there is no run, the claims' own `candidates` are taken, or else BM25 over the corpus's sentences; without reranked
    the run takes its place. sentences: label_listwise_infused is of four lists of each claim, of one to that number of
    sentences, for a labeller that reads the first, the first two and so on (`Recipe.list_sentences`); None: a list of
    five for each evidence set. contrasts: examples of contrasts (`lisax.sampling.contrasts`) that the training files of
    labellers get besides. Over tables there is one run, of table ids, or without it entity-to-cell retrieval.
    columns: how many of a table's are kept, the ones that matter to the claim. preset: "paper", "released" or None for
    gin's; it words the inputs of T5 and of table fusion. labels: the meaning of other names of labels, {name:
    "SUPPORTS", "REFUTES" or "NOT ENOUGH INFO"}, None for claims that are left out. skip_bad: bad lines of the claims
    are named, skipped and counted. out: where the example files go, by default `{name}_tasks` next to the data.
    """

    name: str
    folder: str | os.PathLike | None = None
    claims: Files | None = None
    questions: Files | None = None
    corpus: str | os.PathLike | None = None
    tables: str | os.PathLike | None = None
    evidence: str | None = None
    vocabulary: str | os.PathLike | None = None
    run: str | os.PathLike | None = None
    reranked: str | os.PathLike | None = None
    sentences: int | None = None
    contrasts: int = 0
    columns: int = COLUMNS
    preset: str | None = None
    seed: int = 0
    labels: Mapping[str, str | None] | None = None
    skip_bad: bool = False
    out: str | os.PathLike | None = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise LisaxError(f"a dataset's name must be letters, digits and underscores, found {self.name!r}")
        given = [(field, getattr(self, field)) for field in PATHS]
        for field in BY_SPLIT:
            files = getattr(self, field)
            given += [(field, file) for file in (files.values() if isinstance(files, Mapping) else [files])]
        for field, value in given:
            if value is not None and not isinstance(value, (str, os.PathLike)):
                raise LisaxError(f"dataset '{self.name}': `{field}` must be a path, found {value!r:.80}")
        if type(self.columns) is not int or self.columns < 1:
            raise LisaxError(
                f"dataset '{self.name}': `columns` must be an integer from 1 on, found {self.columns!r:.80}"
            )
        if (
            self.tables is not None
            and not Path(self.tables).is_dir()
            and Path(self.tables).suffix in SUFFIXES - {".jsonl"}
        ):
            raise LisaxError(
                f"dataset '{self.name}': `tables` must be a tables.jsonl or a folder of tables, found {self.tables}: give "
                "its folder"
            )
        if type(self.seed) is not int:
            raise LisaxError(f"dataset '{self.name}': `seed` must be an integer, found {self.seed!r:.80}")
        if self.labels is not None and not (
            isinstance(self.labels, Mapping)
            and all(isinstance(name, str) and label in (None, *LABELS) for name, label in self.labels.items())
        ):
            raise LisaxError(
                f"dataset '{self.name}': `labels` maps each name of a label to one of "
                f"{', '.join(map(repr, map(str, LABELS)))}, or to None to leave its claims "
                f"out; found {self.labels!r:.200}"
            )
        named = tuple(field for field in ("folder", *BY_SPLIT, "corpus", "tables") if getattr(self, field) is not None)
        if named not in (("folder",), ("claims", "corpus"), ("claims", "tables"), ("questions", "tables")):
            raise LisaxError(
                f"dataset '{self.name}': give either `folder`, or `claims` and `corpus`, or `claims` "
                "and `tables`, or `questions` and `tables`"
            )
        if self.evidence not in (None, *EVIDENCE) or (self.folder is None and self.evidence is not None):
            raise LisaxError(
                f"dataset '{self.name}': `evidence` must be 'sentences', 'tables' or 'cells', and only with "
                f"`folder`, found {self.evidence!r:.80}"
            )
        if self.sentences is not None and (
            type(self.sentences) is not int or not 1 <= self.sentences <= LIST_LENGTH or self.kind != "sentences"
        ):
            raise LisaxError(
                f"dataset '{self.name}': `sentences` is an integer from 1 to {LIST_LENGTH}, for claims that sentences "
                f"decide; found {self.sentences!r:.80}"
            )
        if type(self.contrasts) is not int or self.contrasts < 0 or (self.contrasts and self.kind != "sentences"):
            raise LisaxError(
                f"dataset '{self.name}': `contrasts` is a number of examples, for claims that sentences decide; found "
                f"{self.contrasts!r:.80}"
            )
        if self.columns != COLUMNS and self.kind != "tables":
            raise LisaxError(f"dataset '{self.name}': `columns` is for claims that tables decide: leave it out")
        if self.reranked is not None and self.kind == "tables":
            raise LisaxError(f"dataset '{self.name}': `reranked` is for sentences; give the run of tables as `run`")
        if (self.run is not None or self.reranked is not None) and self.kind == "cells":
            raise LisaxError(
                f"dataset '{self.name}': rows and columns are those of the tables that answer; no run is read for them"
            )

    def watch(self) -> Watch:
        """The options for reading the claims with this dataset's names of labels."""
        labels = {name: None if label is None else Label(label) for name, label in (self.labels or {}).items()}
        return SkippingWatch(labels) if self.skip_bad else Watch(labels=labels)

    @functools.cached_property
    def kind(self) -> str:
        """The evidence of the claims or of the questions' answers: a member of `EVIDENCE`."""
        if self.folder is None:
            return "cells" if self.questions is not None else "sentences" if self.tables is None else "tables"
        if self.evidence is not None:
            return self.evidence
        dataset = self._opened
        if dataset.table_claim_splits:
            return "tables" if next(iter(dataset.documents(self.watch())), None) is None else "sentences"
        return "cells" if dataset.question_splits and not dataset.splits else "sentences"

    @functools.cached_property
    def _opened(self) -> Dataset:
        return open_folder(self.folder)

    @property
    def claim_files(self) -> dict[str, Path]:
        """Split -> the file of its claims or questions, or the folder."""
        if self.folder is not None:
            dataset = self._opened
            splits, what = {
                "sentences": (dataset.splits, "claims"),
                "tables": (dataset.table_claim_splits, "claims over tables"),
                "cells": (dataset.question_splits, "questions"),
            }[self.kind]
            if not splits:
                raise DataError(f"the folder has no {what}", path=self.folder)
            if self.kind == "sentences":
                return {split: dataset.claim_file(split) for split in splits}
            return dict.fromkeys(splits, Path(self.folder))
        files = self.questions if self.kind == "cells" else self.claims
        if not isinstance(files, Mapping):
            return {"train": Path(files)}
        return {split: Path(path) for split, path in files.items()}

    @property
    def out_folder(self) -> Path:
        if self.out is not None:
            return Path(self.out)
        beside = Path(self.folder) if self.folder is not None else Path(self.corpus or self.tables).parent
        return beside / f"{self.name}_tasks"

    def file_of(self, stem: str) -> FileOf:
        """Split -> a file of its examples."""
        return lambda split: self.out_folder / file_name(stem, split)

    def read_claims(self, split: str, watch: Watch) -> Iterator[Claim]:
        if self.folder is None:
            return read_claims(self.claim_files[split], watch)
        if self.kind == "tables":
            return self._opened.table_claims(split, watch)
        return self._opened.claims(split, watch)

    def read_questions(self, split: str, watch: Watch) -> Iterator[Question]:
        if self.folder is None:
            return plain.read_questions(self.claim_files[split], watch)
        return self._opened.questions(split, watch)

    def read_pages(self) -> Iterator[Document]:
        watch = self.watch()  # FoolMeTwice's pages are made of its claims
        yield from plain.read_pages(self.corpus, watch) if self.folder is None else self._opened.documents(watch)
        watch.tell()

    def read_tables(self) -> Iterator[Table]:
        if self.folder is not None:
            return self._opened.tables()
        path = Path(self.tables)
        return files.FileFolder(path).tables() if path.is_dir() else plain.read_tables(path)

    def fingerprint(self) -> str:
        """Changes when a file it reads or a setting that shapes the examples does."""
        named = [Path(path) for path in (self.folder, self.corpus, self.tables, self.run, self.reranked) if path]
        paths = [*self.claim_files.values(), *named]
        for folder in filter(Path.is_dir, named):
            paths += sorted(path for path in folder.rglob("*") if self.out_folder not in path.parents)
        stats = [
            (str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.is_file()
        ]
        vocabulary = (
            self.vocabulary if self.vocabulary is None or is_word(self.vocabulary) else Path(self.vocabulary).resolve()
        )
        labels = sorted((name, label and str(label)) for name, label in (self.labels or {}).items())
        drawn = [self.seed, self.columns, self.sentences, self.contrasts, self.skip_bad, labels]
        settings = [stats, [*self.claim_files], self.run is None, str(vocabulary), self.kind, drawn]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()


def is_word(vocabulary: object) -> bool:
    """Whether a dataset's `vocabulary` is not a path: a word for one, or the name of a model."""
    return isinstance(vocabulary, (str, os.PathLike)) and (
        str(vocabulary) in ("bytes", "train") or is_named(vocabulary)
    )


def checked_claims(dataset: ClaimDataset, split: str) -> list[Claim]:
    """The claims of a split; one that cannot be trained on is an error with its place."""
    watch, claims = dataset.watch(), []
    for claim in dataset.read_claims(split, watch):
        path, line = watch.where or (dataset.claim_files[split], None)
        if claim.label is None and split == "train":
            error = f"claim '{claim.id}' has no label and is in train"
            watch.problem(DataError(error, path=path, line=line, field="label"))
            continue
        if claim.label in (Label.SUPPORTS, Label.REFUTES) and not claim.evidence_sets:
            error = f"claim '{claim.id}' is {claim.label} but has no evidence"
            watch.problem(DataError(error, path=path, line=line, field="evidence"))
            continue
        claims.append(claim)
    watch.tell()
    return claims


def check_ids(dataset: ClaimDataset, claims: Mapping[str, list[Claim]]) -> None:
    """Retrieved evidence is known only by a claim's id: no two claims may share one."""
    seen: dict[str, tuple[str, str]] = {}
    for split, of_split in claims.items():
        for claim in of_split:
            before, text = seen.setdefault(claim.id, (split, claim.text))
            if text != claim.text:
                raise DataError(
                    f"claim '{claim.id}' is in {before} too, with another text; ids must be distinct",
                    path=dataset.claim_files[split],
                    field="id",
                )


def with_evidence(
    dataset: ClaimDataset, claims: Mapping[str, list[Claim]], missing: set[str], what: str
) -> dict[str, list[Claim]]:
    """The claims by split without those whose evidence is in `missing`. Each of these is an error with its line, which
    is found by reading again, or with `skip_bad` a bad line."""
    watch, kept = dataset.watch(), {}
    for split, of_split in claims.items():
        kept[split] = [claim for claim in of_split if missing.isdisjoint(claim.gold_ids)]
        if len(kept[split]) == len(of_split):
            continue
        again = Watch(keep_going=True, labels=watch.labels)
        for claim in dataset.read_claims(split, again):
            if unit := next((unit for unit in claim.gold_ids if unit in missing), None):
                path, line = again.where or (dataset.claim_files[split], None)
                error = f"'{unit}' of claim '{claim.id}' is not {what}"
                watch.problem(DataError(error, path=path, line=line, field="evidence"))
    watch.tell()
    return kept
