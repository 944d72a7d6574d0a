"""LisaX checks claims against text, tables and knowledge graphs with T5, in JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lisax.pipelines.text_model import TextModel


def load(path: str) -> TextModel:
    """The verifier exported to the folder `path` (see `lisax export`).

    `load(path).verify("claim", evidence)` of a labeller and `load(path).rank(query, texts)` of a ranker are a line each.
    """
    # Imported here so that `import lisax` costs nothing until a model is wanted.
    from lisax.pipelines.text_model import TextModel

    return TextModel.open(path)
