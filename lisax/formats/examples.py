"""The record of the formats over sentences, `Example`, and the files that example records of every format are in."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, Self, TypeVar

from lisax.errors import DataError
from lisax.files.reading import get_field, read_json_lines
from lisax.files.writing import write_json_lines
from lisax.records import LABELS, Label

Kind = TypeVar("Kind", bound=enum.StrEnum)


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """A sentence with its page's title, as a format needs them."""

    id: str
    title: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """One input of a model. `label` is a verdict, or a bool (relevant?), or None when unknown. `taught` are a teacher's
    probabilities of the verdicts, in the order of LABELS, or none."""

    claim_id: str
    claim: str
    sentences: tuple[Passage, ...] = ()
    entities: tuple[str, ...] = ()
    label: Label | bool | None = None
    taught: tuple[float, ...] = ()

    @property
    def unit_ids(self) -> list[str]:
        return [sentence.id for sentence in self.sentences]

    def row(self) -> dict:
        """The JSON object of the example."""
        sentences = [{"id": s.id, "title": s.title, "text": s.text} for s in self.sentences]
        return {
            "claim_id": self.claim_id,
            "claim": self.claim,
            "sentences": sentences,
            "entities": list(self.entities),
            "label": self.label,
            **({"taught": list(self.taught)} if self.taught else {}),
        }

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> Example:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        sentences = []
        for sentence in get_field(row, "sentences", list, default=[], **where):
            if not isinstance(sentence, dict):
                raise DataError(f"expected objects, found {json.dumps(sentence)[:80]}", field="sentences", **where)
            parts = (get_field(sentence, name, str, **where) for name in ("id", "title", "text"))
            sentences.append(Passage(*parts))
        entities = get_field(row, "entities", list, default=[], **where)
        if not all(isinstance(entity, str) for entity in entities):
            raise DataError("expected a list of strings", field="entities", **where)
        label = row.get("label")
        if label is not None and not isinstance(label, bool):
            if label not in list(LABELS):
                raise DataError(
                    f"expected true, false, null or one of {', '.join(LABELS)}, found {json.dumps(label)}",
                    field="label",
                    **where,
                )
            label = Label(label)
        return cls(
            get_field(row, "claim_id", str, **where),
            get_field(row, "claim", str, **where),
            tuple(sentences),
            tuple(entities),
            label,
            shares_taught(row, **where),
        )


def label_of(row: dict, kind: type[Kind], **where: Any) -> Kind | None:
    """The label in the JSON object of an example, one of an enumeration; None if it is not known."""
    label = row.get("label")
    if label is not None and label not in list(kind):
        raise DataError(
            f"expected null or one of {', '.join(kind)}, found {json.dumps(label)[:80]}", field="label", **where
        )
    return None if label is None else kind(label)


def shares_taught(row: dict, **where: Any) -> tuple[float, ...]:
    """A teacher's probabilities of the verdicts in the JSON object of an example; empty if it has none."""
    taught = get_field(row, "taught", list, default=[], **where)
    if taught and not (
        len(taught) == len(LABELS) and all(isinstance(share, (int, float)) and 0 <= share <= 1 for share in taught)
    ):
        raise DataError(
            f"expected {len(LABELS)} probabilities, found {json.dumps(taught)[:80]}", field="taught", **where
        )
    return tuple(map(float, taught))


class Record(Protocol):
    """The methods of every example record, which is a line of JSON in a file."""

    def row(self) -> dict: ...

    @classmethod
    def from_row(cls, row: dict, *, path: Any = None, line: int | None = None) -> Self: ...


AnyRecord = TypeVar("AnyRecord", bound=Record)


def write_examples(path: str | os.PathLike, examples: Iterable[Record]) -> int:
    """Writes examples as JSON Lines, atomically; returns their number."""
    return write_json_lines(path, (example.row() for example in examples))


def read_examples(path: str | os.PathLike, record: type[AnyRecord] = Example) -> Iterator[AnyRecord]:
    """The examples of a file; DataError names the line and the field at fault."""
    return (record.from_row(row, path=path, line=line) for line, row in read_json_lines(path))
