"""A behaviour suite: short cases that a verifier should decide, grouped by the capability that each takes.

A suite is a file of JSON Lines. A line is one case:

    {"capability": "by and to", "claim": "Rents rose to 50.", "evidence": ["Rents rose by 50."], "label": "NOT ENOUGH INFO"}

A sentence of the evidence is a string, or an object {"title", "text"} with the title of its page. The case is decided by
its evidence and by no other knowledge.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lisax.corpora.reading import LABEL_NAMES, named
from lisax.errors import DataError, shown
from lisax.files.reading import get_field, read_json_lines
from lisax.predict.verdicts import Evidence
from lisax.records import Claim, Label

SHIPPED = Path(__file__).with_name("suite.jsonl")
FIELDS = {"capability", "claim", "evidence", "label"}


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A labelled claim, whose `kind` is the capability and whose id is its line in the file, with its evidence.

    >>> case = next(iter(read_suite(SHIPPED)))
    >>> case.claim.kind
    'negation in the claim'
    """

    claim: Claim
    evidence: tuple[Evidence, ...]


def read_suite(path: str | os.PathLike = SHIPPED) -> list[Case]:
    """All cases of a suite, in order. Raises DataError, with file, line and field, for a missing, unknown or empty field,
    a label that is none of the three, and a case that occurred before: a file with an error is not used in part."""
    cases, seen = [], {}
    for line, row in read_json_lines(path):
        where = {"path": path, "line": line}
        if unknown := row.keys() - FIELDS:
            raise DataError(f"expected only {', '.join(sorted(FIELDS))}", field=min(unknown), **where)
        capability, claim = (_text(get_field(row, name, str, **where), name, where) for name in ("capability", "claim"))
        evidence = tuple(_evidence(get_field(row, "evidence", list, **where), line, where))
        name = get_field(row, "label", str, **where)
        if (label := named(name, LABEL_NAMES)) is None:
            raise DataError(f"expected {', '.join(Label)}; found {shown(name)}", field="label", **where)
        content = (claim, *((one.source, one.text) for one in evidence))
        if (earlier := seen.setdefault(content, line)) != line:
            raise DataError(f"line {earlier} has this claim with this evidence", field="claim", **where)
        cases.append(Case(Claim(str(line), claim, label, kind=capability), evidence))
    return cases


def _evidence(given: list, line: int, where: dict[str, Any]) -> Iterator[Evidence]:
    if not given:
        raise DataError("expected at least one sentence", field="evidence", **where)
    for number, one in enumerate(given):
        field = f"evidence[{number}]"
        if isinstance(one, str):
            one = {"text": one}
        elif not isinstance(one, dict) or one.keys() != {"title", "text"}:
            raise DataError(
                f"expected a sentence, or an object of title and text; found {shown(one)}", field=field, **where
            )
        texts = {name: _text(value, f"{field}.{name}", where) for name, value in one.items()}
        title = texts.get("title", "")
        yield Evidence(f"{line}_{number}", texts["text"], title, f"sentence {number + 1}", page=title)


def _text(value: Any, field: str, where: dict[str, Any]) -> str:
    """`value` as a text on one line, which is not empty."""
    if not isinstance(value, str) or not (text := " ".join(value.split())):
        raise DataError(f"expected a text that is not empty, found {shown(value)}", field=field, **where)
    return text
