"""DeSePtion: attacks on fact checkers, and a checker of pointer networks (Hidey et al., ACL 2020).

Candidate pages come from BM25, titles and entities. A pointer network over (claim, title) keeps D of them; a second one
over (claim, sentence) points to N sentences and labels the claim at every step (section 5). The temporal step then
applies rules on dates. The run covers the reported claims and their attacked versions (section 4).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lisax.formats.examples import Example, Passage, write_examples
from lisax.formats.pointing import COLUMNS, PointerExample
from lisax.papers.base import TRAIN, VALIDATION, tell
from lisax.papers.deseption.recipe import TASKS, PointerRecipe
from lisax.papers.list5.recipe import WORLD_SHARES
from lisax.papers.list5.run import List5
from lisax.papers.over_pages import PagePipeline
from lisax.papers.stages import Stage
from lisax.predict.model import Model, depth_of
from lisax.predict.verifier import CLAIMS_AT_A_TIME, Verifier
from lisax.progress import say
from lisax.records import Claim, Hit, Label
from lisax.retrieval import candidates as retrieval
from lisax.retrieval.cluster import open_documents
from lisax.retrieval.multi_hop import second_pages
from lisax.retrieval.runs import read_run, write_run
from lisax.sampling import examples as pairs
from lisax.sampling import negatives, pointer_examples
from lisax.sampling.balancing import balanced
from lisax.sampling.negatives import Window
from lisax.weights.model_folder import ModelFolder

GOLD = "gold"


@dataclasses.dataclass(frozen=True)
class Variant:
    """A row of the report: one of the paper's ablations, or a defence.

    `documents`: which pages are read: those pointed to ("documents"), the first of the "candidates", or ("hops", ours)
    those pointed to and pages that their sentences name. Of "gold" five sentences are read, those of the evidence and
    the first others (the paper's oracle)."""

    model: str
    documents: str = "documents"
    temporal: bool = False


# The first is the paper's system, which the report's page of claims shows.
VARIANTS = {
    "joint_temporal": Variant("evidence", temporal=True),
    "joint": Variant("evidence"),
    "joint_hops": Variant("evidence", "hops"),
    "joint_hops_temporal": Variant("evidence", "hops", temporal=True),
    "joint_without_ranking": Variant("evidence", "candidates"),
    "set": Variant("evidence_set"),
    "reinforced": Variant("evidence_reinforced"),
    "oracle": Variant("evidence_set", GOLD),
}


# Example files of single pairs, which the encoder is trained on first, and of the pointer.
PAGE_EXAMPLES = ("pointer_titles", "pointer_documents")
SENTENCE_EXAMPLES = ("pointer_labels", "pointer_sentences")


def _open_candidates(folder: Path, k: int) -> Callable[[Sequence[Claim]], list[Hit]]:
    index = open_documents(folder)
    return lambda claims: list(retrieval.retrieve(index, claims, k))


def _open_pointing(model: Path) -> Callable[[Sequence[PointerExample]], list[Hit]]:
    pointer = Model.open(model)

    def hits_of(examples: Sequence[PointerExample]) -> list[Hit]:
        return [
            Hit(example.claim_id, example.candidates[place].id, rank, 1 / rank)
            for example, places in zip(examples, pointer.probabilities(examples).pointers, strict=True)
            for rank, place in enumerate((place for place in places if place >= 0), start=1)
        ]

    return hits_of


def _open_hops(folder: Path, k: int) -> Callable[[Sequence[tuple[Claim, Sequence[Hit]]]], list[Hit]]:
    index = open_documents(folder)
    return lambda pairs: list(
        second_pages(index, [claim for claim, _ in pairs], {claim.id: hits for claim, hits in pairs}, k)
    )


def _pointer_examples(
    role: str,
    claims: Sequence[Claim],
    ranked: pairs.Ranked,
    reads: tuple[pairs.Lookup, pointer_examples.EvidenceSets, int],
    steps: int,
    skipped: Counter,
) -> Iterator[PointerExample]:
    """Training adds a whole evidence set to the candidates; examples for choosing checkpoints are as in use."""
    if role == TRAIN:
        return pointer_examples.training(claims, ranked, *reads, steps=steps, skipped=skipped)
    return pointer_examples.as_used(claims, ranked, *reads)


class Deseption(PagePipeline):
    """One run in the folder `out`; `stages` lists its steps."""

    recipe_class = PointerRecipe
    world_settings = {"shares": WORLD_SHARES}
    warm_up_pipeline = List5

    @property
    def roles(self) -> tuple[str, ...]:
        return (TRAIN, VALIDATION, *self.reported_roles)

    @property
    def variants(self) -> dict[str, Variant]:
        """The variants whose models the recipe trains."""
        return {
            name: variant
            for name, variant in VARIANTS.items()
            if variant.model in self.recipe.train
            and (self.recipe.temporal or not variant.temporal)
            and (self.recipe.hops == 2 or variant.documents != "hops")
        }

    # --- Inputs of stages: runs of pages, `candidates`, `documents` (pointed to) and `hops` ---

    def page(self, page_id: str) -> Passage | None:
        """A page as the document pointer reads it: its title."""
        page = self.sentences.page(page_id)
        return page and Passage(page_id, page.title, "")

    def sentence_candidates(self, role: str, pages: str = "documents") -> dict[str, list[str]]:
        """Candidate sentences from each claim's documents: all first sentences before any second one. Of GOLD only the
        number that is pointed to, those of the smallest evidence set first."""
        if pages == GOLD:
            ranked = self.sentence_candidates(role)
            return {i: self._with_evidence(claim, ranked.get(i, ())) for i, claim in self.claims_of(role).items()}
        found = {}
        for claim, hits in read_run(self.run_file(pages, role)).items():
            of_pages = [self.sentences.of_pages([hit]) for hit in hits[: self.recipe.documents]]
            units = (unit for row in itertools.zip_longest(*of_pages) for unit in row if unit is not None)
            found[claim] = list(itertools.islice(units, self.recipe.sentences))
        return found

    def _with_evidence(self, claim: Claim, ranked: Sequence[str]) -> list[str]:
        sets = [units for units in pointer_examples.sentence_sets(claim) if all(map(self.lookup, units))]
        return list(dict.fromkeys([*min(sets, key=len, default=()), *ranked]))[: pairs.LIST_LENGTH]

    # --- Stages -----------------------------------------------------------------------------

    def stages(self) -> list[Stage]:
        """The paper's pipeline, from claims to verdicts."""

        def stage(name: str, role: str, after: Sequence[str], pages: str, work: Callable[[str], None]) -> Stage:
            return Stage(f"{name}.{role}", after, [self.run_file(pages, role)], functools.partial(work, role))

        found = [self.run_file("candidates", role) for role in self.roles]
        retrieve = Stage("retrieve", self.indexed, found, self._retrieve)  # M candidate pages per claim
        # The D documents per claim, in the order of the pointers.
        point = [stage("point", role, ["retrieve", "train.documents"], "documents", self._point) for role in self.roles]
        hopped = self.reported_roles if self.recipe.hops == 2 else ()
        hop = [stage("hop", role, [f"point.{role}"], "hops", self._hop) for role in hopped]
        return [
            *self.stages_of_corpus(),
            retrieve,
            *self.stages_before_training(),
            *self.stages_of_documents(),
            *point,
            *hop,
            *self.stages_of_evidence(),
            *self.stages_of_verdicts(),
        ]

    def _retrieve(self) -> None:
        self.tell_gaps()
        for role in self.roles:
            claims = self.limited(role)
            opens = functools.partial(_open_candidates, self.index_folder, self.recipe.candidates)
            hits = self.at_workers(opens, claims, retrieval.CLAIMS_AT_A_TIME)
            write_run(self.run_file("candidates", role), hits, "candidates")

    # --- Documents --------------------------------------------------------------------------

    def stages_of_documents(self) -> list[Stage]:
        """Section 5.1: train on titles of gold pages against other candidates', as single pairs and by pointing."""
        examples = self.stage_of_examples("documents", PAGE_EXAMPLES, self._write_page_examples, after=["retrieve"])
        return [examples, *self._trainings(("titles", "documents"), examples.name)]

    def _write_page_examples(self) -> None:
        recipe, skipped = self.recipe, Counter()
        reads = self.page, pointer_examples.page_sets, recipe.candidates
        for role in (TRAIN, VALIDATION):
            claims, ranked = self.limited(role), self.ranked("candidates", role)
            write_examples(self.examples_file(PAGE_EXAMPLES[0], role), self._title_pairs(claims, ranked))
            made = _pointer_examples(role, claims, ranked, reads, recipe.documents, skipped)
            write_examples(self.examples_file(PAGE_EXAMPLES[1], role), made)
        tell(skipped)

    def _title_pairs(self, claims: Sequence[Claim], ranked: pairs.Ranked) -> Iterator[Example]:
        """Pairs of each gold page's title (relevant) and of titles of other candidates (not relevant)."""
        for claim in claims:
            gold = [page for pages in pointer_examples.page_sets(claim)[:1] for page in pages if self.page(page)]
            known = {page for pages in pointer_examples.page_sets(claim) for page in pages}
            if claim.label in (Label.SUPPORTS, Label.REFUTES) and gold:
                others = negatives.sample(
                    ranked.get(claim.id, ()),
                    known,
                    Window(1, self.recipe.candidates),
                    self.recipe.title_negatives * len(gold),
                    negatives.generator(self.recipe.seed, claim.id, "titles"),
                )
                for label, units in ((True, gold), (False, others)):
                    for unit in units:
                        yield Example(claim.id, claim.text, (Passage(unit, "", self.page(unit).title),), label=label)

    def _hop(self, role: str) -> None:
        """The second hop: pages that the sentences of the first documents name replace the last documents."""
        run = read_run(self.run_file("documents", role))
        asked = ((claim, run.get(claim.id, ())) for claim in self.claims_of(role).values())
        opens = functools.partial(_open_hops, self.index_folder, self.recipe.documents)
        hits = self.at_workers(opens, asked, retrieval.CLAIMS_AT_A_TIME)
        write_run(self.run_file("hops", role), hits, "hops")

    def _point(self, role: str) -> None:
        model, claims, ranked = self.model_dir("documents"), self.limited(role), self.ranked("candidates", role)
        depth = depth_of(ModelFolder.find(model).card)
        examples = pointer_examples.as_used(claims, ranked, self.page, lambda claim: (), depth)
        hits = self.at_workers(functools.partial(_open_pointing, model), examples, CLAIMS_AT_A_TIME)
        write_run(self.run_file("documents", role), hits, "documents")

    # --- Evidence ---------------------------------------------------------------------------

    def stages_of_evidence(self) -> list[Stage]:
        """Section 5.2: train on labels of single sentences, then point and label, with and without the joint loss."""
        after = [f"point.{TRAIN}", f"point.{VALIDATION}"]
        examples = self.stage_of_examples("sentences", SENTENCE_EXAMPLES, self._write_sentence_examples, after=after)
        models = ("labels", "evidence", "evidence_set", "evidence_reinforced")
        return [examples, *self._trainings(models, examples.name)]

    def _write_sentence_examples(self) -> None:
        recipe, skipped = self.recipe, Counter()
        draws = pairs.Draws(recipe.seed, labelling_window=Window(*recipe.labelling_window), weak=recipe.weak_sentences)
        pairs_of = pairs.pointwise if recipe.weak_sentences else balanced
        reads = self.lookup, pointer_examples.sentence_sets, recipe.sentences
        for role in (TRAIN, VALIDATION):
            ranked = self.sentence_candidates(role)
            labelled = [claim for claim in self.limited(role) if claim.label is not None]
            made = pairs_of(labelled, ranked, self.lookup, draws, skipped)
            write_examples(self.examples_file(SENTENCE_EXAMPLES[0], role), made)
            made = _pointer_examples(role, labelled, ranked, reads, pairs.LIST_LENGTH, skipped)
            write_examples(self.examples_file(SENTENCE_EXAMPLES[1], role), made)
        tell(skipped)

    # --- Training ---------------------------------------------------------------------------

    def _trainings(self, models: Sequence[str], examples: str) -> list[Stage]:
        return [self.training(model, after=[examples]) for model in models if model in self.recipe.train]

    def task_of(self, model: str) -> str:
        return TASKS[model]

    def lengths_of(self, model: str) -> dict[str, int]:
        recipe, of_titles = self.recipe, model in ("titles", "documents")
        tokens = recipe.title_tokens if of_titles else recipe.sentence_tokens
        if model in ("titles", "labels"):
            return {"inputs": tokens, "targets": recipe.target_tokens}
        k = recipe.candidates if of_titles else recipe.sentences
        return {"inputs": k * tokens, "targets": k * COLUMNS}

    def bindings_of(self, model: str) -> dict[str, int] | None:
        return {"evidence_pointer.PointerConfig.steps": self.recipe.documents} if model == "documents" else None

    # --- Verdicts ---------------------------------------------------------------------------

    def stages_of_verdicts(self) -> list[Stage]:
        """A temperature for each model that labels claims, fitted on held-out ones, and verdicts of every variant on
        the reported claims and their attacked versions."""
        models = dict.fromkeys(variant.model for variant in self.variants.values())
        held = f"point.{VALIDATION}"
        stages = [self.calibration(model, held, functools.partial(self._calibrate, model)) for model in models]
        for name, variant in self.variants.items():
            pages = {"documents": "point", GOLD: "point", "hops": "hop"}.get(variant.documents)
            runs = [f"{pages}.{role}" for role in self.reported_roles] if pages else ["retrieve"]
            work = functools.partial(self._predict, name, variant)
            stages.append(self.prediction(name, [f"calibrate.{variant.model}", *runs], work))
        return stages

    def _calibrate(self, model: str) -> None:
        self.calibrate_model(model, self.limited(VALIDATION), self.sentence_candidates(VALIDATION))

    def _predict(self, name: str, variant: Variant) -> None:
        opens = functools.partial(Verifier.open, self.model_dir(variant.model))
        for role in self.reported_roles:
            ranked = self.sentence_candidates(role, variant.documents)
            say(f"  {role}")
            claims = self.claims_of(role).values()
            verdicts = self.verified(opens, claims, ranked, temporal=variant.temporal)
            self.write_verdicts(name, role, verdicts)
