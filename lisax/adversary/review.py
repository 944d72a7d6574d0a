"""Asks a reviewer in the terminal to accept, mend or reject attacked claims, one at a time.

Each decision is on disk before the next claim is shown; the same command resumes at the first undecided one.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.decisions import DECISIONS, Decision, read_attacks, read_decisions, write_decision
from lisax.adversary.prose import readable
from lisax.adversary.writing import LAYOUTS
from lisax.corpora import read_claims
from lisax.errors import LisaxError
from lisax.records import LABELS, Label

_SETS_SHOWN = 5  # evidence sets per attack
_BACK = "back"


def pages_beside(attacks: Path, corpus: Path | None = None) -> AttackCorpus | None:
    """The pages of `corpus` or, if none is given, those beside the attacks; None where there are none."""
    if corpus is not None:
        return AttackCorpus.open(corpus)
    beside = any((attacks.parent / pages).is_file() for _, pages in LAYOUTS.values())
    return AttackCorpus.open(attacks.parent) if beside else None


def review(attacks: Path, decisions: Path, corpus: Path | None = None) -> None:
    """Asks until every attack is decided; Ctrl-C and the end of the input end it and lose nothing.

    `corpus` has the text of the evidence; without one its ids are shown. Raises `LisaxError` if both files are the
    same."""
    if attacks.resolve() == decisions.resolve():
        raise LisaxError("--out must be another file than --attacks")
    rows, pages = read_attacks(attacks), pages_beside(attacks, corpus)
    sets = {claim.id: claim.evidence_sets for claim in read_claims(attacks)}
    decided = read_decisions(decisions, rows)
    ids, place = list(rows), 0
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        while place < len(ids):
            id = ids[place]
            if id not in decided:
                print(f"\n{id}  ({len(decided)} of {len(ids)} decided)\n{described(rows[id], sets.get(id, ()), pages)}")
                made = _asked(id, rows[id])
                if made is None:
                    place = max(place - 1, 0)
                    decided.pop(ids[place], None)
                    continue
                write_decision(decisions, made)
                decided[id] = made
            place += 1
    print(f"\n{len(decided)} of {len(ids)} decided: {decisions}")


def described(row: dict, sets: tuple, pages: AttackCorpus | None) -> str:
    """The lines of an attack: its fields, then the sentences of its first evidence sets."""
    fields = ("claim", "label", "kind", "attack", "source", "edit", "reason")
    lines = [f"  {name:8} {shown}" for name in fields if (shown := _shown(row.get(name)))]
    for members in sets[:_SETS_SHOWN]:
        lines.append("  evidence")
        texts = [pages.text(unit) if pages else "" for unit in members]
        lines += [f"    {unit}: {readable(text)}" if text else f"    {unit}" for unit, text in zip(members, texts)]
    return "\n".join([*lines, *([f"  and {len(sets) - _SETS_SHOWN} more sets"] if len(sets) > _SETS_SHOWN else [])])


def _shown(value) -> str:
    if isinstance(value, list):
        return "; ".join(filter(None, map(_shown, value[:5])))
    return "" if value is None else str(value)


def _asked(id: str, row: dict) -> Decision | None:
    """The reviewer's decision; None is a wish to decide the attack before this one again."""
    decision = _choice("accept, mend, reject or back", (*DECISIONS, _BACK))
    if decision == _BACK:
        return None
    claim, label = row["claim"], row["label"]
    if decision == "mend":
        claim = " ".join(_ask("claim (empty: as it is)").split()) or claim
        # An attack without evidence stays undecided.
        labels = (label,) if label == Label.NOT_ENOUGH_INFO else tuple(LABELS)
        label = _choice(f"label (empty: {label})", labels, label)
    return Decision(id, decision, claim, label, row["claim"], _ask("note"))


def _choice(question: str, choices: tuple[str, ...], default: str = "") -> str:
    """The choice whose beginning the reviewer types, in any case; asks until exactly one begins so."""
    while True:
        given = _ask(question)
        found = (
            [one for one in choices if one.lower().startswith(given.lower())] if given else [default] * bool(default)
        )
        if len(found) == 1:
            return found[0]
        print(f"expected one of {', '.join(choices)}, found {given!r}")


def _ask(question: str) -> str:
    return input(f"{question}: ").strip()
