"""What the pipelines share: roles of claims, the vocabulary, a warm-up on a generated world, training one model."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax import world
from lisax.corpora import Dataset, open_folder
from lisax.formats import presets
from lisax.formats.vocabulary import REQUIRED_WORDS, Vocabulary, train_vocabulary
from lisax.papers.stages import Stages
from lisax.progress import say
from lisax.records import Claim, LisaxError, atomic_write
from lisax.runtime.resumable import fingerprint
from lisax.sampling import files
from lisax.sampling.examples import told

WARM_UP = "warm_up"
TRAIN, VALIDATION, REPORT = "train", "dev", "test"


class Pipeline(ABC):
    """One run in the folder `out`: the methods of a pipeline are stages that read and write files there.

    Roles of claims: `train` teaches, `dev` chooses checkpoints, `test` is reported. Data with all three
    splits is used as it is; where there is no labelled test, its dev is reported and a share of train,
    held out by a hash of the claim's id, takes the place of dev.

    A recipe has `train` (model to gin file), `initial` (model to what it starts from: another model of the run,
    `warm_up/MODEL`, or a checkpoint's path), `vocabulary`, `vocabulary_size`, `warm_up`, `warm_up_pages`, `seed`,
    `validation_claims`, `report_claims` and `validation_share`.
    """

    indexed: str  # the stage after which the corpus can be read
    read_recipe: Callable[[Sequence[str]], Any]
    asked = "claims"
    world_settings: Mapping[str, Any] = {}  # of its generated worlds, beside size and seed, as `world.write` takes them

    def __init__(self, data: Dataset, out: str | os.PathLike, recipe: Any, *, until: str | None = None):
        self.data, self.out, self.recipe = data, Path(out), recipe
        if until is not None and until not in self.stage_names:
            raise LisaxError(f"this recipe has no stage '{until}'; its stages are {', '.join(self.stage_names)}")
        if not recipe.warm_up and (named := sorted(filter(is_of_warm_up, recipe.initial.values()))):
            raise LisaxError(f"the recipe starts models from {', '.join(named)} and has no warm_up")
        self.stages = Stages(self.out, until)
        self.preset = presets.get(recipe.preset)
        self.reported_split = "test" if any(map(self.has_gold, self._claims_if_there("test"))) else "dev"
        if "train" not in self.claim_splits or self.reported_split not in self.claim_splits:
            raise LisaxError(
                f"{data.folder}: {self.asked} for train and dev are needed, found "
                f"{', '.join(self.claim_splits) or 'none'}"
            )

    # --- What a pipeline says -----------------------------------------------------------------

    @property
    @abstractmethod
    def stage_names(self) -> list[str]:
        """In the order in which they run."""

    @property
    def claim_splits(self) -> Sequence[str]:
        return self.data.splits

    def has_gold(self, claim: Any) -> bool:
        """Whether a claim (or what a pipeline is asked instead) has what it can be learned or judged by."""
        return claim.label is not None

    def read_claims(self, split: str) -> Iterable[Claim]:
        return self.data.claims(split)

    @abstractmethod
    def train_models(self) -> None:
        """All that has to be trained, and what training needs."""

    @abstractmethod
    def texts(self) -> Iterator[str]:
        """What a vocabulary is trained on."""

    @property
    def required_words(self) -> Sequence[str]:
        """Each of them is one piece of a vocabulary that is trained."""
        return REQUIRED_WORDS

    @property
    def warm_up_pipeline(self) -> type[Pipeline]:
        """Whose recipe `warm_up` is."""
        return type(self)

    def seed_of(self, model: str) -> int:
        return self.recipe.seed

    # --- Files ------------------------------------------------------------------------------

    @property
    def world_folder(self) -> Path:
        return self.out / WARM_UP / "world"

    @property
    def vocabulary_file(self) -> Path:
        return self.out / "spiece.model"

    def examples_file(self, name: str, role: str) -> Path:
        return self.out / "examples" / f"{name}.{role}.jsonl"

    def model_dir(self, model: str) -> Path:
        return self.out / "models" / model

    def predictions_file(self, variant: str) -> Path:
        return self.out / "predictions" / f"{variant}.jsonl"

    # --- What stages read -------------------------------------------------------------------

    @functools.cached_property
    def data_print(self) -> list:
        return fingerprint(self.data.folder, besides=self.out)

    @property
    def claims(self) -> dict[str, dict[str, Claim]]:
        """Claims by role and id."""
        return self.claims_of_data

    @functools.cached_property
    def claims_of_data(self) -> dict[str, dict[str, Claim]]:
        train = {claim.id: claim for claim in self.read_claims("train")}
        reported = {claim.id: claim for claim in self.read_claims(self.reported_split)}
        if self.reported_split == "test" and "dev" in self.claim_splits:
            held = {claim.id: claim for claim in self.read_claims("dev")}
        else:
            share = self.recipe.validation_share
            held = {i: claim for i, claim in train.items() if files.hashed_share(i) < share}
            train = {i: claim for i, claim in train.items() if i not in held}
        held = dict(itertools.islice(held.items(), self.recipe.validation_claims))
        reported = dict(itertools.islice(reported.items(), self.recipe.report_claims))
        for role, claims in ((TRAIN, train), (VALIDATION, held), (REPORT, reported)):
            if not any(map(self.has_gold, claims.values())):
                raise LisaxError(f"{self.data.folder}: there are no labelled {self.asked} for '{role}'")
        return {TRAIN: train, VALIDATION: held, REPORT: reported}

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.vocabulary_file)

    def _claims_if_there(self, split: str) -> Iterable[Claim]:
        return self.read_claims(split) if split in self.claim_splits else ()

    # --- Stages -----------------------------------------------------------------------------

    def write_world(self) -> None:
        """The generated world of the warm-up, where the recipe has one."""
        if self.recipe.warm_up:
            settings = {"pages": self.recipe.warm_up_pages, "seed": self.recipe.seed}
            settings |= self.warm_up_pipeline.world_settings
            self.stages.run(
                "world",
                lambda: world.write(self.world_folder, **settings),
                outputs=[self.world_folder / "world.json"],
                settings=settings,
            )

    def build_vocabulary(self) -> None:
        """The given vocabulary, or one trained on the corpus, the claims and the words of the formats."""
        recipe = self.recipe

        def work() -> None:
            make_vocabulary(recipe, self.vocabulary_file, self.texts(), self.required_words)

        given = Vocabulary(recipe.vocabulary).digest if recipe.vocabulary else recipe.vocabulary_size
        self.stages.run(
            "vocabulary",
            work,
            outputs=[self.vocabulary_file],
            after=[self.indexed, "world"] if recipe.warm_up else [self.indexed],
            settings={
                "vocabulary": given,
                "preset": self.preset.name,
                **({} if tuple(self.required_words) == REQUIRED_WORDS else {"words": self.required_words}),
            },
        )

    def warm_up(self) -> None:
        """A whole run on the generated world, whose models this run's start from."""
        if not self.recipe.warm_up:
            return
        pipeline = self.warm_up_pipeline
        recipe = dataclasses.replace(
            pipeline.read_recipe([self.recipe.warm_up]), vocabulary=str(self.vocabulary_file), seed=self.recipe.seed
        )
        folder = self.out / WARM_UP
        models = [folder / "models" / model for model in recipe.train]

        def work() -> None:
            pipeline(open_folder(self.world_folder), folder, recipe).train_models()

        self.stages.run(
            WARM_UP,
            work,
            outputs=models,
            after=["world", "vocabulary"],
            settings=dataclasses.asdict(recipe) | {"vocabulary": None, "gin": gin_text(self.recipe.warm_up)},
        )

    def warm_up_model(self, name: str) -> Path:
        """MODEL_DIR of `warm_up/MODEL`."""
        return self.out / WARM_UP / "models" / name.removeprefix(f"{WARM_UP}/")

    def train_model(
        self,
        model: str,
        task: str,
        after: Sequence[str],
        *,
        lengths: Mapping[str, int] | None,
        data: Path | None = None,
        bindings: Mapping[str, Any] | None = None,
    ) -> None:
        """Trains one model by its gin file, from what the recipe says it starts from.

        `lengths` are TASK_FEATURE_LENGTHS, or None for those of the gin file. `data` holds its `examples`; None for the
        run's folder. `bindings` are what else the recipe says in the place of the gin file."""
        recipe, folder = self.recipe, self.model_dir(model)
        gin_file = recipe.train[model]
        initial = recipe.initial.get(model)
        if initial in recipe.train:
            after = [*after, f"train.{initial}"]
            initial = self.model_dir(initial)
        elif initial and is_of_warm_up(initial):
            after = [*after, WARM_UP]
            initial = self.warm_up_model(initial)

        def work() -> None:
            train_by_gin(
                gin_file,
                folder,
                task,
                seed=self.seed_of(model),
                lengths=lengths,
                initial=initial,
                data=data or self.out,
                vocabulary=self.vocabulary,
                preset=self.preset.name,
                bindings=bindings,
            )

        self.stages.run(
            f"train.{model}",
            work,
            outputs=[folder],
            after=after,
            settings={
                "gin": gin_text(gin_file),
                "lengths": lengths,
                "task": task,
                "seed": self.seed_of(model),
                "initial": str(initial) if initial else None,
                **({"bindings": bindings} if bindings else {}),
            },
        )


def is_of_warm_up(initial: str) -> bool:
    return initial.startswith(f"{WARM_UP}/")


def make_vocabulary(
    recipe: Any, file: Path, texts: Iterator[str], required_words: Sequence[str] = REQUIRED_WORDS
) -> None:
    """The vocabulary that a recipe names, or one of its size trained on `texts`."""
    if recipe.vocabulary:
        Vocabulary(recipe.vocabulary)
        with atomic_write(file, "wb") as written:
            written.write(Path(recipe.vocabulary).read_bytes())
    else:
        train_vocabulary(texts, file, recipe.vocabulary_size, required_words)


def train_by_gin(
    gin_file: str,
    folder: Path,
    task: str,
    *,
    seed: int,
    lengths: Mapping[str, int] | None,
    initial: str | Path | None,
    data: Path,
    vocabulary: Vocabulary,
    preset: str,
    files: Mapping[str, bytes] | None = None,
    bindings: Mapping[str, Any] | None = None,
) -> None:
    """A training run into `folder` of one of our tasks, whose examples are in `data`; says how it ended.

    `lengths` are TASK_FEATURE_LENGTHS, None for those of the gin file; `files` go into the run's bundles,
    `bindings` are further ones."""
    from lisax.runtime.gin_files import bindings_of, run_gin

    values: dict[str, Any] = {
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
    result = run_gin([gin_file], [*bindings_of(values), *bindings_of(locations)], files=files or {})
    say(f"  {folder.name}: step {result.step}, " + ", ".join(f"{k} {v:.4f}" for k, v in result.metrics.items()))


def gin_text(gin_file: str) -> str:
    """The text of a gin file with that of all it includes or names (a recipe names its models' files and the recipe of
    its warm-up): what a stage depends on."""
    from lisax.runtime.gin_files import find

    text = find(gin_file).read_text(encoding="utf-8")
    named = re.findall(r"^[^#\n]*?['\"]([^'\"\n]+\.gin)['\"]", text, re.MULTILINE)
    return "\n".join([text, *map(gin_text, named)])


def tell(counts: Counter) -> None:
    for line in told(counts):
        say(f"  {line}")
