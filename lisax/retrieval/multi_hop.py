"""The second hop: also searches pages that the first evidence names (claims over several pages: DeSePtion, section 4).

A claim about `the author of X` does not name the author; the page of X does. The second query is the claim together
with a sentence of the first evidence. It searches the pages whose titles that sentence names and the claim does not.
The results are merged by rank with those of the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lisax.devices.batching import windows
from lisax.records import Claim, Document, Hit, Sentence, split_sentence_id
from lisax.retrieval.documents import CLAIMS_AT_A_TIME, DocumentIndex
from lisax.retrieval.fusion import alternate
from lisax.retrieval.terms import stems

FIRST_PAGES, FIRST_SENTENCES = 3, 6  # the second hop starts from the best sentences of the first pages
NAMED_BY_ONE = 4  # pages followed per sentence
KEPT_FIRST = 3  # sentences that keep their places; after them the second hop's take every other place
FROM_SENTENCES = 3  # ranked sentences whose named pages are followed

ReadPage = Callable[[str], Document | None]


def second_pages(
    index: DocumentIndex, claims: Iterable[Claim], run: Mapping[str, Sequence[Hit]], k: int
) -> Iterator[Hit]:
    """Up to `k` documents per claim: those of `run` alternated with those of the second hop; scored by 1 / rank.

    Documents of the second hop are in BM25's order for the claim joined with the sentence that names them; documents
    that BM25 does not find are in the order of the text.
    """
    for batch in windows(claims, CLAIMS_AT_A_TIME):
        first = [[hit.id for hit in run.get(claim.id, ())] for claim in batch]
        index.pages.prepare(page for pages in first for page in pages[:FIRST_PAGES])
        named = [_named_by(index, claim, pages) for claim, pages in zip(batch, first)]
        queries = [f"{claim.text} {text}" for claim, found in zip(batch, named) for text in found]
        ranked = iter(index.bm25.search(queries, k) if queries else ())
        for claim, pages, found in zip(batch, first, named):
            second: list[str] = []
            for candidates in found.values():
                place = {page: rank for rank, (page, _) in enumerate(next(ranked))}
                second += sorted(candidates, key=lambda page: place.get(page, k))
            for rank, page in enumerate(_merged(pages, list(dict.fromkeys(second)))[:k], start=1):
                yield Hit(claim.id, page, rank, 1 / rank)


def _merged(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """`KEPT_FIRST` of the first, then the second in turn with the rest of the first."""
    kept, rest = list(first[:KEPT_FIRST]), first[KEPT_FIRST:]
    new = [unit for unit in second if unit not in kept]
    return kept + alternate(new, rest, len(new) + len(rest))


def _named_by(index: DocumentIndex, claim: Claim, pages: Sequence[str]) -> dict[str, list[str]]:
    """Sentence text -> the pages that it names, for the sentences of the first pages that best match the claim."""
    sentences = [
        (rank, sentence)
        for rank, page in enumerate(pages[:FIRST_PAGES])
        for sentence in index.pages.page(page).sentences
        if sentence.text
    ]
    wanted = set(stems([claim.text])[0])
    likest = sorted(
        sentences, key=lambda item: (-len(wanted.intersection(stems([item[1].text])[0])), item[0], item[1].number)
    )
    known = {*index.titles.mentioned(claim.text), *pages[:1]}
    found = {}
    for _, sentence in likest[:FIRST_SENTENCES]:
        named = [page for page in named_pages(index, sentence) if page not in known]
        if named:
            found[sentence.text] = named
    return found


def named_pages(index: DocumentIndex, sentence: Sentence) -> list[str]:
    """Pages whose titles a sentence names with a capital, except its own page."""
    named = index.titles.mentioned(sentence.text, capitals=True)
    return [page for page in named if page != sentence.page][:NAMED_BY_ONE]


def second_sentences(
    index: DocumentIndex, claims: Iterable[Claim], run: Mapping[str, Sequence[Hit]], read_page: ReadPage
) -> Iterator[Hit]:
    """The run of sentences with those of the second hop: after the first `KEPT_FIRST` of `run`, in turn with the rest.

    They come from pages that the first `FROM_SENTENCES` sentences of `run` name and the claim does not: sentences with
    words of the claim that the naming sentence lacks, most such words first, and the pages' first sentences. Each has
    the score of the sentence before it.
    """
    for claim in claims:
        first = list(run.get(claim.id, ()))
        second = _second_sentences(index, claim, first[:FROM_SENTENCES], read_page)
        scores = {hit.id: hit.score for hit in first}
        score = max(scores.values(), default=0.0)
        for rank, unit in enumerate(_merged([hit.id for hit in first], second), start=1):
            score = min(score, scores.get(unit, score))
            yield Hit(claim.id, unit, rank, score)


def _second_sentences(index: DocumentIndex, claim: Claim, first: Sequence[Hit], read_page: ReadPage) -> list[str]:
    known, wanted = set(index.titles.mentioned(claim.text)), set(stems([claim.text])[0])
    ranked: list[tuple[int, int, str]] = []
    for hit in first:
        page_id, number = split_sentence_id(hit.id)
        page = read_page(page_id)
        if page is None or number >= len(page.sentences):
            continue
        sentence = page.sentences[number]
        open_words = wanted.difference(stems([f"{page.title} {sentence.text}"])[0])
        for named in named_pages(index, sentence):
            if named not in known and (there := read_page(named)) is not None:
                shared = ((len(open_words.intersection(stems([s.text])[0])), s) for s in there.sentences)
                ranked += [
                    (-count, len(ranked) + s.number, s.id) for count, s in shared if s.text and (count or s.number == 0)
                ]
    return list(dict.fromkeys(unit for *_, unit in sorted(ranked)))
