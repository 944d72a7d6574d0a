"""What the recipes of all papers have in common, and how they are read from gin files."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from lisax.formats.vocabulary import SentencePieceVocabulary
from lisax.records import LisaxError
from lisax.runtime.resumable import fingerprint

WARM_UP = "warm_up"


def gin_text(gin_file: str) -> str:
    """The text of a gin file with that of all files it includes or names, as a recipe names its models' files."""
    from lisax.runtime.gin_files import find

    text = find(gin_file).read_text(encoding="utf-8")
    named = re.findall(r"^[^#\n]*?['\"]([^'\"\n]+\.gin)['\"]", text, re.MULTILINE)
    return "\n".join([text, *map(gin_text, named)])


def _vocabulary_digest(path: str) -> str:
    return SentencePieceVocabulary(path).digest


def _model_files(path: str) -> list:
    return [path, fingerprint(Path(path))]


# Metadata of fields that hold paths: how to read what a path stands for.
CONTENT = "content"
GIN_FILE: Mapping[str, Callable[[str], Any]] = {CONTENT: gin_text}
VOCABULARY: Mapping[str, Callable[[str], Any]] = {CONTENT: _vocabulary_digest}
MODEL: Mapping[str, Callable[[str], Any]] = {CONTENT: _model_files}


@dataclasses.dataclass(frozen=True)
class BaseRecipe:
    """The settings of one paper's run. Defaults are the paper's.

    `train` maps a model to its gin file; models that it does not name are neither trained nor reported. `initial` maps
    a model to what it starts from: another model of the run, `warm_up/MODEL`, or a checkpoint's path.
    """

    train: dict[str, str] = dataclasses.field(default_factory=dict, metadata=GIN_FILE)
    initial: dict[str, str] = dataclasses.field(default_factory=dict)
    preset: str = "paper"
    # A SentencePiece model, or None: one of `vocabulary_size` pieces is trained on the corpus.
    vocabulary: str | None = dataclasses.field(default=None, metadata=VOCABULARY)
    vocabulary_size: int = 32_000
    # Of the training split, held out to choose checkpoints by where there is no other split for it.
    validation_share: float = 0.05
    seed: int = 0

    gin_module: ClassVar[str]  # gin knows the recipe as `gin_module.CLASS`
    model_names: ClassVar[Sequence[str]]  # that `train` and `initial` may name
    names_of_models: ClassVar[str] = "models are"
    fields_of_models: ClassVar[Sequence[str]] = ("train", "initial")

    def __post_init__(self):
        for field in self.fields_of_models:
            if unknown := sorted(name for name in getattr(self, field) if not self.is_model(name)):
                raise LisaxError(
                    f"{type(self).__name__}.{field} names {', '.join(unknown)}; {self.names_of_models} "
                    f"{', '.join(self.model_names)}"
                )
        if not 0 < self.validation_share < 1:
            raise LisaxError(
                f"{type(self).__name__}.validation_share must lie between 0 and 1, found {self.validation_share}"
            )

    @classmethod
    def is_model(cls, name: str) -> bool:
        return name in cls.model_names

    @classmethod
    def read(
        cls, gin_files: Sequence[str | os.PathLike], bindings: Sequence[str] = (), search_paths: Sequence[str] = ()
    ) -> Self:
        """The recipe of gin files, later ones winning, with `bindings` (`Recipe.seed = 1`) after them.

        Raises `LisaxError` where gin refuses them, and where the recipe names a gin file that does not exist."""
        from lisax.runtime.gin_files import parsed, register, searching

        register(cls.gin_module, cls.__name__, cls)
        with parsed(gin_files, bindings, search_paths) as gin:
            try:
                recipe = gin.get_configurable(f"{cls.gin_module}.{cls.__name__}")()
            except (ValueError, TypeError, RuntimeError) as error:
                raise LisaxError(f"gin: {str(error).strip()}") from error
        with searching(search_paths):
            recipe.check_gin_files()
        return recipe

    def check_gin_files(self) -> None:
        """Refuses a recipe whose gin files are not all there: the first of them is read after hours of other stages."""
        for field in dataclasses.fields(self):
            if field.metadata.get(CONTENT) is gin_text:
                for name, path in _named(field.name, getattr(self, field.name)):
                    try:
                        gin_text(path)
                    except LisaxError as error:
                        raise LisaxError(f"{type(self).__name__}.{name} is '{path}': {error}") from None

    def value(self, setting: str) -> Any:
        """What a setting is, for a digest: a field, a property, or an entry of a field that is a mapping (`train.rank`).

        Of a gin file, a vocabulary or a model it is the content and not the path. None for an entry that is not there.
        """
        name, _, entry = setting.partition(".")
        value = getattr(self, name)
        if entry:
            value = value.get(entry)
        read = _fields(type(self)).get(name, {}).get(CONTENT)
        if read is None or value is None:
            return value
        return {key: read(path) for key, path in value.items()} if isinstance(value, Mapping) else read(value)


@dataclasses.dataclass(frozen=True)
class WarmUpRecipe(BaseRecipe):
    """Adds a run on a generated world, whose models those of this run can start from."""

    # Its recipe, a gin file; it has this run's vocabulary and seed.
    warm_up: str | None = dataclasses.field(default=None, metadata=GIN_FILE)
    warm_up_pages: int = 12_000  # of the generated world

    @property
    def warms_up(self) -> bool:
        return bool(self.warm_up)


@dataclasses.dataclass(frozen=True)
class ClaimsRecipe(WarmUpRecipe):
    """Adds limits on what is learned from and reported."""

    validation_claims: int | None = None  # that choose checkpoints; None: all that there are
    report_claims: int | None = None  # of the reported split that are used; None: all


def _fields(recipe: type[BaseRecipe]) -> dict[str, Mapping[str, Any]]:
    return {field.name: field.metadata for field in dataclasses.fields(recipe)}


def _named(field: str, value: Any) -> Iterable[tuple[str, str]]:
    """(name in the recipe, path) of the paths that a field holds."""
    if isinstance(value, Mapping):
        return [(f"{field}['{key}']", path) for key, path in value.items()]
    return [] if value is None else [(field, value)]
