"""Date manipulation attacks: `in 2001` becomes `4 years before 2005`, `before 2008`, `in the first decade of the 21st
century`.

The seven forms are those of the authors' generator. The new label depends on the old one:

- SUPPORTS: the claim's date is the event's. A form that is true of it is supported; one that is not is refuted, if the
  verb is of a unique event (`born`, `released`) of the one thing that is meant.
- REFUTES: a form that is not true of the date in the evidence either is refuted too; a form that is true is supported,
  if the claim consists only of subject, verb and date.
- NOT ENOUGH INFO: stays so under forms about the same date with nearby bounds, unless a page that the claim names, or
  that its evidence is from, gives a date within them: that may be the date of the claimed event, given more coarsely
  (`won in 1980` decides `won in the eighties`, where `won on June 5, 1980` was open). If such a page dates anything,
  open bounds and centuries are left out too: a person born in 1960 acted after 1950.

Claims with negations are skipped, because other rules hold under `not`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Iterator

from lisax.adversary import dates
from lisax.adversary.attack import Attack, AttackKind, EvidenceSets, random_of
from lisax.adversary.corpus import AttackCorpus, subject_of
from lisax.adversary.dates import Date, DateVariant, FoundDate, Span
from lisax.adversary.prose import is_negated, readable, sentence
from lisax.adversary.statements import ONCE
from lisax.records import Claim, Label, split_sentence_id
from lisax.text.articles import capitalised

_NEARBY = 3  # years, months or days: reach of the bounds if nothing is known
_BEFORE = re.compile(r"(?:^|\s)(?P<word>[Ii]n|[Oo]n)(?P<the> the)?(?P<unit> year| month of)? $")
_WHOLE = re.compile(rf"(?:(?:was|were) )?{ONCE.pattern} (?:in|on) ")
# `Was in a film released in 1990`, `songs by X were published in 1990`: with another date this may be true of another
# film or song. A description of the subject itself (`is a film released in 1990`) is unique. Names are masked before
# matching.
_ONE_OF_SEVERAL = re.compile(
    r"(?<!\b[Ii]s )(?<!\b[Ww]as )(?<!\bare )(?<!\bwere )\b(?:[Aa]n?|[Aa]nother|[Oo]ne|[Ss]ome\w*|[Aa]ny\w*)\b|"
    r"\b[Tt]here\b|\b(?:people|men|women|children)\b|"
    r"\b(?!(?:is|was|has|his|its|this|does|series|stars|features|includes)\b)(?:^[A-Z])?[a-z]*[a-rtv-z]s\b"
    r"(?! (?:was|is)\b)"
)
_AGAIN = re.compile(r"^(?: ?--?|,? (?:and|to|or|until|through|through to|but)\b.*\d|'|-|–|:|\w)")


class DateManipulation:
    kind = AttackKind.DATE

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed

    def attack(self, claim: Claim) -> Iterator[Attack]:
        found = dated(claim.text)
        if found is None or claim.label is None or is_negated(claim.text):
            return
        place, date = found
        known, labels, why = self._known(claim, date)
        if not labels:
            return
        nearby = claim.label is Label.NOT_ENOUGH_INFO
        told = self._told(claim) if nearby else set()
        for name in dates.VARIANTS:
            rng = random_of(self._seed, self.kind, claim.id, name)
            made = self._variant(name, known, labels, rng, _NEARBY if nearby else 10, told)
            if made is None:
                continue
            form, label = made
            phrase = capitalised(form.text) if place.start == 0 else form.text
            text = sentence(claim.text[: place.start] + phrase + claim.text[place.end :])
            edit, reason = f"{claim.text[place.start : place.end]} -> {form.text}", f"{why}; {form.meaning}"
            yield Attack(self.kind, (claim.id,), text, label, self._sets(claim, known), edit, reason)

    def _sets(self, claim: Claim, known: Date) -> EvidenceSets:
        """For a refuted claim only the sets that contain the date: others may refute it by something else."""
        if claim.label is not Label.REFUTES:
            return claim.evidence_sets

        def tells(unit: str) -> bool:
            return any(found.date.year == known.year for found in dates.find(readable(self._corpus.text(unit))))

        return tuple(members for members in claim.evidence_sets if any(map(tells, members)))

    def _variant(
        self, name: str, date: Date, labels: dict[bool, Label], rng: random.Random, reach: int, told: Collection[Span]
    ) -> tuple[DateVariant, Label] | None:
        """A form and its label from `labels` (truth -> label). If the form cannot have the drawn truth value, the other
        one is tried; None if neither works without a date in `told` deciding it."""
        for holds in rng.sample(sorted(labels), len(labels)):
            for _ in range(3):
                form = dates.variant(name, date, holds, rng, reach)
                if form is not None and not ((told and form.wide) or any(map(form.takes_in, told))):
                    return form, labels[holds]
        return None

    def _known(self, claim: Claim, date: Date) -> tuple[Date, dict[bool, Label], str]:
        """The date by which forms are judged, their labels by truth, and the reason."""
        verb = _once(claim.text)
        if claim.label is Label.SUPPORTS:
            labels = {True: Label.SUPPORTS} | ({False: Label.REFUTES} if verb and self._is_of_one(claim, verb) else {})
            return date, labels, f"the evidence supports {date.text()}"
        if claim.label is Label.REFUTES:
            actual, same_verb = self._evidence_date(claim, verb) if verb else (None, False)
            if actual is None or date.within(actual) or actual.within(date) or not self._is_of_one(claim, verb):
                return date, {}, ""
            whole = same_verb and self._is_whole(claim)
            labels = {False: Label.REFUTES} | ({True: Label.SUPPORTS} if whole else {})
            return actual, labels, f"the evidence says {actual.text()}, not {date.text()}"
        if verb and self._is_dated(claim):
            return date, {}, ""
        return date, {True: Label.NOT_ENOUGH_INFO}, f"nothing decides {date.text()}"

    def _is_of_one(self, claim: Claim, verb: str) -> bool:
        """Whether the dated verb refers to one thing that the claim names, and not to some or several of a kind."""
        place, _ = dated(claim.text)
        said = claim.text[: place.start].rstrip() or claim.text[place.end :].lstrip(", ")
        said = said[: said.rindex(verb)]
        for named in reversed(self._corpus.names_in(said)):
            said = said[: named.start] + "X" + said[named.end :]
        return _ONE_OF_SEVERAL.search(said) is None

    def _is_whole(self, claim: Claim) -> bool:
        """Whether the claim consists only of subject, verb and date, so that another date makes all of it true."""
        subject = subject_of(claim.text, self._corpus)
        if subject is None:
            return False
        (found,) = dates.find(subject.predicate) or (None,)
        return (
            found is not None
            and found.end == len(subject.predicate)
            and _WHOLE.fullmatch(subject.predicate[: found.start]) is not None
        )

    def _evidence_date(self, claim: Claim, verb: str) -> tuple[Date | None, bool]:
        """The date in the evidence, and whether it belongs to the same verb: from one sentence with one date, or from
        the birth or death of its page's subject."""
        for members in claim.evidence_sets:
            if len(members) != 1:
                continue
            page = split_sentence_id(members[0])[0]
            if page in self._corpus:
                for event in self._corpus.about(page).events:
                    if event.unit == members[0] and event.once == verb and subject_page(claim, self._corpus) == page:
                        return event.date, True
            if verb in ("born", "died"):
                continue  # the brackets of a life have two dates, one of which may be missing
            text = readable(self._corpus.text(members[0]))
            found = dates.find(text)
            if len(found) == 1 and (
                re.search(rf"\b{verb}\b", text) or (not ONCE.search(text) and self._is_of_subject(claim, verb))
            ):
                return found[0].date, False
        return None, False

    def _is_of_subject(self, claim: Claim, verb: str) -> bool:
        """Whether the claim's subject itself was `published`, unlike in `is based on a book published in`."""
        place, _ = dated(claim.text)
        subject = subject_of(claim.text[place.end :].lstrip(", ") if place.start == 0 else claim.text, self._corpus)
        return subject is not None and re.match(rf"(?:(?:was|were) )?(?:\w+ )?{verb}\b", subject.predicate) is not None

    def _told(self, claim: Claim) -> set[Span]:
        """The dates on pages that a name in the claim may refer to, and on the pages of its evidence."""
        pages = {page for named in self._corpus.names_in(claim.text) for page in named.pages}
        pages |= {page for unit in claim.gold_ids if (page := split_sentence_id(unit)[0]) in self._corpus}
        return {
            span
            for page in pages
            for sentence in self._corpus.page(page).sentences
            for span in dates.told(readable(sentence.text))
        }

    def _is_dated(self, claim: Claim) -> bool:
        """Whether the subject's page dates some event, from which another form of an undecided date might follow."""
        page = subject_page(claim, self._corpus)
        return page is None or any(
            dates.find(readable(sentence.text))
            for sentence in self._corpus.page(page).sentences
            if ONCE.search(sentence.text)
        )


def subject_page(claim: Claim, corpus: AttackCorpus) -> str | None:
    """The page of the subject, even if the date comes before it."""
    place, _ = dated(claim.text)
    text = claim.text[place.end :].lstrip(", ") if place.start == 0 else claim.text
    subject = subject_of(text, corpus)
    return None if subject is None else subject.page


def dated(claim: str) -> tuple[FoundDate, Date] | None:
    """The phrase `in DATE` or `on DATE` of a claim, and its date, if it is the claim's only one."""
    found = dates.find(claim)
    if len(found) != 1:
        return None
    before = _BEFORE.search(claim[: found[0].start])
    if (
        before is None
        or _AGAIN.match(claim[found[0].end :].rstrip(".") or ".")
        or (found[0].date.day is not None and before["word"].lower() != "on")
        or (found[0].date.day is None and before["the"] and not before["unit"])
    ):
        return None  # includes `in the 2001 election`, which is not a date of its own
    return FoundDate(before.start("word"), found[0].end, found[0].date), found[0].date


def _once(claim: str) -> str | None:
    """The unique-event verb that the date belongs to: just before it, or at the end if the date comes first (`In 1951,
    Lalla Ward was born.`)."""
    place, _ = dated(claim)
    said = claim[: place.start].rstrip() or claim.rstrip(" .")
    return next((once["once"] for once in ONCE.finditer(said) if once.end() == len(said)), None)
