"""The temporal step (DeSePtion, section 5.2): does the evidence's date fit the claim's?

`judge` finds the event that the claim dates and the same event in the evidence, and compares the two dates. It rules
only if every reading of the dates and all evidence agree; otherwise the verifier's label is kept.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence

from lisax.records import Label
from lisax.temporal import lexicon
from lisax.temporal.alignment import Aligned, Ruling, Side, TemporalFact, agreed, aligned
from lisax.temporal.calendar import EARLIEST, LATEST, Interval, Length, civil
from lisax.temporal.described import Lookup, Placed, TitledText, placed
from lisax.temporal.events import OLDER, Event, EventSentence, analysed
from lisax.temporal.expressions import (
    OLDEST,
    Age,
    Dates,
    Duration,
    Offset,
    Period,
    Reading,
    TemporalRelation,
)
from lisax.temporal.grammar import parse
from lisax.temporal.lasting import rule_lasting
from lisax.temporal.lexicon import WordKind, is_verb, stem
from lisax.temporal.sentences import Predicate, subject_of
from lisax.text.tokens import tokens

# Bounds on the time that one claim takes, which grows with its dates times those of the evidence.
LONGEST = 2_000  # characters of a text that is read; the longest sentence of FEVER's sample has 759
MOST_DATES = 10  # of a claim
COMPOSED = (Reading.OFFSET, Reading.RANGE, Reading.PART, Reading.DECADE, Reading.CENTURY)


def judge(claim: str, evidence: Sequence[TitledText], lookup: Lookup | None = None) -> Ruling | None:
    """The label that the dates give a claim, with its reasons; None if they decide nothing.

    `evidence`: sentences with id, title and text, best first. `lookup` finds the first sentences of pages, which define
    `the film` and `the band`, if the evidence lacks them. A claim is refuted if one of its dates is; it is supported if
    all of them are, and the sentence with the date has every other word of the claim. Texts of more than `LONGEST`
    characters and claims of more than `MOST_DATES` dates decide nothing.
    """
    if len(claim) > LONGEST:
        return None
    evidence = [passage for passage in evidence if len(passage.text) <= LONGEST]
    if (denied := affirmed(claim)) is not None:
        ruling = judge(denied, evidence, lookup)
        return ruling and ruling.denied()
    if (wider := unrestricted(claim)) is not None:
        ruling = judge(wider, evidence, lookup)
        return ruling if ruling and ruling.label is Label.REFUTES else None
    sentence = analysed(claim)
    if len(sentence.expressions) > MOST_DATES or sentence.is_open:
        return None
    events, found = [single for event in sentence.events() for single in event.singly()], placed(evidence, lookup)
    if not events:
        return rule_order(sentence, found)
    verbs = [set(map(stem, event.predicate.words.split())) for event in events]
    rulings = []
    for at, event in enumerate(events):
        besides = frozenset().union(*(verbs[:at] + verbs[at + 1 :])) - verbs[at]
        if (ruling := _rule(sentence, event, found, besides)) is not None:
            rulings.append(ruling)
    refuting = [ruling for ruling in rulings if ruling.label is Label.REFUTES]
    if refuting:
        return refuting[0]
    # A claim holds only if there is a ruling on each of its time expressions.
    return rulings[0] if rulings and len(rulings) == len(sentence.expressions) else None


def _rule(sentence: EventSentence, event: Event, evidence: Sequence[Placed], besides: frozenset[str]) -> Ruling | None:
    """The ruling on one event of a claim. `besides`: stems of its other events' verbs, which are judged separately."""
    side = Side(sentence, event.predicate, event.subject, event.said, event.first, event.complement, besides)
    if isinstance(event.date, Age):
        if side.predicate.words == "lived":  # `lived to be 90`
            side = dataclasses.replace(side, predicate=DIED)
        return rule_age(side, event, aligned(side, evidence), evidence)
    if WordKind.LIFE in side.predicate.kinds and isinstance(event.date, Dates):
        return rule_life(side, event, evidence)
    if isinstance(event.date, Duration):
        return rule_lasting(side, event, evidence)
    return _rule_day(side, event, aligned(side, evidence)) or rule_lasting(side, event, evidence)


def _rule_day(side: Side, event: Event, found: Sequence[Aligned]) -> Ruling | None:
    days = agreed(found)
    if days is None:
        return None
    fits = _fits(event, days, found[0].event.date.relation, side)
    # Supported only by a sentence with all of the claim's words; refuted only by one with enough of them.
    match = next((match for match in found if (not match.left if fits else match.refutes)), None)
    if fits is None or match is None or (not fits and _may_be_another(match, event.date.possibly, days)):
        return None
    reading = [str(event.date.reading)] if event.date.reading in COMPOSED else []
    return Ruling(
        Label.SUPPORTS if fits else Label.REFUTES,
        (*reading, str(event.date.relation)),
        event.predicate.words,
        event.text,
        event.date.possibly,
        (TemporalFact.of(match, days),),
        tuple(sorted(match.shared)),
    )


def _may_be_another(match: Aligned, claimed: Interval, days: Interval) -> bool:
    """Whether the claim may be about another showing, ascent or edition than the evidence."""
    apart = max(claimed.first - days.last, days.first - claimed.last)
    return match.near >= apart or (match.first and claimed.last >= days.first)


def _fits(event: Event, days: Interval, relation: TemporalRelation, side: Side) -> bool | None:
    """Whether days of the evidence fulfil the claim's date: True, False, or None if that is open."""
    date: Dates = event.date
    surely, possibly, known = date.surely, date.possibly, bool(side.predicate.kinds)
    # `from 1945 to 1978` and `until 1978` claim that the event lasted until that end.
    first = event.text.lower().split()[0]
    extent = (
        first in ("until", "till", "throughout")
        or (date.relation is TemporalRelation.SINCE and first in ("since", "from"))
        or (date.reading is Reading.RANGE and first != "between")
    )
    if surely is not None and surely.contains(days):
        return None if extent and not side.predicate.kinds & lexicon.ONCE and days != surely else True
    if possibly.meets(days):
        return None
    if (
        relation is TemporalRelation.SINCE
        and not known
        and not lexicon.ORDINALS.intersection(side.sentence.words)
        and possibly.last > days.last
    ):
        return None  # only its beginning is known, and it may also hold later
    return False


DENIED = re.compile(r"\b(was|were|is|are|has|had|have|did)(?:n['’]t\b|\s+(?:not|never)\b)(?:\s+(\w+))?")
NEVER = re.compile(r"\bnever (?=\w)")
ONLY = re.compile(r"(?<!\bthe )(?<!\bnot )\bonly (?=\w)")
# `not yet born`, `did not retire until 1990` and `has not lived here since 1990` deny less than the rest of the claim.
WEAKER = frozenset("only just yet until till since even merely all both long far exactly because due".split())


def affirmed(claim: str) -> str | None:
    """The claim without its one denial; None if it denies nothing, or not the whole of its one statement."""
    found = DENIED.findall(claim) or NEVER.findall(claim)
    dates = parse(claim)  # with commas of their own
    said = tokens(claim)
    words = [token.word for token in said if not any(date.start <= token.start < date.end for date in dates)]
    beside = [after for word, after in itertools.pairwise(words) if word == "and"]
    if (
        len(found) != 1
        or any(isinstance(date, Duration) for date in dates)
        or not WEAKER.isdisjoint(token.word for token in said)
        or not (lexicon.CLAUSE_ENDS - {"and"}).isdisjoint(words)
        or any(is_verb(word) or word in lexicon.AUXILIARIES for word in beside)
    ):
        return None
    return DENIED.sub(_without, claim) if DENIED.search(claim) else NEVER.sub("", claim)


def unrestricted(claim: str) -> str | None:
    """The claim without its one `only`, which holds wherever the claim does; None if there is none."""
    return ONLY.sub("", claim) if len(ONLY.findall(claim)) == 1 else None


def _without(denied: re.Match) -> str:
    auxiliary, verb = denied[1], denied[2]
    if verb is None or verb.lower() in lexicon.UNCERTAIN:
        return auxiliary
    return _past(verb.lower()) if auxiliary.lower() == "did" else f"{auxiliary} {verb}"


def _past(verb: str) -> str:
    irregular = next((past for past, base in lexicon.IRREGULAR.items() if base == verb), None)
    return irregular or verb + ("d" if verb.endswith("e") else "ed")


BORN = Predicate("born", "born", frozenset({WordKind.BIRTH}))
DIED = Predicate("died", "die", frozenset({WordKind.DEATH}))
YEAR = Length(years=1)
# The relation (before or after), the claim's two events, and the position after the words that join them.
Sides = tuple[str, Side, Side, int]
TO_SEE = (("lived", "long", "enough", "to", "see"), ("lived", "to", "see"))


def rule_age(side: Side, event: Event, found: Sequence[Aligned], evidence: Sequence[Placed]) -> Ruling | None:
    """`died at the age of 79`: the whole years between the birth and the event."""
    births = aligned(Side(side.sentence, BORN, side.subject), evidence)
    birth, days = agreed(births), agreed(found)
    if birth is None or days is None or days.first < birth.last:
        return None
    youngest, oldest = _age(birth.last, days.first), _age(birth.first, days.last)
    claimed: Age = event.date
    fits = claimed.youngest <= youngest and oldest <= claimed.oldest
    apart = max(claimed.youngest - oldest, youngest - claimed.oldest)
    # A person over eighty may be eighty.
    if not fits and (not side.predicate.kinds & lexicon.ONCE or apart < (2 if claimed.oldest == OLDEST else 1)):
        return None  # or it may happen again: `won an Oscar at the age of 40`
    return _ruling(fits, ("age",), event.predicate.words, event.text, days, [(births[0], birth), (found[0], days)])


def _age(born: int, day: int) -> int:
    (year, *birthday), (now, *today) = civil(born), civil(day)
    return now - year - (today < birthday) - (year < 0 < now)


def rule_life(side: Side, event: Event, evidence: Sequence[Placed]) -> Ruling | None:
    """`lived long enough to see 1950`: born by then, and not dead before. Periods are not judged (`alive since 1950`,
    `alive from 1940 to 1980`)."""
    if (
        event.date.relation is not TemporalRelation.IN
        or event.date.reading is Reading.RANGE
        or event.text.lower().startswith("throughout")
    ):
        return None
    births, deaths = (aligned(Side(side.sentence, known, side.subject), evidence) for known in (BORN, DIED))
    birth, death = agreed(births), agreed(deaths)
    if death is None:
        return None
    core, outer = event.date.period.core, event.date.period.outer
    if death.last < outer.first or (birth is not None and birth.first > outer.last):
        fits = False
    elif core is not None and birth is not None and birth.last <= core.last and death.first >= core.first:
        fits = True
    else:
        return None
    facts = [(deaths[0], death), *([(births[0], birth)] if birth is not None else [])]
    return _ruling(fits, ("life",), event.predicate.words, event.text, outer, facts)


def rule_order(sentence: EventSentence, evidence: Sequence[Placed]) -> Ruling | None:
    """`X was founded before Y`, `X is older than Y`, `X died 4 years after Y was born`, `X lived to see Y founded`."""
    sides = _sides(sentence)
    if sides is None:
        return None
    rule, left, right, at = sides
    if not left.subject.names or not right.subject.names or left.subject.names == right.subject.names:
        return None
    first, second = aligned(left, evidence), aligned(right, evidence)
    days, other = agreed(first), agreed(second)
    if days is None or other is None:
        return None
    offset = next(
        (expression for _, end, expression in sentence.expressions if isinstance(expression, Offset) and end == at),
        None,
    )
    if any(expression is not offset for _, _, expression in sentence.expressions):
        return None  # `five years older than`
    if offset.compared if offset is not None else sentence.words[at - 2] in lexicon.NARROWING:
        return None  # `less than ten years before`, `the year before`
    if offset is not None:
        claimed = Period.exact(other).shifted(offset.length).outer
        contradicted = not claimed.shifted(-YEAR).hull(claimed.shifted(YEAR)).meets(days)
    else:
        claimed = Interval(EARLIEST, other.first - 1) if rule == "before" else Interval(other.last + 1, LATEST)
        contradicted = not claimed.meets(days) and not days.meets(other)
    if not claimed.contains(days) and not contradicted:
        return None
    words = " ".join(sentence.text[sentence.tokens[at - 1].start :].rstrip(" .").split())
    facts = [(first[0], days), (second[0], other)]
    return _ruling(claimed.contains(days), ("order", rule), left.predicate.words, words, claimed, facts)


def _sides(sentence: EventSentence) -> Sides | None:
    """The result of `_two` for the phrase of the claim that joins two events, if any."""
    words = sentence.words
    for phrase in TO_SEE:
        if at := next((at for at in range(1, len(words)) if tuple(words[at : at + len(phrase)]) == phrase), 0):
            return _two(sentence, "after", DIED, at, at + len(phrase))
    joints = [
        at
        for at, word in enumerate(words)
        if at and (word in ("before", "after") or (word in ("older", "younger") and words[at + 1 : at + 2] == ["than"]))
    ]
    if len(joints) != 1:
        return None
    at, word = joints[0], words[joints[0]]
    if word in ("older", "younger"):
        return _two(sentence, "before" if word == "older" else "after", Predicate(word, word, OLDER), at, at + 2)
    found = sentence.predicate_before(at)
    return found and _two(sentence, word, found[0], found[1], at + 1)


def _two(sentence: EventSentence, rule: str, predicate: Predicate, left: int, right: int) -> Sides | None:
    """Both events; the one after position `right` has the other's predicate unless it has its own."""
    own = sentence.predicate_after(right, known=True)
    other = own[0] if own else predicate
    if not predicate.kinds or not other.kinds or (own is None and predicate is DIED):
        return None
    end = next((at for at in range(right, len(sentence.words)) if sentence.is_predicate(at)), len(sentence.words))
    named = sentence.tokens[right:end]
    if own and sentence.words[right : own[1]] in ([], ["the"]):  # `after the founding of Y`
        named = sentence.tokens[own[1] + len(other.words.split()) + 1 :]
    subject = subject_of([token for token in named if token.word[0].isalnum() or token.word == "'s"])
    return rule, Side(sentence, predicate, sentence.subject(left)), Side(sentence, other, subject), right


def _ruling(
    fits: bool,
    rules: tuple[str, ...],
    predicate: str,
    words: str,
    claimed: Interval,
    found: Sequence[tuple[Aligned, Interval]],
) -> Ruling | None:
    """A ruling, if the sentences together have all words of the claim other than time expressions."""
    left = frozenset.intersection(*(match.left for match, _ in found))
    if left - {"live", "long", "enough", "see", "older", "younger", "aliv", "still"}:
        return None
    return Ruling(
        Label.SUPPORTS if fits else Label.REFUTES,
        rules,
        predicate,
        words,
        claimed,
        tuple(TemporalFact.of(match, days) for match, days in found),
        tuple(sorted(frozenset.union(*(match.shared for match, _ in found)))),
    )
