"""The base of all pipelines: roles of claims, the vocabulary, a warm-up on a generated world, training one model."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax import world
from lisax.corpora import Dataset, open_folder
from lisax.errors import LisaxError
from lisax.files.writing import atomic_write
from lisax.formats import presets
from lisax.formats.presets import Preset
from lisax.formats.vocabulary import REQUIRED_WORDS, SentencePieceVocabulary, Vocabulary, train_vocabulary
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.papers.recipe import WARM_UP, GinOfModel, PaperRecipe, file_and_bindings
from lisax.papers.settings import fact, kept
from lisax.papers.staged import Staged
from lisax.papers.stages import Stage
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.progress import say
from lisax.records import Claim
from lisax.retrieval.runs import read_run
from lisax.sampling import splits
from lisax.sampling.examples import ranked_ids, told
from lisax.weights.checkpoints import read_metrics
from lisax.weights.interop.kinds import TOKENIZER_NAME

if TYPE_CHECKING:
    from lisax.training.train import TrainResult

TRAIN, VALIDATION, REPORT = "train", "dev", "test"


class Training(Staged):
    """A run that trains the models of its recipe by their gin files, on examples in the folder `out`."""

    vocabulary_stage = "vocabulary"

    def __init__(self, data: Dataset, out: Path, recipe: Any, *, until: str | None = None):
        super().__init__(data, out, recipe, until=until)
        named = sorted(filter(is_of_warm_up, recipe.initial.values()))
        if named and not getattr(recipe, "warm_up", None):
            raise LisaxError(f"the recipe starts models from {', '.join(named)} and has no warm_up")

    # --- Hooks ------------------------------------------------------------------------------

    @abstractmethod
    def texts(self) -> Iterator[str]:
        """The texts that a vocabulary is trained on."""

    @fact
    def required_words(self) -> Sequence[str]:
        """Words that must each be one piece of a trained vocabulary."""
        return REQUIRED_WORDS

    def seed_of(self, model: str) -> int:
        return self.recipe.seed

    @abstractmethod
    def task_of(self, model: str) -> str:
        """The task that a model is trained on."""

    @abstractmethod
    def lengths_of(self, model: str) -> Mapping[str, int] | None:
        """TASK_FEATURE_LENGTHS of a model; None for those of its gin file."""

    def bindings_of(self, model: str) -> Mapping[str, Any] | None:
        """Further bindings of the recipe that override a model's gin file."""
        return None

    def bundled_files(self) -> Mapping[str, bytes]:
        """Files, by name, that every bundle of a model has besides its own."""
        return {}

    # --- Files ------------------------------------------------------------------------------

    @property
    def vocabulary_file(self) -> Path:
        return self.out / "spiece.model"

    def examples_file(self, name: str, role: str) -> Path:
        return self.out / "examples" / f"{name}.{role}.jsonl"

    def examples_folder(self, model: str) -> Path:
        """The data folder of a model; its training examples are in `examples`."""
        return self.out

    def model_dir(self, model: str) -> Path:
        return self.out / "models" / model

    # --- Stages -----------------------------------------------------------------------------

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        return open_vocabulary(self.vocabulary_file)

    def write_vocabulary(self) -> None:
        """Copies the given vocabulary, or trains one of the recipe's size on `texts`."""
        if given := self.recipe.vocabulary:
            SentencePieceVocabulary(given)
            self.copy_vocabulary(given)
        else:
            train_vocabulary(self.texts(), self.vocabulary_file, self.recipe.vocabulary_size, self.required_words)

    def copy_vocabulary(self, given: str | Path) -> None:
        with atomic_write(self.vocabulary_file, "wb") as file:
            file.write(Path(given).read_bytes())

    def training(self, model: str, *, after: Sequence[str]) -> Stage:
        """The stage that trains one model by its gin file, starting from the model that the recipe names.

        `after`: the stages that write its examples."""
        initial = self.recipe.initial.get(model)
        after = [*after, self.vocabulary_stage]
        if initial in self.recipe.train:
            after.append(self.made_by(initial))
        elif initial and is_of_warm_up(initial):
            after.append(WARM_UP)
        return Stage(f"train.{model}", after, [self.model_dir(model)], functools.partial(self._train, model))

    def start_of(self, model: str) -> str | Path | None:
        """The checkpoint that a model's training starts from; None: from nothing."""
        initial = self.recipe.initial.get(model)
        if initial is None or is_of_warm_up(initial):
            return initial and self.warm_up_model(initial)
        return self.model_dir(initial) if initial in self.recipe.train else initial

    def warm_up_model(self, name: str) -> Path:
        """MODEL_DIR of `warm_up/MODEL`."""
        return self.out / WARM_UP / "models" / name.removeprefix(f"{WARM_UP}/")

    def made_by(self, model: str) -> str:
        """The stage after which a model of the run is ready to be used."""
        return f"train.{model}"

    def _train(self, model: str) -> None:
        train_by_gin(
            self.recipe.train[model],
            self.model_dir(model),
            self.task_of(model),
            seed=self.seed_of(model),
            lengths=self.lengths_of(model),
            initial=self.start_of(model),
            data=self.examples_folder(model),
            vocabulary=self.vocabulary,
            preset=self.recipe.preset,
            files=self.bundled_files(),
            bindings=self.bindings_of(model),
        )


class Pipeline(Training):
    """A run of a paper in the folder `out`.

    Claims have roles: `train` for training, `dev` for choosing checkpoints, `test` for reporting. Data with all three
    splits is used as it is. Without a labelled test split, dev is reported, and a share of train, held out by a hash of
    the claim's id, takes the place of dev."""

    indexed: Sequence[str]  # the stages after which the corpus and the claims are readable
    recipe_class: type[PaperRecipe]
    asked = "claims"
    world_settings: Mapping[str, Any] = {}  # arguments of `world.write` for generated worlds, besides size and seed

    def __init__(self, data: Dataset, out: Path, recipe: PaperRecipe, *, until: str | None = None):
        super().__init__(data, out, recipe, until=until)
        self.check_data()
        self.check_until()

    def check_data(self) -> None:
        """Raises an error for data without claims to train on or to report."""
        tested = self.read_claims("test") if "test" in self.claim_splits else ()
        self.reported_split = "test" if any(map(self.has_gold, tested)) else "dev"
        if "train" not in self.claim_splits or self.reported_split not in self.claim_splits:
            raise LisaxError(
                f"{self.data.folder}: {self.asked} for train and dev are needed, found "
                f"{', '.join(self.claim_splits) or 'no split'}"
            )

    # --- Hooks for pipelines ------------------------------------------------------------------

    @property
    def claim_splits(self) -> Sequence[str]:
        return self.data.splits

    def has_gold(self, claim: Any) -> bool:
        """Whether a claim (or a question, in other pipelines) has the fields that training or evaluation needs."""
        return claim.label is not None

    def read_claims(self, split: str) -> Iterable[Claim]:
        return self.data.claims(split)

    @property
    def warm_up_pipeline(self) -> type[Pipeline]:
        """The pipeline that the recipe `warm_up` belongs to."""
        return type(self)

    # --- Files ------------------------------------------------------------------------------

    @property
    def world_folder(self) -> Path:
        return self.out / WARM_UP / "world"

    @property
    def vocabulary_file(self) -> Path:
        """Models on a pretrained encoder have its vocabulary."""
        return super().vocabulary_file if self.recipe.backbone is None else self.out / TOKENIZER_NAME

    def run_file(self, name: str, role: str) -> Path:
        return self.out / "runs" / f"{name}.{role}.trec"

    def predictions_file(self, variant: str) -> Path:
        return self.out / "predictions" / f"{variant}.jsonl"

    # --- Inputs of stages -------------------------------------------------------------------

    @kept
    def preset(self) -> Preset:
        return presets.get(self.recipe.preset)

    @property
    def claims(self) -> dict[str, dict[str, Claim]]:
        """Claims by role and id."""
        return {role: self.claims_of(role) for role in (TRAIN, VALIDATION, REPORT)}

    def claims_of(self, role: str) -> dict[str, Claim]:
        """Claims of a role by id."""
        return self.data_claims(role)

    def limited(self, role: str) -> list[Claim]:
        """The claims of a role that are used: of those for training, the first `train_claims` of the recipe."""
        return list(self.claims_of(role).values())[: self.recipe.train_claims if role == TRAIN else None]

    def data_claims(self, role: str) -> dict[str, Claim]:
        """The claims that the data has for a role, by id."""
        return self._reported if role == REPORT else self._learned[role]

    @kept
    def _reported(self) -> dict[str, Claim]:
        reported = {claim.id: claim for claim in self.read_claims(self.reported_split)}
        return self._with_gold(REPORT, dict(itertools.islice(reported.items(), self.recipe.report_claims)))

    @kept
    def _learned(self) -> dict[str, dict[str, Claim]]:
        """Claims for training and for choosing checkpoints, by role and id."""
        train = {claim.id: claim for claim in self.read_claims("train")}
        if self.reported_split == "test" and "dev" in self.claim_splits:
            held = {claim.id: claim for claim in self.read_claims("dev")}
        else:
            recipe = self.recipe
            chosen = splits.held_out(train.values(), recipe.validation_share, recipe.validation_by)
            held = {i: claim for i, claim in train.items() if i in chosen}
            train = {i: claim for i, claim in train.items() if i not in chosen}
        held = dict(itertools.islice(held.items(), self.recipe.validation_claims))
        return {TRAIN: self._with_gold(TRAIN, train), VALIDATION: self._with_gold(VALIDATION, held)}

    def _with_gold(self, role: str, claims: dict[str, Claim]) -> dict[str, Claim]:
        """Returns the claims; raises an error if none of them is labelled."""
        if not any(map(self.has_gold, claims.values())):
            raise LisaxError(f"{self.data.folder}: there are no labelled {self.asked} for '{role}'")
        return claims

    def labelled_claims(self, role: str) -> dict[str, Claim]:
        return {i: claim for i, claim in self.claims_of(role).items() if claim.label is not None}

    def ranked(self, name: str, role: str) -> dict[str, list[str]]:
        """The units of a run file by claim, best first."""
        return ranked_ids(read_run(self.run_file(name, role)))

    @property
    def target_length(self) -> int:
        """The length of targets in training: a pair scorer's is the class."""
        return self.recipe.target_tokens if self.recipe.backbone is None else 1

    # --- Stages -----------------------------------------------------------------------------

    def train_models(self) -> None:
        """Trains all models, running the stages that they need."""
        self.make(*(f"train.{model}" for model in self.recipe.train))

    def stages_before_training(self) -> list[Stage]:
        """The vocabulary and, where the recipe has a warm-up, a generated world and a run on it."""
        warms_up = self.recipe.warms_up
        after = [*self.indexed, *(["world"] if warms_up else [])]
        vocabulary = Stage(self.vocabulary_stage, after, [self.vocabulary_file], self.write_vocabulary)
        if not warms_up:
            return [vocabulary]
        pipeline = self.warm_up_pipeline
        folder = self.world_folder
        world_ = Stage("world", [], [folder / "world.json"], lambda: world.write(folder, **self.warm_up_world))
        models = [self.warm_up_model(model) for model in self._warm_up_recipe(pipeline).train]
        warm_up = Stage(WARM_UP, ["world", "vocabulary"], models, functools.partial(self._warm_up, pipeline))
        return [world_, vocabulary, warm_up]

    def write_vocabulary(self) -> None:
        """The pretrained encoder's vocabulary, if there is one."""
        if self.recipe.backbone is None:
            super().write_vocabulary()
        else:
            self.copy_vocabulary(SentenceEncoder.open(self.recipe.backbone).vocabulary.path)

    @fact
    def warm_up_world(self) -> dict[str, Any]:
        """The settings of the generated world, as `world.write` takes them."""
        settings = self.warm_up_pipeline.world_settings
        return {"pages": self.recipe.warm_up_pages, "seed": self.recipe.seed, **settings}

    @fact
    def warm_up_settings(self) -> dict[str, Any]:
        """All settings of the warm-up, those its recipe does not name too; the vocabulary has a stage of its own."""
        return dataclasses.asdict(self._warm_up_recipe(self.warm_up_pipeline)) | {"vocabulary": None}

    def _warm_up_recipe(self, pipeline: type[Pipeline]) -> PaperRecipe:
        recipe = pipeline.recipe_class.read([self.recipe.warm_up])
        return dataclasses.replace(recipe, vocabulary=str(self.vocabulary_file), seed=self.recipe.seed)

    def _warm_up(self, pipeline: type[Pipeline]) -> None:
        """Runs the whole pipeline on the generated world; the models of this run start from its models."""
        self.see("warm_up_settings")
        data = open_folder(self.world_folder)
        run = pipeline(data, self.out / WARM_UP, self._warm_up_recipe(pipeline))
        run.workers = self.workers
        run.train_models()

    def stage_of_examples(
        self, name: str, files: Iterable[str], work: Callable[[], None], *, after: Sequence[str]
    ) -> Stage:
        """The stage `examples.NAME`, which writes example files for training and validation."""
        outputs = [self.examples_file(file, role) for file in files for role in (TRAIN, VALIDATION)]
        return Stage(f"examples.{name}", after, outputs, work)


def is_of_warm_up(initial: str) -> bool:
    return initial.startswith(f"{WARM_UP}/")


def train_by_gin(
    model: GinOfModel,
    folder: Path,
    task: str,
    *,
    seed: int,
    lengths: Mapping[str, int] | None,
    initial: str | Path | None,
    data: Path,
    vocabulary: Vocabulary,
    preset: str,
    files: Mapping[str, bytes],
    bindings: Mapping[str, Any] | None,
) -> None:
    """Trains a model into `folder` on one of our tasks, whose examples are in `data`; logs how the training ended.

    `lengths` are TASK_FEATURE_LENGTHS (None: those of the gin file); `files` are copied into the run's bundles;
    `bindings` are further gin bindings."""
    from lisax.training.gin_files import bindings_of, run_gin

    gin_file, values = file_and_bindings(model)
    values = values | {
        "MODEL_DIR": folder.resolve(),
        "MIXTURE_OR_TASK_MODULE": "tasks",
        "MIXTURE_OR_TASK_NAME": task,
        "RANDOM_SEED": seed,
        "VOCAB_SIZE": -(-vocabulary.size // 128) * 128,
        **(bindings or {}),
    }
    if lengths is not None:
        values["TASK_FEATURE_LENGTHS"] = dict(lengths)
    if initial is not None:
        values["INITIAL_CHECKPOINT_PATH"] = initial
    locations = {
        "lisax_locations.data": data.resolve(),
        "lisax_format.preset": preset,
        "lisax_locations.vocabulary": Path(vocabulary.path).resolve(),
    }
    result = run_gin([gin_file], [*bindings_of(values), *bindings_of(locations)], files=files)
    say(f"  {folder.name}: {used_step(result)}")


def used_step(result: TrainResult) -> str:
    """The step that a trained model is used from, with its figures on the dev data."""
    metrics, step = result.metrics, f"step {result.step}"
    if result.best is not None and result.best != result.latest:
        metrics = read_metrics(result.best).get("metrics", {})
        step = f"step {result.best.name.removeprefix('checkpoint_')}, the best of {result.step}"
    return ", ".join([step, *(f"{name} {value:.4f}" for name, value in metrics.items())])


def tell(counts: Counter) -> None:
    for line in told(counts):
        say(f"  {line}")
