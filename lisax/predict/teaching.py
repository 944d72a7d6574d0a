"""Adds a teacher's probabilities to training examples, from which a smaller model learns (distillation, Hinton et al.
2015)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TypeVar

from lisax.errors import LisaxError
from lisax.formats.examples import Example
from lisax.formats.tables import TableExample
from lisax.predict.model import Model
from lisax.progress import counting
from lisax.records import LABELS

DIGITS = 3  # of a probability; training reads parts of a thousand
AT_A_TIME = 1024
AnyExample = TypeVar("AnyExample", Example, TableExample)


def taught(examples: Sequence[AnyExample], teacher: Model) -> Iterator[AnyExample]:
    """The examples, of sentences or of tables, with the probabilities that the teacher gives."""
    if teacher.format.answer.classes.keys() != {*LABELS}:
        raise LisaxError(f"a teacher labels claims, and this model is of the format '{teacher.format}'")
    with counting(len(examples), "examples taught") as advance:
        for start in range(0, len(examples), AT_A_TIME):
            group = examples[start : start + AT_A_TIME]
            found = teacher.probabilities(group, advance)
            for example, shares in zip(group, found, strict=True):
                yield dataclasses.replace(example, taught=tuple(round(float(share), DIGITS) for share in shares))
