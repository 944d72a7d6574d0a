"""LisT5: from claims to verdicts with evidence (Jiang, Pradeep & Lin, ACL 2021).

Documents are retrieved with BM25 and a title search (section 3.1), their sentences are ranked by monoT5 (3.2), and the
best L = 5 are labelled, pointwise or as a list, plain or with infused noise (3.3).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lisax.formats.examples import Example, write_examples
from lisax.metrics.fever import fever_score
from lisax.metrics.ranking import complete_sets
from lisax.papers.base import TRAIN, VALIDATION, tell
from lisax.papers.list5.recipe import (
    GIVEN,
    LABELLERS,
    LISTWISE,
    RANKERS,
    RERANK,
    STARTS,
    VECTORS,
    WORLD_SHARES,
    Recipe,
)
from lisax.papers.list5.selection import SelectionPipeline
from lisax.papers.over_pages import open_uncalibrated
from lisax.papers.stages import Stage
from lisax.predict.ranker import Ranker
from lisax.predict.teaching import AT_A_TIME, open_teaching
from lisax.predict.verifier import Verifier
from lisax.progress import say
from lisax.records import LABELS, Claim
from lisax.retrieval.runs import read_run
from lisax.sampling import files, written
from lisax.sampling.balancing import with_equal_labels
from lisax.sampling.examples import LIST_LENGTH, Draws, Ranked
from lisax.sampling.negatives import Window
from lisax.weights.checkpoints import CHOSEN, checkpoint_folder, complete_steps, write_chosen
from lisax.weights.pretrained import sendable

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
    GIVEN: (GIVEN, "rank_entities"),
}


def aggregate_of(variant: str) -> str | None:
    """How a variant combines the labels of single sentences; None if its labeller is not pointwise."""
    return variant.removeprefix("bm25_") if VARIANTS[variant][0] == "label_pointwise" else None


class List5(SelectionPipeline):
    """One run in the folder `out`; `stages` lists its steps."""

    recipe_class = Recipe
    world_settings = {"shares": WORLD_SHARES}

    # --- Stages -----------------------------------------------------------------------------

    @property
    def variants(self) -> dict[str, tuple[str, str]]:
        """The variants whose models the recipe trains."""
        recipe = self.recipe
        selections = {"bm25": "bm25", "rank": "rank", "rank_entities": recipe.selector}
        return {
            variant: (labeller, selections[selection])
            for variant, (labeller, selection) in VARIANTS.items()
            if (labeller in recipe.train or (labeller == GIVEN and recipe.labeller is not None))
            and (selection in ("bm25", *recipe.train) or (recipe.backbone is not None and selection == "rank_entities"))
        }

    def stages(self) -> list[Stage]:
        """The paper's pipeline, from claims to verdicts."""
        # Labellers are trained on selected sentences; the fusion of ranker and BM25 is fitted on held-out claims,
        # and so is that of a reranker and vectors.
        fitted = self.recipe.fuse_bm25 or RERANK in self.recipe.train
        learned = (VALIDATION, TRAIN) if self.recipe.labellers else (VALIDATION,) if fitted else ()
        return [
            *self.stages_of_corpus(),
            self.stage_of_retrieval(),
            *self.stages_before_training(),
            *self.stages_of_pretraining(),
            *self.stages_of_rankers(),
            *(stage for role in learned for stage in self.stages_of_selection(role)),
            *self.stages_of_labellers(),
            *(stage for role in self.reported_roles for stage in self.stages_of_selection(role)),
            *self.stages_of_verdicts(),
        ]

    # --- Rankers ----------------------------------------------------------------------------

    def stages_of_pretraining(self) -> list[Stage]:
        """Span corruption over the corpus, if the recipe asks for it."""
        if "pretrain" not in self.recipe.train:
            return []
        examples = self.stage_of_examples("pretrain", ["text"], self._write_pretraining_examples, after=["index"])
        return [examples, self.training("pretrain", after=[examples.name])]

    def _write_pretraining_examples(self) -> None:
        pages = map(self.sentences.page, self.index.pages)
        files.write_texts(self.out / "examples", pages, self.recipe.validation_share)

    def stages_of_rankers(self) -> list[Stage]:
        """Training of monoT5 on gold sentences against negatives from a window of ranks, with and without entities;
        before it, if the recipe has one, of the base, from the same candidates."""
        train = self.recipe.train
        names = ["rank", *(["label_candidates"] if "base" in train else [])]
        work = functools.partial(self._write_ranking_examples, names)
        examples = self.stage_of_examples("rank", names, work, after=["retrieve"])
        models = [model for model in ("base", *self.recipe.rankers) if model in train and model != RERANK]
        stages = [examples, *(stage for model in models for stage in self._training(model, examples.name))]
        return [*(stages if models else []), *(self._stages_of_reranker() if RERANK in train else [])]

    def _stages_of_reranker(self) -> list[Stage]:
        """Training of a pair scorer on gold sentences against the best others by vectors and BM25 (ours)."""
        selections = [self.selection_by_vectors(role) for role in (VALIDATION, TRAIN)]
        after = [selection.name for selection in selections]
        examples = self.stage_of_examples(RERANK, [RERANK], self._write_reranking_examples, after=after)
        return [*selections, examples, *self._training(RERANK, examples.name)]

    def _write_reranking_examples(self) -> None:
        draws, skipped = Draws(ranking_window=Window(*self.recipe.reranking_window)), Counter()
        for role in (TRAIN, VALIDATION):
            claims, ranked = self.limited(role), self.ranked(VECTORS, role)
            made = self._ranking_rounds("rank", role, claims, ranked, draws, skipped)
            if role == TRAIN:
                made = itertools.chain(made, written.draw_pairs(self.recipe.written, self.recipe.seed))
            write_examples(self.examples_file(RERANK, role), made)
        tell(skipped)

    def _write_ranking_examples(self, names: Sequence[str]) -> None:
        recipe, skipped = self.recipe, Counter()
        draws = Draws(
            ranking_window=Window(*recipe.ranking_window),
            labelling_window=Window(*recipe.base_window),
            weak=BASE_WEAK,
            spot=self.spotter.spot if recipe.training_entities == "spotted" else None,
        )
        variants = {"rank": "rank", "label_candidates": "label_pointwise"}
        for role in (TRAIN, VALIDATION):
            claims, candidates = list(self.claims_of(role).values()), self.ranked("candidates", role)
            for name in names:
                made = self._ranking_rounds(variants[name], role, claims, candidates, draws, skipped)
                write_examples(self.examples_file(name, role), made)
        tell(skipped)

    def _ranking_rounds(
        self,
        variant: str,
        role: str,
        claims: Sequence[Claim],
        ranked: Ranked,
        draws: Draws,
        skipped: Counter,
    ) -> Iterator[Example]:
        """A variant's examples; of training claims once for each of `negative_rounds`."""
        for i in range(self.recipe.negative_rounds if role == TRAIN else 1):
            of = dataclasses.replace(draws, seed=self.recipe.seed + i)
            yield from files.build(variant, claims, ranked, ranked, self.lookup, draws=of, skipped=skipped)

    # --- Labellers --------------------------------------------------------------------------

    def stages_of_labellers(self) -> list[Stage]:
        """Training of the labellers (section 3.3): pointwise, listwise, listwise on infused noise, and claim only."""
        names, selector = self.recipe.labellers, self.recipe.learning_selector
        if not names:
            return []
        after = [f"select.{selector}.{TRAIN}", f"select.{selector}.{VALIDATION}"]
        work = functools.partial(self._write_label_examples, names, selector)
        examples = self.stage_of_examples("label", names, work, after=after)
        return [examples, *(stage for name in names for stage in self._training(name, examples.name))]

    def _write_label_examples(self, names: Sequence[str], selector: str) -> None:
        recipe, skipped = self.recipe, Counter()
        draws = Draws(
            self.seed_of("label"),
            labelling_window=Window(*recipe.labelling_window),
            weak=recipe.weak_sentences,
            lists=recipe.infused_lists,
            length=recipe.list_sentences,
            contrasts=recipe.contrasts,
            written=recipe.written,
        )
        for role in (TRAIN, VALIDATION):
            ranked = self.ranked(selector, role)
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
                if role == TRAIN and recipe.balanced_labels:
                    made = with_equal_labels(made, seed=self.seed_of("label"))
                if role == TRAIN and recipe.teacher is not None:
                    teaches = functools.partial(open_teaching, sendable(recipe.teacher))
                    made = self.at_workers(teaches, made, AT_A_TIME, "examples")
                write_examples(self.examples_file(name, role), made)
        tell(skipped)

    # --- Training ---------------------------------------------------------------------------

    def _training(self, model: str, examples: str) -> list[Stage]:
        """The stage that trains a model and, if set in the recipe, the stage that chooses its checkpoint."""
        training = self.training(model, after=[examples])
        if model not in self.recipe.chosen:
            return [training]
        ranks, selector = model in RANKERS, self.recipe.selector
        score = self._recall_of if ranks else functools.partial(self._fever_score_of, selector, model)
        after = [training.name, "retrieve" if ranks else f"select.{selector}.{VALIDATION}"]
        work = functools.partial(self._choose, model, score)
        return [training, Stage(f"choose.{model}", after, [self.model_dir(model) / CHOSEN], work)]

    def made_by(self, model: str) -> str:
        return f"choose.{model}" if model in self.recipe.chosen else super().made_by(model)

    def bindings_of(self, model: str) -> dict[str, Any] | None:
        chosen = model not in STARTS and self.recipe.choose_checkpoints
        return {"utils.SaveCheckpointConfig.keep": None} if chosen else None

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
            opens = functools.partial(Ranker.open, checkpoint)
            self.rank_claims(opens, claims, self.ranked("candidates", VALIDATION), depth, run)
            found = complete_sets(claims, read_run(run))
        return "recall@5", sum(found.values()) / max(1, len(found))

    def _fever_score_of(self, selector: str, model: str, checkpoint: Path) -> tuple[str, float]:
        """The FEVER score of a labeller's checkpoint on held-out claims; of a pointwise one, with `any_decides`."""
        run = read_run(self.run_file(selector, VALIDATION))
        claims = {i: claim for i, claim in self.claims_of(VALIDATION).items() if i in run and claim.label is not None}
        opens = functools.partial(open_uncalibrated, checkpoint, self._reading_of(model))
        verdicts = self.verified(opens, claims.values(), run)
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
            # A teacher's probabilities of the labels follow the class.
            "targets": self.target_length + (len(LABELS) if self.recipe.teacher is not None else 0),
        }

    def seed_of(self, model: str) -> int:
        labels = (model == "label" or model in LABELLERS) and self.recipe.label_seed is not None
        return self.recipe.label_seed if labels else self.recipe.seed

    # --- Verdicts ---------------------------------------------------------------------------

    def stages_of_verdicts(self) -> list[Stage]:
        """A temperature for each labeller, fitted on held-out claims, and verdicts of every trained variant."""
        selector = self.recipe.selector
        fitted = dict.fromkeys(labeller for labeller, _ in self.variants.values() if labeller != GIVEN)
        held, stages = f"select.{selector}.{VALIDATION}", []
        for labeller in fitted:
            stages.append(self.calibration(labeller, held, functools.partial(self._calibrate, labeller, selector)))
        for variant, (labeller, selection) in self.variants.items():
            after = [f"calibrate.{labeller}"] if labeller in fitted else []
            after += [f"select.{selection}.{role}" for role in self.reported_roles]
            work = functools.partial(self._predict, variant, labeller, selection)
            stages.append(self.prediction(variant, after, work))
        return stages

    def _calibrate(self, labeller: str, selector: str) -> None:
        run = read_run(self.run_file(selector, VALIDATION))
        self.calibrate_model(labeller, self.claims_of(VALIDATION).values(), run, self._reading_of(labeller))

    def _reading_of(self, labeller: str) -> dict[str, Any]:
        """The settings of a labeller that reads fewer sentences than are selected."""
        if labeller not in LISTWISE or self.recipe.list_sentences == LIST_LENGTH:
            return {}
        reading = {"sentences": self.recipe.list_sentences, "leading": self.recipe.leading}
        return {name: value for name, value in reading.items() if value}

    def _predict(self, variant: str, labeller: str, selection: str) -> None:
        if labeller == GIVEN:
            opens = functools.partial(Verifier.open, sendable(self.recipe.labeller))
        else:
            opens = functools.partial(Verifier.open, self.model_dir(labeller), aggregate=aggregate_of(variant))
        temporal = self.recipe.temporal and labeller != "claim_only"
        for role in self.reported_roles:
            run = read_run(self.run_file(selection, role))
            verdicts = self.verified(opens, self.claims_of(role).values(), run, temporal=temporal)
            self.write_verdicts(variant, role, verdicts)
