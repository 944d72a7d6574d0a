"""Builds example records, which models are trained and scored on, before they become text.

Builders are pure functions of claims, ranked sentence ids per claim, and a sentence lookup. A sentence without text in
the corpus (FEVER's dump has such gaps) is left out and counted in `skipped` under its reason. Draws of negatives that
had to leave their window are counted too; `told` turns the counts into sentences.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from lisax.formats.examples import Example, Passage
from lisax.records import Claim, Document, Hit, Label
from lisax.sampling import negatives, noise

LIST_LENGTH = 5  # L, the sentences kept per claim
# Of several infused lists of a claim the shares whose order and length are varied, which are only of other pages, and
# which are read without titles, as texts are that somebody gives.
VARIED, FOREIGN, UNTITLED = 0.3, 0.1, 0.15

Ranked = Mapping[str, Sequence[str]]  # claim id -> sentence ids, best first


T = TypeVar("T")
Lookup = Callable[[str], "Passage | None"]


@dataclasses.dataclass(frozen=True)
class Draws:
    """How examples are drawn. The defaults are LisT5's; fields marked (ours) are not in the paper."""

    seed: int = 0
    ranking_window: negatives.Window = negatives.RANKING
    labelling_window: negatives.Window = negatives.LABELLING
    # Finds the entities of a claim in a ranker's training, as in inference; None: they are the titles of its pages.
    spot: Callable[[str], Sequence[str]] | None = None
    # Sentences of the window that every claim adds as NOT ENOUGH INFO to the pointwise examples, since most selected
    # sentences are such, whatever the claim's label. A claim of that label then has no other examples (ours).
    weak: int = 0
    sizes: Sequence[int] | None = None  # the `set_sizes` of all claims, needed where only a part of them is given
    lists: int | None = None  # infused lists of each claim, see `infused`
    length: int = LIST_LENGTH  # of lists
    # Examples of `sampling.contrasts` and `sampling.written` that a labeller also learns from, see
    # `files.with_curriculum`.
    contrasts: int = 0
    written: int = 0


def lookup_in(documents: Iterable[Document]) -> Lookup:
    """A lookup over documents held in memory."""
    passages = {
        sentence.id: Passage(sentence.id, document.source(sentence), sentence.text)
        for document in documents
        for sentence in document.sentences
        if sentence.text
    }
    return passages.get


def ranked_ids(run: Mapping[str, Sequence[Hit]]) -> dict[str, list[str]]:
    """A run as sentence ids per claim, best first."""
    return {query: [hit.id for hit in hits] for query, hits in run.items()}


def first_found(units: Iterable[str], find: Callable[[str], T | None], length: int | None = LIST_LENGTH) -> list[T]:
    """The results of `find` for the first `length` units (None: all) that are not None, without duplicates.

    Models read rankings this way in training and in use: five sentences are the first five that have text in the
    corpus, however many units without text precede them."""
    found = (one for unit in dict.fromkeys(units) if (one := find(unit)) is not None)
    return list(itertools.islice(found, length))


def told(counts: Mapping[str, int]) -> Iterator[str]:
    """The counts of building examples, as one line of text each."""
    for reason, count in counts.items():
        yield f"{count:,} {reason}" if reason == negatives.MOVED else f"left out {count:,}: {reason}"


# --- Training -------------------------------------------------------------------------------


def ranking(
    claims: Iterable[Claim],
    candidates: Ranked,
    lookup: Lookup,
    draws: Draws = Draws(),
    skipped: Counter | None = None,
) -> Iterator[Example]:
    """Each gold sentence as relevant, and equally many irrelevant ones from the window of ranks.

    NOT ENOUGH INFO claims give no examples. `entities` are the titles of the pages with the gold evidence, in order of
    first appearance (LisT5's training), or the entities found by `draws.spot`."""
    skipped = Counter() if skipped is None else skipped
    for claim in claims:
        if not _has_evidence(claim):
            continue
        positives = _found(claim.gold_ids, lookup, skipped)
        titles = dict.fromkeys(passage.title for passage in positives)
        entities = tuple(titles if draws.spot is None else draws.spot(claim.text))
        readable = [unit for unit in candidates.get(claim.id, ()) if lookup(unit) is not None]
        rng = negatives.generator(draws.seed, claim.id, "ranking")
        drawn = negatives.sample(readable, claim.gold_ids, draws.ranking_window, len(positives), rng, skipped)
        for label, passages in ((True, positives), (False, map(lookup, drawn))):
            for passage in passages:
                yield Example(claim.id, claim.text, (passage,), entities, label)


def pointwise(
    claims: Sequence[Claim],
    reranked: Ranked,
    lookup: Lookup,
    draws: Draws = Draws(),
    skipped: Counter | None = None,
) -> Iterator[Example]:
    """One example per gold sentence; for NOINFO claims one per negative, see `_no_info_evidence`."""
    skipped = Counter() if skipped is None else skipped
    draws = _sized(draws, claims)
    for claim in claims:
        if _has_evidence(claim):
            passages = _found(claim.gold_ids, lookup, skipped)
        elif not draws.weak:
            passages = _no_info_evidence(claim, reranked, lookup, draws, skipped)
        else:
            passages = []
        for passage in passages:
            yield Example(claim.id, claim.text, (passage,), label=claim.label)
        if draws.weak:
            readable = [unit for unit in reranked.get(claim.id, ()) if lookup(unit) is not None]
            rng = negatives.generator(draws.seed, claim.id, "weak")
            for unit in negatives.sample(readable, claim.gold_ids, draws.labelling_window, draws.weak, rng, skipped):
                yield Example(claim.id, claim.text, (lookup(unit),), label=Label.NOT_ENOUGH_INFO)


def listwise(
    claims: Sequence[Claim],
    reranked: Ranked,
    lookup: Lookup,
    draws: Draws = Draws(),
    skipped: Counter | None = None,
) -> Iterator[Example]:
    """One example per gold evidence set, with its first L sentences; for NOINFO claims one of negatives."""
    skipped = Counter() if skipped is None else skipped
    draws = _sized(draws, claims)
    for claim in claims:
        if _has_evidence(claim):
            lists = [_found(evidence, lookup, skipped)[:LIST_LENGTH] for evidence in claim.evidence_sets]
        else:
            lists = [_no_info_evidence(claim, reranked, lookup, draws, skipped)]
        for passages in lists:
            if passages:
                yield Example(claim.id, claim.text, tuple(passages), label=claim.label)


def infused(
    claims: Iterable[Claim],
    reranked: Ranked,
    lookup: Lookup,
    draws: Draws = Draws(),
    skipped: Counter | None = None,
) -> Iterator[Example]:
    """One example per gold evidence set: the first `length` reranked sentences, infused with that set.

    `lists` (ours) instead makes that many examples of every claim, each infused with one of its sets, drawn; a share
    `VARIED` of them in another order, and with some sentences left out that are not of the set. A share `FOREIGN` are
    of the first sentences from pages without any gold evidence, which are not enough: sentences on another subject
    decide nothing. A share `UNTITLED` have no titles. Each list is then of one to `length` sentences, and as long as its
    set needs. A claim without reranked sentences is trained on its gold set; without either it is skipped."""
    skipped = Counter() if skipped is None else skipped
    length, lists = draws.length, draws.lists
    for claim in claims:
        rng = negatives.generator(draws.seed, claim.id, "infusion")
        selected = [passage.id for passage in first_found(reranked.get(claim.id, ()), lookup, length)]
        foreign = [] if lists is None else _of_other_pages(claim, reranked.get(claim.id, ()), lookup, length)
        sets: Sequence[Sequence[str]] = claim.evidence_sets if _has_evidence(claim) else ((),)
        if lists is not None:
            sets = [sets[int(rng.integers(len(sets)))] for _ in range(lists)]
        for evidence in sets:
            if foreign and rng.random() < FOREIGN:
                yield Example(claim.id, claim.text, tuple(foreign), label=Label.NOT_ENOUGH_INFO)
                continue
            titled = lists is None or rng.random() >= UNTITLED
            gold = [p.id for p in _found(evidence, lookup, skipped)]
            first = selected
            if lists is not None:
                first = selected[: max(len(gold), int(rng.integers(1, length + 1)))]
            units = noise.infuse(first or gold[:length], gold, claim.label, rng, spare=claim.gold_ids)
            if lists is not None and rng.random() < VARIED:
                units = noise.varied(units, gold, rng)
            if units:
                passages = map(lookup, units)
                if not titled:
                    passages = (dataclasses.replace(passage, title="") for passage in passages)
                yield Example(claim.id, claim.text, tuple(passages), label=claim.label)
            else:
                skipped["a claim without sentences"] += 1


def _of_other_pages(claim: Claim, reranked: Iterable[str], lookup: Lookup, length: int) -> list[Passage]:
    """The first `length` sentences that are not from a page with gold evidence of the claim."""
    gold = {passage.title for passage in map(lookup, claim.gold_ids) if passage is not None}

    def foreign(unit: str) -> Passage | None:
        passage = lookup(unit)
        return None if passage is None or passage.title in gold else passage

    return first_found(reranked, foreign, length)


def claim_only(claims: Iterable[Claim]) -> Iterator[Example]:
    """The claim without evidence: the baseline that shows how much the claims' wording reveals."""
    return (Example(claim.id, claim.text, label=claim.label) for claim in claims)


def msmarco(triples: Iterable[tuple[str, str, str]]) -> Iterator[Example]:
    """A relevant and an irrelevant example for each (query, positive passage, negative passage)."""
    for number, (query, positive, negative) in enumerate(triples):
        for label, text in ((True, positive), (False, negative)):
            yield Example(str(number), query, (Passage(f"{number}#{label:d}", "", text),), label=label)


# --- Parts ----------------------------------------------------------------------------------


def _has_evidence(claim: Claim) -> bool:
    return claim.label in (Label.SUPPORTS, Label.REFUTES)


def _found(units: Iterable[str], lookup: Lookup, skipped: Counter) -> list[Passage]:
    passages = []
    for unit in units:
        passage = lookup(unit)
        if passage is None:
            skipped["a sentence without text in the corpus"] += 1
        else:
            passages.append(passage)
    return passages


def set_sizes(claims: Iterable[Claim]) -> list[int]:
    """Sizes of all gold evidence sets, cut to L; [1] if there are none."""
    return [
        min(len(evidence), LIST_LENGTH) for claim in claims if _has_evidence(claim) for evidence in claim.evidence_sets
    ] or [1]


def _sized(draws: Draws, claims: Iterable[Claim]) -> Draws:
    return draws if draws.sizes is not None else dataclasses.replace(draws, sizes=set_sizes(claims))


def _no_info_evidence(claim: Claim, reranked: Ranked, lookup: Lookup, draws: Draws, skipped: Counter) -> list[Passage]:
    """Negatives from the window of reranked sentences for a NOT ENOUGH INFO claim.

    Their number is the size of a randomly drawn gold set (ours), so that the number of sentences does not reveal the
    label."""
    rng = negatives.generator(draws.seed, claim.id, "no info")
    count = int(draws.sizes[int(rng.integers(len(draws.sizes)))])
    readable = [unit for unit in reranked.get(claim.id, ()) if lookup(unit) is not None]
    drawn = negatives.sample(readable, claim.gold_ids, draws.labelling_window, count, rng, skipped)
    if not drawn:
        skipped["a claim without sentences"] += 1
    return [lookup(unit) for unit in drawn]
