"""The subjects of a sentence's predicates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lisax.temporal.lexicon import (
    CLAUSE_ENDS,
    COPULAS,
    DEMONSTRATIVES,
    DETERMINERS,
    HAVING,
    HELD,
    INTRANSITIVE,
    NOUNS,
    ORDINALS,
    OTHERS,
    PLACES,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVE_PRONOUNS,
    SUBORDINATORS,
    TRANSITIVE,
    TYPES,
    WordKind,
    phrases,
)
from lisax.temporal.predicates import ADVERBS, Predicate, PredicateSentence
from lisax.text.stop_words import EVENT_STOP_WORDS
from lisax.text.tokens import Token

# Without `was`, `X born in 1950` or `X founded in 1990` may refer to any X nearby.
LIVES = frozenset({WordKind.BIRTH, WordKind.DEATH})
PARTICIPLES = TRANSITIVE - INTRANSITIVE | {("born",)}


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


class SubjectSentence(PredicateSentence):
    """A sentence whose predicates have subjects."""

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

    def _is_of_opening(self, at: int, kinds: frozenset[WordKind]) -> bool:
        """Whether a participle can only refer to the opening name: `X (born 1950)`, `X is a novel published in
        1850`."""
        verbs = self._main_verbs(at)
        if not verbs:
            return OTHERS.isdisjoint(self.words[:at])
        copulas = [verb for verb in verbs if self.words[verb] in COPULAS]
        further = [verb for verb in verbs if self.words[verb] not in COPULAS]
        first = self._begin_of_participle(further[0] if further else at)
        # `is an album by X, recorded in 1989 and released in 1990`
        if (
            not copulas
            or first < copulas[-1]
            or any(
                self.words[self._begin_of_participle(verb) - 1] not in (",", "and")
                for verb in (*further[1:], *([at] if further else []))
            )
        ):
            return False
        after_comma = self.words[first - 1] == ","
        described = range(copulas[-1] + 1, first - after_comma)
        words = [self.words[place] for place in described]
        foreign = OTHERS | PREPOSITIONS - ({"by"} if WordKind.RELEASE in kinds else set())
        if after_comma and not kinds & LIVES:
            # `is a church in X, built in 1588`, `is a maker of cars, founded in 1911`; but `is a part of X, founded in
            # 1911`
            last = max((place for place in described if self.words[place] in PREPOSITIONS), default=None)
            of_noun = not any(self.tokens[place].capital for place in range(last or first, first))
            foreign -= PLACES | {"by"} | ({"of", "for"} if of_noun else set())
        return words[:1] in (["a"], ["an"], ["the"]) and foreign.isdisjoint(words)

    def _main_verbs(self, end: int) -> list[int]:
        """The positions of verbs before a position, without those in brackets: `Ida Moe (born 1940) is`."""
        depth, verbs = 0, []
        for at in range(end):
            depth += (self.words[at] == "(") - (self.words[at] == ")")
            if self.is_predicate(at):
                verbs.append((depth, at))
        return [at for inside, at in verbs if inside <= depth]

    def _begin_of_participle(self, at: int) -> int:
        """The position of a participle, or of the adverbs before it (`first published`)."""
        while at and (self.words[at - 1] in ADVERBS or self.words[at - 1].endswith("ly")):
            at -= 1
        return at

    def subject(self, predicate: int) -> EventSubject:
        """The subject of the predicate at a position: in its own clause, or that of the whole sentence."""
        begin = predicate
        while begin and self.words[begin - 1] not in CLAUSE_ENDS and not self._subordinates(begin - 1):
            begin -= 1
        end = next((at for at in range(begin, predicate) if self.is_predicate(at)), predicate)
        local = self._subject(begin, end)
        if begin == 0 and not local.words:
            return self._after_participle(predicate)
        if begin and not local.names and (opening := self._opening_bracket(predicate)) is not None:
            return self._subject(0, opening)  # `Ann Lee ([ænliː] born 1950)`
        if begin == 0 or local.names or local.nouns or PRONOUNS.intersection(local.words):
            return local
        while self.words[begin - 1] == "and" and begin > 1:  # `who was born here and died in 1980`
            begin -= 1
            while begin and self.words[begin - 1] not in CLAUSE_ENDS:
                begin -= 1
        if begin and self.words[begin - 1] in RELATIVE_PRONOUNS and not self._describes_subject(begin - 1, predicate):
            return self._antecedent(begin - 1)
        return self._subject(0, self._end_of_subject(predicate))

    def _subordinates(self, at: int) -> bool:
        """`after` in `moved after her father died`."""
        return self.words[at] in SUBORDINATORS and at not in self._of_dates

    def _opening_bracket(self, at: int) -> int | None:
        """The position of the bracket around another position, if only a name is before it."""
        opening = next((begin for begin in range(at - 1, -1, -1) if self.words[begin] in ("(", ")")), None)
        if opening is None or self.words[opening] == ")" or any(map(self.is_predicate, range(opening))):
            return None
        return opening

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

    def _describes_subject(self, pronoun: int, predicate: int) -> bool:
        """Whether a relative clause refers to the sentence's subject: it follows it, or `is an actor`, `is a town in
        X`, `is an album by X, which was released`."""
        verbs = self._main_verbs(pronoun)
        described = self.words[verbs[-1] : pronoun] if verbs else []
        of_another = PREPOSITIONS if self.words[pronoun - 1] == "," else PREPOSITIONS - PLACES
        if WordKind.RELEASE in phrases().get((self.words[predicate],), ()):
            first = next((at for at, word in enumerate(described) if word in ("by", "of")), len(described))
            if TYPES.isdisjoint(described[first:]):  # a person or a band is not released
                of_another -= {"by", "of"}
        return all(self.words[at] in COPULAS for at in verbs) and of_another.isdisjoint(described)

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
    """Classifies a subject's words; a pronoun has neither names nor nouns."""
    words = tuple(token.word for token in found)
    names, nouns, relational = set(), set(), bool(words) and words[0] in POSSESSIVES
    for position, token in enumerate(found):
        if token.word == "'s" or (token.word == "of" and position and found[position - 1].word in nouns):
            relational = True
        if token.word in EVENT_STOP_WORDS | PRONOUNS | POSSESSIVES or not token.word[0].isalnum():
            continue
        (names if token.capital or token.word.isdecimal() else nouns).add(token.word)
    return EventSubject(words, frozenset(names), frozenset(nouns), relational)
