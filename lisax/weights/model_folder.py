"""`ModelFolder`: a model is found once and passed on."""

from __future__ import annotations

import dataclasses
import functools
import os
from pathlib import Path

from lisax.files.places import fetched, is_remote
from lisax.formats.catalogue import FORMATS
from lisax.formats.format import Format
from lisax.weights.checkpoints import resolve_checkpoint
from lisax.weights.interop.kinds import MODEL_JSON, Kind, kind_of
from lisax.weights.model_card import ModelCard
from lisax.weights.pretrained import is_named
from lisax.weights.public_models import Family
from lisax.weights.public_models import find as family_of


@dataclasses.dataclass(frozen=True)
class ModelFolder:
    """The folder of a checkpoint or a bundle. `name` is as given: a path, a name of `lisax models list`, or
    hf:OWNER/NAME@REVISION."""

    name: str
    folder: Path
    kind: Kind

    @classmethod
    def find(cls, model: str | os.PathLike | ModelFolder, mode: str = "specific") -> ModelFolder:
        """Finds a checkpoint of any layout, a bundle, or in a MODEL_DIR its best checkpoint, else its newest (with
        `mode="latest"` its newest); fetches a model given by name that is not here yet. Raises LisaxError if there is
        none."""
        if isinstance(model, ModelFolder):
            return model
        folder = resolve_checkpoint(model, mode)
        return cls(os.fspath(model), folder, kind_of(folder))

    def __str__(self) -> str:
        return self.name

    def __fspath__(self) -> str:
        return self.name

    def here(self) -> ModelFolder:
        """The model on this machine: of one in a bucket, a copy."""
        return dataclasses.replace(self, folder=fetched(self.folder)) if is_remote(self.folder) else self

    @property
    def has_card(self) -> bool:
        """Whether there is a `model.json`: models of others have none."""
        return (self.folder / MODEL_JSON).is_file()

    @functools.cached_property
    def card(self) -> ModelCard:
        """`model.json`. Raises LisaxError if it is missing."""
        return ModelCard.read(self.folder)

    @property
    def format(self) -> Format | None:
        """The format that the model was trained on; None if its card names none, or an unknown one."""
        return FORMATS.get(self.card.text.get("family"))

    @property
    def family(self) -> Family | None:
        """The family of a published model of the Hub that LisaX lists."""
        return family_of(self.name)

    @property
    def address(self) -> str:
        """`name` in a form that can be opened from any folder."""
        if is_remote(self.name) or (is_named(self.name) and not os.path.exists(self.name)):
            return self.name
        return os.path.abspath(self.name)
