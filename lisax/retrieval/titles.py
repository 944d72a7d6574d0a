"""Title search over the corpus's own titles and redirects: the offline replacement of MediaWiki's search.

First come titles that a claim mentions: titles, redirects, and titles without their qualifier (`Savages (2012 film)` is
mentioned by `Savages`), as whole words, ignoring case and accents. Then come titles that share words with the claim, by
BM25 over titles and redirects.

A part holds `titles` (a string list in document order) and `keys` (a string table of folded titles, with repetitions)
with `documents` (uint32) and `kinds` (uint8) for each key. Ids and BM25 are the component `titles-bm25`. Nothing is
loaded: a claim costs a binary search for each of its word sequences.
"""

from __future__ import annotations

import dataclasses
import os
import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lisax.errors import DataError
from lisax.records import Document
from lisax.retrieval.blocks import ADVICE, Numbers
from lisax.retrieval.bm25 import Bm25Index
from lisax.retrieval.bm25_builder import Bm25Builder
from lisax.retrieval.folder import Writing, open_component
from lisax.retrieval.strings import Joined, Strings, StringsWriter, StringTable, StringTableWriter
from lisax.text.languages import ENGLISH
from lisax.text.stop_words import INDEX_STOP_WORDS
from lisax.text.words import word_spans, words

NAME, WORDS_NAME = "titles", "titles-bm25"
PART_TITLES = 1 << 20
# Longer titles are found only by their words, not as mentions.
LONGEST_TITLE = 12
TITLE, REDIRECT, UNQUALIFIED = range(3)
# `John Smith (...)` has hundreds of bearers; beyond these the claim's other words decide, by BM25.
MENTIONED_BY_ONE_SPAN = 50
CACHED_KEYS = 1 << 18
# Signs of names such as `C++`, `.NET`, `AT&T`, which are not parts of words.
SIGNS = "+#&@*$%!"
_BEFORE = re.compile(r"(?<!\S)[\"“'‘(]*([.@#$])$")
_AFTER = re.compile(rf"[{SIGNS}]*")
_QUOTED = (("“", "”"), ('"', '"'), ("‘", "’"), ("'", "'"), ("«", "»"), ("„", "“"))
QUALIFIED = re.compile(r"(.*\S)\s*\(([^()]*)\)\s*")


def unqualified(title: str) -> tuple[str, str]:
    """Splits a title into (title, qualifier): `Savages (2012 film)` gives `Savages`, `2012 film`; without a qualifier
    the second is empty."""
    match = QUALIFIED.fullmatch(title)
    return (match[1], match[2]) if match else (title, "")


def signed(text: str, start: int, end: int) -> tuple[int, int]:
    """Extends the span of a name over the signs that adjoin it: `C` to `C++`, `NET` to `.NET`."""
    before = _BEFORE.search(text, max(0, start - 3), start)
    return before.start(1) if before else start, _AFTER.match(text, end).end()


def signs(text: str) -> str:
    """The signs of a name, in order."""
    return "".join(character for character in text if character in SIGNS or (character == "." == text[0]))


def named_text(document: Document) -> str:
    """The text of a document for BM25 over titles: its title and its redirects."""
    return " ".join((document.title, *document.redirects))


def keys_of(title: str, redirects: Iterable[str]) -> dict[str, int]:
    """The folded texts by which a document is mentioned, with their kinds."""
    keys: dict[str, int] = {}
    for kind, texts in ((TITLE, [title]), (REDIRECT, redirects), (UNQUALIFIED, [unqualified(title)[0]])):
        for text in texts:
            if 0 < len(parts := words(text)) <= LONGEST_TITLE:
                keys.setdefault(" ".join(parts), kind)
    return keys


def keys_in(text: str) -> Iterator[str]:
    """Every sequence of words of a text that may be a key."""
    folded = words(text)
    for first in range(len(folded)):
        for last in range(first + 1, min(first + LONGEST_TITLE, len(folded)) + 1):
            yield " ".join(folded[first:last])


class TitlesBuilder:
    """Takes documents one at a time; `finish` returns the manifests to commit."""

    def __init__(self, state: Writing, *, language: str = ENGLISH, extend: bool = False):
        self._state = state
        manifest = open_component(state.folder, NAME) if extend else {"parts": [], "settings": {"documents": 0}}
        self._parts = [state.folder / part for part in manifest["parts"]]
        self._count: int = manifest["settings"]["documents"]
        self._words = Bm25Builder(state, WORDS_NAME, language=language, extend=extend)
        self._titles: StringsWriter | None = None

    def add(self, document: Document) -> None:
        self._words.add(document.id, named_text(document))
        self._append(document.title, keys_of(document.title, document.redirects))

    def add_block(self, block: Any) -> None:
        """Adds a block of documents (`documents.Prepared`)."""
        self._words.add_block(block.names)
        for title, keys in block.titles:
            self._append(title, keys)

    def _append(self, title: str, keys: dict[str, int]) -> None:
        if self._titles is None:
            self._part = self._state.new_part(NAME)
            self._titles, self._keys = StringsWriter(self._part / "titles"), StringTableWriter(self._part / "keys")
            self._documents, self._kinds = array("I"), array("B")
        self._titles.append(title)
        for key, kind in keys.items():
            self._keys.append(key)
            self._documents.append(self._count)
            self._kinds.append(kind)
        self._count += 1
        if len(self._titles) >= PART_TITLES:
            self._close_part()

    def _close_part(self) -> None:
        if self._titles is None:
            return
        self._titles.close()
        self._keys.close()
        for name, numbers in (("documents", self._documents), ("kinds", self._kinds)):
            with (self._part / name).open("wb") as file:
                numbers.tofile(file)
        self._parts.append(self._part)
        self._titles = None

    def finish(self) -> dict[str, dict]:
        self._close_part()
        manifest = self._state.manifest({"documents": self._count}, self._parts)
        return {NAME: manifest, WORDS_NAME: self._words.finish()}


@dataclasses.dataclass(frozen=True, slots=True)
class Mention:
    """Words `first` to `last` (exclusive) of a text, `text[start:end]`, that are the title of some document."""

    first: int
    last: int
    start: int
    end: int
    key: str


class Titles(ABC):
    """`search(claim)` returns document ids; `mentions(text)` returns the spans that are titles. Documents have numbers
    here."""

    @abstractmethod
    def title(self, number: int) -> str: ...

    @abstractmethod
    def document_id(self, number: int) -> str: ...

    @abstractmethod
    def _lookup(self, key: str) -> list[tuple[int, int]]:
        """(kind, document's number) of the documents with a key, exact titles first."""

    def _is_key(self, key: str) -> bool:
        return bool(self._lookup(key))

    @abstractmethod
    def _by_words(self, claims: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """BM25 over titles and redirects."""

    def prepare(self, texts: Iterable[str]) -> None:  # noqa: B027
        """Does nothing for files. A cluster looks up the keys of these texts here, in one request."""

    def page_with_title(self, title: str) -> str | None:
        """Id of the first document with this title (or else redirect), ignoring case and accents."""
        found = [number for kind, number in self._lookup(" ".join(words(title))) if kind != UNQUALIFIED]
        # Titles may differ only in case and punctuation: an exact match wins.
        same = [number for number in found if self.title(number) == title]
        return self.document_id((same or found)[0]) if found else None

    def is_title(self, text: str) -> bool:
        """Whether a document's title is `text` as written, possibly followed by a closing bracket."""
        return any(
            self.title(number) in (text, text + ")")
            for kind, number in self._lookup(" ".join(words(text)))
            if kind == TITLE
        )

    def mentions(self, text: str) -> list[Mention]:
        """Every span of an NFC text that is a title, a redirect or a title without qualifier; by start, then longest
        first. Spans of only stop words count only if every word is capitalised, and a single first word only if it is
        quoted or all of the text."""
        self.prepare([text])
        spans = word_spans(text)
        folded = [word for word, _, _ in spans]
        found = []
        for first in range(len(spans)):
            for last in range(min(first + LONGEST_TITLE, len(spans)), first, -1):
                key = " ".join(folded[first:last])
                is_key = self._is_key(key)
                if is_key and INDEX_STOP_WORDS.issuperset(folded[first:last]):
                    lower = any(text[start].islower() for _, start, _ in spans[first:last])
                    is_key = not lower and (
                        (first, last) != (0, 1) or len(spans) == 1 or _is_quoted(text, *spans[0][1:])
                    )
                if is_key:
                    found.append(Mention(first, last, spans[first][1], spans[last - 1][2], key))
        return found

    def mentioned(self, claim: str, *, capitals: bool = False) -> list[str]:
        """Ids of the documents that a claim mentions. Spans inside no other span come first, then longer, capitalised
        and earlier ones. Within a span the order is titles, redirects, qualified titles, of these first titles with the
        signs that the claim has (`C#`), then by words that the qualifier shares with the claim. With `capitals`, only
        spans that begin with a capital count. A single first stop word counts, last, for titles whose qualifier shares
        words with the claim: `It is a 2017 film`.
        """
        mentions = [mention for mention in self.mentions(claim) if not (capitals and claim[mention.start].islower())]

        def precedence(mention: Mention) -> tuple:
            nested = any(
                other.first <= mention.first and mention.last <= other.last and other is not mention
                for other in mentions
            )
            return nested, mention.first - mention.last, claim[mention.start].islower(), mention.start

        claim_words = set(words(claim)) - INDEX_STOP_WORDS
        ranked: dict[int, None] = {}
        for mention in sorted(mentions, key=precedence):
            found = self._lookup(mention.key)
            if len(found) > 1:
                start, end = signed(claim, mention.start, mention.end)
                written = signs(claim[start:end])
                found = sorted(
                    (kind, signs(title) != written, -len(claim_words.intersection(words(qualifier))), number)
                    for kind, number in found
                    for title, qualifier in [unqualified(self.title(number))]
                )
            ranked.update(dict.fromkeys(number for *_, number in found[:MENTIONED_BY_ONE_SPAN]))
        first = next(iter(words(claim.partition(" ")[0])), "")
        if first in INDEX_STOP_WORDS and claim[0].isupper() and self._is_key(first):
            for _, number in self._lookup(first):
                if claim_words.intersection(words(unqualified(self.title(number))[1])):
                    ranked.setdefault(number)
        return [self.document_id(number) for number in ranked]

    def search(self, claim: str, k: int = 100) -> list[str]:
        """Up to `k` document ids, best first: mentioned titles, then titles that share words with the claim."""
        return self.search_all([claim], k)[0]

    def search_all(self, claims: Sequence[str], k: int = 100) -> list[list[str]]:
        self.prepare(claims)
        return [
            list(dict.fromkeys([*self.mentioned(claim), *(document for document, _ in hits)]))[:k]
            for claim, hits in zip(claims, self._by_words(claims, k))
        ]


class _Part:
    def __init__(self, folder: Path):
        self.titles, self.keys = Strings(folder / "titles"), StringTable(folder / "keys")
        self.documents, self.kinds = Numbers(folder / "documents", "I"), Numbers(folder / "kinds", "B")


class TitleIndex(Titles):
    """The titles of an index folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        manifest = open_component(folder, NAME)
        self._words = Bm25Index.open(folder, WORDS_NAME)
        self.digest = self._words.digest
        try:
            self._parts = [_Part(folder / part) for part in manifest["parts"]]
        except (OSError, TypeError) as error:
            raise DataError(f"the title index is damaged ({error}); {ADVICE}", path=folder) from None
        self._titles = Joined(part.titles for part in self._parts)
        self._known: dict[str, bool] = {}

    @classmethod
    def open(cls, folder: str | os.PathLike) -> TitleIndex:
        return cls(Path(folder))

    def __len__(self) -> int:
        return len(self._titles)

    def title(self, number: int) -> str:
        return self._titles[number]

    def _lookup(self, key: str) -> list[tuple[int, int]]:
        return sorted((part.kinds[at], part.documents[at]) for part in self._parts for at in part.keys.find_all(key))

    def document_id(self, number: int) -> str:
        return self._words.document_id(number)

    def _by_words(self, claims: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        return self._words.search(claims, k)

    def _is_key(self, key: str) -> bool:
        # Claims share most of their word sequences (`was born in`), and a dictionary is faster than the table.
        if (known := self._known.get(key)) is not None:
            return known
        if len(self._known) >= CACHED_KEYS:
            self._known.clear()
        return self._known.setdefault(key, any(part.keys.find(key) is not None for part in self._parts))


def _is_quoted(text: str, start: int, end: int) -> bool:
    return (text[max(0, start - 1) : start], text[end : end + 1]) in _QUOTED
