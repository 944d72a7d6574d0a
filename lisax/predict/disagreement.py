"""Documents that disagree: strong evidence for both labels of a claim, and later documents that take back earlier ones.

The sentences, rows or edges of a verdict are labelled one by one. Of each document the surest unit for a label counts,
so that a document that repeats itself has one voice. A unit that takes something back ("was repealed", "no longer") has
the opposite label of the statement that it takes back, which the model reads in its place.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from lisax.predict.verdicts import Disagreement, Evidence, Verdict, Voice, written
from lisax.predict.verifier import Labeller, Verifier
from lisax.records import LABELS, Label
from lisax.text.dates import YEAR, Date, find_dates
from lisax.text.stop_words import FUNCTION_WORDS
from lisax.text.words import words

STRONG = 0.45  # the least probability of a label, read from a single unit, that is a voice
RELEVANT = 0.02  # the least score of a unit that is read: a probability, if the ranker is trained
# The same where a unit takes something back: the statement is shorter than the unit, but has to be of the claim's matter.
STRONG_BACK, RELEVANT_BACK = 0.4, 0.1

_TABLE = re.compile(r"(?:\.\w{1,5})?:[0-9]+")  # after a file's name: the number of a table in it
_IN_A_NAME = re.compile(rf"(?<!\d)({YEAR})[-_.](0[1-9]|1[0-2])[-_.]([0-2][0-9]|3[01])(?!\d)")  # 2024-09-10
_YEAR = re.compile(rf"\b{YEAR}\b")
_PAST = re.compile(r"\b(?:was|were|had|did|decided|voted|once|originally|used to|until)\b", re.IGNORECASE)
Read = tuple[Evidence, bool]  # a unit, and whether the model reads the statement that it takes back


def with_disagreement(verifier: Verifier, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """The verdicts, with their `disagreement` if documents disagree strongly. A label changes only if a later document
    takes back the statement of an earlier one and the claim is about the present; `reason` then names the document.

    Only labellers of sentences read single units, and they read them only if the evidence has several documents."""
    verdicts = list(verdicts)
    if not isinstance(verifier, Labeller):
        return iter(verdicts)
    read = [_read_singly(one) for one in verdicts]
    texts = [[_text_of(unit, back) for unit, back in units] for units in read]
    shares = verifier.singly([one.claim for one in verdicts], texts)
    return map(weighed, verdicts, read, shares)


def _read_singly(verdict: Verdict) -> list[Read]:
    """The units of a verdict that are read one by one; none if all are of one document."""
    # A claim that something was repealed is supported by the unit itself.
    itself = taken_back(verdict.claim) is not None
    found = [(one, not itself and takes_back(one.text, verdict.claim)) for one in verdict.evidence]
    found = [
        (one, back) for one, back in found if one.score is None or one.score >= (RELEVANT_BACK if back else RELEVANT)
    ]
    return found if len({document_of(one) for one, _ in found}) > 1 else []


def _text_of(unit: Evidence, back: bool) -> Evidence:
    return dataclasses.replace(unit, text=taken_back(unit.text)) if back else unit


def weighed(verdict: Verdict, read: Sequence[Read], shares: np.ndarray) -> Verdict:
    """The verdict with the disagreement of its units, from their label shares, each read on its own: float64 [units,
    labels]."""
    voices: dict[tuple[str, Label], Voice] = {}
    for (unit, back), of_unit in zip(read, shares):
        column = int(np.argmax(of_unit[:2]))
        voice = Voice(unit, LABELS[1 - column if back else column], float(of_unit[column]), date_of(unit), back)
        key = document_of(unit), voice.label
        least = STRONG_BACK if back else STRONG
        if voice.probability >= least and (key not in voices or voices[key].probability < voice.probability):
            voices[key] = voice
    supports, refutes = ([one for one in voices.values() if one.label is label] for label in LABELS[:2])
    if not any(document_of(a.evidence) != document_of(b.evidence) for a in supports for b in refutes):
        return verdict
    found = Disagreement(tuple(_newest_first(supports)), tuple(_newest_first(refutes)))
    last = _last_word(supports, refutes) or _last_word(refutes, supports)
    if last is None or _YEAR.search(verdict.claim) or _PAST.search(verdict.claim):
        return dataclasses.replace(verdict, disagreement=found)
    reason = f"a later document ({last.evidence.where}, {written(last.date)}) takes back the other side's statement"
    return dataclasses.replace(
        verdict,
        label=last.label,
        reason="; ".join(filter(None, ["" if verdict.abstained else verdict.reason, reason])),
        abstained=False,
        decided_by=last.evidence.unit,
        disagreement=dataclasses.replace(found, retraction=last.evidence.unit),
    )


def _last_word(side: Sequence[Voice], other: Sequence[Voice]) -> Voice | None:
    """Returns the voice that takes something back and is later than every voice of the `other` side, or None."""
    return next(
        (one for one in side if one.takes_back and all(_is_later(one.date, earlier.date) for earlier in other)), None
    )


def _newest_first(voices: Iterable[Voice]) -> list[Voice]:
    return sorted(voices, key=lambda one: (one.date or (0, 0, 0), one.probability), reverse=True)


# --- Documents and their dates --------------------------------------------------------------


def document_of(evidence: Evidence) -> str:
    """The document of a unit: its page, or the file that its table is in."""
    owner, _ = evidence.pair
    table = next((found for found in _TABLE.finditer(owner) if found.end() == len(owner)), None)
    return owner if table is None or evidence.unit.startswith(f"{owner}_") else owner[: table.start()]


def date_of(evidence: Evidence) -> Date | None:
    """The date of a unit: in its document's title and headings, else in its id (a file's name), else in its text; a
    title may have only a year. None if there is none."""
    if found := next(find_dates(evidence.source.lower()), None):
        return found[0]
    if year := _YEAR.search(evidence.source):
        return int(year[0]), 0, 0
    if named := _IN_A_NAME.search(evidence.unit):
        return int(named[1]), int(named[2]), int(named[3])
    found = next(find_dates(evidence.text.lower()), None)
    return found and found[0]


def _is_later(date: Date | None, other: Date | None) -> bool:
    """Whether a date is certainly later than another one; parts that one of them lacks are not compared."""
    for part, earlier in zip(date or (), other or ()):
        if part != earlier or not part:
            return part > earlier > 0
    return False


_DONE = (
    r"(?:revoked|repealed|rescinded|annulled|abolished|withdrawn|cancell?ed|superseded|overturned|retracted|reversed"
    r"|discontinued|scrapped)\b"
)
_NO_LONGER = re.compile(r"(?:(?<=\s)|\b)(?:no longer|not any ?more)\b(?! than)\s?", re.IGNORECASE)
_PASSIVE = re.compile(
    rf",?\s(?:(?:has|have|had)\s(?:since\s)?been|is|are|was|were)\s(?:since\s|now\s)?{_DONE}", re.IGNORECASE
)
_ACTIVE = re.compile(
    rf"\b(?:{_DONE}|withdrew\b|(?:revok|repeal|rescind|annul|abolish|withdraw|cancel|supersed|overturn|retract)(?:e?s|l?ing)\b)",
    re.IGNORECASE,
)
# Words before a retraction that place it in the future, and that deny it as well.
_PLANNED = r"(?-i:will)|would|shall|if|unless|plan\w*|propos\w*"
_LATER = re.compile(rf"\b(?:{_PLANNED})\b", re.IGNORECASE)
_NOT_DONE = re.compile(
    rf"\b(?:{_PLANNED}|(?-i:may)|might|could|should|not|never|nor|refus\w*|declin\w*|reject\w*)\b|n't\b", re.IGNORECASE
)
_NARROWER = re.compile(r"\b(?:on|for|to|during|between|after|before|until|under|over) (.*)", re.IGNORECASE)
_OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        ("open opens opened", "closed closes close shut"),
        ("allowed permitted legal lawful free", "ban bans banned prohibited prohibits forbidden illegal barred"),
        ("safe", "dangerous"),
    )
)
_PREFIXES = ("un", "in", "il", "im", "ir", "dis", "non")


def takes_back(text: str, claim: str) -> bool:
    """Whether a text takes back a statement of the claim's side, and no narrower one: neither of "The pool is no longer
    closed" and "The pool is no longer open on Sundays" takes back "The pool is open"."""
    statement = taken_back(text)
    if statement is None:
        return False
    asked, stated = frozenset(words(claim)), frozenset(words(statement))
    if _NO_LONGER.search(text) and (tail := _NARROWER.search(statement)):
        if not frozenset(words(tail[1])) <= asked | FUNCTION_WORDS:
            return False
    opposites = any((a & asked and b & stated) or (b & asked and a & stated) for a, b in _OPPOSITES)
    return not opposites and not any(
        (prefix + word in stated and word in asked) or (prefix + word in asked and word in stated)
        for word in asked | stated
        for prefix in _PREFIXES
    )


def taken_back(text: str) -> str | None:
    """The statement that a text takes back, as far as its words show it; None if it takes nothing back.

    >>> taken_back("Olin is no longer the mayor."), taken_back("In May the ban on boats was repealed.")
    ('Olin is the mayor.', 'In May the ban on boats')
    >>> taken_back("The council revoked its decision of 4 May 2020.")
    'its decision of 4 May 2020.'
    """
    if match := _NO_LONGER.search(text):
        if _LATER.search(text, 0, match.start()):
            return None
        return _NO_LONGER.sub("", text).strip()
    if (active := _ACTIVE.search(text)) is None or _NOT_DONE.search(text, 0, active.start()):
        return None
    if (passive := _PASSIVE.search(text)) and (before := text[: passive.start()].strip()):
        return before
    return text[active.end() :].strip() or None
