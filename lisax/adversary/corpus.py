"""The pages that attacks use: by id, by the names that occur in a text, and by names that several pages share.

Names are kept in memory (titles, redirects, titles without qualifier: some 200 bytes a name). Pages are kept in a
dictionary for a layout folder, and memory-mapped for an index.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lisax.adversary.prose import body, readable, without_parentheses
from lisax.adversary.statements import Statements, statements, verb_phrase
from lisax.errors import DataError
from lisax.records import Document, split_sentence_id
from lisax.retrieval.titles import LONGEST_TITLE, unqualified
from lisax.text.stop_words import COMMON_WORDS, DATE_WORDS, INDEX_STOP_WORDS
from lisax.text.words import word_spans, words

CACHED_PAGES = 1 << 14
_CALLED = re.compile(r"\b[Tt]he ([a-z]+) $")


@dataclasses.dataclass(frozen=True, slots=True)
class Named:
    """`text[start:end]` is a name of `pages`, which may be several."""

    start: int
    end: int
    pages: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A sentence in readable form, without brackets, with its names and the page that each refers to, or None if it is
    ambiguous."""

    unit: str
    text: str
    names: tuple[tuple[Named, str | None], ...]


class AttackCorpus:
    """`page_of(id)` returns a page; `pages` is read once, for the names."""

    def __init__(self, page_of: Callable[[str], Document], pages: Iterable[Document]):
        self.page = functools.lru_cache(CACHED_PAGES)(page_of)
        self.about = functools.lru_cache(CACHED_PAGES)(self._about)
        self.lines = functools.lru_cache(CACHED_PAGES)(self._lines)
        self._names: dict[str, tuple[str, ...]] = {}
        self._longest: dict[str, int] = {}  # word -> number of words of the longest name that begins with it
        self._ids: dict[str, None] = {}
        self.shared: dict[str, None] = {}  # names of several pages, in corpus order
        for page in pages:
            self._ids[page.id] = None
            for name in dict.fromkeys((page.title, unqualified(page.title)[0], *page.redirects)):
                self._add(name, page.id)

    def _add(self, name: str, page: str) -> None:
        parts = words(name)
        if not 0 < len(parts) <= LONGEST_TITLE:
            return
        key = " ".join(parts)
        known = self._names.get(key, ())
        if page not in known:
            self._names[key] = (*known, page)
            self._longest[parts[0]] = max(len(parts), self._longest.get(parts[0], 0))
            if known:
                self.shared[key] = None

    @classmethod
    def open(cls, place: str | Path) -> AttackCorpus:
        """Opens a folder of any layout, or an index with pages (`lisax index documents`)."""
        from lisax.corpora import open_folder
        from lisax.retrieval.folder import META
        from lisax.retrieval.pages import PageStore

        place = Path(place)
        if (place / META).is_file():
            store = PageStore.open(place)
            return cls(store.page, map(store.page, store))
        documents = {document.id: document for document in open_folder(place).documents()}
        if not documents:
            raise DataError(
                "there are no pages: --corpus wants a folder of claims and pages, or an index made by "
                "`lisax index documents`",
                path=place,
            )
        return cls(documents.__getitem__, documents.values())

    def __contains__(self, page: str) -> bool:
        return page in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def _about(self, page: str) -> Statements:
        """The statements of a page about its own subject."""
        return statements(self.page(page))

    def _lines(self, page: str) -> tuple[Line, ...]:
        """The sentences of a page with the names in them."""
        texts = ((line.id, without_parentheses(readable(line.text))) for line in self.page(page).sentences if line.text)
        return tuple(
            Line(unit, text, tuple((named, self.meant(text, named)) for named in self.names_in(text)))
            for unit, text in texts
        )

    def written(self, page: str) -> str | None:
        """A page's name for running text that refers to this page only; None if there is no such name.

        `Faba Sulin (novelist)` is `the novelist Faba Sulin`, `River Osk` is `the River Osk`.
        """
        title = self.page(page).title
        name, qualifier = unqualified(title)
        if qualifier:
            return f"the {qualifier} {name}" if qualifier.split()[-1].islower() else title
        if len(self.pages_named(title)) > 1:
            return None
        return f"the {title}" if title.startswith(("River ", "Battle of ", "Siege of ")) else title

    def documents(self) -> Iterator[Document]:
        """All pages, in corpus order."""
        return map(self.page, self._ids)

    def text(self, unit: str) -> str:
        """The text of a sentence by its id; empty if the corpus has none."""
        page, number = split_sentence_id(unit)
        if page not in self:
            return ""
        sentences = self.page(page).sentences
        if number < len(sentences) and sentences[number].number == number:
            return sentences[number].text
        return next((s.text for s in sentences if s.number == number), "")

    def pages_named(self, name: str) -> tuple[str, ...]:
        return self._names.get(" ".join(words(name)), ())

    def names_in(self, text: str) -> list[Named]:
        """Names that begin with a capital or a digit, the longest at each position, from left to right."""
        spans = word_spans(text)
        found, at = [], 0
        while at < len(spans):
            folded, start, _ = spans[at]
            longest = min(self._longest.get(folded, 0), len(spans) - at)
            named = self._name_at(text, spans, at, longest) if longest and not text[start].islower() else None
            if named is None:
                at += 1
                continue
            length, pages = named
            end = spans[at + length - 1][2]
            if text[start:end].endswith(("'s", "’s")):
                end -= 2
            elif text[end : end + 1] == ")" and "(" in text[start:end]:
                end += 1
            found.append(Named(start, end, pages))
            at += length
        return found

    def _name_at(self, text: str, spans: list, at: int, longest: int) -> tuple[int, tuple[str, ...]] | None:
        for length in range(longest, 0, -1):
            folded = [word for word, _, _ in spans[at : at + length]]
            pages = self._names.get(" ".join(folded))
            if pages is None or (
                text[spans[at + length - 1][1]].islower() and length > 1 and folded[-1] in INDEX_STOP_WORDS
            ):
                continue
            if length == 1 and (folded[0] in COMMON_WORDS or folded[0] in DATE_WORDS or folded[0].isdigit()):
                continue
            return length, pages
        return None

    def meant(self, text: str, named: Named) -> str | None:
        """The page that a name in a text refers to, or None if several pages have the name.

        `the novelist Faba Sulin` means `Faba Sulin (novelist)`, and never `Faba Sulin (general)`, even if that is the
        only page.
        """
        if len(named.pages) == 1:
            qualifier = words(unqualified(self.page(named.pages[0]).title)[1])
            called = _CALLED.search(text[: named.start])
            return named.pages[0] if not qualifier or called is None or called[1] in qualifier else None
        before = words(text[: named.start])[-1:]
        fitting = [page for page in named.pages if before and before[0] in words(unqualified(self.page(page).title)[1])]
        return fitting[0] if len(fitting) == 1 else None


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
