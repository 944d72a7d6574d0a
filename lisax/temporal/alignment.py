"""Matches events of the evidence with the event that a claim dates, by predicate, subject and shared words."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

from lisax.temporal import lexicon
from lisax.temporal.described import Placed
from lisax.temporal.events import Event, EventSentence, analysed
from lisax.temporal.expressions import Dates, Expression
from lisax.temporal.lexicon import is_verb, stem
from lisax.temporal.sentences import EventSubject, Predicate
from lisax.text.stop_words import EVENT_STOP_WORDS
from lisax.text.tokens import Token, tokens

# The share of a claim's words, besides subject, predicate and date, that the evidence must have for a date to
# contradict it.
SHARE = 0.5
Name = tuple[str, ...]  # the words of a name
ABOUT = 2 * 366  # largest distance in days between a premiere and a release


@dataclasses.dataclass(frozen=True, slots=True)
class Side:
    """The part of a claim that is compared with events of the evidence."""

    sentence: EventSentence
    predicate: Predicate
    subject: EventSubject
    said: tuple[Token, ...] = ()  # as in an event
    first: bool = False
    complement: tuple[str, ...] = ()
    besides: frozenset[str] = frozenset()  # stems that belong to other events of the claim

    @property
    def going_on(self) -> bool:
        """`was being fought`: a state, not the whole of the event."""
        return "being" in self.sentence.words


@dataclasses.dataclass(frozen=True, slots=True)
class Aligned:
    """An event of the evidence that matches the claim's. `refutes`: enough words are shared for another date to
    contradict; `left`: stems of the claim that this sentence lacks; `adds`: stems of the event that the claim lacks."""

    passage: Placed
    event: Event
    refutes: bool
    shared: frozenset[str]
    left: frozenset[str]
    adds: frozenset[str]
    near: int = 0  # least distance of the dates in days: a showing and a release may be two steps of one
    first: bool = False  # one of several, so that only earlier claimed dates are refuted


def aligned(
    side: Side, evidence: Sequence[Placed], dated: type[Expression] = Dates, certain: bool = True
) -> list[Aligned]:
    """The events of the evidence that match the claim's, in the order of the evidence. Pages that share their name with
    another page of the evidence give none, unless the claim names the one it means. `certain`: without events that
    their sentence weakens."""
    found = []
    titles: dict[str, set[str]] = {}
    for passage in evidence:
        titles.setdefault(same_name_as(passage.title), set()).add(passage.title)
    known: dict[Name, frozenset[str]] = {}
    for passage in evidence:  # of several pages with one name, only events that all of them state count
        name = _named(passage.title)[0]
        name = name[1:] if name[:1] == ("the",) else name
        known[name] = known.get(name, passage.page.words) & passage.page.words
    for passage in evidence:
        if len(titles[same_name_as(passage.title)]) > 1 and not _says_which(side, passage.title):
            continue
        sentence = analysed(passage.text)
        events = [
            event
            for event in sentence.reports
            if isinstance(event.date, dated)
            and (event.certain or not certain)
            and side.predicate.matches(event.predicate)
            and _same_subject(side, passage, event.subject, known)
        ]
        found += [_compared(side, passage, sentence, event) for event in _meant(side, events)]
    return found


def _meant(side: Side, events: Sequence[Event]) -> Sequence[Event]:
    """The dates of one verb whose own words the claim has: `in Japan in 2002 and in Chile in 2003`."""
    if len({event.at for event in events}) > 1:
        return events
    meant = [event for event in events if event.near and event.near <= side.sentence.content()]
    return meant if len(events) > 1 and meant else events


def _compared(side: Side, passage: Placed, sentence: EventSentence, event: Event) -> Aligned:
    # `killed` and `a 2005 novel` mean more than that somebody died and that something came out.
    implied = side.predicate.words.split()
    claimed = side.sentence.content() - side.besides
    claimed -= {stem(word) for word in implied if lexicon.SPECIFIC.isdisjoint(implied)}
    title = {stem(token.word) for token in tokens(passage.title)} | _described_beside(side, passage)
    shared = claimed & (sentence.content() | title)
    rest = claimed - title
    share = len(rest & shared) / len(rest) if rest else 1.0
    kinds = side.predicate.kinds & event.predicate.kinds
    first = side.first and event.first  # whatever else follows the date of the first time
    if kinds & lexicon.LIVES:
        refutes = all(token.capital or token.word in lexicon.CIRCUMSTANCES for token in side.said)
    elif kinds & lexicon.ONCE:
        refutes = share >= SHARE and _stems(token for token in event.said if not token.capital) <= claimed | title
    elif kinds:
        # Works that came out, and events that took place in one year, may do so again in another.
        refutes = (
            share >= SHARE
            and _stems(side.said) <= shared | title
            and (_stems(event.said) if not first else event.near) <= claimed | title
            and lexicon.RECURRING.isdisjoint(side.subject.words[-1:])
            and (side.first or lexicon.LASTING.isdisjoint(side.predicate.words.split()))
        )
    else:
        ordinals = lexicon.ORDINALS.intersection(side.sentence.words)
        refutes = share == 1.0 and bool(ordinals) and ordinals == lexicon.ORDINALS.intersection(sentence.words)
    if any(map(str.isdecimal, _named(passage.title)[1])) and not _says_which(side, passage.title):
        refutes = False  # `Savages (2007 film)`: there is another one
    shown, also_shown = (not lexicon.SHOWINGS.isdisjoint(of.predicate.words.split()) for of in (side, event))
    return Aligned(
        passage,
        event,
        refutes,
        shared,
        # `won the cup in 1958 and the title in 1964`: not the cup in 1964.
        (claimed - shared) | (event.near - side.sentence.content() - title if event.later else frozenset()),
        _stems(event.said) - side.sentence.content() - title,
        ABOUT if shown != also_shown else 0,
        event.first and not side.first and not kinds & lexicon.ONCE,
    )


def _stems(found: Iterable[Token]) -> frozenset[str]:
    return frozenset(stem(token.word) for token in found)


def _says_which(side: Side, title: str) -> bool:
    """Whether the claim has the qualifier of a title, or its main word (`the novel`, `1997 film`)."""
    return not side.sentence.content().isdisjoint(map(stem, _named(title)[1]))


def same_name_as(title: str) -> str:
    """A title without its qualifier, folded: pages that share it are easily confused."""
    return " ".join(_named(title)[0])


@functools.lru_cache(maxsize=1 << 14)
def _named(title: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The words of a title and those of its qualifier: `Savages (2012 film)`."""
    name, _, qualifier = title.partition(" (")
    return tuple(token.word for token in tokens(name)), frozenset(token.word for token in tokens(qualifier.rstrip(")")))


def _same_subject(side: Side, passage: Placed, subject: EventSubject, known: Mapping[Name, frozenset[str]]) -> bool:
    """Whether the subject of an event on a page is that of the claim's event. `known`: how the evidence's pages
    describe their subjects, by the words of their names."""
    claim, words = side.subject, set(side.sentence.words)
    title, qualifier = _named(passage.title)
    if subject.dated:
        return False  # `The 2015 film` is one of several
    if claim.relational and not claim.nouns <= subject.nouns:
        return False  # `Mara's brother` is not Mara
    whole = set(title) - EVENT_STOP_WORDS
    if not whole <= lexicon.HONORIFICS:
        whole -= lexicon.HONORIFICS
    names = subject.names - lexicon.HONORIFICS or subject.names
    # `The novel X` on the page `Return to X` is not the page's subject; one of several names, such as a surname, is.
    own = names == whole or (len(names) == 1 and names <= whole)
    foreign = bool(subject.names) and not own
    if foreign and passage.id.endswith("_0") and subject.names & set(title) and not subject.relational:
        foreign = False  # a page begins with the full name
    if foreign and passage.opens and _is_called_too(subject, passage, title):
        foreign = False
    if not claim.names <= {*title, *qualifier, *subject.names}:
        return False
    if subject.words[:1] and subject.words[0] in lexicon.INDEFINITE and subject.words != title:
        return False  # `A sequel was released` is not about the page's subject
    if subject.relational and lexicon.POSSESSIVES.isdisjoint(subject.words):
        if claim.relational:
            return (
                subject.nouns <= words
                and subject.names <= words
                and _owner_is_known(subject, passage)
                and (bool(subject.names) or _mentions_page(side, passage))
            )
        # `The teacher of X` on the page of Y is Y; on the page of X it is someone else, whose date is not X's.
        return (
            foreign
            and "'s" not in subject.words
            and claim.names <= {*title, *qualifier}
            and passage.page.is_called(subject.words[: subject.words.index("of")])
            and _mentions_page(side, passage)
        )
    if foreign or subject.relational or not lexicon.POSSESSIVES.isdisjoint(subject.words):
        return (
            bool(subject.names)
            and claim.names <= subject.names
            and _mentioned(side, subject)
            and subject.nouns - lexicon.RELATIVES <= words | known.get(_name(subject), frozenset())
        )
    return _is_of_page(subject, passage) and _mentions_page(side, passage)


def _is_called_too(subject: EventSubject, passage: Placed, title: Name) -> bool:
    """Whether a page opens with another name of its subject: `Ida Moe (born 1940), known as Lark, is a singer`."""
    found = tokens(passage.text)
    verb = next((at for at, token in enumerate(found) if token.word in lexicon.COPULAS), 0)
    opening = [token.word for token in found[:verb]]
    at = _find(opening, title)
    return (
        at is not None
        and not lexicon.KNOWN.isdisjoint(opening[:at])
        and all(word not in lexicon.OTHERS - lexicon.POSSESSIVES for word in opening)
        and tuple(opening[: len(subject.words)]) == subject.words
    )


def _is_of_page(subject: EventSubject, passage: Placed) -> bool:
    """Whether `it`, `the film` or `the film Harbour` agrees with the page's description of its subject."""
    if not subject.names:
        return not subject.nouns or passage.page.is_called(subject.words)
    return passage.opens or subject.nouns <= passage.page.words


def _owner_is_known(subject: EventSubject, passage: Placed) -> bool:
    """Whether the owner in `Harbour's sequel` has a name, or describes the page's subject (`the film's sequel`)."""
    if "'s" in subject.words:
        owner = subject.words[: subject.words.index("'s")]
    else:
        owner = subject.words[subject.words.index("of") + 1 :]
    return not subject.names.isdisjoint(owner) or passage.page.is_called(owner)


def _mentions_page(side: Side, passage: Placed) -> bool:
    """Whether the claim names the page, with no descriptor or qualifier that does not fit it."""
    title, qualifier = _named(passage.title)
    at = _find(side.sentence.words, title)
    if at is None:
        return False
    described = _descriptor(side, at)
    if described and described not in passage.page.heads:
        return False
    after = side.sentence.words[at + len(title) :]
    if after[:1] == ["("] and ")" in after:
        return bool(qualifier) and qualifier <= set(after[: after.index(")")])
    return True


def _mentioned(side: Side, subject: EventSubject) -> bool:
    """Whether the claim has the subject's name, word for word, without another descriptor (`the novel`)."""
    at = _find(side.sentence.words, _name(subject))
    if at is None:
        return False
    described, types = _descriptor(side, at), subject.nouns & lexicon.TYPES
    return not (described in lexicon.TYPES and types) or described in types


def _name(subject: EventSubject) -> Name:
    of_name = [at for at, word in enumerate(subject.words) if word in subject.names]
    return subject.words[of_name[0] : of_name[-1] + 1]


def _descriptor(side: Side, at: int) -> str:
    """The claim's descriptor of the name at a position: `the manga Harbour`, `album Harbour`."""
    at -= at > 1 and side.sentence.words[at - 1] == "the"
    if not at or (side.sentence.tokens[at - 1].capital and at > 1):
        return ""
    word = side.sentence.words[at - 1]
    is_noun = word in lexicon.TYPES or (
        side.sentence.words[at - 2 : at - 1] == ["the"] and word.isalpha() and not is_verb(word)
    )
    return word if is_noun and word not in EVENT_STOP_WORDS else ""


def _described_beside(side: Side, passage: Placed) -> frozenset[str]:
    """The stems of the claim's words other than the page's name that describe the page (`the video game Harbour`)."""
    title, _ = _named(passage.title)
    words, at = side.sentence.words, _find(side.sentence.words, title)
    if at is None:
        return frozenset()
    begin, end = at, at + len(title)
    while begin and words[begin - 1] in passage.page.words:
        begin -= 1
    while end < len(words) and words[end] in passage.page.words:
        end += 1
    return frozenset(map(stem, words[begin:end]))


def _find(words: Sequence[str], sought: Sequence[str]) -> int | None:
    size = len(sought)
    starts = range(len(words) - size + 1) if size else ()
    return next((at for at in starts if tuple(words[at : at + size]) == tuple(sought)), None)
