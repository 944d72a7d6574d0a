"""Extracts dated events from a sentence, each with its predicate, subject and date.

Without a parser: the predicate of a date is the nearest verb or event noun before it, or after it if the date opens its
clause. Uncertain dates get no event and decide nothing. The same holds for a date that was only half read, and for an
event whose subject is unclear (`a son born in 1990`, `after the death in 1990`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from lisax.temporal import calendar
from lisax.temporal.attributes import stated
from lisax.temporal.calendar import Interval
from lisax.temporal.expressions import Age, Dates, Expression, Period, Reading, TemporalRelation
from lisax.temporal.grammar import parse
from lisax.temporal.lexicon import (
    ASIDES,
    AUXILIARIES,
    BEGINNINGS,
    BORN,
    CLAUSE_ENDS,
    COPULAS,
    DEMONSTRATIVES,
    DETERMINERS,
    HAVING,
    HELD,
    INTRANSITIVE,
    NARROWING,
    NOUNS,
    ORDINALS,
    OTHERS,
    PASSIVES,
    PLACES,
    PORTIONS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    QUANTITIES,
    RELATIVE_PRONOUNS,
    TO_THE_DATE,
    TRANSITIVE,
    TYPES,
    UNCERTAIN,
    WORKS,
    WordKind,
    is_verb,
    phrases,
    stem,
)
from lisax.temporal.periods import AROUND, DASHES, MONTH_NUMBERS
from lisax.text.numbers import cardinal, ordinal
from lisax.text.stop_words import EVENT_STOP_WORDS
from lisax.text.tokens import Token, tokens

LONGEST_PHRASE = max(map(len, phrases()))
# Without `was`, `X born in 1950` or `X founded in 1990` may refer to any X nearby.
PARTICIPLES = TRANSITIVE - INTRANSITIVE | {("born",)}
JOINING = DASHES | {"and", "to", "or", "/"}
ADVERBS = frozenset("also first later then originally officially initially finally soon eventually only".split())
OLDER = frozenset({WordKind.BIRTH, WordKind.FOUNDING, WordKind.RELEASE})


@dataclasses.dataclass(frozen=True, slots=True)
class Predicate:
    """`kinds`: the known kinds of events that the words state; without any, only verbs of the same `stem` match."""

    words: str
    stem: str
    kinds: frozenset[WordKind]

    def matches(self, other: Predicate) -> bool:
        return bool(self.kinds & other.kinds) if self.kinds and other.kinds else self.stem == other.stem


@dataclasses.dataclass(frozen=True, slots=True)
class EventSubject:
    """The words of a subject. `names`: words with a capital; `relational`: the nouns of `the father of`, `its rival`;
    `dated`: there is a date among them (`the 2015 film`)."""

    words: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    nouns: frozenset[str] = frozenset()
    relational: bool = False
    dated: bool = False


NOBODY = EventSubject(("?",), frozenset({"?"}))  # matches no page, so that nothing is decided


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


class EventSentence:
    """A text's tokens and its time expressions; positions are token indices."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = tokens(text)
        self.words = [token.word for token in self.tokens]
        self.expressions: list[tuple[int, int, Expression]] = []  # (first position, position after it, expression)
        starts = {token.start: position for position, token in enumerate(self.tokens)}
        for expression in parse(text):
            begin = starts[expression.start]
            end = next(
                at
                for at in range(begin, len(self.tokens) + 1)
                if at == len(self.tokens) or self.tokens[at].start >= expression.end
            )
            self.expressions.append((begin, end, expression))
        self._of_dates = {at for begin, end, _ in self.expressions for at in range(begin, end)}

    def content(self) -> frozenset[str]:
        """Stems of the content words, without dates."""
        return frozenset(
            stem(word)
            for at, word in enumerate(self.words)
            if at not in self._of_dates and word[0].isalnum() and word not in EVENT_STOP_WORDS
        )

    def events(self) -> list[Event]:
        if (attribute := stated(self.text)) is not None:
            predicate = Predicate(attribute.name, stem(attribute.name), frozenset({attribute.kind}))
            return [
                Event(predicate, EventSubject(), attribute.date, self.text[attribute.date.start : attribute.date.end])
            ]
        found = []
        for begin, end, expression in self.expressions:
            if isinstance(expression, (Dates, Age)):
                for reading in (self._lifespan, self._of_work, self._plain):
                    if (events := reading(begin, end, expression)) is not None:
                        found += events
                        break
        return found

    def _plain(self, begin: int, end: int, expression: Expression) -> list[Event]:
        if self._is_half_read(begin, end, expression):
            return []
        if self.words[begin] in ("older", "younger"):
            words = self.words[begin] + " than"
            return [self._event(Predicate(words, words, OLDER), begin, expression)]
        found = self.predicate_after(end) if self._opens(begin, end) else None
        if (
            found is None
            and (found := self.predicate_before(begin))
            and not self._continues(begin)
            and any(found[1] <= other < begin for other, _, _ in self.expressions)
        ):
            # An earlier verb has its own date; this one belongs to a later verb, or to none if `was` or `has been`
            # comes between.
            last = max(other for _, other, _ in self.expressions if other <= begin)
            found = self.predicate_after(end) or (None if AUXILIARIES.intersection(self.words[last:begin]) else found)
        if found is None:
            return []
        predicate, at = found
        subject = self._whose(predicate, at)
        return [] if subject is None else [self._event(predicate, at, expression, subject)]

    def _is_half_read(self, begin: int, end: int, expression: Expression) -> bool:
        """Whether the words beside the date change its meaning: `from 5 to 10 June 1990`, `1941/1942`, `the year before
        1990`, `up to 1990`, `in his 30s`."""
        before, earlier = self.words[begin - 1 : begin], self.words[begin - 2 : begin - 1] if begin > 1 else []
        after = self.words[end : end + 2]
        if len(after) == 2 and after[0] in ("or", "/") and after[1].isdecimal():
            return True
        if not before or begin - 1 in self._of_dates:
            return False
        word, last = before[0], earlier[0] if earlier else ""
        if isinstance(expression, Dates):
            if expression.relation in (TemporalRelation.BEFORE, TemporalRelation.AFTER) and word in NARROWING:
                return True
            if expression.reading is Reading.OFFSET and word == "and":
                return True
            if expression.reading in (Reading.DECADE, Reading.PART) and word in POSSESSIVES:
                return True
        if (word == "of" and last in PORTIONS) or (word == "to" and last == "up") or word == "through":
            return True
        is_bare = self.words[begin] not in PREPOSITIONS
        return (
            is_bare
            and word in JOINING
            and bool(last)
            and begin - 2 not in self._of_dates
            and (
                last in MONTH_NUMBERS or (cardinal(self.words, begin - 2) or ordinal(self.words, begin - 2)) is not None
            )
        )

    def _whose(self, predicate: Predicate, at: int) -> EventSubject | None:
        """The subject of an event; None if it is unclear."""
        words = tuple(predicate.words.split())
        if words[0] in NOUNS:
            return self._of_noun(at)
        is_bare = predicate.kinds and words in PARTICIPLES and not self._is_passive(at)
        return self.subject(at) if not is_bare or self._is_of_opening(at, predicate.kinds) else None

    def _of_noun(self, at: int) -> EventSubject | None:
        """The named subject X of `X's death`, `the death of X`, or `X had its premiere`."""
        ends = CLAUSE_ENDS | PREPOSITIONS - {"of"}
        begin = end = at
        if self.words[at - 1 : at] == ["'s"]:
            begin, end = at - 1, at - 1
            while begin and self.words[begin - 1] not in ends and not self.is_predicate(begin - 1):
                begin -= 1
        elif self.words[at + 1 : at + 2] == ["of"]:
            begin = end = at + 2
            while end < len(self.words) and not (
                self.words[end] in ends or end in self._of_dates or self.is_predicate(end)
            ):
                end += 1
        else:
            while begin and self.words[begin - 1] in ORDINALS | POSSESSIVES | DETERMINERS:
                begin -= 1
            is_held = self.words[at] in HELD and not HAVING.isdisjoint(self.words[begin - 1 : begin])
            return self.subject(begin - 1) if is_held else None
        found = subject_of(self.tokens[begin:end])
        return found if found.names else None

    def _is_passive(self, at: int) -> bool:
        """`was built`, `was planned and built`, `has also been built`."""
        at -= 1
        while at > 0:
            if self.words[at] in ADVERBS or self.words[at].endswith("ly"):
                at -= 1
            elif self.words[at] in ("and", ",") and is_verb(self.words[at - 1]):
                at -= 2
            else:
                break
        return at >= 0 and self.words[at] in PASSIVES

    def _is_of_opening(self, at: int, kinds: frozenset[WordKind]) -> bool:
        """Whether a participle can only refer to the opening name: `X (born 1950)`, `X is a novel published in
        1850`."""
        verbs = [before for before in range(at) if self.is_predicate(before)]
        if not verbs:
            return OTHERS.isdisjoint(self.words[:at])
        described = self.words[verbs[-1] + 1 : at]
        by = {"by"} if WordKind.RELEASE in kinds else set()  # `is an album by X, released in 1990`
        return (
            all(self.words[verb] in COPULAS for verb in verbs)
            and described[:1] in (["a"], ["an"], ["the"])
            and (OTHERS | PREPOSITIONS - by).isdisjoint(described)
        )

    def _opens(self, begin: int, end: int) -> bool:
        """`In 1947, he won`, `and in 1952, he won`."""
        if begin == 0 or end == len(self.words):
            return begin == 0
        return (
            self.words[begin - 1] in CLAUSE_ENDS
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
            not any(self.is_uncertain(near) for near in range(max(at - 4, 0), min(at + 3, len(self.words)))),
            self._said(at + len(predicate.words.split())),
            not ORDINALS.isdisjoint((*self.words[at - 1 : at], *predicate.words.split())),
        )

    def _said(self, begin: int) -> tuple[Token, ...]:
        """The words after an event in its clause, up to its agent and to what its date is compared with."""
        end, dated = begin, False
        while end < len(self.words) and (
            end in self._of_dates
            or not (self.words[end] in CLAUSE_ENDS or self.words[end] == "by" or (dated and self.words[end] in ASIDES))
        ):
            dated |= end in self._of_dates
            end += 1
        return tuple(
            self.tokens[at]
            for at in range(begin, end)
            if at not in self._of_dates and self.words[at][0].isalnum() and self.words[at] not in EVENT_STOP_WORDS
        )

    def is_uncertain(self, at: int) -> bool:
        """Whether a word denies, weakens or quantifies; `May` and words of names do not."""
        return self.words[at] in UNCERTAIN and at not in self._of_dates and not (self.tokens[at].capital and at)

    def _lifespan(self, begin: int, end: int, expression: Expression) -> list[Event] | None:
        """Birth and death in `Name (5 February 1748 – 28 January 1798)` at the beginning of a sentence."""
        if (
            not isinstance(expression, Dates)
            or expression.reading is not Reading.RANGE
            or begin < 2
            or self.words[end : end + 1] != [")"]
            or expression.period.core is None
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
            or self.words[begin] in PREPOSITIONS | AROUND
            or any(
                self.words[at][0].isalnum() and not self.tokens[at].capital and self.words[at] not in BORN
                for at in beside
            )
        ):
            return []
        span = expression.period.core
        return [
            Event(
                Predicate(str(kind), str(kind), frozenset({kind})),
                self.subject(opening),
                dataclasses.replace(expression, period=Period.exact(day), reading=Reading.DAY),
                self.text[expression.start : expression.end],
            )
            for kind, day in zip((WordKind.BIRTH, WordKind.DEATH), _ends(span))
        ]

    def _of_work(self, begin: int, end: int, expression: Expression) -> list[Event] | None:
        """The release in `is a 2005 American drama film`, `Harbour (1965) is a film`; empty if the year belongs to
        something else (`the 1996 ceremony`). None if the date is in another construction."""
        before, after = self.words[begin - 1 : begin], self.words[end : end + 1]
        if before == ["("] and after == [")"] and not any(map(self.is_predicate, range(begin - 1))):
            noun = self._noun_of_work(end + 1, end + 12) if self.words[end + 1 : end + 2] in (["is"], ["was"]) else None
            at = begin - 1
        elif before and self.words[begin].isdecimal() and before[0] in ("a", "an", "the", *POSSESSIVES):
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
        noun = next((word for word in self.words[begin:end] if word in WORKS or word in CLAUSE_ENDS), None)
        return noun if noun in WORKS else None

    # --- Predicates -------------------------------------------------------------------------

    def predicate_before(self, at: int) -> tuple[Predicate, int] | None:
        """The predicate nearest before a position: (predicate, its position)."""
        for end in range(at, 0, -1):
            if found := self.predicate_ending(end, at):
                return found
            word = self.words[end - 1]
            if (word in (";", ".") and "(" not in self.words[:end]) or self._is_gerund(end - 1):
                return None  # within brackets a semicolon does not end a sentence: `(born Sarah Ward; 28 June 1951)`
        return None

    def predicate_after(self, at: int, known: bool = False) -> tuple[Predicate, int] | None:
        """The first predicate from a position on; with `known`, the first of a known kind."""
        for end in range(at + 1, len(self.words) + 1):
            if (found := self.predicate_ending(end, at)) and (found[0].kinds or not known):
                # `came` in `came out` is not a predicate by itself.
                for longer in range(min(end + LONGEST_PHRASE - 1, len(self.words)), end, -1):
                    more = self.predicate_ending(longer, at)
                    if more and more[1] <= found[1]:
                        return more
                return found
        return None

    def _is_gerund(self, at: int) -> bool:
        """`premiering`, to which the date may belong."""
        word = self.words[at]
        return word.endswith("ing") and len(word) > 5 and not self.tokens[at].capital and at not in self._of_dates

    def is_predicate(self, at: int) -> bool:
        return self.words[at] in AUXILIARIES or self.predicate_ending(at + 1, len(self.words)) is not None

    def predicate_ending(self, end: int, date: int) -> tuple[Predicate, int] | None:
        """(predicate, its position) of the longest phrase, or else the verb, that ends before position `end`."""
        for size in range(min(LONGEST_PHRASE, end), 0, -1):
            words = tuple(self.words[end - size : end])
            if words in phrases() and not (words in TO_THE_DATE and date != end):
                return self._predicate(words, end - size, phrases()[words])
        if end - 1 not in self._of_dates and is_verb(self.words[end - 1]) and not self.tokens[end - 1].capital:
            return self._predicate((self.words[end - 1],), end - 1, frozenset())
        return None

    def _predicate(self, words: tuple[str, ...], at: int, kinds: frozenset[WordKind]) -> tuple[Predicate, int]:
        after = at + len(words)
        following, next_one = (*self.words[after : after + 2], "", "")[:2]
        if words in BEGINNINGS and following.endswith("ing") and after not in self._of_dates:
            return Predicate(following, stem(following), frozenset()), at
        has_object = after not in self._of_dates and (
            (following[:1].isalnum() and following not in PREPOSITIONS)
            or (
                after + 1 not in self._of_dates
                and following in QUANTITIES
                and (cardinal(self.words, after + 1) is not None or next_one[:1].isdecimal())
            )
        )
        if words in TRANSITIVE and has_object and not self._is_passive(at):
            kinds = frozenset()  # `released an album`, `killed over 30`: the subject did not come out or die
        if (words == ("released",) and following == "from") or (at and self.words[at - 1] == "re"):
            kinds = frozenset()  # released from prison; `re-released`
        return Predicate(" ".join(words), stem(words[0]) if len(words) == 1 else " ".join(words), kinds), at

    # --- Subjects ---------------------------------------------------------------------------

    def subject(self, predicate: int) -> EventSubject:
        """The subject of the predicate at a position: in its own clause, or that of the whole sentence."""
        begin = predicate
        while begin and self.words[begin - 1] not in CLAUSE_ENDS:
            begin -= 1
        end = next((at for at in range(begin, predicate) if self.is_predicate(at)), predicate)
        local = self._subject(begin, end)
        if begin == 0 and not local.words:
            return self._after_participle(predicate)
        if begin == 0 or local.names or local.nouns or PRONOUNS.intersection(local.words):
            return local
        while self.words[begin - 1] == "and" and begin > 1:  # `who was born here and died in 1980`
            begin -= 1
            while begin and self.words[begin - 1] not in CLAUSE_ENDS:
                begin -= 1
        if begin and self.words[begin - 1] in RELATIVE_PRONOUNS and not self._describes_subject(begin - 1):
            return self._antecedent(begin - 1)
        return self._subject(0, self._end_of_subject(predicate))

    def _after_participle(self, predicate: int) -> EventSubject:
        """The subject after the comma: `Released in 2015, the film won`."""
        begin = next(
            (at + 1 for at in range(predicate, len(self.words)) if self.words[at] == "," and at not in self._of_dates),
            None,
        )
        if begin is None:
            return EventSubject()
        end = next(
            (at for at in range(begin, len(self.words)) if self.is_predicate(at) or self.words[at] in CLAUSE_ENDS),
            len(self.words),
        )
        return self._subject(begin, end)

    def _describes_subject(self, pronoun: int) -> bool:
        """Whether a relative clause refers to the sentence's subject: it follows it, or `is an actor`, `is a town in
        X`."""
        verbs = [at for at in range(pronoun) if self.is_predicate(at)]
        of_another = PREPOSITIONS if self.words[pronoun - 1] == "," else PREPOSITIONS - PLACES
        return all(self.words[at] in COPULAS for at in verbs) and (
            not verbs or of_another.isdisjoint(self.words[verbs[-1] : pronoun])
        )

    def _antecedent(self, pronoun: int) -> EventSubject:
        """The name just before a relative clause; NOBODY without one."""
        end = pronoun - (self.words[pronoun - 1] == ",")
        begin = end
        while begin and self.tokens[begin - 1].capital:
            begin -= 1
        return self._subject(begin, end) if begin < end else NOBODY

    def _end_of_subject(self, limit: int) -> int:
        """Where the subject that opens the sentence ends: at a verb, or at a word that may be one after a name or a
        noun."""
        if self.words[0] in PRONOUNS - DEMONSTRATIVES:
            return 1
        named = False
        for at in range(limit):
            word = self.words[at]
            if self.is_predicate(at) or word in CLAUSE_ENDS:
                return at
            if word[0].isalnum() and not self.tokens[at].capital and word not in EVENT_STOP_WORDS and at:
                last = self.words[at - 1]
                after_noun = last in TYPES or (word.endswith("s") and last not in EVENT_STOP_WORDS)
                if named or (after_noun and word not in TYPES):
                    return at
            named |= (self.tokens[at].capital and at > 0) or (at == 0 and word not in EVENT_STOP_WORDS)
        return limit

    def _subject(self, begin: int, end: int) -> EventSubject:
        kept = [
            at
            for at in range(begin, end)
            if (at not in self._of_dates and self.tokens[at].word[0].isalnum()) or self.words[at] == "'s"
        ]
        while kept and self.words[kept[-1]] in ADVERBS:
            kept.pop()
        found = subject_of([self.tokens[at] for at in kept])
        is_dated = bool(kept) and not self._of_dates.isdisjoint(range(kept[0], kept[-1]))
        return dataclasses.replace(found, dated=is_dated)


def subject_of(found: Sequence[Token]) -> EventSubject:
    """Classifies a subject's words; a pronoun alone has neither names nor nouns."""
    words = tuple(token.word for token in found)
    names, nouns, relational = set(), set(), bool(words) and words[0] in POSSESSIVES
    for position, token in enumerate(found):
        if token.word == "'s" or (token.word == "of" and position and found[position - 1].word in nouns):
            relational = True
        if token.word in EVENT_STOP_WORDS | PRONOUNS | POSSESSIVES or not token.word[0].isalnum():
            continue
        (names if token.capital or token.word.isdecimal() else nouns).add(token.word)
    return EventSubject(words, frozenset(names), frozenset(nouns), relational)


def _ends(span: Interval) -> tuple[Interval, Interval]:
    """The first and the last day of a life, as intervals; whole years if only these are known."""
    first, last = calendar.civil(span.first), calendar.civil(span.last)
    if first[1:] == (1, 1) and last[1:] == (12, 31):
        return calendar.year_interval(first[0]), calendar.year_interval(last[0])
    return Interval(span.first, span.first), Interval(span.last, span.last)


@functools.lru_cache(maxsize=1 << 14)
def analysed(text: str) -> EventSentence:
    return EventSentence(text)
