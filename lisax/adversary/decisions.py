"""A reviewer's decisions on attacked claims: a JSON Lines file to which each decision appends a line.

    {"id": "97-date-3", "decision": "mend", "claim": "…", "label": "REFUTES", "note": "…", "attack": "…"}

The last line of an id counts, so that decisions can be changed. A last line that was cut off by a crash is ignored.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path

from lisax.errors import DataError, shown
from lisax.files.reading import get_field, parse_json_object, read_json_lines
from lisax.files.writing import write_json_lines
from lisax.records import Label, check_id

DECISIONS = ("accept", "mend", "reject")


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """`claim` and `label` as the reviewer left them; ignored for a rejected claim. `attack` is the attacked claim as it was
    shown."""

    id: str
    decision: str
    claim: str
    label: str
    attack: str
    note: str = ""


def read_attacks(path: Path) -> dict[str, dict]:
    """Rows of attacked claims by id (as a string), in file order, in our layout or FEVER's."""
    rows = {}
    for line, row in read_json_lines(path):
        id = check_id(row.get("id"), path=path, line=line)
        for field in ("claim", "label"):
            get_field(row, field, str, path=path, line=line)
        _one_of(tuple(Label), row, "label", path, line)
        rows[id] = row
    return rows


def _one_of(choices: tuple[str, ...], row: dict, field: str, path: Path, line: int) -> None:
    if row[field] not in choices:
        raise DataError(
            f"expected one of {', '.join(choices)}, found {row[field]!r:.80}", path=path, line=line, field=field
        )


def read_decisions(path: Path, attacks: Mapping[str, dict]) -> dict[str, Decision]:
    """Decisions by id, about `attacks`, rows by id; empty if there is no file yet. Raises DataError if the attack of an
    id has another claim: attacks that were made again have the ids of earlier ones."""
    if not path.is_file():
        return {}
    found: dict[str, Decision] = {}
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), start=1):
        if not text.endswith("\n") or not text.strip():
            continue
        row = parse_json_object(text, path=path, line=line)
        needed = ("id", "decision", "claim", "label", "attack")
        fields = {field: get_field(row, field, str, path=path, line=line) for field in needed}
        decision = Decision(**fields, note=get_field(row, "note", str, path=path, line=line, default=""))
        if decision.id not in attacks:
            raise DataError(
                f"'{decision.id}' is none of the attacks: do the two files belong together?",
                path=path,
                line=line,
                field="id",
            )
        _one_of(DECISIONS, row, "decision", path, line)
        _one_of(tuple(Label), row, "label", path, line)
        if not decision.claim.strip():
            raise DataError("the text is empty", path=path, line=line, field="claim")
        if decision.attack != (attack := attacks[decision.id]["claim"]):
            raise DataError(
                f"the decision is about {shown(decision.attack)}, and the attack '{decision.id}' is now "
                f"{shown(attack)}: write decisions on new attacks into a file of their own",
                path=path,
                line=line,
                field="attack",
            )
        found[decision.id] = decision
    return found


def write_decision(path: Path, decision: Decision) -> None:
    """Appends one decision, which is on disk on return."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0, os.SEEK_END)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                _cut_last_line(file)
        file.write((json.dumps(dataclasses.asdict(decision), ensure_ascii=False) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def _cut_last_line(file) -> None:
    """Removes an incomplete line that a crash left."""
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)


def reviewed(attacks: Path, decisions: Path | None) -> dict[str, bool] | None:
    """Whether a reviewer accepted an attack unchanged, by id of the reviewed ones: from a review or, in the FEVER 2.0
    file, from its `annotation`. None if there is neither.
    """
    rows = read_attacks(attacks)
    if decisions is not None:
        _must_be(decisions)
        return {id: made.decision == "accept" for id, made in read_decisions(decisions, rows).items()}
    return {
        id: row["annotation"].startswith("OK") for id, row in rows.items() if isinstance(row.get("annotation"), str)
    } or None


def _must_be(decisions: Path) -> None:
    if not decisions.is_file():
        raise DataError("no such file", path=decisions)


def accept(attacks: Path, decisions: Path, out: Path) -> int:
    """Writes the accepted rows, and the corrected ones with their new text and label."""
    _must_be(decisions)
    rows = read_attacks(attacks)
    decided = read_decisions(decisions, rows)

    def kept():
        for id, row in rows.items():
            decision = decided.get(id)
            if decision is not None and decision.decision != "reject":
                kept_row = row | {"claim": decision.claim, "label": decision.label}
                if decision.label == Label.NOT_ENOUGH_INFO != row["label"]:
                    kept_row |= {"evidence": []} | ({"verifiable": "NOT VERIFIABLE"} if "verifiable" in row else {})
                yield kept_row

    kept_rows = list(kept())
    if not kept_rows:
        raise DataError("none of the attacks was accepted or mended", path=decisions)
    return write_json_lines(out, kept_rows)
