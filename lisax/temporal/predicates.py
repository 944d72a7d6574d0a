"""The predicates of a sentence: verbs and nouns of events, by position, with the kinds of events that they state."""

from __future__ import annotations

import dataclasses

from lisax.temporal.expressions import Dates, Expression, TemporalRelation
from lisax.temporal.grammar import LIST_ENDS, parse
from lisax.temporal.lexicon import (
    AUXILIARIES,
    BEGINNINGS,
    BORN,
    CLAUSE_ENDS,
    COPULAS,
    PASSIVE_ONLY,
    PASSIVES,
    PREPOSITIONS,
    QUANTITIES,
    TO_THE_DATE,
    TRANSITIVE,
    WordKind,
    is_verb,
    phrases,
    stem,
)
from lisax.text.numbers import cardinal
from lisax.text.stop_words import EVENT_STOP_WORDS
from lisax.text.tokens import tokens

LONGEST_PHRASE = max(map(len, phrases()))
BEING = "be"  # the stem of states: `was mayor`, `served as mayor`
LISTING = frozenset((",", "and", "&", "again", "in"))
ADVERBS = frozenset("also first later then originally officially initially finally soon eventually only".split())


@dataclasses.dataclass(frozen=True, slots=True)
class Predicate:
    """`kinds`: the known kinds of events that the words state; without any, only verbs of the same `stem` match."""

    words: str
    stem: str
    kinds: frozenset[WordKind]

    def matches(self, other: Predicate) -> bool:
        return bool(self.kinds & other.kinds) if self.kinds and other.kinds else self.stem == other.stem


Placing = tuple[int, int, Expression]  # an expression between its first position and the position after it


class PredicateSentence:
    """A text's tokens and its time expressions; positions are token indices."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = tokens(text)
        self.words = [token.word for token in self.tokens]
        self.expressions: list[Placing] = []
        starts = {token.start: position for position, token in enumerate(self.tokens)}
        for expression in parse(text):
            begin = starts[expression.start]
            end = next(
                at
                for at in range(begin, len(self.tokens) + 1)
                if at == len(self.tokens) or self.tokens[at].start >= expression.end
            )
            self.expressions.append((begin, end, expression))
        self.runs = self._runs()
        self._of_dates = {at for run in self.runs for at in range(run[0][0], run[-1][1])}

    def _runs(self) -> list[list[Placing]]:
        """The expressions, with the items of a list together: `in 1974, 1976 and 1979`."""
        runs: list[list[Placing]] = []
        for item in self.expressions:
            if runs and self._joined(runs[-1][-1], item):
                runs[-1].append(item)
            else:
                runs.append([item])
        return [part for run in runs for part in ([run] if self._is_list(run) else [[item] for item in run])]

    def _joined(self, one: Placing, other: Placing) -> bool:
        between = self.words[one[1] : other[0]]
        return (
            bool(between)
            and LISTING.issuperset(between)
            and all(isinstance(item[2], Dates) and item[2].relation is TemporalRelation.IN for item in (one, other))
        )

    def _is_list(self, run: list[Placing]) -> bool:
        begin, end, _ = run[-1]
        if LISTING.isdisjoint(self.words[begin - 1 : begin]) or self.words[begin - 1] == ",":
            return False
        following = self.words[end] if end < len(self.words) else ""
        # `in 1984 and in 1990, he won`, `in 1984 and in 1990 he won`
        prefixed = self.words[begin] in PREPOSITIONS
        return not (following == "," and prefixed) and (
            not following[:1].isalnum() or following in LIST_ENDS or (run[0][0] == 0 and not prefixed)
        )

    def content(self) -> frozenset[str]:
        """Stems of the content words, without dates."""
        return frozenset(
            stem(word)
            for at, word in enumerate(self.words)
            if at not in self._of_dates and word[0].isalnum() and word not in EVENT_STOP_WORDS
        )

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
                # `came` in `came out` is not a predicate on its own.
                for longer in range(min(end + LONGEST_PHRASE - 1, len(self.words)), end, -1):
                    more = self.predicate_ending(longer, at)
                    if more and more[1] <= found[1]:
                        return more
                return found
        return None

    def copula_before(self, at: int) -> tuple[Predicate, int] | None:
        """`was` in `was mayor of Osk`, if the words before a position are its complement."""
        for begin in range(at - 1, -1, -1):
            if self.words[begin] in COPULAS or self.words[begin] == "been":
                return self._copula(begin, at)
            if (
                self.words[begin] in CLAUSE_ENDS
                or self._is_gerund(begin)
                or self.predicate_ending(begin + 1, at) is not None
            ):
                return None
        return None

    def copula_after(self, at: int) -> tuple[Predicate, int] | None:
        """`was` in `, he was mayor of Osk`, unless it belongs to a verb (`he was elected`)."""
        begin = next((begin for begin in range(at, len(self.words)) if self.words[begin] in COPULAS), None)
        if begin is None:
            return None
        end = begin + 1
        while end < len(self.words) and self.words[end] not in CLAUSE_ENDS and self.words[end] != "and":
            if self.predicate_ending(end + 1, len(self.words)) is not None or self._is_gerund(end):
                return None
            end += 1
        return self._copula(begin, end)

    def _copula(self, begin: int, end: int) -> tuple[Predicate, int] | None:
        complement = [word for word in self.words[begin + 1 : end] if word[0].isalnum()]
        found = not EVENT_STOP_WORDS.issuperset(complement)
        return (Predicate(self.words[begin], BEING, frozenset()), begin) if found else None

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
        if words == ("served",) and following == "as":
            return Predicate("served as", BEING, frozenset()), at
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
        if words[0] in PASSIVE_ONLY and not self._is_passive(at) and self.words[at - 1] not in (",", "and"):
            kinds = frozenset()
        if (words == ("released",) and following == "from") or (at and self.words[at - 1] == "re"):
            kinds = frozenset()  # released from prison; `re-released`
        return Predicate(" ".join(words), stem(words[0]) if len(words) == 1 else " ".join(words), kinds), at

    def _is_passive(self, at: int) -> bool:
        """`was built`, `was planned and built`, `has also been built`, `was begun in 1880 and built`."""
        begin = at
        at -= 1
        while at > 0:
            if self.words[at] in ADVERBS or self.words[at].endswith("ly"):
                at -= 1
            elif self.words[at] in ("and", ",") and is_verb(self.words[at - 1]):
                at -= 2
            else:
                break
        if at > 0 and self.words[at] in ("and", ",") and self.words[begin] not in BORN:
            at -= self.words[at - 1] == ","
            if at - 1 in self._of_dates:
                return (before := self._verb_before(at - 1)) is not None and self._is_passive(before)
        return at >= 0 and self.words[at] in PASSIVES

    def _verb_before(self, at: int) -> int | None:
        """The verb whose clause a position ends, without another in between."""
        while at >= 0 and (at in self._of_dates or self.words[at] not in CLAUSE_ENDS):
            if at not in self._of_dates and is_verb(self.words[at]) and not self.tokens[at].capital:
                return at
            at -= 1
        return None
