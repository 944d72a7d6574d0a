"""Candidate pages for a claim's evidence (DeSePtion, section 5): BM25, titles, and lookups of the claim's entities and
noun phrases, merged in turn. Disambiguation pages and lists are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from lisax.devices.batching import windows
from lisax.records import Claim, Hit
from lisax.retrieval.documents import DocumentIndex
from lisax.retrieval.entities import Spotter, default_spotter
from lisax.retrieval.fusion import alternate
from lisax.text.stop_words import INDEX_STOP_WORDS
from lisax.text.words import word_spans

CLAIMS_AT_A_TIME = 1024
PAGES_OF_A_PHRASE = 3
LONGEST_PHRASE = 4


def only_points_on(title: str) -> bool:
    """Whether a page with this title only refers to others: a disambiguation page or a list."""
    folded = title.casefold().strip()
    return folded.endswith("(disambiguation)") or folded.startswith(("list of ", "lists of "))


def noun_phrases(text: str) -> list[str]:
    """Noun phrase candidates, found without a parser: runs of one to `LONGEST_PHRASE` words between stop words, as
    written, without duplicates, longer ones first. Words in the middle of a longer run are ignored."""
    spans = [(word, start, end) for word, start, end in word_spans(text)]
    runs = [
        list(run) for stops, run in itertools.groupby(spans, key=lambda span: span[0] in INDEX_STOP_WORDS) if not stops
    ]
    phrases = (text[run[0][1] : run[-1][2]] for run in runs if len(run) <= LONGEST_PHRASE)
    return sorted(dict.fromkeys(phrases), key=lambda phrase: -len(phrase.split()))


def retrieve(
    index: DocumentIndex, claims: Iterable[Claim], k: int = 30, *, spotter: Spotter | None = None
) -> Iterator[Hit]:
    """Up to `k` pages per claim, scored by 1 / rank, in the order of the claims; streaming."""
    spotter = spotter or default_spotter(index.titles)
    for batch in windows(claims, CLAIMS_AT_A_TIME):
        texts = [claim.text for claim in batch]
        phrases = [list(dict.fromkeys([*spotter.spot(text), *noun_phrases(text)])) for text in texts]
        of_phrase = dict.fromkeys(phrase for row in phrases for phrase in row)
        looked_up = dict(zip(of_phrase, index.titles.search_all(list(of_phrase), PAGES_OF_A_PHRASE)))
        searched = index.bm25.search(texts, 2 * k)
        titled = index.titles.search_all(texts, 2 * k)
        for claim, scored, by_title, row in zip(batch, searched, titled, phrases, strict=True):
            # Each phrase's best page before the second of any.
            by_phrase = [
                page
                for pages in itertools.zip_longest(*(looked_up[phrase] for phrase in row))
                for page in pages
                if page is not None
            ]
            merged = alternate([page for page, _ in scored], alternate(by_title, by_phrase, 4 * k), 6 * k)
            index.pages.prepare(merged)
            kept = (page for page in merged if not only_points_on(index.pages.title(page)))
            for rank, page in enumerate(itertools.islice(kept, k), start=1):
                yield Hit(claim.id, page, rank, 1 / rank)
