"""The named entities of a claim, in order of first appearance (LisT5, section 3.2).

Uses spaCy's `en_core_web_sm` if it is installed, as in the paper. Otherwise an offline spotter finds capitalised titles
that the claim mentions, and runs of capitalised words. Both leave out dates, times, percentages, money, quantities,
ordinals and cardinals.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable
from typing import Protocol

from lisax.retrieval.titles import Titles, signed
from lisax.text.stop_words import COMMON_WORDS, DATE_WORDS
from lisax.text.words import word_spans

DROPPED_KINDS = frozenset("DATE TIME PERCENT MONEY QUANTITY ORDINAL CARDINAL".split())

# Words inside names (`University of Oxford`), for claims without a gazetteer that knows the whole name.
CONNECTIVES = frozenset("of the de la le du des von van der den di da del al bin ibn y".split())
# A full stop after these does not end a sentence.
ABBREVIATIONS = frozenset("mr mrs ms dr prof st mt ft sr jr lt col gen capt".split())
SENTENCE_END = re.compile(r"[.!?][\"'”’)]*\s+$")


class Spotter(Protocol):
    def spot(self, claim: str) -> list[str]:
        """Entities as written in the claim, without duplicates, in order of first appearance."""
        ...


class OfflineSpotter:
    """Spans that begin with a capital: the longest title of the gazetteer or run of capitalised words.

    `titles` is the corpus's title index, which knows where names with small words end (`Alice in Chains`); None uses
    only capitals. A name does not begin with a common word, and a capital at the beginning of a sentence does not make
    a word a name, unless a longer title begins there (`The Who`).
    """

    def __init__(self, titles: Titles | None = None):
        self._titles = titles

    def spot(self, claim: str) -> list[str]:
        words = [_Word(word, claim[start:end], start, end) for word, start, end in word_spans(claim)]
        title_end: dict[int, int] = {}
        for mention in self._titles.mentions(claim) if self._titles else ():
            last = words[mention.last - 1].written
            # `Homo sapiens` is a name because it is a title; `Alien was` is not, even if `Alien Was` is a title.
            if last[0].isupper() or last[0].isdigit() or self._titles.is_title(claim[mention.start : mention.end]):
                title_end.setdefault(mention.first, mention.last)  # the longest comes first
        found: dict[str, None] = {}
        at = 0
        while at < len(words):
            if (end := self._end(claim, words, at, title_end.get(at, at))) == at:
                at += 1
                continue
            written = claim[words[at].start : words[end - 1].end]
            if written.endswith(("'s", "’s")):
                written = written[:-2]
            elif claim[words[end - 1].end :].startswith(")") and "(" in written:
                written += ")"
            elif (name := slice(*signed(claim, words[at].start, words[end - 1].end))) and self._is_name(claim[name]):
                written = claim[name]
            found.setdefault(written)
            at = end
        return list(found)

    def _is_name(self, written: str) -> bool:
        """Whether the signs belong to the name: it is a title, or they are `+` and `#`, which do not end sentences."""
        return self._titles.is_title(written) if self._titles else written[-1] in "+#"

    def _end(self, claim: str, words: list[_Word], at: int, title_end: int) -> int:
        """The index where the name that begins at word `at` ends; `at` itself if there is none."""
        word = words[at]
        if word.written[0].isalpha() and word.written[0].lower() == word.written[0].upper():
            return max(at, title_end)  # a script without capitals: only titles are known to be names
        if not word.written[0].isupper() or all(w.is_date for w in words[at : max(title_end, at + 1)]):
            return at
        if (word.is_common or word.is_date) and title_end < at + 2:
            # A single common word is a name only as a title inside a sentence (`Nobody liked It`).
            return title_end if title_end > at and not word.is_date and not _opens_sentence(claim, word) else at
        end = at + 1
        while end < len(words) and _joined(claim, words[end - 1], words[end]):
            reach = end
            while self._titles is None and reach < len(words) and words[reach].folded in CONNECTIVES:
                reach += 1
            if reach == len(words) or not words[reach].written[0].isupper() or words[reach].is_date:
                break
            end = reach + 1
        return max(end, title_end)


@dataclasses.dataclass(frozen=True, slots=True)
class _Word:
    folded: str
    written: str
    start: int
    end: int

    @property
    def is_common(self) -> bool:
        # `US` and `IT` are not common words; `I` and `A` are.
        return self.folded in COMMON_WORDS and not (self.written.isupper() and len(self.written) > 1)

    @property
    def is_date(self) -> bool:
        return self.folded in DATE_WORDS or self.folded.isdigit()


def _opens_sentence(claim: str, word: _Word) -> bool:
    before = claim[: word.start]
    return not before.strip(" \t\n\"'“‘(") or bool(SENTENCE_END.search(before))


def _joined(claim: str, word: _Word, following: _Word) -> bool:
    """Whether two words can be in one name: only blanks, hyphens and the like are between them."""
    if word.written.endswith(("'s", "’s")):
        return False
    between = claim[word.end : following.start]
    if between.startswith(".") and (len(word.written) == 1 or word.folded in ABBREVIATIONS):
        between = between[1:]
    return not between.strip(" -–&'’")


class SpacySpotter:
    """Entities from a spaCy pipeline, without the excluded kinds."""

    def __init__(self, pipeline: Callable):
        self._pipeline = pipeline

    def spot(self, claim: str) -> list[str]:
        entities: Iterable = self._pipeline(claim).ents
        kept = (entity.text.strip() for entity in entities if entity.label_ not in DROPPED_KINDS)
        return list(dict.fromkeys(text for text in kept if text))


@functools.lru_cache(maxsize=1)
def _spacy_spotter() -> SpacySpotter | None:
    """None if spaCy or its model is not installed."""
    try:
        import spacy

        return SpacySpotter(spacy.load("en_core_web_sm", disable=["lemmatizer"]))
    except (ImportError, OSError):
        return None


def default_spotter(titles: Titles | None = None) -> Spotter:
    """spaCy where `en_core_web_sm` is installed, the offline spotter otherwise."""
    return _spacy_spotter() or OfflineSpotter(titles)
