"""A checkpoint or bundle as the scorer that its format asks for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.formats.families import Family
from lisax.formats.reading import Reads
from lisax.places import fetched, is_remote
from lisax.records import DataError, LisaxError
from lisax.runtime.checkpoints import read_card, resolve_checkpoint

if TYPE_CHECKING:
    from lisax.predict.fusion_model import FusionModel
    from lisax.predict.pointer_model import PointerModel
    from lisax.predict.text_model import TextModel


def family_of(path: str | os.PathLike) -> str | None:
    """What a model was trained for, a value of `Family` or `Reads`; None where its `model.json` does not say it."""
    text = read_card(_folder(path)).get("text")
    family = text.get("family") if isinstance(text, dict) else None
    return family if isinstance(family, str) else None


def _folder(path: str | os.PathLike) -> Path:
    if is_remote(path):
        return fetched(resolve_checkpoint(path))
    if not os.path.isdir(path):
        raise DataError("no such checkpoint or bundle", path=path)
    return resolve_checkpoint(path)


def open_model(path: str | os.PathLike) -> TextModel | FusionModel | PointerModel:
    """From a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest)."""
    folder, family = _folder(path), family_of(path)
    if family in (Family.POINT_DOCUMENTS, Family.POINT_SENTENCES):
        from lisax.predict.pointer_model import PointerModel

        return PointerModel(folder)
    if family in tuple(Reads):
        raise LisaxError(
            f"{folder} is a model of the family '{family}', which checks no claims: `lisax index vectors` "
            "and `lisax answer` use it, and in Python `lisax.predict.retriever` and `reader`"
        )
    if family == Family.TABLE_FUSION:
        from lisax.predict.fusion_model import FusionModel

        return FusionModel(folder)
    from lisax.predict.text_model import TextModel

    return TextModel.open(folder)
