"""LisT5: from claims to verdicts with evidence (Jiang, Pradeep & Lin, ACL 2021).

Documents are retrieved with BM25 and a title search (section 3.1), their sentences ranked by monoT5
(3.2), and the best L = 5 labelled, pointwise or as a list, plain or with noise infused (3.3).
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from lisax.formats.examples import Example, write_examples
from lisax.papers.base import TRAIN, VALIDATION, WARM_UP, tell
from lisax.papers.list5.recipe import LABELLERS, WORLD_SHARES, read_recipe
from lisax.papers.over_pages import PagePipeline
from lisax.predict import fusion
from lisax.predict.ranker import Ranker, rank_to_file
from lisax.predict.verifier import Verifier, verify_run
from lisax.progress import counting, say
from lisax.records import Claim, Hit
from lisax.retrieval import documents as retrieval
from lisax.retrieval.multi_hop import second_pages, second_sentences
from lisax.retrieval.runs import by_query, read_run, write_run
from lisax.sampling import examples as sampling
from lisax.sampling import files
from lisax.sampling.negatives import Window

BASE_WEAK = 2  # sentences of no information that each claim gives the base

# Rows of the paper's table 2 and what stands beside them (`first` and `any` are ours): variant -> (labeller, selection).
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


class List5(PagePipeline):
    """One run in the folder `out`: each method is a stage that reads and writes files there."""

    read_recipe = staticmethod(read_recipe)
    world_settings = {"shares": WORLD_SHARES}

    # --- Files ------------------------------------------------------------------------------

    def candidates_file(self, role: str) -> Path:
        return self.out / "runs" / f"candidates.{role}.trec"

    def selection_file(self, ranker: str, role: str) -> Path:
        return self.out / "runs" / f"{ranker}.{role}.trec"

    # --- What stages read -------------------------------------------------------------------

    def candidates(self, role: str) -> dict[str, list[str]]:
        return sampling.ranked_ids(read_run(self.candidates_file(role)))

    def selected(self, ranker: str, role: str) -> dict[str, list[str]]:
        return sampling.ranked_ids(read_run(self.selection_file(ranker, role)))

    # --- Stages -----------------------------------------------------------------------------

    @property
    def stage_names(self) -> list[str]:
        """In the order of `run`."""
        recipe = self.recipe
        names = [*self.first_stages, "retrieve"]
        names += ["world", "vocabulary", WARM_UP] if recipe.warm_up else ["vocabulary"]
        if "pretrain" in recipe.train:
            names += ["examples.pretrain", "train.pretrain"]
        names += ["examples.rank", *(f"train.{model}" for model in ("base", *recipe.rankers) if model in recipe.train)]
        selectors = ["rank_entities", *(["bm25", "fused"] if recipe.fuse_bm25 else [])]
        selectors += ["hops"] if recipe.hops == 2 else []
        if recipe.labellers:
            names += [f"select.{name}.{role}" for role in (VALIDATION, TRAIN) for name in selectors]
            names += ["examples.label", *(f"train.{labeller}" for labeller in recipe.labellers)]
        elif recipe.fuse_bm25:
            names += [f"select.{name}.{VALIDATION}" for name in selectors]
        for role in self.reported_roles:
            names += [f"select.{name}.{role}" for name in dict.fromkeys(("bm25", *selectors, *recipe.rankers))]
        return names + [f"predict.{variant}" for variant in self.variants]

    @property
    def variants(self) -> dict[str, tuple[str, str]]:
        """Those of `VARIANTS` whose models the recipe trains."""
        recipe = self.recipe
        selections = {"bm25": "bm25", "rank": "rank", "rank_entities": recipe.selector}
        return {
            variant: (labeller, selections[selection])
            for variant, (labeller, selection) in VARIANTS.items()
            if labeller in recipe.train and (selection == "bm25" or selection in recipe.train)
        }

    def run(self) -> None:
        """All stages up to the predictions."""
        self.train_models()
        self.select()
        self.predict()

    def train_models(self) -> None:
        """All that has to be trained, and what training needs."""
        self.build_index()
        self.retrieve_candidates()
        self.write_world()
        self.build_vocabulary()
        self.warm_up()
        self.train_pretraining()
        self.train_rankers()
        self.select_for_labellers()
        self.train_labellers()

    def retrieve_candidates(self) -> None:
        """Sections 3.1 and 3.2: K documents a claim, then their first sentences in retrieved order."""
        recipe = self.recipe
        roles = (TRAIN, VALIDATION, *self.reported_roles)
        document_runs = [self.out / "runs" / f"documents.{role}.trec" for role in roles]

        def work() -> None:
            self.tell_gaps()
            for role, run in zip(roles, document_runs):
                hits = retrieval.retrieve(
                    self.index, self.claims[role].values(), recipe.documents, method=recipe.method
                )
                if recipe.hops == 2:
                    hits = second_pages(self.index, self.claims[role].values(), by_query(hits), recipe.documents)
                write_run(run, hits, "documents")
                found = read_run(run)
                write_run(self.candidates_file(role), self._expand(found), "candidates")

        self.stages.run(
            "retrieve",
            work,
            outputs=[*document_runs, *map(self.candidates_file, roles)],
            after=self.first_stages,
            settings={
                "claims": self.data_print,
                "documents": recipe.documents,
                "candidates": recipe.candidates,
                "method": recipe.method,
                **({"hops": 2} if recipe.hops == 2 else {}),
                "roles": [recipe.validation_share, recipe.validation_claims, recipe.report_claims],
            },
        )

    def _expand(self, documents: dict[str, list[Hit]]) -> Iterator[Hit]:
        for claim_id, hits in documents.items():
            yield from self.sentences.candidates(claim_id, hits, self.recipe.candidates)

    def train_pretraining(self) -> None:
        """Span corruption over the corpus, where the recipe asks for it."""
        if "pretrain" not in self.recipe.train:
            return
        texts = [self.examples_file("text", role) for role in (TRAIN, VALIDATION)]

        def work() -> None:
            pages = map(self.sentences.page, self.index.pages)
            files.write_texts(self.out / "examples", pages, self.recipe.validation_share)

        self.stages.run(
            "examples.pretrain", work, outputs=texts, after=["index"], settings={"share": self.recipe.validation_share}
        )
        self._train("pretrain", "list5_span_corruption", ["examples.pretrain", "vocabulary"])

    def train_rankers(self) -> None:
        """monoT5 on gold sentences against negatives of a window of ranks, with and without entities; before it,
        where the recipe has one, the base that learns from the same candidates."""
        recipe = self.recipe
        names = ["rank", *(["label_candidates"] if "base" in recipe.train else [])]
        outputs = [self.examples_file(name, role) for name in names for role in (TRAIN, VALIDATION)]

        def work() -> None:
            skipped = Counter()
            spot = self.spotter.spot if recipe.training_entities == "spotted" else None
            for role in (TRAIN, VALIDATION):
                claims = [claim for claim in self.claims[role].values() if claim.label]
                candidates = self.candidates(role)
                rounds = [recipe.seed + i for i in range(recipe.negative_rounds if role == TRAIN else 1)]
                made = {
                    "rank": lambda seed: sampling.ranking(
                        claims,
                        candidates,
                        self.lookup,
                        seed=seed,
                        spot=spot,
                        window=Window(*recipe.ranking_window),
                        skipped=skipped,
                    ),
                    "label_candidates": lambda seed: sampling.pointwise(
                        claims,
                        candidates,
                        self.lookup,
                        seed=seed,
                        window=Window(*recipe.base_window),
                        weak=BASE_WEAK,
                        skipped=skipped,
                    ),
                }
                for name in names:
                    write_examples(
                        self.examples_file(name, role), itertools.chain.from_iterable(map(made[name], rounds))
                    )
            tell(skipped)

        self.stages.run(
            "examples.rank",
            work,
            outputs=outputs,
            after=["retrieve"],
            settings={
                "windows": [list(recipe.ranking_window), list(recipe.base_window)],
                "names": names,
                "rounds": recipe.negative_rounds,
                "entities": recipe.training_entities,
                "seed": recipe.seed,
            },
        )
        for model in ("base", *recipe.rankers):
            if model in recipe.train:
                self._train(model, f"list5_{model}", ["examples.rank", "vocabulary"])

    def select_for_labellers(self) -> None:
        """What the labellers learn from: the selection over held-out claims and those of train."""
        if self.recipe.labellers:
            for role, limit in ((VALIDATION, None), (TRAIN, self.recipe.train_claims)):
                self._select_role(
                    "rank_entities",
                    role,
                    list(self.claims[role].values())[:limit],
                    self.recipe.train_candidates or self.recipe.candidates,
                )

    def select(self) -> None:
        """Every ranker over the candidates of the reported claims, and BM25 beside them."""
        if self.recipe.fuse_bm25 and not self.recipe.labellers:
            self._select_role(
                "rank_entities", VALIDATION, list(self.claims[VALIDATION].values()), self.recipe.candidates
            )
        for role in self.reported_roles:
            claims = list(self.claims[role].values())
            self._select_bm25(role, claims)
            for ranker in self.recipe.rankers:
                self._select_role(ranker, role, claims, self.recipe.candidates)

    def _select_role(self, ranker: str, role: str, claims: Sequence[Claim], depth: int) -> None:
        out = self.selection_file(ranker, role)
        self.stages.run(
            f"select.{ranker}.{role}",
            functools.partial(self._select, ranker, role, claims, depth, out),
            outputs=[out],
            after=["retrieve", f"train.{ranker}"],
            settings={"claims": len(claims), "depth": depth},
        )
        if ranker == "rank_entities" and self.recipe.fuse_bm25:
            if role not in self.reported_roles:
                self._select_bm25(role, claims)
            self._fuse(role)
        if ranker == "rank_entities" and self.recipe.hops == 2:
            self._hop(role)

    def _select(self, ranker: str, role: str, claims: Sequence[Claim], depth: int, out: Path) -> None:
        candidates = self.candidates(role)
        with counting(len(claims) * depth, "sentences") as advance:
            rank_to_file(
                Ranker.open(self.model_dir(ranker)),
                claims,
                lambda claim: self.units.evidence(candidates.get(claim.id, ()), depth),
                out,
                spot=self.spotter.spot,
                tag=ranker,
                progress=advance,
            )

    def _select_bm25(self, role: str, claims: Sequence[Claim]) -> None:
        """The baseline: BM25 over the sentences of all the claims' candidates, titles before them."""
        out = self.selection_file("bm25", role)

        def work() -> None:
            from lisax.formats.ranking import titled
            from lisax.retrieval.bm25 import build

            candidates = self.candidates(role)
            units = dict.fromkeys(unit for claim in claims for unit in candidates.get(claim.id, ()))
            texts = ((p.id, titled(p.title, p.text, self.preset)) for p in map(self.lookup, units) if p)
            index = build(texts, self.out / "runs" / f"sentences.{role}.bm25", k1=self.recipe.k1, b=self.recipe.b)
            found = index.search([claim.text for claim in claims], 100)
            write_run(
                out,
                (
                    Hit(claim.id, unit, rank, score)
                    for claim, row in zip(claims, found, strict=True)
                    for rank, (unit, score) in enumerate(row, start=1)
                ),
                "bm25",
            )

        self.stages.run(
            f"select.bm25.{role}", work, outputs=[out], after=["retrieve"], settings={"claims": len(claims)}
        )

    def _fuse(self, role: str) -> None:
        out = self.selection_file("fused", role)

        def work() -> None:
            held = [read_run(self.selection_file(name, VALIDATION)) for name in ("rank_entities", "bm25")]
            weights = fusion.fit(self.claims[VALIDATION].values(), *held)
            say("  log-odds of relevance: {:.2f} of the ranker's, {:+.2f} of BM25's share, {:+.2f}".format(*weights))
            write_run(
                out,
                fusion.fuse(
                    *(read_run(self.selection_file(name, role)) for name in ("rank_entities", "bm25")), weights
                ),
                "fused",
            )

        self.stages.run(
            f"select.fused.{role}",
            work,
            outputs=[out],
            after=[
                f"select.{name}.{of}" for name in ("rank_entities", "bm25") for of in dict.fromkeys((VALIDATION, role))
            ],
        )

    def _hop(self, role: str) -> None:
        """The second hop from the selection's first sentences."""
        out, first = self.selection_file("hops", role), self.recipe.first_selector

        def work() -> None:
            run = read_run(self.selection_file(first, role))
            claims = (claim for claim in self.claims[role].values() if claim.id in run)
            write_run(out, second_sentences(self.index, claims, run, self.sentences.page), "hops")

        self.stages.run(f"select.hops.{role}", work, outputs=[out], after=[f"select.{first}.{role}"])

    def train_labellers(self) -> None:
        """Section 3.3: pointwise, listwise, listwise on infused noise, and the claim alone."""
        recipe = self.recipe
        names = recipe.labellers
        if not names:
            return
        outputs = [self.examples_file(name, role) for name in names for role in (TRAIN, VALIDATION)]

        def work() -> None:
            skipped = Counter()
            options = {"seed": self.seed_of("label"), "skipped": skipped}
            windowed = options | {"window": Window(*recipe.labelling_window)}
            for role in (TRAIN, VALIDATION):
                ranked = self.selected(recipe.selector, role)
                claims = [claim for claim in self.claims[role].values() if claim.label and claim.id in ranked]
                if role == VALIDATION:
                    # Lists are validated on what the model will meet: our selection, gold or not.
                    lists = [sampling.listwise_input(claim, ranked[claim.id], self.lookup) for claim in claims]
                made: dict[str, Callable[[], Iterable[Example]]] = {
                    "claim_only": lambda: sampling.claim_only(claims),
                    "label_pointwise": lambda: sampling.pointwise(
                        claims, ranked, self.lookup, weak=recipe.weak_sentences, **windowed
                    ),
                    "label_listwise": lambda: sampling.listwise(claims, ranked, self.lookup, **windowed),
                    "label_listwise_infused": lambda: sampling.infused(claims, ranked, self.lookup, **options),
                }
                for name in names:
                    as_used = role == VALIDATION and "listwise" in name
                    write_examples(self.examples_file(name, role), lists if as_used else made[name]())
            tell(skipped)

        self.stages.run(
            "examples.label",
            work,
            outputs=outputs,
            after=[f"select.{recipe.selector}.{TRAIN}", f"select.{recipe.selector}.{VALIDATION}"],
            settings={
                "window": list(recipe.labelling_window),
                "seed": self.seed_of("label"),
                "names": names,
                "weak": recipe.weak_sentences,
            },
        )
        for name in names:
            self._train(name, f"list5_{name}", ["examples.label", "vocabulary"])

    def _train(self, model: str, task: str, after: Sequence[str]) -> None:
        lengths = {"inputs": self.recipe.tokens_of(model), "targets": self.recipe.target_tokens}
        self.train_model(model, task, after, lengths=None if model == "pretrain" else lengths)

    def seed_of(self, model: str) -> int:
        labels = (model == "label" or model in LABELLERS) and self.recipe.label_seed is not None
        return self.recipe.label_seed if labels else self.recipe.seed

    def predict(self) -> None:
        """Verdicts of every variant whose models the recipe trains."""
        for variant, (labeller, selection) in self.variants.items():
            self.stages.run(
                f"predict.{variant}",
                functools.partial(self._predict, variant, labeller, selection),
                outputs=[self.predictions_of(variant, role) for role in self.reported_roles],
                after=[f"train.{labeller}", *(f"select.{selection}.{role}" for role in self.reported_roles)],
                settings={"temporal": True} if self.recipe.temporal else {},
            )

    def _predict(self, variant: str, labeller: str, selection: str) -> None:
        aggregate = variant.removeprefix("bm25_") if labeller == "label_pointwise" else "max"
        verifier = Verifier.open(self.model_dir(labeller), aggregate=aggregate)
        temporal = self.recipe.temporal and labeller != "claim_only"
        for role in self.reported_roles:
            run = read_run(self.selection_file(selection, role))
            verdicts = verify_run(verifier, self.claims[role].values(), run, self.units, temporal=temporal)
            self.write_verdicts(variant, role, verdicts)
