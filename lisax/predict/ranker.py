"""Orders evidence by relevance to a claim: trained rankers, BM25, and the retrieval order."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from lisax.errors import LisaxError
from lisax.files.places import place
from lisax.formats.examples import Example, Passage
from lisax.formats.format import Format
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.pointing import POINT_DOCUMENTS, POINT_SENTENCES, PointerExample
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.predict.model import Model
from lisax.predict.opening import find_model, is_encoder, open_model
from lisax.predict.prompt_model import PromptModel, text_of
from lisax.predict.retriever import open_encoder
from lisax.predict.score_fusion import features_of, probability
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.predict.verdicts import Evidence, table_evidence
from lisax.records import Claim, Hit, Table
from lisax.retrieval import few_texts
from lisax.retrieval.dense_texts import Text
from lisax.retrieval.entities import default_spotter
from lisax.retrieval.fusion import WEIGHT, fused
from lisax.retrieval.runs import strictly_falling
from lisax.weights.interop.kinds import Kind, kind_of
from lisax.weights.model_card import ModelCard
from lisax.weights.pretrained import is_named
from lisax.weights.public_models import Job, Use

CLAIMS_AT_A_TIME = 32  # claims ranked between two resume marks
VECTORS_KEPT = 20_000  # vectors of sentences that are kept: 30 MB of MiniLM's

Spot = Callable[[str], Sequence[str]]  # finds a claim's entities


class Ranker(Protocol):
    """Orders evidence by its relevance to a claim, best first.

    To write your own ranker, subclass `Ranker` and implement `rank`; `rank_many` then calls it in a loop.

    >>> from lisax import Ranker
    >>> ranker = Ranker.open("bm25")
    >>> best, *others = ranker.rank("Olin was born in Tarn.", ["Tarn is a town.", "Olin was born in Tarn."])
    >>> best.text
    'Olin was born in Tarn.'
    """

    tag: str = "ranker"  # its name in the TREC runs that it writes
    is_quick: bool = False  # whether it can rank all units of a small index for each claim

    def rank(self, claim: str, evidence: Sequence[Evidence | str]) -> list[Evidence]:
        """The evidence, best first, with new scores. A plain text is treated as evidence without a source."""
        return next(self.rank_many([claim], [as_evidence(evidence)]))

    def rank_many(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Evidence]], *, spot: Spot | None = None
    ) -> Iterator[list[Evidence]]:
        """`rank` for each claim with its own evidence, in order. `spot` finds a claim's entities, for models that read
        them."""
        for claim, found in zip(claims, evidence, strict=True):
            yield self.rank(claim, found)

    @staticmethod
    def open(path: str | os.PathLike, use: Use | None = None) -> Ranker:
        """Opens a monoT5 model, a pair scorer, a pointer to documents or evidence, or a published ranker
        (`lisax models list`), given as `hf:OWNER/NAME@REVISION` or as a Hugging Face folder: `use` has its prompt and
        answers if it is not listed. Two need no training: `"bm25"`, and a sentence encoder, whose
        cosines are added to BM25 (`VectorRanker`), such as `"minilm"`. `"FIRST,SECOND"`: the first orders all evidence,
        and the second, which compares pairs (duoT5), the best of it (`PairwiseRanker`). Raises DataError if there is no
        model at `path`, and LisaxError if it cannot rank."""
        name = os.fspath(path)
        if "," in name and not os.path.exists(name):
            first, _, second = name.rpartition(",")
            ranker = Ranker.open(second, use)
            if not isinstance(ranker, PairwiseRanker):
                raise LisaxError(
                    f"{second} scores texts one by one: give it without a second, or follow it by one that compares texts"
                )
            return PairwiseRanker(ranker.model, Ranker.open(first))
        if name == "bm25":
            return Bm25Ranker()
        found = find_model(path)
        if is_encoder(found):
            return VectorRanker(open_encoder(found))
        return ranker_of(open_model(found, use), found)


def ranker_of(model: Model | PromptModel, source: str | os.PathLike = "this model") -> Ranker:
    """Wraps a loaded model in the ranker that its format requires. Raises LisaxError if it cannot rank."""
    if isinstance(model, PromptModel):
        if model.use.job is Job.COMPARE:
            return PairwiseRanker(model)
        if model.use.job is not Job.RANK:
            raise LisaxError(f"{source} does not rank texts: its job is to {model.use.job}")
    if model.format in KINDS:
        ranker = KINDS[model.format](model)
        card = getattr(model, "card", None)  # published models have none
        reranking = Reranking.of(card) if card is not None and isinstance(ranker, SentenceRanker) else None
        return ranker if reranking is None else Reranker(ranker, reranking.opened(card), reranking)
    if model.format is TABLE_PARTS:
        raise LisaxError(f"{source} scores rows and columns for questions: use it with `lisax ask` (Answerer.open)")
    raise LisaxError(f"{source} labels claims (its format is '{model.format}'): a ranker is wanted here")


class SentenceRanker(Ranker):
    """monoT5 (LisT5, section 3.2) or a pair scorer: scores a sentence by its probability of relevance. Equal scores
    keep their order."""

    def __init__(self, model: Model | PromptModel):
        self.model, self.tag = model, str(model.format)

    def rank_many(self, claims, evidence, *, spot=None):
        for found, scores in zip(evidence, self.scores(claims, evidence, spot=spot)):
            best = sorted(((score, -place) for place, score in enumerate(scores)), reverse=True)
            yield [dataclasses.replace(found[-place], score=score) for score, place in best]

    def scores(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Evidence]], *, spot: Spot | None = None
    ) -> list[list[float]]:
        """The scores of each claim's evidence in the order that it is given in."""
        if self.model.format is RANK_ENTITIES:
            spot = spot or default_spotter().spot
            entities = [tuple(spot(claim)) for claim in claims]
        else:
            entities = [()] * len(claims)
        examples = [
            Example(str(number), claim, (Passage(one.unit, one.source, one.text),), entities[number])
            for number, (claim, found) in enumerate(zip(claims, evidence, strict=True))
            for one in found
        ]
        scores = iter(self.model.probabilities(examples)[:, 0] if examples else ())
        return [[float(next(scores)) for _ in found] for found in evidence]


@dataclasses.dataclass(frozen=True)
class Reranking:
    """How a trained ranker scores the best of another one again; the field `reranks` of its `model.json`.

    `first`: the other ranker, `"bm25"` or a sentence encoder, as `Ranker.open` takes them. `depth`: how many of its
    best. `weights`: of the log-odds of relevance, the other score as a share of the claim's best, and 1
    (`score_fusion`)."""

    first: str
    depth: int
    weights: tuple[float, float, float]

    @classmethod
    def of(cls, card: ModelCard) -> Reranking | None:
        """The values fitted for a model; None if none were."""
        if card.get("reranks") is None:
            return None
        first, depth, weights = card.needed("reranks.first", "reranks.depth", "reranks.weights")
        return cls(first, depth, tuple(weights))

    def described(self) -> dict[str, Any]:
        """The field of `model.json`."""
        return {"reranks": dataclasses.asdict(self)}

    def opened(self, card: ModelCard) -> Ranker:
        """The other ranker. Raises DataError for any third kind: a card could name itself."""
        published = is_named(self.first) or kind_of(place(self.first)) is Kind.HUGGINGFACE
        if self.first != Bm25Ranker.tag and not (published and is_encoder(self.first)):
            raise card.error("reranks.first", f"expected bm25 or a sentence encoder, found {self.first!r:.100}")
        return Ranker.open(self.first)


class Reranker(Ranker):
    """The best evidence of another ranker, scored by a trained one as well (ours): the score is the probability of
    relevance by both. Lower evidence keeps its order, with scores below 0."""

    tag = "rerank"

    def __init__(self, second: SentenceRanker, first: Ranker, reranking: Reranking):
        self.second, self.first, self.reranking = second, first, reranking
        self.is_quick = first.is_quick

    def rank_many(self, claims, evidence, *, spot=None):
        ordered = list(self.first.rank_many(claims, evidence, spot=spot))
        best = [found[: self.reranking.depth] for found in ordered]
        weights = np.array(self.reranking.weights)
        for found, top, scores in zip(ordered, best, self.second.scores(claims, best, spot=spot)):
            first = np.array([one.score for one in top])
            likely = probability(features_of(np.array(scores), first, first.max(initial=0.0)), weights)
            yield _best_again(found, likely)


class PairwiseRanker(Ranker):
    """duoT5 (Pradeep et al. 2021): of the `top` that another ranker finds best, each is compared with each of the
    others, in both orders. The score is the mean probability of being the better one; lower evidence keeps its order,
    with scores below 0."""

    def __init__(self, model: PromptModel, first: Ranker | None = None, top: int = 10):
        """`first` orders the evidence; None: `Bm25Ranker`."""
        self.model, self.first, self.top, self.tag = model, first or Bm25Ranker(), top, "pairwise"
        self.is_quick = self.first.is_quick

    def rank_many(self, claims, evidence, *, spot=None):
        for claim, found in zip(claims, self.first.rank_many(claims, evidence, spot=spot)):
            texts = [text_of([Passage(one.unit, one.source, one.text)]) for one in found[: self.top]]
            pairs = list(itertools.permutations(range(len(texts)), 2))
            wins = self.model.score([(claim, texts[a], texts[b]) for a, b in pairs])[:, 0]
            scores = np.zeros(len(texts))
            for (a, b), share in zip(pairs, wins):
                scores[a] += share
                scores[b] += 1 - share
            scores /= max(1, 2 * (len(texts) - 1))
            yield _best_again(found, scores)


def _best_again(found: Sequence[Evidence], scores: np.ndarray) -> list[Evidence]:
    """The first units ordered by their new scores; those below keep their order, with scores below 0."""
    best = [dataclasses.replace(found[i], score=float(scores[i])) for i in np.argsort(-scores, kind="stable")]
    below = (dataclasses.replace(one, score=-float(i)) for i, one in enumerate(found[len(scores) :], start=1))
    return [*best, *below]


class PointerRanker(Ranker):
    """An evidence pointer as a ranker: returns the units that it points to, in that order, with their probabilities."""

    def __init__(self, model: Model):
        self.model, self.tag = model, str(model.format)

    def rank_many(self, claims, evidence, *, spot=None):
        examples = [
            pointer_example(claim, found[: self.model.depth]) for claim, found in zip(claims, evidence, strict=True)
        ]
        pointing = self.model.probabilities(examples)
        for found, places, shares in zip(evidence, pointing.pointers, pointing.shares):
            yield [
                dataclasses.replace(found[place], score=float(share))
                for place, share in zip(places, shares)
                if place >= 0
            ]


class PagePointerRanker(Ranker):
    """A pointer to documents (DeSePtion, section 5.1) as a ranker of their sentences. The model points to pages by
    title; the first sentences of all those pages come before any second sentence. The score is 1 / rank."""

    def __init__(self, model: Model):
        self.model, self.tag = model, str(model.format)

    def rank_many(self, claims, evidence, *, spot=None):
        pages = [_by_page(found) for found in evidence]
        examples = []
        for number, (claim, found) in enumerate(zip(claims, pages, strict=True)):
            titles = (Passage(page, of_page[0].source, "") for page, of_page in found.items())
            candidates = tuple(itertools.islice(titles, self.model.depth))
            examples.append(PointerExample(str(number), claim, candidates))
        pointing = self.model.probabilities(examples)
        for example, found, places in zip(examples, pages, pointing.pointers):
            pointed = [found[example.candidates[place].id] for place in places if place >= 0]
            yield _in_turn(pointed)


def _by_page(evidence: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    pages: dict[str, list[Evidence]] = {}
    for one in evidence:
        pages.setdefault(one.page or one.source, []).append(one)
    return pages


KINDS: dict[Format, Callable[[Model], Ranker]] = {
    RANK: SentenceRanker,
    RANK_ENTITIES: SentenceRanker,
    POINT_SENTENCES: PointerRanker,
    POINT_DOCUMENTS: PagePointerRanker,
}


# --- Without a model ------------------------------------------------------------------------


def _in_turn(pages: Iterable[Sequence[Evidence]]) -> list[Evidence]:
    units = (one for row in itertools.zip_longest(*pages) for one in row if one is not None)
    return [dataclasses.replace(one, score=1 / rank) for rank, one in enumerate(units, start=1)]


class InTurn(Ranker):
    """Retrieval order by turns: the first sentences of all pages before any second sentence, as in the training of
    evidence pointers. The score is 1 / rank."""

    def rank(self, claim, evidence):
        return _in_turn(_by_page(as_evidence(evidence)).values())


class Bm25Ranker(Ranker):
    """BM25 over the claim's own candidates (`few_texts.scores`), without a model; a title counts as part of its
    sentence. Candidates of an index with vectors have a similarity, which counts too (`retrieval.fusion`). Equal
    scores keep their order."""

    tag, is_quick = "bm25", True

    def rank(self, claim, evidence):
        found = as_evidence(evidence)
        scores = few_texts.scores(claim, [f"{one.source} {one.text}" for one in found])
        if found and all(one.similarity is not None for one in found):
            scores = fused(scores, [one.similarity for one in found], WEIGHT).tolist()
        order = sorted(range(len(found)), key=lambda place: -scores[place])
        return [dataclasses.replace(found[place], score=scores[place]) for place in order]


class VectorRanker(Ranker):
    """The counterpart of `Bm25Ranker` with vectors for an index without: it encodes the claim's candidates itself."""

    tag, is_quick = "vectors", True

    def __init__(self, encoder: SentenceEncoder):
        self.encoder = encoder
        self._known: OrderedDict[Text, np.ndarray] = OrderedDict()

    def rank_many(self, claims, evidence, *, spot=None):
        new = (one for found in evidence for one in found if one.similarity is None)
        vectors = self._passages(Text(one.source, one.text) for one in new)
        for claim, question, found in zip(claims, self.encoder.questions(claims), evidence, strict=True):
            compared = [
                dataclasses.replace(one, similarity=float(vectors[one.source, one.text] @ question))
                if one.similarity is None
                else one
                for one in found
            ]
            yield Bm25Ranker().rank(claim, compared)

    def _passages(self, texts: Iterable[Text]) -> dict[Text, np.ndarray]:
        """The vector of each text; vectors not known from earlier claims are computed together."""
        if not self.encoder.encoder.rows_alone:
            self._known.clear()
        wanted = dict.fromkeys(texts)
        new = [text for text in wanted if text not in self._known]
        self._known.update(zip(new, self.encoder.passages(new)))
        for text in wanted:
            self._known.move_to_end(text)
        found = {text: self._known[text] for text in wanted}
        while len(self._known) > VECTORS_KEPT:
            self._known.popitem(last=False)
        return found


def as_evidence(evidence: Sequence[Evidence | Table | str]) -> list[Evidence]:
    """Evidence records; a plain text becomes a record whose id is its index, a table one with all its columns."""
    if isinstance(evidence, str):
        raise LisaxError("expected a list of evidence, found one text: put it in a list")
    return [
        Evidence(str(i), one)
        if isinstance(one, str)
        else table_evidence(one, range(len(one.header)))
        if isinstance(one, Table)
        else one
        for i, one in enumerate(evidence)
    ]


def pointer_example(claim: str, candidates: Sequence[Evidence], claim_id: str = "claim") -> PointerExample:
    return PointerExample(claim_id, claim, tuple(Passage(one.unit, one.source, one.text) for one in candidates))


def ranking(
    ranker: Ranker,
    candidates: Callable[[Claim], Sequence[Evidence]],
    spot: Spot | None,
    tag: str,
) -> Callable[[Sequence[Claim]], list[str]]:
    """The work on a group of claims: the lines of a run of their candidates, best first."""

    def lines_of(group: Sequence[Claim]) -> list[str]:
        found = [candidates(claim) for claim in group]
        ranked = ranker.rank_many([claim.text for claim in group], found, spot=spot)
        return [
            f"{hit.query_id} Q0 {hit.id} {hit.rank} {hit.score:.9g} {tag}"
            for claim, units in zip(group, ranked)
            for hit in strictly_falling(
                [Hit(claim.id, one.unit, rank, one.score) for rank, one in enumerate(units, start=1)]
            )
        ]

    return lines_of
