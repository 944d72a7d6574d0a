"""Extracts dated events from a sentence, each with its predicate, subject and date.

Without a parser: the predicate of a date is the nearest verb or event noun before it, or after it if the date opens its
clause. Uncertain dates get no event and decide nothing. The same holds for a date that was only half read, and for an
event whose subject is unclear (`a son born in 1990`, `after the death in 1990`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from lisax.temporal import lexicon
from lisax.temporal.attributes import stated
from lisax.temporal.expressions import Age, Dates, Duration, Expression, Occasions, Period, Reading, TemporalRelation
from lisax.temporal.lexicon import WordKind, phrases, stem
from lisax.temporal.periods import AROUND, DASHES, MONTH_NUMBERS
from lisax.temporal.sentences import EventSubject, Placing, Predicate, SubjectSentence
from lisax.text.numbers import cardinal, ordinal
from lisax.text.stop_words import EVENT_STOP_WORDS
from lisax.text.tokens import Token

JOINING = DASHES | {"and", "to", "or", "/"}
OLDER = frozenset({WordKind.BIRTH, WordKind.FOUNDING, WordKind.RELEASE})


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """An event of a sentence and its date (or age, if a claim gives one)."""

    predicate: Predicate
    subject: EventSubject
    date: Expression
    text: str  # the words of the date
    certain: bool = True  # nothing besides the predicate denies or weakens it
    said: tuple[Token, ...] = ()  # further words about the event, between it and its date or after them
    first: bool = False  # `first aired`: and again later
    at: int = -1  # position of the predicate
    near: frozenset[str] = frozenset()  # stems of the words between its date and the one before
    later: bool = False  # an earlier date is between it and its predicate
    complement: tuple[str, ...] = ()  # stems of the words after the predicate, up to a preposition: `was mayor of`

    def singly(self) -> list[Event]:
        """An event of several dates as one of each."""
        dates = self.date.dates if isinstance(self.date, Occasions) else [self.date]
        return [dataclasses.replace(self, date=date) for date in dates]


class EventSentence(SubjectSentence):
    """A sentence and the events that it dates."""

    def events(self) -> list[Event]:
        if (attribute := stated(self.text)) is not None:
            predicate = Predicate(attribute.name, stem(attribute.name), frozenset({attribute.kind}))
            return [
                Event(predicate, EventSubject(), attribute.date, self.text[attribute.date.start : attribute.date.end])
            ]
        found = []
        for run in self.runs:
            events = [event for item in run for event in self._read(*item)]
            # Of `in 1974, 1976 and 1979` the first has the verb; an event that happens once does not happen on several
            # days.
            if len(run) > 1 and (first := self._read(*run[0])) and not first[0].predicate.kinds & lexicon.ONCE:
                text = self.text[run[0][2].start : run[-1][2].end]
                dates = Occasions(
                    run[0][2].start, run[-1][2].end, tuple(item[2] for item in run), self._counts(first[0].at, run)
                )
                events = [dataclasses.replace(event, date=dates, text=text) for event in first]
            found += events
        return found

    @functools.cached_property
    def reports(self) -> list[Event]:
        """The events of a sentence of the evidence: also events that ended a period (`until his death in 1990`, `until
        1990, when it moved`), and both ends of an event that `lasted from 1939 to 1945`."""
        found = self.events()
        found += [event for item in self.expressions for event in self._ending(*item)]
        return found + [end for event in found for end in self._ends_of_lasting(event)]

    def _ends_of_lasting(self, event: Event) -> list[Event]:
        """The beginning and the end of an event that `lasted`, or `was fought`, `from 1939 to 1945`, without any other
        words on it: `lasted from 1939 to 1945 in Europe` leaves open when it began elsewhere."""
        date = event.date
        if (
            event.predicate.words not in ("lasted", "fought", "took place")
            or event.said
            or not isinstance(date, Dates)
            or date.reading is not Reading.RANGE
            or date.period.ends is None
            or not event.text.lower().startswith("from")
        ):
            return []
        after = next(end for _, end, other in self.expressions if other is date)
        if self.words[after : after + 1] not in ([], ["."], [","], [";"]):
            return []
        return [
            dataclasses.replace(
                event,
                predicate=Predicate(event.predicate.words, event.predicate.words, frozenset({kind})),
                date=dataclasses.replace(date, period=Period.exact(day), reading=Reading.DAY),
            )
            for kind, day in zip((WordKind.FOUNDING, WordKind.END), date.period.ends)
        ]

    def _is_own(self, before: tuple[Predicate, int], begin: int, by_noun: bool, after: int) -> bool:
        """Whether `his death` and `when it closed` after a period can only refer to the subject of the lasting
        event."""
        predicate, at = before
        between = range(at + 1, begin)
        words = {self.words[place] for place in between}
        if by_noun:
            held = predicate.stem in lexicon.CONTINUING or not lexicon.OFFICES.isdisjoint(words)
            return held and lexicon.OF_ANOTHER.isdisjoint(words)
        things = lexicon.DETERMINERS if self.words[after + 1 : after + 2] in (["it"], ["they"]) else frozenset()
        return lexicon.OF_ANOTHER.isdisjoint(words) and not any(
            self.tokens[place].capital or self.words[place] in things for place in between
        )

    def _read(self, begin: int, end: int, expression: Expression) -> list[Event]:
        if isinstance(expression, (Dates, Age, Duration)):
            for reading in (self._lifespan, self._of_work, self._plain):
                if (events := reading(begin, end, expression)) is not None:
                    return events
        return []

    def _counts(self, begin: int, run: Sequence[Placing]) -> bool:
        """Whether the sentence counts an event's dates between event and dates: `twice`, `three times`, `on four
        occasions`."""
        numbers = {"twice": 2, "thrice": 3, "both": 2}
        for at in range(max(begin, 0), run[0][0]):
            found = cardinal(self.words, at)
            is_count = found is not None and self.words[found[1] : found[1] + 1] in (["times"], ["occasions"])
            if (found[0] if is_count else numbers.get(self.words[at])) == len(run):
                return True
        return False

    def _ending(self, begin: int, end: int, expression: Expression) -> list[Event]:
        if not isinstance(expression, Dates) or expression.period.core is None:
            return []
        after = end + (self.words[end : end + 1] == [","])
        noun = next((at for at in range(begin, end) if self.words[at] in lexicon.NOUNS), None)
        if noun is not None:  # `until his death in 1990`
            found = (self._noun(noun), begin)
        elif expression.relation is not TemporalRelation.AFTER and self.words[after : after + 1] == ["when"]:
            found = self.predicate_after(after + 1)
        else:
            return []
        if found is None or not found[0].kinds:
            return []
        before = self.copula_before(begin) or self.predicate_before(begin)
        if before is None or not self._is_own(before, begin, noun is not None, after):
            return []
        subject = self.subject(before[1]) if noun is not None else self._whose(*found)
        if subject is None:
            return []
        last = expression.period.ends and expression.period.ends[1]
        date = expression if last is None else dataclasses.replace(expression, period=Period.exact(last))
        date = dataclasses.replace(date, relation=TemporalRelation.IN)
        return [self._event(found[0], found[1], date, subject)]

    def _plain(self, begin: int, end: int, expression: Expression) -> list[Event]:
        if self._is_half_read(begin, end, expression):
            return []
        if self.words[begin] in ("older", "younger"):
            words = self.words[begin] + " than"
            return [self._event(Predicate(words, words, OLDER), begin, expression)]
        if isinstance(expression, Duration) and not self._lasts(begin, end):
            return []
        if isinstance(expression, Age) and self.words[end : end + 1] == ["when"]:  # `was over eighty when he died`
            found, subject = self.predicate_after(end), self.subject(begin)
            return [self._event(found[0], found[1], expression, subject)] if found else []
        found = self.predicate_after(end) or self.copula_after(end) if self._opens(begin, end) else None
        if (
            found is None
            and (found := self.predicate_before(begin))
            and not self._continues(begin)
            and any(found[1] <= other < begin for other, _, _ in self.expressions)
        ):
            # An earlier verb has its own date; this one belongs to a later verb, or to none if `was` or `has been`
            # comes between.
            last = max(other for _, other, _ in self.expressions if other <= begin)
            found = self.predicate_after(end) or (
                None if lexicon.AUXILIARIES.intersection(self.words[last:begin]) else found
            )
        state = self.copula_before(begin)
        if state is not None and (found is None or found[1] < state[1]):
            found = state
        if found is None:
            return []
        predicate, at = self._of_light_verb(*found)
        subject = self._whose(predicate, at)
        return [] if subject is None else [self._event(predicate, at, expression, subject)]

    def _lasts(self, begin: int, end: int) -> bool:
        """Whether a length is a duration: `for ten years`, `lasted ten years`; not `25 years old`, `for the first time
        in ten years`."""
        return self.words[begin - 1 : begin] in (["for"], ["lasted"]) and self.words[end : end + 1] != ["old"]

    def _of_light_verb(self, predicate: Predicate, at: int) -> tuple[Predicate, int]:
        """`The first ascent of X was made`: an ascent."""
        if tuple(predicate.words.split()) in lexicon.LIGHT:
            begin = at
            while begin and self.words[begin - 1] not in lexicon.CLAUSE_ENDS:
                begin -= 1
            for noun in range(begin, at):
                of_name = self.words[noun + 1 : noun + 2] == ["of"] or self.words[noun - 1 : noun] == ["'s"]
                if self.words[noun] in lexicon.NOUNS and of_name:
                    found = self._noun(noun)
                    return dataclasses.replace(found, words=f"{found.words} {predicate.words}"), noun
        return predicate, at

    def _noun(self, at: int) -> Predicate:
        return Predicate(self.words[at], stem(self.words[at]), phrases()[(self.words[at],)])

    def _is_half_read(self, begin: int, end: int, expression: Expression) -> bool:
        """Whether the words next to the date change its meaning: `from 5 to 10 June 1990`, `1941/1942`, `the year
        before 1990`, `up to 1990`, `in his 30s`."""
        before, earlier = self.words[begin - 1 : begin], self.words[begin - 2 : begin - 1] if begin > 1 else []
        after = self.words[end : end + 2]
        if len(after) == 2 and after[0] in ("or", "/") and after[1].isdecimal():
            return True
        if not before or begin - 1 in self._of_dates:
            return False
        word, last = before[0], earlier[0] if earlier else ""
        if isinstance(expression, Dates):
            if expression.relation in (TemporalRelation.BEFORE, TemporalRelation.AFTER) and word in lexicon.NARROWING:
                return True
            if expression.reading is Reading.OFFSET and word == "and":
                return True
            if expression.reading in (Reading.DECADE, Reading.PART) and word in lexicon.POSSESSIVES:
                return True
        if (word == "of" and last in lexicon.PORTIONS) or (word == "to" and last == "up") or word == "through":
            return True
        is_bare = self.words[begin] not in lexicon.PREPOSITIONS
        return (
            is_bare
            and word in JOINING
            and bool(last)
            and begin - 2 not in self._of_dates
            and (
                last in MONTH_NUMBERS or (cardinal(self.words, begin - 2) or ordinal(self.words, begin - 2)) is not None
            )
        )

    def _opens(self, begin: int, end: int) -> bool:
        """`In 1947, he won`, `and in 1952, he won`."""
        if begin == 0 or end == len(self.words):
            return begin == 0
        return (
            self.words[begin - 1] in lexicon.CLAUSE_ENDS
            and self.words[begin - 1] != "("
            and self.words[end] == ","
            and not self._continues(begin)
        )

    def _continues(self, begin: int) -> bool:
        """`in the late 1960s and early 1970s`: one verb for both."""
        return any(
            end in (begin - 1, begin) and self.words[end] in ("and", "or", ",", *self.words[begin : begin + 1])
            for _, end, _ in self.expressions
            if end <= begin
        )

    def _event(
        self, predicate: Predicate, at: int, expression: Expression, subject: EventSubject | None = None
    ) -> Event:
        return Event(
            predicate,
            self.subject(at) if subject is None else subject,
            expression,
            self.text[expression.start : expression.end],
            not self._is_bound(expression)
            and lexicon.DENYING.search(self.text) is None
            and not any(self.is_uncertain(near) for near in range(max(at - 4, 0), min(at + 3, len(self.words)))),
            self._said(at + len(predicate.words.split())),
            not lexicon.ORDINALS.isdisjoint((*self.words[at - 1 : at], *predicate.words.split())),
            at,
            *self._near(at + len(predicate.words.split()), expression),
            self._complement(at + len(predicate.words.split())),
        )

    def _is_bound(self, expression: Expression) -> bool:
        """Whether a date is a bound (`no earlier than 1950`) that would be read as a beginning."""
        if not isinstance(expression, Dates) or expression.relation is not TemporalRelation.SINCE:
            return False
        return self.text[expression.start : expression.end].lower().partition(" ")[0] not in ("since", "from")

    def _near(self, begin: int, expression: Expression) -> tuple[frozenset[str], bool]:
        """`North America` in `was released in Japan in 2002 and in North America in 2003`, and whether there is a date
        before."""
        end = next((first for first, _, other in self.expressions if other.start == expression.start), begin)
        before = [last for _, last, _ in self.expressions if begin < last <= end]
        words = self.words[max(before, default=begin) : end]
        return frozenset(stem(word) for word in words if word[0].isalnum() and word not in EVENT_STOP_WORDS), bool(
            before
        )

    def _complement(self, begin: int) -> tuple[str, ...]:
        end = begin
        while end < len(self.words) and not (
            end in self._of_dates or self.words[end] in lexicon.PREPOSITIONS | lexicon.CLAUSE_ENDS | {"of"}
        ):
            end += 1
        words = [word for word in self.words[begin:end] if word[0].isalnum() and word not in EVENT_STOP_WORDS]
        return tuple(
            stem(word) for at, word in enumerate(words) if word not in lexicon.ORDINALS and ordinal(words, at) is None
        )

    def _said(self, begin: int) -> tuple[Token, ...]:
        """The words after an event in its clause, up to its agent and to the words that its date is compared with."""
        end, dated = begin, False
        while end < len(self.words) and (
            end in self._of_dates
            or not (
                self.words[end] in lexicon.CLAUSE_ENDS
                or self.words[end] == "by"
                or (dated and self.words[end] in lexicon.ASIDES)
            )
        ):
            dated |= end in self._of_dates
            end += 1
        return tuple(
            self.tokens[at]
            for at in range(begin, end)
            if at not in self._of_dates and self.words[at][0].isalnum() and self.words[at] not in EVENT_STOP_WORDS
        )

    @property
    def is_open(self) -> bool:
        """Whether a claim denies, weakens or quantifies its events: the verifier decides it."""
        return lexicon.DENYING.search(self.text) is not None or any(map(self.is_uncertain, range(len(self.words))))

    def is_uncertain(self, at: int) -> bool:
        """Whether a word denies, weakens or quantifies; `May` and words of names do not."""
        denies = self.words[at] in lexicon.UNCERTAIN or self.words[at].endswith("n't")
        return denies and at not in self._of_dates and not (self.tokens[at].capital and at)

    def _lifespan(self, begin: int, end: int, expression: Expression) -> list[Event] | None:
        """Birth and death in `Name (5 February 1748 – 28 January 1798)` at the beginning of a sentence."""
        if (
            not isinstance(expression, Dates)
            or expression.reading is not Reading.RANGE
            or begin < 2
            or self.words[end : end + 1] != [")"]
            or expression.period.core is None
            or expression.period.ends is None
        ):
            return None
        opening = max((at for at in range(begin) if self.words[at] == "("), default=None)
        if not opening or any(self.is_predicate(at) for at in range(opening)) or begin - opening > 12:
            return None
        # `(reigned 1643 – 1715)`, `(Chelsea 1990 – 1999)`, `(c. 1730 – 1799)` and `(1941/1942 – 2011)` give no days.
        spoken = [at for at in range(opening, begin) if self.words[at] == "]"]
        beside = range(max(spoken, default=opening) + 1, begin)
        if (
            self.words[begin - 1] not in ("(", ";", ",", ":", "born")
            or self.words[begin] in lexicon.PREPOSITIONS | AROUND
            or any(
                self.words[at][0].isalnum() and not self.tokens[at].capital and self.words[at] not in lexicon.BORN
                for at in beside
            )
        ):
            return []
        subject = self.subject(opening)
        if not subject.names:  # `Ann Lee MC and bar (1900 – 1950)`
            subject = self._subject(0, opening)
        return [
            Event(
                Predicate(str(kind), str(kind), frozenset({kind})),
                subject,
                dataclasses.replace(expression, period=Period.exact(day), reading=Reading.DAY),
                self.text[expression.start : expression.end],
            )
            for kind, day in zip((WordKind.BIRTH, WordKind.DEATH), expression.period.ends)
        ]

    def _of_work(self, begin: int, end: int, expression: Expression) -> list[Event] | None:
        """The release in `is a 2005 American drama film`, `Harbour (1965) is a film`; empty if the year belongs to
        something else (`the 1996 ceremony`). None if the date is in another construction."""
        before, after = self.words[begin - 1 : begin], self.words[end : end + 1]
        if before == ["("] and after == [")"] and not any(map(self.is_predicate, range(begin - 1))):
            noun = self._noun_of_work(end + 1, end + 12) if self.words[end + 1 : end + 2] in (["is"], ["was"]) else None
            at = begin - 1
        elif before and self.words[begin].isdecimal() and before[0] in ("a", "an", "the", *lexicon.POSSESSIVES):
            noun = self._noun_of_work(end, end + 7)
            if begin < 2 or self.words[begin - 2] not in ("is", "was", "are", "were") or noun is None:
                return []
            at = begin - 2
        else:
            return None
        if noun is None:
            return None
        event = self._event(Predicate(noun, noun, frozenset({WordKind.RELEASE})), at, expression)
        return [dataclasses.replace(event, said=(), first=False)]

    def _noun_of_work(self, begin: int, end: int) -> str | None:
        """The first word for a work, before the clause ends."""
        noun = next(
            (word for word in self.words[begin:end] if word in lexicon.WORKS or word in lexicon.CLAUSE_ENDS), None
        )
        return noun if noun in lexicon.WORKS else None


@functools.lru_cache(maxsize=1 << 12)  # of about 10 KiB each
def analysed(text: str) -> EventSentence:
    return EventSentence(text)
