"""LisT5's evidence: documents (section 3.1), their sentences, and the sentences that are selected of them (3.2).

BM25 and a title search find documents. Their sentences are ordered by trained rankers, with BM25 where a recipe fuses
the two, by vectors, or by a published model, and may be followed by those of a second hop.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from lisax.devices.workers import grouped, lines_to_file
from lisax.files.places import cache_folder
from lisax.files.writing import write_json
from lisax.papers.base import TRAIN, VALIDATION
from lisax.papers.list5.recipe import RERANK, VECTORS, ZERO_SHOT
from lisax.papers.over_pages import PagePipeline
from lisax.papers.stages import Stage
from lisax.predict import score_fusion
from lisax.predict.index import Index
from lisax.predict.opening import open_model
from lisax.predict.page_index import PageIndex
from lisax.predict.ranker import CLAIMS_AT_A_TIME, Ranker, Reranking, SentenceRanker, VectorRanker, ranking
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.progress import say
from lisax.records import Claim, Hit
from lisax.retrieval import documents as retrieval
from lisax.retrieval.cluster import open_documents
from lisax.retrieval.entities import default_spotter
from lisax.retrieval.mediawiki import CACHE
from lisax.retrieval.multi_hop import second_sentences
from lisax.retrieval.parameter_search import grid_search
from lisax.retrieval.run_files import open_search
from lisax.retrieval.runs import read_run, write_run
from lisax.sampling import examples as sampling
from lisax.weights.checkpoints import FITTED, write_fitted
from lisax.weights.pretrained import sendable

GRID = "grid"


def _vector_ranker(encoder: str | Path) -> Ranker:
    return VectorRanker(SentenceEncoder.open(encoder))


def _sentence_ranker(model: Path) -> Ranker:
    """A trained ranker without the one before it."""
    return SentenceRanker(open_model(model))


def _open_ranking(
    opens: Callable[[], Ranker], units: Path | str, pages: Path, depth: int, tag: str
) -> Callable[[Sequence[tuple[Claim, Sequence[str]]]], list[str]]:
    ranker, index, spotter = opens(), Index.open(units), default_spotter(open_documents(pages).titles)

    def lines_of(pairs: Sequence[tuple[Claim, Sequence[str]]]) -> list[str]:
        candidates = {claim.id: found for claim, found in pairs}
        rank = ranking(ranker, lambda claim: index.evidence(candidates[claim.id], depth), spotter.spot, tag)
        return rank([claim for claim, _ in pairs])

    return lines_of


def _open_hops(folder: Path) -> Callable[[Sequence[tuple[Claim, Sequence[Hit]]]], list[Hit]]:
    pages = PageIndex(open_documents(folder))

    def hits_of(pairs: Sequence[tuple[Claim, Sequence[Hit]]]) -> list[Hit]:
        run = {claim.id: hits for claim, hits in pairs}
        return list(second_sentences(pages.index, [claim for claim, _ in pairs], run, pages.page))

    return hits_of


class SelectionPipeline(PagePipeline):
    """The stages of a run that find and select sentences; the rankers are trained by `List5`."""

    def sentence_index(self, role: str) -> Path:
        return self.out / "runs" / f"sentences.{role}.bm25"

    @property
    def grid_file(self) -> Path:
        return self.out / "grid.json"

    # --- Retrieval --------------------------------------------------------------------------

    def stages_of_corpus(self) -> list[Stage]:
        """The index and the attacked claims; before them, if the recipe has a grid, the search for k1 and b."""
        stages = super().stages_of_corpus()
        if not self.recipe.k1_grid:
            return stages
        grid = Stage(GRID, [], [self.grid_file], self._search_grid)
        after_it = (dataclasses.replace(stage, after=[GRID]) if stage.name == "index" else stage for stage in stages)
        return [grid, *after_it]

    def _search_grid(self) -> None:
        recipe, held = self.recipe, self.data_claims(VALIDATION).values()
        with tempfile.TemporaryDirectory(prefix=".grid-", dir=self.out) as scratch:
            pages, depth = self.data.documents(), recipe.documents
            tried = grid_search(pages, held, recipe.k1_grid, recipe.b_grid, depth, Path(scratch) / "index")
        best = tried[0]
        say(f"  k1 {best.k1}, b {best.b}: recall {best.recall[depth]:.4f} of {len(tried)} pairs' best")
        write_json(self.grid_file, [dataclasses.asdict(one) for one in tried])

    @property
    def grid(self) -> list[dict]:
        """The pairs of k1 and b that were tried, best first; empty without a grid."""
        return json.loads(self.grid_file.read_bytes()) if GRID in self.graph else []

    @property
    def bm25_parameters(self) -> tuple[float, float]:
        grid = self.grid
        return (grid[0]["k1"], grid[0]["b"]) if grid else super().bm25_parameters

    def stage_of_retrieval(self) -> Stage:
        """K documents per claim (section 3.1), then their first sentences in retrieval order (section 3.2)."""
        roles = (TRAIN, VALIDATION, *self.reported_roles)
        outputs = [self.run_file(name, role) for name in ("documents", "candidates") for role in roles]
        return Stage("retrieve", self.indexed, outputs, functools.partial(self._retrieve, roles))

    def _retrieve(self, roles: Sequence[str]) -> None:
        recipe, method, wiki = self.recipe, self.recipe.method, ()
        if method == "mediawiki":
            method, wiki = "both", (recipe.wiki, cache_folder() / CACHE)
        self.tell_gaps()
        opens = functools.partial(open_search, self.index_folder, recipe.documents, method, recipe.hops, *wiki)
        workers = None if wiki else self.workers  # a live wiki is asked by one process, one request at a time
        for role in roles:
            groups = grouped(opens, list(self.claims_of(role).values()), retrieval.CLAIMS_AT_A_TIME, workers)
            write_run(self.run_file("documents", role), itertools.chain.from_iterable(groups), "documents")
            found = read_run(self.run_file("documents", role)).items()
            expanded = (self.sentences.candidates(claim, hits, recipe.candidates) for claim, hits in found)
            write_run(self.run_file("candidates", role), itertools.chain.from_iterable(expanded), "candidates")

    # --- Selection --------------------------------------------------------------------------

    def stages_of_selection(self, role: str) -> list[Stage]:
        """Candidate sentences, best first: by the ranker or, if set in the recipe, by ranker and BM25 together,
        followed by a second hop. For reported claims by every ranker, and by only BM25."""
        recipe, reported = self.recipe, role in self.reported_roles
        bm25 = self._selection("bm25", role, ["retrieve"], self._select_bm25, self.sentence_index(role))
        both = [f"select.{name}.{of}" for name in ("rank_entities", "bm25") for of in dict.fromkeys((VALIDATION, role))]
        fused = self._selection("fused", role, both, self._fuse)
        first = recipe.first_selector
        hops = self._selection("hops", role, [f"select.{first}.{role}"], functools.partial(self._hop, first))
        stages = [bm25] if reported else []
        if recipe.backbone is not None and (reported or first == VECTORS):
            stages.append(self.selection_by_vectors(role))
        if "rank_entities" in recipe.train:
            stages.append(self._ranking("rank_entities", role))
        if recipe.fuse_bm25:
            stages += [*([] if reported else [bm25]), fused]
        stages += [hops] if recipe.hops == 2 and (reported or recipe.learning_selector == recipe.selector) else []
        if RERANK in recipe.train and role != TRAIN:
            stages += [*([self._fitting_of_reranker()] if role == VALIDATION else []), self._ranking(RERANK, role)]
        if not reported:
            return stages
        others = [ranker for ranker in recipe.rankers if ranker not in ("rank_entities", RERANK)]
        given = [self._selection(ZERO_SHOT, role, ["retrieve"], self._select_by_given)] if recipe.zero_shot else []
        return stages + [self._ranking(ranker, role) for ranker in others] + given

    def _selection(
        self, name: str, role: str, after: Sequence[str], work: Callable[[str], None], *further: Path
    ) -> Stage:
        """The stage that selects sentences by NAME for the claims of a role; `work` is given the role."""
        outputs = [self.run_file(name, role), *further]
        return Stage(f"select.{name}.{role}", after, outputs, functools.partial(work, role))

    def _select_by_given(self, role: str) -> None:
        opens = functools.partial(Ranker.open, sendable(self.recipe.zero_shot))
        self._rank_by(opens, ZERO_SHOT, role, self.recipe.candidates)

    def selection_by_vectors(self, role: str) -> Stage:
        return self._selection(VECTORS, role, ["retrieve"], self._select_by_vectors)

    def _select_by_vectors(self, role: str) -> None:
        opens = functools.partial(_vector_ranker, sendable(self.recipe.encoder))
        self._rank_by(opens, VECTORS, role, self.recipe.candidates)

    def _fitting_of_reranker(self) -> Stage:
        after = [f"select.{VECTORS}.{VALIDATION}", self.made_by(RERANK)]
        return Stage(f"fit.{RERANK}", after, [self.model_dir(RERANK) / FITTED], self._fit_reranker)

    def _fit_reranker(self) -> None:
        """Stores with the model how its score and that of vectors and BM25 are weighed, fitted on held-out claims."""
        recipe, claims = self.recipe, self.limited(VALIDATION)
        depth, opens = recipe.reranked, functools.partial(_sentence_ranker, self.model_dir(RERANK))
        first = read_run(self.run_file(VECTORS, VALIDATION))
        best = {claim: hits[:depth] for claim, hits in first.items()}
        with tempfile.TemporaryDirectory() as scratch:
            again = Path(scratch) / "run"
            self.rank_claims(opens, claims, sampling.ranked_ids(best), depth, again)
            weights = score_fusion.fit(claims, read_run(again), best)
        say(
            "  log-odds of relevance: {:.2f} of the ranker's, {:+.2f} of the other score's share, {:+.2f}".format(
                *weights
            )
        )
        write_fitted(self.model_dir(RERANK), Reranking(recipe.encoder, depth, tuple(map(float, weights))).described())

    def _ranking(self, ranker: str, role: str) -> Stage:
        ready = f"fit.{RERANK}" if ranker == RERANK else self.made_by(ranker)
        return self._selection(ranker, role, ["retrieve", ready], functools.partial(self._rank, ranker))

    def _rank(self, ranker: str, role: str) -> None:
        depth = self.recipe.candidates
        if role in (TRAIN, VALIDATION) and self.recipe.labels:
            depth = self.recipe.train_candidates or depth
        self._rank_by(functools.partial(Ranker.open, self.model_dir(ranker)), ranker, role, depth)

    def _rank_by(self, opens: Callable[[], Ranker], name: str, role: str, depth: int) -> None:
        claims, candidates = self.limited(role), self.ranked("candidates", role)
        self.rank_claims(opens, claims, candidates, depth, self.run_file(name, role), name)

    def rank_claims(
        self,
        opens: Callable[[], Ranker],
        claims: Sequence[Claim],
        candidates: sampling.Ranked,
        depth: int,
        out: Path,
        tag: str = "run",
        units: Path | None = None,
    ) -> None:
        """Writes the first `depth` candidates of each claim as a run, in the order of the ranker that `opens` opens.
        `units`: the folder of another index that they are in."""
        pairs = [(claim, candidates.get(claim.id, ())) for claim in claims]
        opens = functools.partial(_open_ranking, opens, units or self.units_place, self.index_folder, depth, tag)
        lines_to_file(out, opens, pairs, CLAIMS_AT_A_TIME, workers=self.workers)

    def _select_bm25(self, role: str) -> None:
        """The baseline: BM25 over the candidate sentences of all claims, each preceded by its title."""
        from lisax.formats.ranking import titled
        from lisax.retrieval.bm25 import build

        claims, candidates = self.limited(role), self.ranked("candidates", role)
        units = dict.fromkeys(unit for claim in claims for unit in candidates.get(claim.id, ()))
        texts = ((p.id, titled(p.title, p.text, self.preset)) for p in map(self.lookup, units) if p)
        k1, b = self.bm25_parameters
        index = build(texts, self.sentence_index(role), k1=k1, b=b)
        found = index.search([claim.text for claim in claims], 100)
        hits = (
            Hit(claim.id, unit, rank, score)
            for claim, row in zip(claims, found, strict=True)
            for rank, (unit, score) in enumerate(row, start=1)
        )
        write_run(self.run_file("bm25", role), hits, "bm25")

    def _fuse(self, role: str) -> None:
        held, runs = (
            [read_run(self.run_file(name, of)) for name in ("rank_entities", "bm25")] for of in (VALIDATION, role)
        )
        weights = score_fusion.fit(self.claims_of(VALIDATION).values(), *held)
        say("  log-odds of relevance: {:.2f} of the ranker's, {:+.2f} of BM25's share, {:+.2f}".format(*weights))
        write_run(self.run_file("fused", role), score_fusion.fuse(*runs, weights), "fused")

    def _hop(self, first: str, role: str) -> None:
        """The second hop from the first selected sentences."""
        run = read_run(self.run_file(first, role))
        pairs = ((claim, run[claim.id]) for claim in self.claims_of(role).values() if claim.id in run)
        opens = functools.partial(_open_hops, self.index_folder)
        hits = self.at_workers(opens, pairs, retrieval.CLAIMS_AT_A_TIME)
        write_run(self.run_file("hops", role), hits, "hops")
