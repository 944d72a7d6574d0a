"""Where the tasks' files are: from gin (`lisax_locations.data = ...`) or else from the environment.

Both may be in a bucket, of which the files that are read are copied. `LISAX_DATA` is a folder with `examples/*.jsonl`
as `lisax run list5` writes them; `LISAX_VOCABULARY` is a SentencePiece model or a `tokenizer.json`, by default
`spiece.model` in that folder, or `tokenizer.json`. Nothing is looked for before a task is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import gin

from lisax.errors import LisaxError
from lisax.files.places import fetched, place

FileOf = Callable[[str], Path]  # split -> file


@gin.configurable("lisax_locations", module="tasks")
def given(data: str | None = None, vocabulary: str | None = None) -> tuple[str | None, str | None]:
    """(data folder, vocabulary file), None if neither gin nor the environment gives it."""
    return data or os.environ.get("LISAX_DATA"), vocabulary or os.environ.get("LISAX_VOCABULARY")


def data_folder() -> Path:
    data, _ = given()
    if not data:
        raise LisaxError(
            "the tasks' data folder is not set: set the environment variable LISAX_DATA, or "
            "`lisax_locations.data` in gin, to a folder that `lisax run list5` has written"
        )
    return place(data)


def vocabulary_path(*, either: bool = False) -> Path:
    """The vocabulary's file: the given one, or the data folder's `spiece.model`. With `either` it may be a
    `tokenizer.json`, which in the data folder goes before the other."""
    data, vocabulary = given()
    if not data and not vocabulary:
        raise LisaxError(
            "the tasks' vocabulary is not set: set LISAX_VOCABULARY (or `lisax_locations.vocabulary` "
            "in gin) to a SentencePiece model, or LISAX_DATA to a folder that holds spiece.model"
        )
    beside = ("tokenizer.json", "spiece.model") if either else ("spiece.model",)
    own = next((name for name in beside if data and (place(data) / name).is_file()), beside[-1])
    path = fetched(vocabulary or place(data) / own)
    if not path.is_file():
        raise LisaxError(
            f"there is no vocabulary at {path}; set LISAX_VOCABULARY (or "
            "`lisax_locations.vocabulary` in gin) to a SentencePiece model"
        )
    return path


def in_data_folder(pattern: str) -> FileOf:
    """The file of a split in the data folder; `pattern` holds `{split}`."""

    def file_of(split: str) -> Path:
        return fetched(data_folder() / pattern.format(split=split))

    return file_of


def examples(stem: str) -> FileOf:
    """The file of a split of example records in the data folder."""
    return in_data_folder(f"examples/{stem}.{{split}}.jsonl")


def existing(path: Path, task: str) -> Path:
    if not path.is_file():
        raise LisaxError(f"the task '{task}' reads {path}, which does not exist")
    return path
