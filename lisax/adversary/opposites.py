"""Words that exclude each other, by rule: an exchange within a group turns a supported claim into a refuted one.

A supported claim has `three` because its evidence does; with `four` it is refuted. Only words that the evidence has,
and whose substitutes it has not, are exchanged, and of numbers only for greater ones: a winner of three won two as
well.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from pathlib import Path

from lisax.adversary.lexicon import Substitute, WordRelation

# Words of a line exclude one another; the first line is of the numbers.
GROUPS = tuple(
    tuple(line.split()) for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
)
NUMBERS = GROUPS[0]
_ORDINALS = frozenset("first second third fourth fifth sixth seventh eighth ninth tenth last".split())
_DETERMINER = re.compile(r"(?:\b(?:the|his|her|its|their)|'s?) $")
_AT_LEAST = re.compile(r"\b(?:least|most|than|over|under|about|around|nearly|almost|up to|only|of) $")


def opposites(text: str, evidence: Container[str]) -> Iterator[Substitute]:
    """Exchanges after which a claim that its evidence supports is refuted; `evidence` has its words."""
    for match in re.finditer(r"(?<![\w'-])[a-z]+(?![\w'-])", text):
        word = match[0]
        if word in _ORDINALS and not _DETERMINER.search(text[: match.start()]):
            continue  # `was first given` is not `was second given`
        if word not in evidence or _AT_LEAST.search(text[: match.start()]):
            continue
        for group in GROUPS:
            if word not in group or sum(one in evidence for one in group) > 1:
                continue
            others = group[group.index(word) + 1 :] if group is NUMBERS else [one for one in group if one != word]
            for other in others[:4]:
                reason = f'the evidence says "{word}", which excludes "{other}"'
                yield Substitute(*match.span(), other, WordRelation.ANTONYM, reason)
