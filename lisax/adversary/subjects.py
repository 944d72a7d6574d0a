"""The subject of a claim, if it is a page's name at the beginning, and the verb phrase after it."""

from __future__ import annotations

import dataclasses
import re

from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.prose import body
from lisax.adversary.statements import verb_phrase

_SINGULAR = re.compile(r"(?:is|was|has|does|isn't|wasn't|hasn't|doesn't)\b")
_PLURAL = re.compile(r"(?:are|were|have|do|aren't|weren't|haven't|don't)\b")


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """`written` (with its article or qualifier) names the page `page`; `predicate` is the rest of the claim."""

    written: str
    page: str
    predicate: str

    @property
    def number(self) -> str:
        """`s` or `p` if the verb's form shows singular or plural, else empty."""
        return "s" if _SINGULAR.match(self.predicate) else "p" if _PLURAL.match(self.predicate) else ""


def subject_of(claim: str, corpus: AttackCorpus) -> Subject | None:
    """The subject, if exactly one page has its name and a verb follows it."""
    for named in corpus.names_in(claim):
        before = claim[: named.start].split()
        if named.start and (len(before) > 2 or before[0] != "The" or any(not w.islower() for w in before[1:])):
            return None
        page = corpus.meant(claim, named)
        predicate = (
            verb_phrase(body(claim)[named.end :].removeprefix(" ")) if claim[named.end : named.end + 1] == " " else None
        )
        if page is None or predicate is None:
            return None
        return Subject(claim[: named.end], page, predicate)
    return None
