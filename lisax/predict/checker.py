"""Takes claims to verdicts: an index finds evidence, a ranker orders it, a verifier labels the claim."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from lisax import shipped
from lisax.errors import LisaxError
from lisax.predict.index import TABLE_COMPONENTS, Index
from lisax.predict.judging import check_confidence, judged
from lisax.predict.opening import open_model
from lisax.predict.ranker import Bm25Ranker, InTurn, Ranker
from lisax.predict.table_verifier import WholeTables
from lisax.predict.verdicts import Evidence, Verdict
from lisax.predict.verifier import (
    NOTHING,
    PointerVerifier,
    Verifier,
    verdict_of,
    verifier_of,
)
from lisax.records import Claim, check_text
from lisax.retrieval.entities import default_spotter
from lisax.retrieval.passages import Source, component
from lisax.weights import pretrained

LEAST_TABLES = 10  # retrieved per claim; a model that reads fewer takes the first
ROWS_AND_TABLES = {*TABLE_COMPONENTS, component(Source.TABLE)}
CLAIMS_AT_A_TIME = 32  # batched together

Path = str | os.PathLike
NO_INFORMATION = np.array([0.0, 0.0, 1.0])


class Checker:
    """Checks claims against an index: search, rank, verify.

    Without a verifier, the shipped labellers label claims, from sentences or, over an index of tables, from these
    (`lisax.shipped`), and the shipped ranker orders sentences if none is given; their encoders are fetched if they are
    missing.
    With a verifier and without a ranker they are ranked by BM25 (`Bm25Ranker`), or page by page in turn for an evidence
    pointer (`InTurn`). A claim without evidence is labelled NOT ENOUGH INFO, and `Verdict.reason` gives the reason.

    >>> from lisax import Checker, Index, example_model, example_pages
    >>> checker = Checker(Index.build(example_pages()), verifier=example_model())
    >>> verdict = checker.check("Vova Brugard was born in Torimoor.")
    >>> verdict.label, verdict.evidence[0].text
    (<Label.SUPPORTS: 'SUPPORTS'>, 'His sister Vova Brugard was born in Torimoor.')
    >>> [verdict.label.value for verdict in checker.check_many(["Besa Siton was born in 1871.", "It rains in Ostra."])]
    ['REFUTES', 'NOT ENOUGH INFO']
    """

    def __init__(
        self,
        index: Index | Path,
        ranker: Ranker | Path | None = None,
        verifier: Verifier | Path | None = None,
        *,
        model: Path | None = None,
        tier: str | None = None,
        tables: WholeTables | None = None,
        aggregate: str | None = None,
        threshold: float | None = None,
        evidence: int | None = None,
        temporal: bool = True,
        hops: int = 1,
        documents: int | None = None,
        candidates: int | None = None,
        min_confidence: float | None = None,
        two_way: bool = False,
    ):
        """`index`, `ranker` and `verifier` are objects or paths: an index folder, and bundles, checkpoints or
        MODEL_DIRs. `model` is one model used for everything it can do: an evidence pointer ranks and verifies, a
        labeller verifies. `tier`: which of the shipped labellers, if none is given: `light`, or `accurate`, which takes
        three to five times as long; None: see `tier_of`. `tables`: reads the tables of rows that lead verdicts; the shipped
        labellers do so by default.

        `aggregate`, `threshold`, `evidence`: see `Verifier.open`. `temporal`: let dates decide if they can
        (`judge_dates`), where sentences are read. `hops=2`: also search pages that sentences of the first pages name.
        `documents`: number of pages or passages to retrieve; their first `candidates` sentences (rows, edges) are ranked;
        None: 20 and 100, or all of a small index (`Index.candidates_many`). `min_confidence`: a verdict whose label is
        less probable becomes NOT ENOUGH INFO (`abstain`), unless dates decide it. `two_way`: if there is evidence, choose
        between SUPPORTS and REFUTES (`choose`).

        Raises LisaxError if a part is missing, or if the index, ranker and verifier do not fit together."""
        if model is not None and verifier is not None:
            raise LisaxError("give verifier=, or model= for one model that does everything it can, not both")
        if any(number is not None and number < 1 for number in (documents, candidates)) or hops not in (1, 2):
            raise LisaxError("expected documents and candidates of at least 1, and hops of 1 or 2")
        check_confidence(min_confidence)
        index = Index.open(index) if isinstance(index, (str, os.PathLike)) else index
        if model is None and verifier is None:
            verifier, ranker, of_tables = shipped_for(index, ranker, tier)
            tables = tables or of_tables
        elif tier is not None:
            raise LisaxError("tier= chooses a shipped labeller: leave it out with verifier= or model=")
        options = {"aggregate": aggregate, "threshold": threshold, "evidence": evidence}
        if model is not None or isinstance(verifier, (str, os.PathLike)):
            source = verifier if model is None else model
            verifier = verifier_of(open_model(source), source, **options)
        elif any(value is not None for value in options.values()):
            raise LisaxError(f"{', '.join(options)} are set where a verifier is opened: give them to Verifier.open")
        if isinstance(ranker, (str, os.PathLike)):
            ranker = Ranker.open(ranker)
        self.verifier, self.index = verifier, index.reading(verifier.reads)
        if self.verifier.reads == "tables":
            if ranker is not None:
                raise LisaxError("a verifier of tables takes them as the search finds them: leave the ranker out")
            if verifier.columns is not None:
                self.index = self.index.keeping(verifier.columns)
            candidates = max(LEAST_TABLES, verifier.depth)
        elif ranker is None:
            ranker = InTurn() if isinstance(verifier, PointerVerifier) else Bm25Ranker()
        self.tables = tables
        self.ranker, self.temporal, self.hops = ranker, temporal and self.verifier.reads == "sentences", hops
        self.documents, self.candidates = documents, candidates
        self.min_confidence, self.two_way = min_confidence, two_way

    def check(self, claim: str | Claim) -> Verdict:
        """The verdict on one claim."""
        return next(self.check_many([claim]))

    def check_many(self, claims: Iterable[str | Claim]) -> Iterator[Verdict]:
        """The verdicts on claims, in order. Claims are read and checked in batches of `CLAIMS_AT_A_TIME`; the next
        batch is read once the verdicts of the last have been consumed."""
        claims = iter([claims]) if isinstance(claims, (str, Claim)) else iter(claims)
        while group := list(itertools.islice(claims, CLAIMS_AT_A_TIME)):
            yield from self.verify(group, self.find(group))

    def find(self, claims: Sequence[str | Claim]) -> list[list[Evidence]]:
        """The ranked evidence of each claim, as `verify` reads it. Raises LisaxError for a claim outside a list."""
        return self.rank(claims, self.search(claims))

    def search(self, claims: Sequence[str | Claim]) -> list[list[Evidence]]:
        """The index's evidence for each claim, not yet ranked."""
        quick = self.ranker is not None and self.ranker.is_quick
        return self.index.candidates_many(
            _texts(claims), self.candidates, documents=self.documents, hops=self.hops, quick=quick
        )

    def rank(self, claims: Sequence[str | Claim], found: list[list[Evidence]]) -> list[list[Evidence]]:
        """The evidence for each claim, ranked."""
        if self.ranker is None:
            return found
        return list(
            self.ranker.rank_many(
                _texts(claims), found, spot=lambda claim: default_spotter(self.index.titles).spot(claim)
            )
        )

    def verify(self, claims: Sequence[str | Claim], evidence: Sequence[Sequence[Evidence]]) -> Iterator[Verdict]:
        """The verdict on each claim, from its ranked evidence."""
        pairs = [pair for pair in zip(claims, evidence, strict=True) if pair[1]]
        verdicts = iter(())
        if pairs:
            verdicts = self.verifier.verify_many(*map(list, zip(*pairs)))
            if self.tables is not None:
                verdicts = self.tables.read(verdicts)
        verdicts = judged(
            self.verifier,
            verdicts,
            two_way=self.two_way,
            min_confidence=self.min_confidence,
            temporal=self.temporal,
            lookup=self.index.lookup,
        )
        for claim, found in zip(claims, evidence):
            yield (
                next(verdicts)
                if found
                else verdict_of(claim, NO_INFORMATION, (), reason=NOTHING, reads=self.verifier.reads)
            )


def _texts(claims: Sequence[str | Claim]) -> list[str]:
    if isinstance(claims, (str, Claim)):
        raise LisaxError("expected a list of claims, found one claim: put it in a list")
    return [check_text(claim if isinstance(claim, str) else claim.text) for claim in claims]


def default_ranker(by_encoder: bool | None = None) -> Path | str:
    """The ranker of text for a named labeller: the shipped one if its encoder is in the cache (`by_encoder`;
    None: look), else `bm25`."""
    if by_encoder is None:
        by_encoder = pretrained.find(shipped.ENCODER).is_there
    return shipped.ranker() if by_encoder else Bm25Ranker.tag


def is_here(tier: str) -> bool:
    """Whether the encoder of a tier's labellers is in the cache."""
    return pretrained.find(shipped.ENCODERS[tier]).is_there


def tier_of(tier: str | None) -> str:
    """The tier that was asked for; None: that of the environment's LISAX_TIER, or else `accurate` if its encoder is in
    the cache, else `light`. Raises LisaxError if there is no such tier."""
    tier = tier or os.environ.get("LISAX_TIER") or (shipped.ACCURATE if is_here(shipped.ACCURATE) else shipped.LIGHT)
    if tier not in shipped.TIERS:
        raise LisaxError(f"no tier of the shipped labellers is named '{tier}'; there are {', '.join(shipped.TIERS)}")
    return tier


def shipped_for(
    index: Index, ranker: Ranker | Path | None = None, tier: str | None = None
) -> tuple[Path, Ranker | Path | None, WholeTables | None]:
    """The verifier of a tier (`tier_of`) that is shipped for an index, and the ranker: the given one, or else the shipped
    one for it; and for an index of rows and whole tables the reader of these. Raises LisaxError if there is no such tier,
    or for an index of tables if it has no labeller of them."""
    tier, tables = tier_of(tier), None
    labeller, of_tables = (shipped.labeller(reads, tier) for reads in (index.reads, "tables"))
    if not labeller.is_dir():
        if tier != shipped.LIGHT:
            raise LisaxError(f"no labeller of {index.reads} ships in the tier '{tier}': leave the tier out")
        raise LisaxError(
            "no labeller over tables comes with LisaX: name a model, or index the tables with `lisax index mixed`, whose "
            "rows the labeller over text reads"
        )
    if index.reads == "tables":
        return labeller, ranker, None
    if index.components >= ROWS_AND_TABLES and of_tables.is_dir():
        tables = WholeTables(Verifier.open(of_tables), index.reading("tables"))
    return labeller, shipped.ranker() if ranker is None else ranker, tables
