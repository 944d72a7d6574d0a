"""Which claims or questions of a training split are held out: pages and tables with all that is claimed or asked of
them.

Claims on one page are often variants of each other, one true and one false. A model that has learned from one of them
is biased on its siblings, so that claims on pages that it knows predict little for claims on others: of FEVER's sample
a labeller had 62 % right on these and 71 % on pages that it had never seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from lisax.errors import DataError
from lisax.records import Claim, Question, split_sentence_id
from lisax.sampling.files import hashed_share
from lisax.text.titles import id_to_title

_WORD = re.compile(r"\w+")
_IN_BRACKETS = re.compile(r" \([^()]*\)$")
LONGEST_NAME = 8  # words
BY = SOURCE, ID = "source", "id"


def held_out(items: Iterable[Claim | Question], share: float, by: str = SOURCE) -> set[str]:
    """The ids that are held out, about a `share` of all: the first sources by a hash, at least one and never all. Where
    all are of one source, they are held out one by one. By `ID` each is held out separately, by a hash of its own."""
    if by == ID:
        return {item.id for item in items if hashed_share(item.id) < share}
    by_source: dict[str, list[str]] = {}
    for item, source in sources(items):
        by_source.setdefault(source, []).append(item.id)
    if len(by_source) == 1:
        by_source = {i: [i] for ids in by_source.values() for i in ids}
    order = sorted(by_source, key=lambda source: (hashed_share(source), source))
    wanted, held = share * sum(map(len, by_source.values())), set()
    for source in order[:-1]:
        if len(held) >= wanted:
            break
        held.update(by_source[source])
    return held


def sources(items: Iterable[Claim | Question]) -> Iterator[tuple[Claim | Question, str]]:
    """Each with the page, table or graph of its first evidence. One without evidence belongs to the page with the
    longest name in its text, and otherwise to itself."""
    items = list(items)
    known = {item.id: source_of(units[0]) for item in items if (units := _evidence(item))}
    names: dict[tuple[str, ...], Counter] = {}
    for source in known.values():
        name = _words(_IN_BRACKETS.sub("", id_to_title(source)))
        names.setdefault(name, Counter())[source] += 1
    for item in items:
        yield item, known.get(item.id) or _named(item.text, names) or item.id


def source_of(unit: str) -> str:
    """The page, table or graph of a unit of evidence: `Tarn` for `Tarn_3`, `towns` for `towns#r1c2`."""
    if "#" in unit:
        return unit.rpartition("#")[0]
    try:
        return split_sentence_id(unit)[0]
    except DataError:
        return unit  # a whole table


def _evidence(item: Claim | Question) -> tuple[str, ...]:
    return item.evidence if isinstance(item, Question) else item.gold_ids or item.candidates


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _named(text: str, names: dict[tuple[str, ...], Counter]) -> str | None:
    words = _words(text)
    for length in range(min(LONGEST_NAME, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            if found := names.get(words[start : start + length]):
                return min(found, key=lambda source: (-found[source], source))
    return None
