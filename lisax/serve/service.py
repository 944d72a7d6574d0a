"""The calls of the service, for HTTP, for assistants and for the page: a call becomes items of work, which the worker
computes together with others' calls of the same models."""

from __future__ import annotations

import collections
import dataclasses
import functools
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from lisax.errors import LisaxError
from lisax.predict.joining import join
from lisax.predict.table_index import table_evidence
from lisax.predict.verdicts import Evidence
from lisax.records import Claim, Table
from lisax.retrieval.cluster_client import Unreachable
from lisax.serve import schema
from lisax.serve.answering import QUESTION, Checked, Engine
from lisax.serve.library import Library, ServedCorpus
from lisax.serve.limits import Limits
from lisax.serve.models import LABELLER, TABLE_VERIFIER
from lisax.serve.opened import PASSAGES, TABLES, TEXT
from lisax.serve.problems import AWAY
from lisax.serve.visitors import Seen, Visitor
from lisax.serve.worker import Busy, Worker
from lisax.text.titles import one_line

OTHER_SOURCE = (
    "with the models that are loaded these documents are not read so. Rows of tables in a mixed index are read with its "
    "text: leave `reads` out, or give 'sentences'. Whole tables are read from an index of `lisax index cells`, by a "
    "labeller of tables"
)


class NotHere(LisaxError):
    """There is no index or no model for a call; `field` is the field that asked for it."""

    def __init__(self, message: str, field: str):
        super().__init__(message)
        self.field = field


@dataclasses.dataclass(frozen=True)
class Batch:
    """Items for each of which `work` returns a result; batches of equal `key` may be computed together. `row` makes a
    result plain data."""

    key: Hashable
    items: Sequence[Any]
    work: Callable[[list], Sequence[Any]]
    row: Callable[[Any], dict[str, Any]]


class Service:
    """`rows` runs a batch, which `check`, `ask`, `rank` and `verify` make of a request."""

    def __init__(self, engine: Engine, library: Library | Seen, worker: Worker, limits: Limits):
        self.engine, self.library, self.worker, self.limits = engine, library, worker, limits

    def of(self, visitor: Visitor) -> Service:
        """The service for a visitor: with the corpora for them."""
        return Service(self.engine, Seen(self.library, visitor), self.worker, self.limits)

    async def rows(self, batch: Batch) -> AsyncIterator[dict[str, Any]]:
        """The results as plain data, in order and as they are ready. Raises `Busy` if the queue is full, or an item
        takes too long."""
        waiting: collections.deque[Future] = collections.deque()
        items = collections.deque(batch.items)
        try:
            while items or waiting:
                # No more at a time than fits one call of the models: others wait no longer because of a large batch.
                while items and len(waiting) < self.limits.together:
                    try:
                        waiting.append(self.worker.submit_item(batch.key, batch.work, items[0]))
                    except Busy:
                        if not waiting:
                            raise
                        break
                    items.popleft()
                yield batch.row(await self.worker.result(waiting[0], self.limits.answer_seconds))
                waiting.popleft()
        finally:
            _cancel(waiting)

    def checked(
        self, corpus: ServedCorpus, claims: Sequence[str], tier: str | None = None
    ) -> AsyncIterator[Sequence[Checked]]:
        """For each claim the verdict from each source of a corpus, for the page."""
        batch = self._check(corpus, self.engine.sources(corpus), claims, tier)
        return self.rows(dataclasses.replace(batch, row=lambda checked: checked))

    async def steps(
        self, corpus: ServedCorpus, claim: str, tier: str | None = None
    ) -> AsyncIterator[tuple[str, list[Any]]]:
        """The steps of checking a claim as they are done, with the results of each source of a corpus: ("found",
        evidence), ("ranked", evidence), ("checked", verdicts)."""
        engine, sources = self.engine, self.engine.sources(corpus)

        async def each(step: Callable[..., Sequence[Any]], items: Sequence[Any], **options: Any) -> list[Any]:
            futures: list[Future] = []
            try:
                for source, item in zip(sources, items):
                    work = functools.partial(step, corpus, source, **options)
                    key = (step.__name__, corpus.edition, source, *options.values())
                    futures.append(self.worker.submit_item(key, work, item))
                return [await self.worker.result(future, self.limits.answer_seconds) for future in futures]
            finally:
                _cancel(futures)

        found = await each(engine.search_for, [claim] * len(sources))
        yield "found", found
        ranked = await each(engine.rank_for, [(claim, units) for units in found])
        yield "ranked", ranked
        yield "checked", await each(engine.verify_for, [(claim, units) for units in ranked], tier=tier)

    def forget(self, corpus: ServedCorpus) -> None:
        """Drops the cached results of a removed corpus."""
        self.engine.forget(corpus)
        self.worker.forget(lambda key: corpus.edition in key)

    # --- Calls ----------------------------------------------------------------------------------

    def check(self, request: schema.CheckOne | schema.CheckMany) -> Batch:
        wanted = {None: (TEXT, TABLES, PASSAGES), "tables": (TABLES,), "sentences": (TEXT, PASSAGES)}[request.reads]

        def sources_of(corpus: ServedCorpus) -> tuple[str, ...]:
            return tuple(source for source in self.engine.sources(corpus) if source in wanted)

        asked = [corpus for corpus in self.library if request.index in (None, corpus.id)]
        if any(map(self.engine.sources, asked)) and not any(map(sources_of, asked)):
            raise NotHere(OTHER_SOURCE, "reads")
        corpus = self._corpus(request.index, sources_of, "checks claims")
        given = [request] if isinstance(request, schema.CheckOne) else request.claims
        return self._check(corpus, sources_of(corpus), [_claim(one) for one in given], self._tier(request))

    def _tier(self, request: schema.CheckOne | schema.CheckMany | schema.VerifyOne | schema.VerifyMany) -> str | None:
        """The tier of the labellers that a request names. Raises `NotHere` if it is not here."""
        if request.tier is not None and request.tier not in (tiers := self.engine.models.tiers):
            raise NotHere(
                f"no labeller of this tier is loaded; there is {' and '.join(tiers) or 'one without a tier'}", "tier"
            )
        return request.tier

    def _check(
        self, corpus: ServedCorpus, sources: tuple[str, ...], claims: Sequence[str | Claim], tier: str | None
    ) -> Batch:
        """Checks claims against each of the sources; a row is the verdict that is joined from theirs."""

        def work(claims: list[str | Claim]) -> list[tuple[Checked, ...]]:
            found = (self.engine.check_many(corpus, source, claims, tier) for source in sources)
            return list(zip(*found, strict=True))

        return Batch(
            ("check", corpus.edition, sources, tier),
            claims,
            work,
            lambda checked: join([one.verdict for one in checked]).to_dict(),
        )

    def ask(self, request: schema.AskOne | schema.AskMany) -> Batch:
        corpus = self._corpus(request.index, lambda corpus: QUESTION in self.engine.kinds(corpus), "answers questions")
        questions = [request] if isinstance(request, schema.AskOne) else request.questions

        def work(asked: list[schema.Question]) -> list[tuple[schema.Question, list, dict[str, int]]]:
            texts = [one.question for one in asked]
            searched = self.engine.searched_for_answers(corpus)
            found = self.engine.answer_many(corpus, texts, request.answers)
            return [(one, answers, searched) for one, answers in zip(asked, found, strict=True)]

        return Batch(("ask", corpus.edition, request.answers), questions, work, _answers_row)

    def rank(self, request: schema.RankOne | schema.RankMany) -> Batch:
        claims = [request] if isinstance(request, schema.RankOne) else request.claims
        searches = request.index is not None or any(claim.candidates is None for claim in claims)
        corpus = self._corpus(request.index, self.engine.searched, "finds evidence") if searches else None

        def work(asked: list[schema.ClaimToRank]) -> list[tuple[schema.ClaimToRank, list[Evidence]]]:
            searched = [one.claim for one in asked if one.candidates is None]
            found = iter(self.engine.find_many(corpus, searched) if searched else ())
            given = [one for one in asked if one.candidates is not None]
            candidates = [_evidence(one.candidates) for one in given]
            ranked = iter(self.engine.rank_many([one.claim for one in given], candidates) if given else ())
            return [(one, next(found if one.candidates is None else ranked)) for one in asked]

        return Batch(
            ("rank", corpus and corpus.edition), claims, work, lambda ranked: _ranking_row(*ranked, most=request.k)
        )

    def verify(self, request: schema.VerifyOne | schema.VerifyMany) -> Batch:
        given = [request] if isinstance(request, schema.VerifyOne) else request.claims
        tables = {isinstance(one, schema.TableEvidence) for claim in given for one in claim.evidence}
        for is_table, role, what in ((False, LABELLER, "texts"), (True, TABLE_VERIFIER, "tables")):
            if is_table in tables and role not in self.engine.models:
                raise NotHere(f"no model that is loaded labels claims from {what} that are given", "evidence")

        tier = self._tier(request)

        def work(asked: list[schema.ClaimToVerify]) -> list[Any]:
            claims, evidence = [_claim(one) for one in asked], [_evidence(one.evidence) for one in asked]
            return self.engine.verify_many(claims, evidence, tier)

        return Batch(("verify", tier), given, work, lambda verdict: verdict.to_dict())

    def can(self, call: str) -> bool:
        """Whether the loaded models answer a call, from an index if it takes one."""
        if call == "verify":
            return LABELLER in self.engine.models or TABLE_VERIFIER in self.engine.models
        return call == "rank" or any(call in self._calls(corpus) for corpus in self.library)

    def indexes(self) -> dict[str, Any]:
        return {
            "indexes": [
                {
                    "id": one.id,
                    "name": one.name,
                    "version": one.version,
                    "made": _time(one.made),
                    "calls": self._calls(one),
                    "uploaded": one.uploaded,
                    "seen_by": one.audience,
                    "expires": None if one.expires is None else _time(one.expires),
                }
                | ({"files": one.account.to_dict()} if one.account else {})
                for one in self.library
            ]
        }

    def _calls(self, corpus: ServedCorpus) -> list[str]:
        can = {
            "check": self.engine.sources(corpus),
            "ask": QUESTION in self.engine.kinds(corpus),
            "rank": self.engine.searched(corpus),
        }
        return [call for call, found in can.items() if found]

    def _corpus(self, index: str | None, can: Callable[[ServedCorpus], Any], does: str) -> ServedCorpus:
        """The index with this id, or the first that `can`."""
        if index is not None:
            corpus = self.library.get(index)
            if corpus is None:
                raise NotHere("there is no such index; GET /v1/indexes lists them", "index")
            self.check_reached(corpus)
            if not can(corpus):
                raise NotHere(f"no model that is loaded {does} from the index '{index}'", "index")
            return corpus
        found = next(filter(can, self.library), None)
        if found is None:
            raise NotHere(f"no model that is loaded {does} from an index that is given", "index")
        self.check_reached(found)
        return found

    def check_reached(self, corpus: ServedCorpus) -> None:
        """Raises Unreachable at once while a corpus's cluster is known to be away: others do not wait for it."""
        if corpus.id in self.library.away:
            raise Unreachable(AWAY)


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _cancel(futures: Iterable[Future]) -> None:
    """Drops the work that waits; finished work stays."""
    for future in futures:
        future.cancel()


def _claim(given: schema.Claim) -> str | Claim:
    return given.claim if given.id is None else Claim(str(given.id), given.claim, original_id=given.id)


def _evidence(given: Sequence[schema.GivenEvidence | schema.TableEvidence]) -> list[Evidence]:
    """The evidence of a request. Scores count if every text has one."""
    scored = all(one.score is not None for one in given if isinstance(one, schema.GivenEvidence))
    made = []
    for i, one in enumerate(given):
        unit = f"evidence_{i}" if one.unit is None else one.unit
        if isinstance(one, schema.TableEvidence):
            made.append(_table(one, unit))
            continue
        score = one.score if scored else None
        links = {"url": one.url, "revision_url": one.revision_url}
        made.append(Evidence(unit, one.text, one.source, one.place, score, **links))
    return made


def _table(given: schema.TableEvidence, unit: str) -> Evidence:
    """A table of a request, all its columns."""
    table = given.table
    header, *rows = ((*map(one_line, row), *[""] * (table.width - len(row))) for row in (table.header, *table.rows))
    made = table_evidence(Table(unit, one_line(table.title), header, tuple(rows)), range(table.width))
    return dataclasses.replace(made, source=given.source) if given.source else made


def _with_id(row: dict[str, Any], given: schema.Claim | schema.Question) -> dict[str, Any]:
    return row if given.id is None else row | {"id": given.id}


def _answers_row(answered: tuple[schema.Question, list, dict[str, int]]) -> dict[str, Any]:
    asked, answers, searched = answered
    found = {"question": asked.question, "answers": [one.to_dict() for one in answers], "searched": searched}
    return _with_id(found, asked)


def _ranking_row(claim: schema.ClaimToRank, evidence: Sequence[Evidence], most: int) -> dict[str, Any]:
    return _with_id({"claim": claim.claim, "evidence": [one.to_dict() for one in evidence[:most]]}, claim)
