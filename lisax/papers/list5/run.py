"""LisT5: from claims to verdicts with evidence (Jiang, Pradeep & Lin, ACL 2021).

Documents are retrieved with BM25 and a title search (section 3.1), their sentences are ranked by monoT5 (3.2), and the
best L = 5 are labelled, pointwise or as a list, plain or with infused noise (3.3).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lisax.formats.examples import write_examples
from lisax.metrics.fever import fever_score
from lisax.metrics.ranking import complete_sets
from lisax.papers.base import TRAIN, VALIDATION, EncoderPipeline, tell
from lisax.papers.list5.recipe import LABELLERS, RANKERS, VECTORS, WORLD_SHARES, ZERO_SHOT, Recipe
from lisax.papers.over_pages import SETTINGS_OF_CLAIMS, PagePipeline
from lisax.papers.stages import Stage
from lisax.places import cache_folder
from lisax.predict import score_fusion
from lisax.predict.ranker import Ranker, VectorRanker, rank_to_file
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.predict.verifier import Verifier, verify_run
from lisax.progress import counting, say
from lisax.records import Claim, Hit, write_json
from lisax.retrieval import documents as retrieval
from lisax.retrieval.mediawiki import CACHE, search_pages
from lisax.retrieval.multi_hop import second_pages, second_sentences
from lisax.retrieval.parameter_search import grid_search
from lisax.retrieval.runs import by_query, read_run, write_run
from lisax.runtime.checkpoints import CHOSEN, FITTED, checkpoint_folder, complete_steps, write_chosen
from lisax.sampling import examples as sampling
from lisax.sampling import files
from lisax.sampling.balancing import with_equal_labels
from lisax.sampling.negatives import Window

GRID = "grid"
BASE_WEAK = 2  # sentences without information per claim in the base's examples

# Rows of the paper's table 2 and further ones (`first` and `any` are ours): variant -> (labeller, selection).
VARIANTS = {
    "claim_only": ("claim_only", "rank_entities"),
    "bm25": ("label_listwise_infused", "bm25"),
    "bm25_any": ("label_pointwise", "bm25"),
    "sum": ("label_pointwise", "rank_entities"),
    "max": ("label_pointwise", "rank_entities"),
    "first": ("label_pointwise", "rank_entities"),
    "any": ("label_pointwise", "rank_entities"),
    "listwise": ("label_listwise", "rank_entities"),
    "infused": ("label_listwise_infused", "rank_entities"),
    "infused_without_entities": ("label_listwise_infused", "rank"),
}


def aggregate_of(variant: str) -> str | None:
    """How a variant combines the labels of single sentences; None if its labeller is not pointwise."""
    return variant.removeprefix("bm25_") if VARIANTS[variant][0] == "label_pointwise" else None


class List5(EncoderPipeline, PagePipeline):
    """One run in the folder `out`; `stages` lists its steps."""

    recipe_class = Recipe
    world_settings = {"shares": WORLD_SHARES}

    # --- Files ------------------------------------------------------------------------------

    def documents_file(self, role: str) -> Path:
        return self.out / "runs" / f"documents.{role}.trec"

    def candidates_file(self, role: str) -> Path:
        return self.out / "runs" / f"candidates.{role}.trec"

    def sentence_index(self, role: str) -> Path:
        return self.out / "runs" / f"sentences.{role}.bm25"

    @property
    def grid_file(self) -> Path:
        return self.out / "grid.json"

    def selection_file(self, ranker: str, role: str) -> Path:
        return self.out / "runs" / f"{ranker}.{role}.trec"

    # --- What stages read -------------------------------------------------------------------

    def candidates(self, role: str) -> dict[str, list[str]]:
        return sampling.ranked_ids(read_run(self.candidates_file(role)))

    def selected(self, ranker: str, role: str) -> dict[str, list[str]]:
        return sampling.ranked_ids(read_run(self.selection_file(ranker, role)))

    # --- Stages -----------------------------------------------------------------------------

    @property
    def variants(self) -> dict[str, tuple[str, str]]:
        """The variants whose models the recipe trains."""
        recipe = self.recipe
        selections = {"bm25": "bm25", "rank": "rank", "rank_entities": recipe.selector}
        return {
            variant: (labeller, selections[selection])
            for variant, (labeller, selection) in VARIANTS.items()
            if labeller in recipe.train
            and (selection in ("bm25", *recipe.train) or (recipe.backbone is not None and selection == "rank_entities"))
        }

    def stages(self) -> list[Stage]:
        """The paper's pipeline, from claims to verdicts."""
        roles = (TRAIN, VALIDATION, *self.reported_roles)
        of_wiki = ["wiki"] if self.recipe.method == "mediawiki" else []
        retrieve = Stage(  # sections 3.1 and 3.2: K documents per claim, then their first sentences in retrieval order
            name="retrieve",
            after=self.indexed,
            reads=[*SETTINGS_OF_CLAIMS, "documents", "candidates", "method", *of_wiki, "hops"],
            outputs=[*map(self.documents_file, roles), *map(self.candidates_file, roles)],
            work=functools.partial(self._retrieve, roles),
        )
        # Labellers are trained on selected sentences; the fusion of ranker and BM25 is fitted on held-out claims.
        learned = (VALIDATION, TRAIN) if self.recipe.labellers else (VALIDATION,) if self.recipe.fuse_bm25 else ()
        return [
            *self.stages_of_corpus(),
            retrieve,
            *self.stages_before_training(),
            *self.stages_of_pretraining(),
            *self.stages_of_rankers(),
            *(stage for role in learned for stage in self.stages_of_selection(role)),
            *self.stages_of_labellers(),
            *(stage for role in self.reported_roles for stage in self.stages_of_selection(role)),
            *self.stages_of_verdicts(),
        ]

    # --- Retrieval --------------------------------------------------------------------------

    def stages_of_corpus(self) -> list[Stage]:
        """The index and the attacked claims; before them, if the recipe has a grid, the search for k1 and b."""
        stages = super().stages_of_corpus()
        if not self.recipe.k1_grid:
            return stages
        grid = Stage(
            name=GRID,
            reads=["data_files", "validation_share", "validation_claims", "k1_grid", "b_grid", "documents"],
            outputs=[self.grid_file],
            work=self._search_grid,
        )
        return [
            grid,
            *(
                dataclasses.replace(stage, after=[GRID], reads=["data_files"]) if stage.name == "index" else stage
                for stage in stages
            ),
        ]

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

    def _retrieve(self, roles: Sequence[str]) -> None:
        recipe, method, search_titles = self.recipe, self.recipe.method, None
        if method == "mediawiki":
            method = "both"
            search_titles = search_pages(self.index.titles, cache_folder() / CACHE, recipe.wiki)
        self.tell_gaps()
        for role in roles:
            claims = self.claims_of(role).values()
            hits = retrieval.retrieve(self.index, claims, recipe.documents, method=method, search_titles=search_titles)
            if recipe.hops == 2:
                hits = second_pages(self.index, claims, by_query(hits), recipe.documents)
            write_run(self.documents_file(role), hits, "documents")
            found = read_run(self.documents_file(role))
            write_run(self.candidates_file(role), self._expand(found), "candidates")

    def _expand(self, documents: dict[str, list[Hit]]) -> Iterator[Hit]:
        for claim_id, hits in documents.items():
            yield from self.sentences.candidates(claim_id, hits, self.recipe.candidates)

    # --- Rankers ----------------------------------------------------------------------------

    def stages_of_pretraining(self) -> list[Stage]:
        """Span corruption over the corpus, if the recipe asks for it."""
        if "pretrain" not in self.recipe.train:
            return []
        examples = Stage(
            name="examples.pretrain",
            after=["index"],
            reads=["validation_share"],
            outputs=[self.examples_file("text", role) for role in (TRAIN, VALIDATION)],
            work=self._write_pretraining_examples,
        )
        return [examples, self.training("pretrain", after=["examples.pretrain"])]

    def _write_pretraining_examples(self) -> None:
        pages = map(self.sentences.page, self.index.pages)
        files.write_texts(self.out / "examples", pages, self.recipe.validation_share)

    def stages_of_rankers(self) -> list[Stage]:
        """Training of monoT5 on gold sentences against negatives from a window of ranks, with and without entities;
        before it, if the recipe has one, of the base, from the same candidates."""
        train = self.recipe.train
        names = ["rank", *(["label_candidates"] if "base" in train else [])]
        examples = Stage(
            name="examples.rank",
            after=["retrieve"],
            reads=["ranking_window", "base_window", "negative_rounds", "training_entities", "seed"],
            outputs=[self.examples_file(name, role) for name in names for role in (TRAIN, VALIDATION)],
            work=functools.partial(self._write_ranking_examples, names),
        )
        models = [model for model in ("base", *self.recipe.rankers) if model in train]
        if not models:
            return []
        return [examples, *(stage for model in models for stage in self._training(model, "examples.rank"))]

    def _write_ranking_examples(self, names: Sequence[str]) -> None:
        recipe, skipped = self.recipe, Counter()
        draws = files.Draws(
            ranking_window=Window(*recipe.ranking_window),
            labelling_window=Window(*recipe.base_window),
            weak=BASE_WEAK,
            spot=self.spotter.spot if recipe.training_entities == "spotted" else None,
        )
        variants = {"rank": "rank", "label_candidates": "label_pointwise"}
        for role in (TRAIN, VALIDATION):
            claims, candidates = list(self.claims_of(role).values()), self.candidates(role)
            rounds = [
                dataclasses.replace(draws, seed=recipe.seed + i)
                for i in range(recipe.negative_rounds if role == TRAIN else 1)
            ]
            for name in names:
                made = (
                    files.build(variants[name], claims, candidates, candidates, self.lookup, draws=of, skipped=skipped)
                    for of in rounds
                )
                write_examples(self.examples_file(name, role), itertools.chain.from_iterable(made))
        tell(skipped)

    # --- Selection --------------------------------------------------------------------------

    def stages_of_selection(self, role: str) -> list[Stage]:
        """Candidate sentences, best first: by the ranker or, if the recipe says so, by ranker and BM25 together,
        followed by a second hop. For reported claims by every ranker, and by BM25 alone."""
        recipe, reported = self.recipe, role in self.reported_roles
        bm25 = Stage(
            name=f"select.bm25.{role}",
            after=["retrieve"],
            reads=[*(["train_claims"] if role == TRAIN else []), *([] if recipe.k1_grid else ["k1", "b"]), "preset"],
            outputs=[self.selection_file("bm25", role), self.sentence_index(role)],
            work=functools.partial(self._select_bm25, role),
        )
        fused = Stage(
            name=f"select.fused.{role}",
            after=[
                f"select.{name}.{of}" for name in ("rank_entities", "bm25") for of in dict.fromkeys((VALIDATION, role))
            ],
            outputs=[self.selection_file("fused", role)],
            work=functools.partial(self._fuse, role),
        )
        first = recipe.first_selector
        hops = Stage(
            name=f"select.hops.{role}",
            after=[f"select.{first}.{role}"],
            outputs=[self.selection_file("hops", role)],
            work=functools.partial(self._hop, role, first),
        )
        stages = [bm25] if reported else []
        if recipe.backbone is not None and (reported or first == VECTORS):
            stages.append(self._selection_by_vectors(role))
        if "rank_entities" in recipe.train:
            stages.append(self._ranking("rank_entities", role))
        if recipe.fuse_bm25:
            stages += [*([] if reported else [bm25]), fused]
        stages += [hops] if recipe.hops == 2 else []
        if not reported:
            return stages
        others = [ranker for ranker in recipe.rankers if ranker != "rank_entities"]
        given = [self._selection_by_given(role)] if recipe.zero_shot else []
        return stages + [self._ranking(ranker, role) for ranker in others] + given

    def _selection_by_given(self, role: str) -> Stage:
        return Stage(
            name=f"select.{ZERO_SHOT}.{role}",
            after=["retrieve"],
            reads=["zero_shot"],
            outputs=[self.selection_file(ZERO_SHOT, role)],
            work=functools.partial(self._select_by_given, role),
        )

    def _select_by_given(self, role: str) -> None:
        self._rank_by(Ranker.open(self.recipe.zero_shot), ZERO_SHOT, role, self.recipe.candidates)

    def _selection_by_vectors(self, role: str) -> Stage:
        return Stage(
            name=f"select.{VECTORS}.{role}",
            after=["retrieve"],
            reads=["backbone", *(["train_claims"] if role == TRAIN else [])],
            outputs=[self.selection_file(VECTORS, role)],
            work=functools.partial(self._select_by_vectors, role),
        )

    def _select_by_vectors(self, role: str) -> None:
        ranker = VectorRanker(SentenceEncoder.open(self.recipe.backbone))
        self._rank_by(ranker, VECTORS, role, self.recipe.candidates)

    def _ranking(self, ranker: str, role: str) -> Stage:
        for_labellers = role not in self.reported_roles and bool(self.recipe.labellers)
        limits = ["train_claims"] if role == TRAIN else []
        return Stage(
            name=f"select.{ranker}.{role}",
            after=["retrieve", self.made_by(ranker)],
            reads=[*limits, *(["train_candidates"] if for_labellers else [])],
            outputs=[self.selection_file(ranker, role)],
            work=functools.partial(self._rank, ranker, role, for_labellers),
        )

    def _selected_from(self, role: str) -> list[Claim]:
        """The claims of a role whose candidates are ranked."""
        return list(self.claims_of(role).values())[: self.recipe.train_claims if role == TRAIN else None]

    def _rank(self, ranker: str, role: str, for_labellers: bool) -> None:
        depth = self.recipe.candidates
        if for_labellers:
            depth = self.recipe.train_candidates or depth
        self._rank_by(Ranker.open(self.model_dir(ranker)), ranker, role, depth)

    def _rank_by(self, ranker: Ranker, name: str, role: str, depth: int) -> None:
        claims, candidates = self._selected_from(role), self.candidates(role)
        self._rank_claims(ranker, claims, candidates, depth, self.selection_file(name, role), name)

    def _rank_claims(
        self,
        ranker: Ranker,
        claims: Sequence[Claim],
        candidates: sampling.Ranked,
        depth: int,
        out: Path,
        tag: str = "run",
    ) -> None:
        """Writes the first `depth` candidates of each claim as a run, in the ranker's order."""
        with counting(len(claims) * depth, "sentences") as advance:
            rank_to_file(
                ranker,
                claims,
                lambda claim: self.units.evidence(candidates.get(claim.id, ()), depth),
                out,
                spot=self.spotter.spot,
                tag=tag,
                progress=advance,
            )

    def _select_bm25(self, role: str) -> None:
        """The baseline: BM25 over the candidate sentences of all claims, each preceded by its title."""
        from lisax.formats.ranking import titled
        from lisax.retrieval.bm25 import build

        claims, candidates = self._selected_from(role), self.candidates(role)
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
        write_run(self.selection_file("bm25", role), hits, "bm25")

    def _fuse(self, role: str) -> None:
        held, runs = (
            [read_run(self.selection_file(name, of)) for name in ("rank_entities", "bm25")] for of in (VALIDATION, role)
        )
        weights = score_fusion.fit(self.claims_of(VALIDATION).values(), *held)
        say("  log-odds of relevance: {:.2f} of the ranker's, {:+.2f} of BM25's share, {:+.2f}".format(*weights))
        write_run(self.selection_file("fused", role), score_fusion.fuse(*runs, weights), "fused")

    def _hop(self, role: str, first: str) -> None:
        """The second hop from the first selected sentences."""
        run = read_run(self.selection_file(first, role))
        claims = (claim for claim in self.claims_of(role).values() if claim.id in run)
        hits = second_sentences(self.index, claims, run, self.sentences.page)
        write_run(self.selection_file("hops", role), hits, "hops")

    # --- Labellers --------------------------------------------------------------------------

    def stages_of_labellers(self) -> list[Stage]:
        """Training of the labellers (section 3.3): pointwise, listwise, listwise on infused noise, and claim only."""
        names, selector, balanced = self.recipe.labellers, self.recipe.selector, self.recipe.balanced_labels
        if not names:
            return []
        lists = self.recipe.infused_lists
        examples = Stage(
            name="examples.label",
            after=[f"select.{selector}.{TRAIN}", f"select.{selector}.{VALIDATION}"],
            reads=[
                "labelling_window",
                "weak_sentences",
                "seed",
                "label_seed",
                *(["balanced_labels"] if balanced else []),
                *([] if lists is None else ["infused_lists"]),
            ],
            outputs=[self.examples_file(name, role) for name in names for role in (TRAIN, VALIDATION)],
            work=functools.partial(self._write_label_examples, names, selector, balanced, lists),
        )
        return [examples, *(stage for name in names for stage in self._training(name, "examples.label"))]

    def _write_label_examples(self, names: Sequence[str], selector: str, balanced: bool, lists: int | None) -> None:
        recipe, skipped = self.recipe, Counter()
        draws = files.Draws(
            self.seed_of("label"),
            labelling_window=Window(*recipe.labelling_window),
            weak=recipe.weak_sentences,
            lists=lists,
        )
        for role in (TRAIN, VALIDATION):
            ranked = self.selected(selector, role)
            claims = [claim for claim in self.claims_of(role).values() if claim.id in ranked]
            for name in names:
                made = files.build(
                    name,
                    claims,
                    ranked,
                    ranked,
                    self.lookup,
                    draws=draws,
                    training=role == TRAIN,
                    skipped=skipped,
                )
                if role == TRAIN and balanced:
                    made = with_equal_labels(made, seed=self.seed_of("label"))
                write_examples(self.examples_file(name, role), made)
        tell(skipped)

    # --- Training ---------------------------------------------------------------------------

    def _training(self, model: str, examples: str) -> list[Stage]:
        """The stage that trains a model and, if the recipe says so, the one that chooses its checkpoint."""
        seeds = ["seed", "label_seed"] if model in LABELLERS else ["seed"]
        choosing = ["choose_checkpoints"] if model in self.recipe.chosen else []
        training = self.training(
            model, after=[examples], reads=[*seeds, self.recipe.setting_of_tokens(model), "target_tokens", *choosing]
        )
        if not choosing:
            return [training]
        ranks, selector = model in RANKERS, self.recipe.selector
        score = self._recall_of if ranks else functools.partial(self._fever_score_of, selector)
        choice = Stage(
            name=f"choose.{model}",
            after=[training.name, "retrieve" if ranks else f"select.{selector}.{VALIDATION}"],
            reads=["train_candidates"] if ranks else [],
            outputs=[self.model_dir(model) / CHOSEN],
            work=functools.partial(self._choose, model, score),
        )
        return [training, choice]

    def made_by(self, model: str) -> str:
        return f"choose.{model}" if model in self.recipe.chosen else super().made_by(model)

    def bindings_of(self, model: str) -> dict[str, Any] | None:
        return {"utils.SaveCheckpointConfig.keep": None} if f"choose.{model}" in self.graph else None

    def _choose(self, model: str, score: Callable[[Path], tuple[str, float]]) -> None:
        """Chooses the checkpoint of the highest score on held-out claims, of equals the earliest."""
        folder, tried, measure = self.model_dir(model), {}, ""
        for step in complete_steps(folder):
            measure, tried[step] = score(checkpoint_folder(folder, step))
            say(f"  {model}, step {step}: {measure} {tried[step]:.4f}")
        best = max(tried, key=lambda step: (tried[step], -step))
        write_chosen(folder, best, {"metric": measure, "value": tried[best], "tried": tried})

    def _recall_of(self, checkpoint: Path) -> tuple[str, float]:
        """The R@5 of a ranker's checkpoint on held-out claims with evidence."""
        claims = [claim for claim in self.claims_of(VALIDATION).values() if claim.gold_ids]
        with tempfile.TemporaryDirectory() as scratch:
            run = Path(scratch) / "run"
            depth = self.recipe.train_candidates or self.recipe.candidates
            self._rank_claims(Ranker.open(checkpoint), claims, self.candidates(VALIDATION), depth, run)
            found = complete_sets(claims, read_run(run))
        return "recall@5", sum(found.values()) / max(1, len(found))

    def _fever_score_of(self, selector: str, checkpoint: Path) -> tuple[str, float]:
        """The FEVER score of a labeller's checkpoint on held-out claims; of a pointwise one, where any sentence decides."""
        run = read_run(self.selection_file(selector, VALIDATION))
        claims = {i: claim for i, claim in self.claims_of(VALIDATION).items() if i in run and claim.label is not None}
        verdicts = verify_run(Verifier.open(checkpoint), claims.values(), run, self.units)
        made = {i: verdict.prediction() for i, verdict in zip(claims, verdicts, strict=True)}
        return "fever_score", fever_score(claims, made)["fever_score"]

    def task_of(self, model: str) -> str:
        if model == "pretrain":
            return "list5_span_corruption"
        return f"list5_{model}" if self.recipe.backbone is None else f"list5_pair_{model}"

    def lengths_of(self, model: str) -> dict[str, int] | None:
        if model == "pretrain":
            return None
        return {
            "inputs": getattr(self.recipe, self.recipe.setting_of_tokens(model)),
            "targets": self.target_length,
        }

    def seed_of(self, model: str) -> int:
        labels = (model == "label" or model in LABELLERS) and self.recipe.label_seed is not None
        return self.recipe.label_seed if labels else self.recipe.seed

    # --- Verdicts ---------------------------------------------------------------------------

    def stages_of_verdicts(self) -> list[Stage]:
        """A temperature for each labeller, fitted on held-out claims, and verdicts of every variant whose models the recipe
        trains."""
        selector = self.recipe.selector
        calibrations = [
            Stage(
                name=f"calibrate.{labeller}",
                after=[self.made_by(labeller), f"select.{selector}.{VALIDATION}"],
                outputs=[self.model_dir(labeller) / FITTED],
                work=functools.partial(self._calibrate, labeller, selector),
            )
            for labeller in dict.fromkeys(labeller for labeller, _ in self.variants.values())
        ]
        return calibrations + [
            Stage(
                name=f"predict.{variant}",
                after=[f"calibrate.{labeller}", *(f"select.{selection}.{role}" for role in self.reported_roles)],
                reads=["temporal"],
                outputs=[self.predictions_of(variant, role) for role in self.reported_roles],
                work=functools.partial(self._predict, variant, labeller, selection),
            )
            for variant, (labeller, selection) in self.variants.items()
        ]

    def _calibrate(self, labeller: str, selector: str) -> None:
        run = read_run(self.selection_file(selector, VALIDATION))
        self.calibrate_model(labeller, self.claims_of(VALIDATION).values(), run)

    def _predict(self, variant: str, labeller: str, selection: str) -> None:
        verifier = Verifier.open(self.model_dir(labeller), aggregate=aggregate_of(variant) or "max")
        temporal = self.recipe.temporal and labeller != "claim_only"
        for role in self.reported_roles:
            run = read_run(self.selection_file(selection, role))
            verdicts = verify_run(verifier, self.claims_of(role).values(), run, self.units, temporal=temporal)
            self.write_verdicts(variant, role, verdicts)
