"""Base of the pipelines over text pages: the index, its sentences, and attacked claims (DeSePtion, section 4)."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lisax.adversary.attack import Attack, AttackKind
from lisax.adversary.writing import SUMMARY, write_folder
from lisax.corpora import fever, open_folder, read_claims
from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage
from lisax.formats.labelling import LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.ranking import RANK_ENTITIES
from lisax.papers.base import REPORT, TRAIN, VALIDATION, Pipeline
from lisax.papers.settings import kept
from lisax.papers.stages import Stage
from lisax.predict import calibrating
from lisax.predict.index import Index
from lisax.predict.judging import VERIFIED_AT_A_TIME, verifying
from lisax.predict.page_index import PageIndex
from lisax.predict.verdicts import Verdict, write_predictions
from lisax.predict.verifier import Verifier
from lisax.progress import counting, say
from lisax.records import Claim, Hit, Prediction, split_sentence_id
from lisax.retrieval import documents as retrieval
from lisax.retrieval.cluster import DOCUMENTS, NOTE, fill_cluster, open_documents, write_note
from lisax.retrieval.cluster_pages import ClusterDocuments
from lisax.retrieval.documents import DocumentIndex
from lisax.retrieval.entities import Spotter, default_spotter
from lisax.sampling import examples as sampling
from lisax.sampling.files import hashed_share
from lisax.weights.checkpoints import FITTED, write_fitted
from lisax.weights.model_folder import ModelFolder

ATTACK, ATTACKED = "attack", "attacked"  # the stage, and the role of the attacked versions of the reported claims


def open_uncalibrated(model: Path, reading: Mapping[str, int]) -> Verifier:
    """Loads a labeller without its temperature. `reading` sets its attributes (`Labeller`: `sentences`, `leading`)."""
    verifier = calibrating.uncalibrated(Verifier.open(model))
    for name, value in reading.items():
        setattr(verifier, name, value)
    return verifier


def _open_verifying(
    opens: functools.partial[Verifier], units: Path | str, temporal: bool
) -> Callable[[Sequence[tuple[Claim, Sequence[Hit | str]]]], list[Verdict]]:
    verifier, index = opens(), Index.open(units)
    if verifier.reads != index.reads:
        raise LisaxError(f"{opens.args[0]} labels claims from {verifier.reads}, not {index.reads}")

    def verdicts_of(pairs: Sequence[tuple[Claim, Sequence[Hit | str]]]) -> list[Verdict]:
        run = {claim.id: found for claim, found in pairs}
        return verifying(verifier, run, index, temporal=temporal)([claim for claim, _ in pairs])

    return verdicts_of


class PagePipeline(Pipeline):
    """A run whose recipe is a `PagesRecipe`."""

    @property
    def indexed(self) -> list[str]:
        return ["index", *([ATTACK] if self.recipe.attacked_roles else [])]

    @property
    def index_folder(self) -> Path:
        return self.out / "index"

    def attacks_file(self, role: str) -> Path:
        return self.out / "attacks" / f"claims.{role}.jsonl"

    @functools.cached_property
    def index(self) -> DocumentIndex | ClusterDocuments:
        return open_documents(self.index_folder)

    @functools.cached_property
    def sentences(self) -> PageIndex:
        return PageIndex(self.index)

    @property
    def units(self) -> Index:
        """The index that evidence is read from."""
        return self.sentences

    @property
    def units_place(self) -> Path | str:
        """The folder of `units`, or their address in a cluster."""
        return self.units.folder or self.recipe.cluster

    @property
    def lookup(self) -> sampling.Lookup:
        return self.units.lookup

    @functools.cached_property
    def spotter(self) -> Spotter:
        return default_spotter(self.index.titles)

    @property
    def claims(self) -> dict[str, dict[str, Claim]]:
        return {role: self.claims_of(role) for role in (TRAIN, VALIDATION, *self.reported_roles)}

    def claims_of(self, role: str) -> dict[str, Claim]:
        """Claims of a role by id. Attacked claims exist once the stage `attack` is done."""
        if role == TRAIN and self.recipe.attacked_share:
            return self._mixed_claims
        return self._attacked_claims if role == ATTACKED else self.data_claims(role)

    @kept
    def _mixed_claims(self) -> dict[str, Claim]:
        """Training claims, clean and attacked, sorted by a hash of the id, so that any prefix has both."""
        mixed = self.data_claims(TRAIN) | {claim.id: claim for claim in read_claims(self.attacks_file(TRAIN))}
        return dict(sorted(mixed.items(), key=lambda item: hashed_share(item[0])))

    @kept
    def _attacked_claims(self) -> dict[str, Claim]:
        return {claim.id: claim for claim in read_claims(self.attacks_file(REPORT))}

    @property
    def reported_roles(self) -> tuple[str, ...]:
        return (REPORT, ATTACKED) if self.recipe.attacks else (REPORT,)

    # --- Stages -----------------------------------------------------------------------------

    def stages_of_corpus(self) -> list[Stage]:
        """BM25, titles and pages of the corpus, and the attacked claims if the recipe asks for them."""
        index = Stage("index", [], [self.index_folder], self._build_index)
        roles = self.recipe.attacked_roles
        if not roles:
            return [index]
        outputs = [*map(self.attacks_file, roles), self.out / "attacks" / SUMMARY]
        return [index, Stage(ATTACK, ["index"], outputs, self._attack)]

    def _build_index(self) -> None:
        (k1, b), cluster = self.bm25_parameters, self.recipe.cluster
        if cluster is None:
            (self.index_folder / NOTE).unlink(missing_ok=True)
            retrieval.build_index(self.data.documents(), self.index_folder, k1=k1, b=b)
            return
        fill_cluster(self.data, DOCUMENTS, cluster, corpus_print=self.data_files, k1=k1, b=b, replace=True)
        shutil.rmtree(self.index_folder, ignore_errors=True)  # an index of the run's own
        write_note(self.index_folder, cluster)

    @property
    def bm25_parameters(self) -> tuple[float, float]:
        """k1 and b."""
        return self.recipe.k1, self.recipe.b

    def _attack(self) -> None:
        from lisax.adversary.corpus import AttackCorpus
        from lisax.adversary.kinds import attackable, attacks

        corpus, made = AttackCorpus(self.index.pages.page, map(self.index.pages.page, self.index.pages)), {}
        left_out = {}
        for role in self.recipe.attacked_roles:
            claims = list(self.data_claims(role).values())
            taken, left_out[role] = attackable(claims, corpus)
            say(
                f"  {role}"
                + (f", {left_out[role]:,} claims without evidence in the corpus left out" if left_out[role] else "")
            )
            with counting(len(taken), "claims") as advance:
                found = list(attacks(taken, corpus, seed=self.recipe.seed, progress=advance))
            if role == TRAIN:
                wanted = round(len(claims) * self.recipe.attacked_share / (1 - self.recipe.attacked_share))
                found = _of_every_kind(found, wanted)
            elif self.recipe.attacked_claims is not None:
                found = _of_every_kind(found, None, self.recipe.attacked_claims)
            made[role] = found
        write_folder(
            self.out / "attacks", made, corpus, pages=False, settings={"seed": self.recipe.seed, "left_out": left_out}
        )

    def tell_gaps(self) -> None:
        """Logs how many claims cite units that the corpus lacks, as FEVER's does: they are never scored as found."""
        for role, claims in self.claims.items():
            cited = [
                claim
                for claim in claims.values()
                if any(split_sentence_id(unit)[0] not in self.index.pages for unit in claim.gold_ids)
            ]
            if cited:
                say(
                    f"  {len(cited):,} claims of {role} cite pages that the corpus lacks, the first is "
                    f"'{cited[0].id}'; `lisax data check {self.data.folder}` names file and line"
                )

    def texts(self) -> Iterator[str]:
        """Texts of the corpus, and of the claims as the models read them."""

        pages = map(self.sentences.page, self.index.pages)
        claims: Iterable[Claim] = self.claims_of(TRAIN).values()
        if self.recipe.warms_up:
            made = open_folder(self.world_folder)
            pages, claims = itertools.chain(pages, made.documents()), itertools.chain(claims, made.claims("train"))
        for document in pages:
            yield f"{document.title} . {document.text}"
        for claim in claims:
            for text_format in (RANK_ENTITIES, LABEL_POINTWISE):
                example = Example(claim.id, claim.text, (Passage("", "", "."),), (".", "."))
                yield text_format.encode(example, preset=self.preset, count_tokens=len).inputs
            example = dataclasses.replace(example, sentences=example.sentences * sampling.LIST_LENGTH)
            yield LABEL_LISTWISE.encode(example, preset=self.preset, count_tokens=len).inputs

    # --- Verdicts ---------------------------------------------------------------------------

    def calibration(self, model: str, held: str, work: Callable[[], None]) -> Stage:
        """Fits a model's temperature on held-out claims, whose sentences the stage `held` finds."""
        return Stage(f"calibrate.{model}", [self.made_by(model), held], [self.model_dir(model) / FITTED], work)

    def prediction(self, variant: str, after: Sequence[str], work: Callable[[], None]) -> Stage:
        """The verdicts of a variant on the reported claims and their attacked versions."""
        outputs = [self.predictions_of(variant, role) for role in self.reported_roles]
        return Stage(f"predict.{variant}", after, outputs, work)

    def verified(
        self,
        opens: functools.partial[Verifier],
        claims: Iterable[Claim],
        run: Mapping[str, Sequence[Hit | str]],
        *,
        temporal: bool = False,
        units: Path | None = None,
    ) -> Iterator[Verdict]:
        """The verdicts on claims from a run of already ranked units; prints progress. `opens`: `Verifier.open` with a
        model. `temporal`: see `judging.judge_dates`. `units`: the folder of another index that they are in."""
        pairs = ((claim, list(run.get(claim.id, ()))) for claim in claims)
        return self.at_workers(
            functools.partial(_open_verifying, opens, units or self.units_place, temporal), pairs, VERIFIED_AT_A_TIME
        )

    def calibrate_model(
        self,
        model: str,
        claims: Iterable[Claim],
        run: Mapping[str, Sequence[Hit | str]],
        reading: Mapping[str, int] | None = None,
    ) -> None:
        """Fits the temperature of a labeller on those held-out claims that the run has, and stores it with the model, as
        well as how it reads (`open_uncalibrated`) if it reads fewer sentences than are selected."""
        held, reading = {claim.id: claim for claim in claims if claim.id in run}, dict(reading or {})
        opens = functools.partial(open_uncalibrated, self.model_dir(model), reading)
        verifier = opens()
        verdicts = self.verified(opens if self.workers else lambda: verifier, held.values(), run)
        fitted = calibrating.fit(verifier, held, {i: one.prediction() for i, one in zip(held, verdicts, strict=True)})
        say(f"  {model}: temperature {fitted.temperature:.3f}, fitted on {fitted.claims:,} claims")
        write_fitted(self.model_dir(model), {"calibration": dataclasses.asdict(fitted)} | reading)

    def calibration_figures(
        self, claims: Mapping[str, Claim], variant: str, model: str, aggregate: str | None = None
    ) -> dict | None:
        """`calibrating.figures` of a variant's verdicts on the reported claims; None if no temperature was applied."""
        fitted = ModelFolder.find(self.model_dir(model)).card.calibration
        if fitted is None or fitted.aggregate != aggregate:
            return None
        made = self.verdicts(variant, REPORT)
        return calibrating.figures(fitted, claims, calibrating.before(made, fitted), made)

    def predictions_of(self, variant: str, role: str) -> Path:
        """The predictions file of a variant for the reported claims, or for their attacked versions."""
        return self.predictions_file(variant if role == REPORT else f"{variant}.{role}")

    def write_verdicts(self, variant: str, role: str, verdicts: Iterable[Verdict]) -> None:
        write_predictions(self.predictions_of(variant, role), verdicts)

    def verdicts(self, variant: str, role: str) -> dict[str, Prediction]:
        """Predictions for the labelled claims, by id."""
        found = {verdict.claim_id: verdict for verdict in fever.read_predictions(self.predictions_of(variant, role))}
        return {i: found[i] for i in self.labelled_claims(role)}


def _of_every_kind(
    attacks: list[tuple[str, Attack]], wanted: int | None, of_a_kind: int | None = None
) -> list[tuple[str, Attack]]:
    """At most `of_a_kind` attacks of each kind and `wanted` in all, of each kind equally many if there are, by id."""
    by_kind: dict[AttackKind, list[tuple[str, Attack]]] = {}
    for id, attack in sorted(attacks, key=lambda pair: hashed_share(pair[0])):
        by_kind.setdefault(attack.kind, []).append((id, attack))
    rounds = itertools.zip_longest(*(of[:of_a_kind] for of in by_kind.values()))
    return list(itertools.islice((pair for row in rounds for pair in row if pair is not None), wanted))
