"""How a page describes its subject: `Harbour is a 1965 Danish drama film` makes `the film` that page's subject.

Read from the page's first sentence (`is a rock band`, `was an actor, singer and director`) and from the brackets of its
title (`Harbour (1965 film)`). Uncertain descriptions are left out; `the company` then matches no page.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from lisax.temporal import lexicon
from lisax.temporal.lexicon import is_verb
from lisax.text.stop_words import EVENT_STOP_WORDS
from lisax.text.tokens import Token, tokens

ANAPHORIC = frozenset("the this".split())
# In `is a series of novels that sold well` the noun before the first of these is the description.
ENDS = (
    lexicon.PREPOSITIONS
    | lexicon.RELATIVE_PRONOUNS
    | lexicon.POSSESSIVES
    | lexicon.AUXILIARIES
    | lexicon.BORN
    | frozenset(
        """but than whose based named titled entitled called featuring starring containing comprising consisting
        including having specializing specialising""".split()
    )
)
HYPHENS = frozenset("-‐‑")
SAME = ("film movie".split(), "company firm".split(), "mountain peak".split())  # synonyms


class TitledText(Protocol):
    """A sentence with its page's title; its id ends in its number on the page."""

    id: str
    title: str
    text: str


Lookup = Callable[[str], TitledText | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    """A page's description of its subject. `heads`: the nouns (`film`); `words`: the nouns with the words before them
    in the same phrase (`short`, `silent`)."""

    heads: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    def is_called(self, words: Sequence[str]) -> bool:
        """Whether `the film` or `this short film` is the page's subject: it adds nothing to the page's description."""
        return len(words) > 1 and words[0] in ANAPHORIC and words[-1] in self.heads and self.words.issuperset(words[1:])

    def __or__(self, other: Described) -> Described:
        return Described(self.heads | other.heads, self.words | other.words)


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """A sentence of the evidence with its page's description."""

    id: str
    title: str
    text: str
    page: Described

    @property
    def opens(self) -> bool:
        return self.id.endswith("_0")


def placed(evidence: Iterable[TitledText], lookup: Lookup | None = None) -> list[Placed]:
    """The evidence's sentences with descriptions; `lookup` finds the first sentences of pages that are not
    among them."""
    evidence = list(evidence)
    given = {passage.id: passage for passage in evidence}
    found = []
    for passage in evidence:
        page, _, number = passage.id.rpartition("_")
        opening = given.get(f"{page}_0")
        if opening is None and lookup is not None and page and number.isdecimal():
            opening = lookup(f"{page}_0")
        of_page = described(passage.title, "" if opening is None else opening.text)
        found.append(Placed(passage.id, passage.title, passage.text, of_page))
    return found


@functools.lru_cache(maxsize=1 << 14)
def described(title: str, opening: str) -> Described:
    """The description of a page's subject in the title's brackets and the first sentence, which may be empty."""
    name, _, qualifier = title.partition(" (")
    return _items(qualifier.rstrip(")"), 0) | _complement(opening, {token.word for token in tokens(name)})


def _complement(text: str, name: set[str]) -> Described:
    """The description after the first `is a` whose subject is the title; empty after `Ann Lee's sister is`."""
    found = tokens(text)
    depth, of_page = 0, False
    for at, token in enumerate(found):
        depth += (token.word == "(") - (token.word == ")")
        of_page |= (at == 0 and token.word in lexicon.COPULAS) or token.word in name - EVENT_STOP_WORDS
        if depth == 0 and token.word == "'s" and token.word not in name:
            return Described()
        before = found[at - 1].word if at else ""
        if depth == 0 and of_page and token.word in lexicon.COPULAS and before not in lexicon.RELATIVE_PRONOUNS:
            follows = found[at + 1 : at + 2]
            return _items(text, token.end) if follows and follows[0].word in lexicon.DETERMINERS else Described()
    return Described()


def _items(text: str, begin: int) -> Described:
    """The nouns from a position on. In a list these are the last one, those with articles of their own, and people (`an
    actor, singer and director`), since `a film, theatre and music company` is not a film."""
    found = [token for token in tokens(text) if token.start >= begin]
    items: list[tuple[bool, list[Token]]] = [(False, [])]
    ended_by = ""
    for at, token in enumerate(found):
        following = found[at + 1 : at + 2]
        if text[max(token.start - 1, 0) : token.start] in HYPHENS and token.is_word:
            items[-1][1].append(token)  # `US-based`, `German-born`
        elif token.word in (",", "and", "or"):
            if items[-1][1] or items[-1][0]:
                items.append((False, []))
        elif token.word in lexicon.DETERMINERS:
            if items[-1][1]:
                break  # `a film the`: not supported
            items[-1] = (True, [])
        elif token.word in ("'s", "'", "’"):
            items[-1] = (items[-1][0], [])  # `the band's second album`
        elif (
            token.word in ENDS
            or not token.word[0].isalnum()
            or is_verb(token.word)
            or (items[-1][1] and _is_participle(token, following))
        ):
            ended_by = token.word
            break
        elif not token.word.isdecimal():
            items[-1][1].append(token)
    if len(items) > 1 and items[-1][0] and (is_verb(ended_by) or ended_by in lexicon.AUXILIARIES):
        items.pop()  # `is a novel, and a film was released`
    items = [item for item in items if item[1] and not item[1][-1].capital]
    heads, words = set(), set()
    for number, (has_article, item) in enumerate(items):
        head = item[-1].word
        if number == len(items) - 1 or head in lexicon.PEOPLE or (has_article and items[number + 1][0]):
            also = next((pair for pair in SAME if head in pair), [head])
            heads.update(also)
            words.update(also, (token.word for token in item))
    return Described(frozenset(heads), frozenset(words))


def _is_participle(token: Token, following: Sequence[Token]) -> bool:
    """`starring Ida Moe`, `featuring the`; `a recording artist` and `a building in Oslo` have nouns."""
    return (
        token.word.endswith("ing")
        and len(token.word) > 4
        and not token.capital
        and bool(following)
        and (
            following[0].capital
            or following[0].word in lexicon.DETERMINERS | lexicon.POSSESSIVES
            or following[0].word.isdecimal()
        )
    )
