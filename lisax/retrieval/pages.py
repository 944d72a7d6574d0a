"""Pages on disk: id to title and sentences, memory-mapped, so that a pipeline never loads its whole corpus.

A part holds `ids` (a string table), `heads` (for each page its title, its original id and its redirects) and
`sentences` (string lists; a sentence's headings are before it, see `_written`), `starts` (uint64 [pages + 1, 2]: where a page begins in both) and `numbers` (int32
[sentences]). Building streams to disk and keeps about 40 bytes per page and 12 per sentence in memory.
"""

from __future__ import annotations

import functools
import itertools
import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.records import Document, Sentence, check_id, split_sentence_id
from lisax.retrieval.blocks import ADVICE, Numbers
from lisax.retrieval.folder import Writing, open_component
from lisax.retrieval.record_store import manifest_of_parts
from lisax.retrieval.strings import Strings, StringsWriter, StringTable, StringTableWriter

NAME = "pages"
SEPARATOR = "\x1f"  # between headings and a sentence
PART_PAGES, PART_SENTENCES = 1 << 20, 1 << 23


class Stored(NamedTuple):
    """A page as strings: its title, original id and redirects, and its sentences with their numbers."""

    id: str
    heads: tuple[str, ...]
    sentences: list[str]
    numbers: list[int]


def stored(page: Document) -> Stored:
    """The strings of a page."""
    # "=" distinguishes an original id, which may be any text, from none.
    original = "" if page.original_id is None else f"={page.original_id}"
    return Stored(
        page.id,
        (page.title, original, *page.redirects),
        [_written(sentence) for sentence in page.sentences],
        [sentence.number for sentence in page.sentences],
    )


class PagesBuilder:
    """Takes pages one at a time; `finish` returns the manifest to commit."""

    def __init__(self, state: Writing, *, extend: bool = False):
        self._state = state
        parts = open_component(state.folder, NAME)["parts"] if extend else []
        self._parts = [state.folder / part for part in parts]
        self._ids: StringTableWriter | None = None

    def add(self, page: Document) -> None:
        self._append(stored(page))

    def add_block(self, block: Any) -> None:
        """Adds a block of pages (`documents.Prepared`)."""
        for page in block.pages:
            self._append(page)

    def _append(self, page: Stored) -> None:
        if self._ids is None:
            self._part = self._state.new_part(NAME)
            self._ids = StringTableWriter(self._part / "ids")
            self._heads = StringsWriter(self._part / "heads")
            self._sentences = StringsWriter(self._part / "sentences")
            self._starts, self._numbers = array("Q", [0, 0]), array("i")
        self._ids.append(check_id(page.id))
        for head in page.heads:
            self._heads.append(head)
        for sentence in page.sentences:
            self._sentences.append(sentence)
        self._numbers.extend(page.numbers)
        self._starts.extend((len(self._heads), len(self._sentences)))
        if len(self._ids) >= PART_PAGES or len(self._sentences) >= PART_SENTENCES:
            self._close_part()

    def _close_part(self) -> None:
        if self._ids is None:
            return
        for writer in (self._ids, self._heads, self._sentences):
            writer.close()
        for name, numbers in (("starts", self._starts), ("numbers", self._numbers)):
            with (self._part / name).open("wb") as file:
                numbers.tofile(file)
        self._parts.append(self._part)
        self._ids = None

    def finish(self) -> dict[str, dict]:
        self._close_part()
        return manifest_of_parts(self._state, NAME, self._parts, "pages", "document", {})


def _written(sentence: Sentence) -> str:
    """The text of a sentence, after its headings and a separator if it has any: pages without headings have the files
    that they always had."""
    if sentence.heading or SEPARATOR in sentence.text:
        return f"{sentence.heading}{SEPARATOR}{sentence.text}" if sentence.text else ""
    return sentence.text


def _sentence(page: str, number: int, written: str) -> Sentence:
    heading, separator, text = written.partition(SEPARATOR)
    return Sentence(page, number, text, heading) if separator else Sentence(page, number, written)


class _Part:
    def __init__(self, folder: Path):
        self.ids = StringTable(folder / "ids")
        self.heads, self.sentences = Strings(folder / "heads"), Strings(folder / "sentences")
        self.starts, self.numbers = Numbers(folder / "starts", "Q"), Numbers(folder / "numbers", "i")
        if len(self.starts) != 2 * (len(self.ids) + 1) or len(self.numbers) != len(self.sentences):
            raise LisaxError(f"the pages at {folder} are damaged: their files differ in length; {ADVICE}")

    @functools.cached_property
    def filled(self) -> np.ndarray:
        """Numbers of the part's sentences that have text, uint32, ascending."""
        return self.sentences.filled()

    @property
    def firsts(self) -> np.ndarray:
        """The number of each page's first sentence, and that of all sentences, uint64 [pages + 1]."""
        return np.frombuffer(self.starts.whole(), np.uint64)[1::2]


class PageStore:
    """`store.page(id)`, `id in store`, `store.title(id)`, `store.sentence("page_3")`; iterates over the ids."""

    def __init__(self, folder: Path):
        manifest = open_component(folder, NAME)
        self.folder, self.digest = folder, manifest["digest"]
        try:
            self._parts = [_Part(folder / part) for part in manifest["parts"]]
        except (OSError, TypeError) as error:
            raise DataError(f"the pages are damaged ({error}); {ADVICE}", path=folder) from None

    @classmethod
    def open(cls, folder: str | os.PathLike) -> PageStore:
        return cls(Path(folder))

    def _find(self, page_id: str) -> tuple[_Part, int] | None:
        for part in self._parts:
            if (number := part.ids.find(page_id)) is not None:
                return part, number
        return None

    def _get(self, page_id: str) -> tuple[_Part, int]:
        found = self._find(page_id)
        if found is None:
            raise DataError(f"no page with id '{page_id}'", path=self.folder)
        return found

    def __len__(self) -> int:
        return sum(len(part.ids) for part in self._parts)

    def __contains__(self, page_id: str) -> bool:
        return self._find(page_id) is not None

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            yield from part.ids

    @property
    def titles(self) -> Iterator[str]:
        """Titles in the order of the ids."""
        for part in self._parts:
            for number in range(len(part.ids)):
                yield part.heads[part.starts[2 * number]]

    def prepare(self, ids: Iterable[str]) -> None:
        """Does nothing, since the pages are mapped. A cluster reads the pages of these ids here."""

    def title(self, page_id: str) -> str:
        part, number = self._get(page_id)
        return part.heads[part.starts[2 * number]]

    def page(self, page_id: str) -> Document:
        """The stored page. Raises an error for an unknown id."""
        part, number = self._get(page_id)
        first_head, first, last_head, last = part.starts.span(2 * number, 2 * number + 4)
        title, original, *redirects = part.heads.between(first_head, last_head)
        sentences = zip(part.numbers.span(first, last), part.sentences.between(first, last))
        return Document(
            page_id,
            title,
            tuple(_sentence(page_id, n, text) for n, text in sentences),
            tuple(redirects),
            original[1:] if original else None,
        )

    def sentence(self, unit: str) -> Sentence:
        """The sentence with the id `{page}_{number}`. Raises an error for an unknown one."""
        page_id, wanted = split_sentence_id(unit)
        part, number = self._get(page_id)
        first, last = part.starts[2 * number + 1], part.starts[2 * number + 3]
        # Nearly all pages number their sentences 0, 1, 2, …, so look there first.
        for at in (first + wanted, *range(first, last)):
            if at < last and part.numbers[at] == wanted:
                return _sentence(page_id, wanted, part.sentences[at])
        raise DataError(f"page '{page_id}' has no sentence {wanted}", path=self.folder)

    # --- Sentences that have text, by their place among all of them -----------------------------

    @property
    def texts(self) -> int:
        """The number of sentences that have text."""
        return sum(len(part.filled) for part in self._parts)

    def texts_after(self, count: int) -> Iterator[tuple[str, str]]:
        """(title of the page with the headings, text) of the sentences that have text, after the first `count`."""
        for part in self._parts:
            pages = np.searchsorted(part.firsts, part.filled[count:], "right") - 1
            for page, number in zip(pages, part.filled[count:]):
                sentence = _sentence("", 0, part.sentences[int(number)])
                yield Document("", part.heads[part.starts[2 * int(page)]]).source(sentence), sentence.text
            count = max(0, count - len(part.filled))

    def page_at(self, place: int) -> str:
        """The id of the page whose sentence is the `place`-th that has text, from 0."""
        for part in self._parts:
            if place < len(part.filled):
                return part.ids[int(np.searchsorted(part.firsts, part.filled[place], "right")) - 1]
            place -= len(part.filled)
        raise IndexError(place)

    def places_of(self, page_id: str) -> range:
        """The places of a page's sentences that have text; none for an unknown page."""
        for part, start in zip(self._parts, itertools.accumulate((len(p.filled) for p in self._parts), initial=0)):
            if (number := part.ids.find(page_id)) is not None:
                first, last = np.searchsorted(part.filled, part.firsts[number : number + 2])
                return range(start + int(first), start + int(last))
        return range(0)
