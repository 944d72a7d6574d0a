"""The base of all recipes, and how recipes are read from gin files."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from lisax.errors import LisaxError
from lisax.files.places import is_remote
from lisax.files.resumable import fingerprint
from lisax.formats.presets import PRESETS
from lisax.formats.vocabulary import PUNCTUATION, SentencePieceVocabulary
from lisax.papers.settings import CONTENT
from lisax.sampling.splits import BY
from lisax.weights.pretrained import is_named

WARM_UP = "warm_up"
# Settings of the recipes by the least and the greatest value. A setting may be None, and a list of such values.
COUNTS = """
train_claims validation_claims report_claims train_questions validation_questions report_questions
attacked_claims checked_claims claim_passages report_records target_units warm_up_pages documents candidates
train_candidates retrieved mined reranked sentences columns pool scored answer_cells gold_tables own_questions
retriever_negatives negative_rounds max_tokens pointwise_max_tokens list_max_tokens claim_max_tokens target_tokens
question_tokens title_tokens sentence_tokens table_tokens text_tokens passage_tokens answer_tokens places beam_size
max_pairs target_pairs plain_word_count long_cell_words
"""
NOT_NEGATIVE = """
seed label_seed fusion_seed k1 k1_grid contrasts written weak_sentences infused_lists leading negative_tables
negative_columns negative_parts hard_parts title_negatives negatives swapped_copies
"""
SHARES = "b b_grid aggregation_threshold wrong_tables threshold target_threshold"
BOUNDS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(COUNTS.split(), (1, math.inf)),
    **dict.fromkeys(NOT_NEGATIVE.split(), (0, math.inf)),
    **dict.fromkeys(SHARES.split(), (0, 1)),
    "vocabulary_size": (3 + len(PUNCTUATION), math.inf),  # padding, the end, unknown pieces, and these
}

# Settings that name models which are not trained here.
GIVEN = ("backbone", "retriever", "zero_shot", "teacher", "labeller", "verbalizer", "models")
# Settings of a training that the run gives.
OF_THE_RUN = {
    "MODEL_DIR": "given",
    "MIXTURE_OR_TASK_MODULE": "tasks",
    "MIXTURE_OR_TASK_NAME": "given",
    "TASK_FEATURE_LENGTHS": {"inputs": 512, "targets": 2},
    "VOCAB_SIZE": 512,
    "INITIAL_CHECKPOINT_PATH": "given",
    "PASSAGES": 1,
}


def gin_text(gin_file: str) -> str:
    """The text of a gin file, with that of all files that it includes, or that it names as its models' files."""
    from lisax.training.gin_files import find

    text = find(gin_file).read_text(encoding="utf-8")
    named = re.findall(r"^[^#\n]*?['\"]([^'\"\n]+\.gin)['\"]", text, re.MULTILINE)
    return "\n".join([text, *map(gin_text, named)])


# A model's gin file, or that with further bindings: ('models/x.gin', {'TRAIN_STEPS': 400}).
GinOfModel = str | tuple[str, dict[str, Any]]


def file_and_bindings(model: GinOfModel) -> tuple[str, dict[str, Any]]:
    return (model, {}) if isinstance(model, str) else model


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, (tuple, list))
        and [*map(type, value)] == [str, dict]
        and all(isinstance(name, str) for name in value[1])
    )


def _gin_content(model: GinOfModel) -> Any:
    gin_file, bindings = file_and_bindings(model)
    return [gin_text(gin_file), bindings] if bindings else gin_text(gin_file)


def _vocabulary_digest(path: str) -> str:
    return SentencePieceVocabulary(path).digest


def _model_files(path: str) -> list:
    return [path, fingerprint(Path(path))]


GIN_FILE: Mapping[str, Callable[[str], Any]] = {CONTENT: _gin_content}
VOCABULARY: Mapping[str, Callable[[str], Any]] = {CONTENT: _vocabulary_digest}
MODEL: Mapping[str, Callable[[str], Any]] = {CONTENT: _model_files}


@dataclasses.dataclass(frozen=True)
class BaseRecipe:
    """The settings of one paper's run. Defaults are the paper's.

    `train` maps a model to its gin file, or to a pair of that and further bindings; models that it does not name are
    neither trained nor reported. `initial` maps a model to its starting point: another model of the run,
    `warm_up/MODEL`, or a checkpoint's path."""

    train: dict[str, GinOfModel] = dataclasses.field(default_factory=dict, metadata=GIN_FILE)
    initial: dict[str, str] = dataclasses.field(default_factory=dict)
    preset: str = "paper"
    # A SentencePiece model; None: train one of `vocabulary_size` pieces on the corpus.
    vocabulary: str | None = dataclasses.field(default=None, metadata=VOCABULARY)
    vocabulary_size: int = 32_000
    # Share of the training split held out for choosing checkpoints and for temperatures, if there is no validation
    # split: by 'source', a page or table with all claims on it (`sampling.splits`), or by 'id', whatever it is of.
    validation_share: float = 0.05
    validation_by: str = "source"
    seed: int = 0

    gin_module: ClassVar[str]  # gin knows the recipe as `gin_module.CLASS`
    model_names: ClassVar[Sequence[str]]  # allowed in `train` and `initial`
    names_of_models: ClassVar[str] = "models are"
    fields_of_models: ClassVar[Sequence[str]] = ("train", "initial")

    def __post_init__(self):
        for field in self.fields_of_models:
            if unknown := sorted(name for name in getattr(self, field) if not self.is_model(name)):
                raise LisaxError(
                    f"{type(self).__name__}.{field} names {', '.join(unknown)}; {self.names_of_models} "
                    f"{', '.join(self.model_names)}"
                )
            for name, value in getattr(self, field).items():
                if not isinstance(value, str) and not (field == "train" and _is_pair(value)):
                    wanted = "a gin file, or a pair of it and values: ('FILE.gin', {'TRAIN_STEPS': 400})"
                    raise LisaxError(
                        f"{type(self).__name__}.{field}['{name}'] must be {wanted if field == 'train' else 'a text'}, "
                        f"found {value!r}"
                    )
        self._check_bounds()
        self.check_choice("preset", *PRESETS)
        self.check_choice("validation_by", *BY)
        if not 0 < self.validation_share < 1:
            raise LisaxError(
                f"{type(self).__name__}.validation_share must lie between 0 and 1, found {self.validation_share}"
            )

    def check_choice(self, field: str, *choices: Any) -> None:
        """Raises an error for a setting that is none of the choices."""
        if (value := getattr(self, field)) not in choices:
            wanted = " or ".join(map(repr, choices))
            raise LisaxError(f"{type(self).__name__}.{field} must be {wanted}, found {value!r}")

    def _check_bounds(self) -> None:
        """Raises an error for a number that is out of its bounds, or for a window of ranks that has none."""
        for field in dataclasses.fields(self):
            name, value = f"{type(self).__name__}.{field.name}", getattr(self, field.name)
            if field.name.endswith("_window") and not (len(value) == 2 and 1 <= value[0] <= value[1]):
                raise LisaxError(f"{name} must be two ranks, the first and the last, from 1 on, found {value}")
            if field.name in BOUNDS and value is not None:
                least, most = BOUNDS[field.name]
                if not all(least <= one <= most for one in (value if isinstance(value, (list, tuple)) else [value])):
                    wanted = f"be at least {least}" if most == math.inf else f"lie between {least} and {most}"
                    raise LisaxError(f"{name} must {wanted}, found {value}")

    @classmethod
    def is_model(cls, name: str) -> bool:
        return name in cls.model_names

    @classmethod
    def read(
        cls, gin_files: Sequence[str | os.PathLike], bindings: Sequence[str] = (), search_paths: Sequence[str] = ()
    ) -> Self:
        """Reads a recipe from gin files; later ones override earlier ones, and `bindings` (`Recipe.seed = 1`) override
        all.

        Raises `LisaxError` for invalid gin, and for a recipe that names a gin file that does not exist."""
        from lisax.training.gin_files import called_message, parsed, register, searching, unused

        register(cls.gin_module, cls.__name__, cls)
        with parsed(gin_files, bindings, search_paths, verb=cls.__name__) as gin:
            try:
                recipe = gin.get_configurable(f"{cls.gin_module}.{cls.__name__}")()
            except (LisaxError, ValueError, TypeError, RuntimeError) as error:
                raise LisaxError(called_message(error)) from error
            for name in unused(gin, bindings):
                name = name.removeprefix("%")
                raise LisaxError(
                    f"gin: {name} is set and {cls.__name__} does not read it. {cls.__name__}.train takes the settings of "
                    f"a model's training, in a pair with its gin file: ('FILE.gin', {{'{name}': …}})"
                )
        with searching(search_paths):
            recipe.check_gin_files()
        return recipe

    def check_inputs(self) -> None:
        """Raises an error for a model or a vocabulary that is missing, and for wrong settings of a model's training,
        which would else show after hours of other stages."""
        recipe = type(self).__name__
        for name, model in self._given_models():
            if not (is_named(model) or is_remote(model) or os.path.isdir(model) or model == "bm25"):
                raise LisaxError(
                    f"{recipe}.{name} is '{model}', which is neither a checkpoint or bundle nor a name of `lisax models list`"
                    + (f"; {recipe}.train does not name it" if name.startswith("initial") else "")
                )
        try:
            if self.vocabulary is not None:
                SentencePieceVocabulary(self.vocabulary)
        except LisaxError as error:
            raise LisaxError(f"{recipe}.vocabulary: {error}") from None
        for name, model in self.train.items():
            try:
                _check_training(model)
            except LisaxError as error:
                raise LisaxError(f"{recipe}.train['{name}']: {error}") from None

    def _given_models(self) -> Iterator[tuple[str, str]]:
        """(name in the recipe, model) of the models that are not trained here."""
        for field in [field.name for field in dataclasses.fields(self) if field.name in GIVEN]:
            value = getattr(self, field)
            if field == "zero_shot" and value:
                yield from ((field, ranker) for ranker in value.split(","))
            else:
                yield from _named(field, value)
        for name, start in self.initial.items():
            if name in self.train and start not in self.train and not start.startswith(f"{WARM_UP}/"):
                yield f"initial['{name}']", start

    def check_gin_files(self) -> None:
        """Raises an error if a gin file of the recipe is missing, which would else show after hours of other stages."""
        for field in dataclasses.fields(self):
            if field.metadata.get(CONTENT) is _gin_content:
                for name, model in _named(field.name, getattr(self, field.name)):
                    path, _ = file_and_bindings(model)
                    try:
                        gin_text(path)
                    except LisaxError as error:
                        raise LisaxError(f"{type(self).__name__}.{name} is '{path}': {error}") from None


@dataclasses.dataclass(frozen=True)
class PaperRecipe(BaseRecipe):
    """Adds a run on a generated world, whose models this run's can start from; or a pretrained encoder (a name that
    `lisax models list` shows, hf:OWNER/NAME@REVISION, a folder) on which every model is built, in the place of T5.
    Models that answer in words as T5 are pair scorers then."""

    # The recipe of the warm-up, a gin file; it gets this run's vocabulary and seed.
    warm_up: str | None = dataclasses.field(default=None, metadata=GIN_FILE)
    warm_up_pages: int = 12_000  # pages of the generated world
    backbone: str | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.backbone is not None and (self.vocabulary is not None or self.warm_up is not None):
            raise LisaxError(
                f"{type(self).__name__}.backbone brings its own vocabulary and needs no warm-up: leave both out"
            )

    @property
    def warms_up(self) -> bool:
        return bool(self.warm_up)


@dataclasses.dataclass(frozen=True)
class ClaimsRecipe(PaperRecipe):
    """Adds limits on the claims that are trained on and reported."""

    validation_claims: int | None = None  # claims for choosing checkpoints; None: all
    report_claims: int | None = None  # claims of the reported split that are used; None: all


@dataclasses.dataclass(frozen=True)
class PagesRecipe(ClaimsRecipe):
    """Adds BM25 over pages, and attacks by rule: all kinds of `lisax attack make` but lexical substitution."""

    train_claims: int | None = None  # training claims used; None: all
    k1: float = 0.6
    b: float = 0.5
    # The address of an index of a cluster (http://HOST:9200/NAME, of OpenSearch opensearch+http://…) that the pages
    # are put in, as `lisax index cluster --replace` does, and are read from; None: an index in the run's folder.
    cluster: str | None = None
    attacks: bool = False  # also verify attacked claims of the reported split
    attacked_claims: int | None = None  # limit on the attacked claims verified per kind; None: all
    # Share of attacked claims in the training data; 0 trains only on clean claims.
    attacked_share: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.attacked_share < 1:
            raise LisaxError(f"attacked_share must be at least 0 and below 1, found {self.attacked_share}")

    @property
    def attacked_roles(self) -> tuple[str, ...]:
        """Roles of the claims that are attacked."""
        return (*(["train"] if self.attacked_share else []), *(["test"] if self.attacks else []))


def _check_training(model: GinOfModel) -> None:
    """Raises an error if a model's gin file and values are not those of a training."""
    from lisax.training.gin_files import bindings_of, configured

    gin_file, values = file_and_bindings(model)
    with configured("train", [gin_file], bindings_of({**OF_THE_RUN, **values})) as config:
        steps = config.relative_steps if config.total_steps is None else config.total_steps
        if steps is not None and steps < 1:
            raise LisaxError(f"TRAIN_STEPS must be at least 1, found {steps}")


def _named(field: str, value: Any) -> Iterable[tuple[str, GinOfModel]]:
    """(name in the recipe, gin file or model) of those in a field."""
    if isinstance(value, Mapping):
        return [(f"{field}['{key}']", model) for key, model in value.items()]
    return [] if value is None else [(field, value)]
