"""Weaker words by rule: a person for a novelist, a European for a Dane, more than two for three.

What is true of the more special word is true of the more general one, so that a supported claim stays supported; a
refuted one stays refuted the other way round.
"""

from __future__ import annotations

import re

from lisax.adversary.lexicon import Substitute, WordRelation
from lisax.adversary.opposites import NUMBERS
from lisax.adversary.prose import article
from lisax.adversary.statements import PERSON_NOUNS

# The general word, then special ones.
_KINDS = """sibling brother sister
parent father mother
child son daughter
spouse husband wife
monarch king queen
book novel autobiography memoir
recording album single
performer actor actress singer dancer
creature animal monster
animal dog cat horse
settlement city town village
institution university college school
organization company band team club
instrument guitar piano violin
conflict war battle
disease cancer malaria
contest tournament championship"""
_ADJECTIVES = """European: Austrian Belgian British Czech Danish Dutch English Finnish French German Greek Hungarian
European: Icelandic Irish Italian Norwegian Polish Portuguese Romanian Scottish Spanish Swedish Swiss Welsh
Asian: Chinese Filipino Indian Indonesian Japanese Korean Malaysian Pakistani Thai Vietnamese
North American: American Canadian Mexican
South American: Argentine Brazilian Chilean Colombian Peruvian
African: Ethiopian Ghanaian Kenyan Nigerian"""
GENERAL = {special: line.split()[0] for line in _KINDS.splitlines() for special in line.split()[1:]}
CONTINENTS = {
    nation: continent
    for continent, _, nations in (line.partition(": ") for line in _ADJECTIVES.splitlines())
    for nation in nations.split()
}
_NOUN = re.compile(r"\b(?P<article>an?) (?P<noun>[a-z]+)(?=\.?$| (?:who|from|in|by|of)\b)")
_NATION = re.compile(rf"\b(?:an?) (?P<nation>{'|'.join(CONTINENTS)}) (?=[a-z])(?!football|language)")
_NUMBER = re.compile(
    rf"(?<!than )(?<!least )(?<!most )(?<!over )(?<!under )\b(?P<number>{'|'.join(NUMBERS[1:])}) (?=[A-Za-z])"
)


class RuleLexicon:
    """Hypernyms by rule, and the hyponyms that they are of."""

    def substitutes(self, text: str) -> list[Substitute]:
        found = []
        for match in _NOUN.finditer(text):
            noun = match["noun"]
            general = {GENERAL.get(noun), "person" if noun in PERSON_NOUNS else None} - {None}
            found += [self._of(match, new, WordRelation.HYPERNYM) for new in sorted(general)]
            special = [word for word, kind in GENERAL.items() if kind == noun]
            found += [self._of(match, new, WordRelation.HYPONYM) for new in special]
        found += [
            self._of(match, CONTINENTS[match["nation"]], WordRelation.HYPERNYM, " ") for match in _NATION.finditer(text)
        ]
        for match in _NUMBER.finditer(text):
            fewer = NUMBERS[NUMBERS.index(match["number"]) - 1]
            reason = f"{match['number']} is more than {fewer}"
            found.append(Substitute(match.start(), match.end(), f"more than {fewer} ", WordRelation.HYPERNYM, reason))
        return found

    @staticmethod
    def _of(match: re.Match, new: str, relation: WordRelation, after: str = "") -> Substitute:
        special, general = (match[0].strip(), new) if relation is WordRelation.HYPERNYM else (new, match[0].strip())
        reason = f'"{special}" is "{general}"'
        return Substitute(match.start(), match.end(), f"{article(new)} {new}{after}", relation, reason)
