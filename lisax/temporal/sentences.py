"""The predicates of a sentence, verbs and nouns of events with the kinds of events that they state, and their subjects."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lisax.temporal import lexicon
from lisax.temporal.expressions import Dates, Expression, TemporalRelation
from lisax.temporal.grammar import LIST_ENDS, parse
from lisax.temporal.lexicon import WordKind, is_verb, phrases, stem
from lisax.text.numbers import cardinal
from lisax.text.stop_words import EVENT_STOP_WORDS
from lisax.text.tokens import Token, tokens

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


# Without `was`, `X born in 1950` or `X founded in 1990` may refer to any X nearby.
PARTICIPLES = lexicon.TRANSITIVE - lexicon.INTRANSITIVE | {("born",)}


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


class SubjectSentence:
    """A text's tokens and time expressions, and its predicates with their subjects; positions are token indices."""

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
        prefixed = self.words[begin] in lexicon.PREPOSITIONS
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
            if self.words[begin] in lexicon.COPULAS or self.words[begin] == "been":
                return self._copula(begin, at)
            if (
                self.words[begin] in lexicon.CLAUSE_ENDS
                or self._is_gerund(begin)
                or self.predicate_ending(begin + 1, at) is not None
            ):
                return None
        return None

    def copula_after(self, at: int) -> tuple[Predicate, int] | None:
        """`was` in `, he was mayor of Osk`, unless it belongs to a verb (`he was elected`)."""
        begin = next((begin for begin in range(at, len(self.words)) if self.words[begin] in lexicon.COPULAS), None)
        if begin is None:
            return None
        end = begin + 1
        while end < len(self.words) and self.words[end] not in lexicon.CLAUSE_ENDS and self.words[end] != "and":
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
        return self.words[at] in lexicon.AUXILIARIES or self.predicate_ending(at + 1, len(self.words)) is not None

    def predicate_ending(self, end: int, date: int) -> tuple[Predicate, int] | None:
        """(predicate, its position) of the longest phrase, or else the verb, that ends before position `end`."""
        for size in range(min(LONGEST_PHRASE, end), 0, -1):
            words = tuple(self.words[end - size : end])
            if words in phrases() and not (words in lexicon.TO_THE_DATE and date != end):
                return self._predicate(words, end - size, phrases()[words])
        if end - 1 not in self._of_dates and is_verb(self.words[end - 1]) and not self.tokens[end - 1].capital:
            return self._predicate((self.words[end - 1],), end - 1, frozenset())
        return None

    def _predicate(self, words: tuple[str, ...], at: int, kinds: frozenset[WordKind]) -> tuple[Predicate, int]:
        after = at + len(words)
        following, next_one = (*self.words[after : after + 2], "", "")[:2]
        if words in lexicon.BEGINNINGS and following.endswith("ing") and after not in self._of_dates:
            return Predicate(following, stem(following), frozenset()), at
        if words == ("served",) and following == "as":
            return Predicate("served as", BEING, frozenset()), at
        has_object = after not in self._of_dates and (
            (following[:1].isalnum() and following not in lexicon.PREPOSITIONS)
            or (
                after + 1 not in self._of_dates
                and following in lexicon.QUANTITIES
                and (cardinal(self.words, after + 1) is not None or next_one[:1].isdecimal())
            )
        )
        if words in lexicon.TRANSITIVE and has_object and not self._is_passive(at):
            kinds = frozenset()  # `released an album`, `killed over 30`: the subject did not come out or die
        if words[0] in lexicon.PASSIVE_ONLY and not self._is_passive(at) and self.words[at - 1] not in (",", "and"):
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
        if at > 0 and self.words[at] in ("and", ",") and self.words[begin] not in lexicon.BORN:
            at -= self.words[at - 1] == ","
            if at - 1 in self._of_dates:
                return (before := self._verb_before(at - 1)) is not None and self._is_passive(before)
        return at >= 0 and self.words[at] in lexicon.PASSIVES

    def _verb_before(self, at: int) -> int | None:
        """The verb whose clause a position ends, without another in between."""
        while at >= 0 and (at in self._of_dates or self.words[at] not in lexicon.CLAUSE_ENDS):
            if at not in self._of_dates and is_verb(self.words[at]) and not self.tokens[at].capital:
                return at
            at -= 1
        return None

    def _whose(self, predicate: Predicate, at: int) -> EventSubject | None:
        """The subject of an event; None if it is unclear."""
        words = tuple(predicate.words.split())
        if words[0] in lexicon.NOUNS:
            return self._of_noun(at)
        is_bare = predicate.kinds and words in PARTICIPLES and not self._is_passive(at)
        return self.subject(at) if not is_bare or self._is_of_opening(at, predicate.kinds) else None

    def _of_noun(self, at: int) -> EventSubject | None:
        """The named subject X of `X's death`, `the death of X`, or `X had its premiere`."""
        ends = lexicon.CLAUSE_ENDS | lexicon.PREPOSITIONS - {"of"}
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
            while begin and self.words[begin - 1] in lexicon.ORDINALS | lexicon.POSSESSIVES | lexicon.DETERMINERS:
                begin -= 1
            is_held = self.words[at] in lexicon.HELD and not lexicon.HAVING.isdisjoint(self.words[begin - 1 : begin])
            return self.subject(begin - 1) if is_held else None
        found = subject_of(self.tokens[begin:end])
        return found if found.names else None

    def _is_of_opening(self, at: int, kinds: frozenset[WordKind]) -> bool:
        """Whether a participle can only refer to the opening name: `X (born 1950)`, `X is a novel published in
        1850`."""
        verbs = self._main_verbs(at)
        if not verbs:
            return lexicon.OTHERS.isdisjoint(self.words[:at])
        copulas = [verb for verb in verbs if self.words[verb] in lexicon.COPULAS]
        further = [verb for verb in verbs if self.words[verb] not in lexicon.COPULAS]
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
        foreign = lexicon.OTHERS | lexicon.PREPOSITIONS - ({"by"} if WordKind.RELEASE in kinds else set())
        if after_comma and not kinds & lexicon.LIVES:
            # `is a church in X, built in 1588`, `is a maker of cars, founded in 1911`; but `is a part of X, founded in
            # 1911`
            last = max((place for place in described if self.words[place] in lexicon.PREPOSITIONS), default=None)
            of_noun = not any(self.tokens[place].capital for place in range(last or first, first))
            foreign -= lexicon.PLACES | {"by"} | ({"of", "for"} if of_noun else set())
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
        while (
            begin
            and self.words[begin - 1] not in lexicon.CLAUSE_ENDS
            and not (self.words[begin - 1] in lexicon.SUBORDINATORS and begin - 1 not in self._of_dates)
        ):
            begin -= 1
        end = next((at for at in range(begin, predicate) if self.is_predicate(at)), predicate)
        local = self._subject(begin, end)
        if begin == 0 and not local.words:
            return self._after_participle(predicate)
        if begin and not local.names and (opening := self._opening_bracket(predicate)) is not None:
            return self._subject(0, opening)  # `Ann Lee ([ænliː] born 1950)`
        if begin == 0 or local.names or local.nouns or lexicon.PRONOUNS.intersection(local.words):
            return local
        while self.words[begin - 1] == "and" and begin > 1:  # `who was born here and died in 1980`
            begin -= 1
            while begin and self.words[begin - 1] not in lexicon.CLAUSE_ENDS:
                begin -= 1
        if (
            begin
            and self.words[begin - 1] in lexicon.RELATIVE_PRONOUNS
            and not self._describes_subject(begin - 1, predicate)
        ):
            return self._antecedent(begin - 1)
        return self._subject(0, self._end_of_subject(predicate))

    def _opening_bracket(self, at: int) -> int | None:
        """The position of the bracket around another position, if only a name is before it."""
        opening = next((begin for begin in range(at - 1, -1, -1) if self.words[begin] in ("(", ")")), None)
        if opening is None or self.words[opening] == ")" or any(map(self.is_predicate, range(opening))):
            return None
        return opening

    def _after_participle(self, predicate: int) -> EventSubject:
        """The subject after the comma: `Released in 2015, the film won`."""
        size = len(self.words)
        commas = (at for at in range(predicate, size) if self.words[at] == "," and at not in self._of_dates)
        if (comma := next(commas, None)) is None:
            return EventSubject()
        after = range(comma + 1, size)
        ends = (at for at in after if self.is_predicate(at) or self.words[at] in lexicon.CLAUSE_ENDS)
        return self._subject(comma + 1, next(ends, size))

    def _describes_subject(self, pronoun: int, predicate: int) -> bool:
        """Whether a relative clause refers to the sentence's subject: it follows it, or `is an actor`, `is a town in
        X`, `is an album by X, which was released`."""
        verbs = self._main_verbs(pronoun)
        described = self.words[verbs[-1] : pronoun] if verbs else []
        of_another = lexicon.PREPOSITIONS if self.words[pronoun - 1] == "," else lexicon.PREPOSITIONS - lexicon.PLACES
        if WordKind.RELEASE in phrases().get((self.words[predicate],), ()):
            first = next((at for at, word in enumerate(described) if word in ("by", "of")), len(described))
            if lexicon.TYPES.isdisjoint(described[first:]):  # a person or a band is not released
                of_another -= {"by", "of"}
        return all(self.words[at] in lexicon.COPULAS for at in verbs) and of_another.isdisjoint(described)

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
        if self.words[0] in lexicon.PRONOUNS - lexicon.DEMONSTRATIVES:
            return 1
        named = False
        for at in range(limit):
            word = self.words[at]
            if self.is_predicate(at) or word in lexicon.CLAUSE_ENDS:
                return at
            if word[0].isalnum() and not self.tokens[at].capital and word not in EVENT_STOP_WORDS and at:
                last = self.words[at - 1]
                after_noun = last in lexicon.TYPES or (word.endswith("s") and last not in EVENT_STOP_WORDS)
                if named or (after_noun and word not in lexicon.TYPES):
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
    names, nouns, relational = set(), set(), bool(words) and words[0] in lexicon.POSSESSIVES
    for position, token in enumerate(found):
        if token.word == "'s" or (token.word == "of" and position and found[position - 1].word in nouns):
            relational = True
        if token.word in EVENT_STOP_WORDS | lexicon.PRONOUNS | lexicon.POSSESSIVES or not token.word[0].isalnum():
            continue
        (names if token.capital or token.word.isdecimal() else nouns).add(token.word)
    return EventSubject(words, frozenset(names), frozenset(nouns), relational)
