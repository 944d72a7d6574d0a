"""The sender of a request, and the corpora for them: an upload is for everyone, or private to a session or a token."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lisax.serve.library import Library, ServedCorpus

EVERYONE, SESSION, TOKEN = "everyone", "session", "token"
AUDIENCES = (EVERYONE, SESSION, TOKEN)  # of an upload


@dataclasses.dataclass(frozen=True, slots=True)
class Visitor:
    """The sender of a request, by ids that are made of secrets and do not give them away. An empty id: none.

    `operator`: the request has the operator's token."""

    session: str = ""
    token: str = ""
    operator: bool = False

    @property
    def ids(self) -> frozenset[str]:
        return frozenset({self.session, self.token}) - {""}

    @property
    def audiences(self) -> tuple[str, ...]:
        """The audiences that an upload of this visitor can have."""
        return EVERYONE, *([SESSION] if self.session else []), *([TOKEN] if self.token else [])

    def owner(self, audience: str) -> str | None:
        """The id that owns an upload for an audience; None if they cannot be recognised again."""
        if audience == EVERYONE:
            return self.session or self.token or None
        return (self.session if audience == SESSION else self.token) or None

    def sees(self, corpus: ServedCorpus) -> bool:
        return corpus.audience == EVERYONE or corpus.owner in self.ids

    def may_remove(self, corpus: ServedCorpus) -> bool:
        """Whether the visitor has uploaded it, or is the operator and it is for everyone."""
        by_operator = self.operator and corpus.audience == EVERYONE
        return corpus.uploaded and (corpus.owner in self.ids or by_operator)


ANYONE = Visitor()


class Seen:
    """The corpora of a library that a visitor sees. All others are as if they were not there."""

    def __init__(self, library: Library, visitor: Visitor = ANYONE):
        self._library, self.visitor = library, visitor

    @property
    def away(self) -> frozenset[str]:
        return self._library.away

    def __iter__(self) -> Iterator[ServedCorpus]:
        return filter(self.visitor.sees, self._library)

    def get(self, corpus_id: str) -> ServedCorpus | None:
        corpus = self._library.get(corpus_id)
        return corpus if corpus is not None and self.visitor.sees(corpus) else None
