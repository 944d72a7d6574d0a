"""LisaX checks claims against text, tables and knowledge graphs with T5, in JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lisax.runtime.bundle import Bundle


def load(path: str) -> Bundle:
    """The verifier exported to the folder `path` (see `lisax export`).

    `load(path).verify("claim", evidence)` and `load(path).rank(query, texts)` are a line each.
    """
    # Imported here so that `import lisax` costs nothing until a model is wanted.
    from lisax.runtime.bundle import load as load_bundle

    return load_bundle(path)
