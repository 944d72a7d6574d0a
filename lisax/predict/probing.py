"""Probes a verifier: its verdicts on a behaviour suite, counted by capability."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.corpora.reading import LABEL_NAMES, named
from lisax.errors import DataError, LisaxError, shown
from lisax.files.reading import get_field, read_json_lines
from lisax.metrics.calibration import calibration
from lisax.metrics.fever import confusion
from lisax.predict.judging import judge_dates
from lisax.predict.verdicts import NOT_SUPPORTED, Evidence, Verdict
from lisax.predict.verifier import Verifier
from lisax.progress import counting
from lisax.records import Claim, Label, Prediction

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


PASSED = 0.75  # of a capability's cases right
CASES_AT_A_TIME = 64


@dataclasses.dataclass(frozen=True)
class Probed:
    """The verdicts of a verifier on the cases of a suite, in the same order, and the processor time that they took.

    >>> from lisax import Verifier, example_model
    >>> from lisax.predict.probing import read_suite
    >>> found = probe(Verifier.open(example_model()), read_suite()[:6])
    >>> found.figures()["cases"], [*found.capabilities()]
    (6, ['negation in the claim'])
    """

    cases: Sequence[Case]
    verdicts: Sequence[Verdict]
    seconds: float

    def capabilities(self) -> dict[str, Probed]:
        """The part of each capability, in order of first appearance."""
        rows: dict[str, list[int]] = {}
        for i, case in enumerate(self.cases):
            rows.setdefault(case.claim.kind, []).append(i)
        share = self.seconds / len(self.cases)
        return {
            name: Probed([self.cases[i] for i in of], [self.verdicts[i] for i in of], share * len(of))
            for name, of in rows.items()
        }

    @property
    def right(self) -> list[bool]:
        return [is_right(case, verdict) for case, verdict in zip(self.cases, self.verdicts, strict=True)]

    @property
    def accuracy(self) -> float:
        return sum(self.right) / len(self.cases)

    @property
    def passed(self) -> bool:
        return self.accuracy >= PASSED

    @property
    def claims(self) -> dict[str, Claim]:
        return {case.claim.id: case.claim for case in self.cases}

    @property
    def predictions(self) -> dict[str, Prediction]:
        return {case.claim.id: verdict.prediction() for case, verdict in zip(self.cases, self.verdicts, strict=True)}

    def calibration(self) -> dict | None:
        """`metrics.calibration.calibration` of the verdicts; None for a verifier of two labels."""
        return calibration(self.claims, self.predictions)

    def confusion(self) -> tuple[tuple[int, ...], ...]:
        """`metrics.fever.confusion` of the verdicts."""
        return confusion(self.claims, self.predictions)

    def recall(self, label: Label) -> float | None:
        """The share of right verdicts among the cases of a label; None if no case has it."""
        right = [one for case, one in zip(self.cases, self.right) if case.claim.label is label]
        return sum(right) / len(right) if right else None

    def wrong(self) -> list[tuple[Case, Verdict]]:
        """The cases with a wrong verdict, the surest first."""
        found = [pair for pair, right in zip(zip(self.cases, self.verdicts), self.right) if not right]
        return sorted(found, key=lambda pair: -pair[1].probabilities.get(pair[1].label, 0.0))

    def figures(self, examples: int = 0) -> dict[str, Any]:
        """The figures as plain data; of each capability with its `examples` surest wrong verdicts."""
        parts = self.capabilities()
        return {
            **_figures(self),
            "passed": sum(part.passed for part in parts.values()),
            "seconds_per_claim": self.seconds / len(self.cases),
            "confusion": self.confusion(),
            "capabilities": {
                name: {
                    **_figures(part),
                    "passed": part.passed,
                    "wrong": [_row(*one) for one in part.wrong()[:examples]],
                }
                for name, part in parts.items()
            },
        }


def probe(verifier: Verifier, cases: Sequence[Case], *, temporal: bool = False) -> Probed:
    """Lets a verifier label each case from its evidence; `temporal`: dates decide if they can. Raises LisaxError for a
    verifier of tables, which cannot read sentences."""
    if verifier.reads != "sentences":
        raise LisaxError(f"the suite's evidence is sentences, and this model reads {verifier.reads}")
    if not cases:
        raise LisaxError("the suite has no cases")
    verifier.verify(cases[0].claim, cases[0].evidence)  # loads and compiles the model outside the measured time
    verdicts: list[Verdict] = []
    started = time.process_time()
    with counting(len(cases), "cases") as advance:
        for start in range(0, len(cases), CASES_AT_A_TIME):
            group = cases[start : start + CASES_AT_A_TIME]
            found = verifier.verify_many([case.claim for case in group], [case.evidence for case in group])
            verdicts += judge_dates(found) if temporal else found
            advance(len(group))
    return Probed(cases, verdicts, time.process_time() - started)


def is_right(case: Case, verdict: Verdict) -> bool:
    """Whether the verdict has the case's label. NOT SUPPORTED, of a verifier of two labels, is right for REFUTES too."""
    return case.claim.label is verdict.label or (
        case.claim.label is Label.REFUTES and verdict.called(verdict.label) == NOT_SUPPORTED
    )


def _figures(part: Probed) -> dict[str, Any]:
    fitted = part.calibration()
    return {
        "cases": len(part.cases),
        "accuracy": part.accuracy,
        "recall": {str(label): part.recall(label) for label in Label},
        "expected_error": fitted and fitted["expected_error"],
    }


def _row(case: Case, verdict: Verdict) -> Mapping[str, Any]:
    return {
        "line": int(case.claim.id),
        "claim": case.claim.text,
        "evidence": [{"title": one.source, "text": one.text} for one in case.evidence],
        "label": str(case.claim.label),
        "verdict": verdict.called(verdict.label),
        "probability": verdict.probabilities.get(verdict.label),
    }
