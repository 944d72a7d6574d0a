"""Adds a teacher's probabilities to training examples, from which a smaller model learns (distillation, Hinton et al.
2015)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from lisax.errors import LisaxError
from lisax.formats.examples import Example
from lisax.formats.tables import TableExample
from lisax.predict.opening import open_model
from lisax.records import LABELS

DIGITS = 3  # of a probability; training reads parts of a thousand
AT_A_TIME = 1024
AnyExample = TypeVar("AnyExample", Example, TableExample)


def open_teaching(model: str | os.PathLike) -> Callable[[Sequence[AnyExample]], list[AnyExample]]:
    """The work on a group of examples, of sentences or of tables: the examples with the probabilities that the teacher
    gives. Raises LisaxError if it labels no claims."""
    teacher = open_model(model)
    if teacher.format.answer.classes.keys() != {*LABELS}:
        raise LisaxError(f"a teacher labels claims, and this model is of the format '{teacher.format}'")
    return lambda examples: [
        dataclasses.replace(example, taught=tuple(round(float(share), DIGITS) for share in shares))
        for example, shares in zip(examples, teacher.probabilities(examples), strict=True)
    ]
