"""Five small pages of a generated encyclopedia, and a small model trained on the rest of it.

For first tries and for the examples in docstrings only, see `model/MODEL_CARD.md`.
"""

from __future__ import annotations

from pathlib import Path


def example_pages() -> Path:
    """The folder of the five pages, about people and places that do not exist.

    >>> from lisax import example_pages
    >>> sorted(path.stem for path in example_pages().iterdir())
    ['Besa_Siton', 'Lenas_Brugard', 'River_Irum', 'Torimoor', 'Vova_Brugard']
    """
    return Path(__file__).parent / "pages"


def example_model() -> Path:
    """The bundle of the demo's labeller: 0.3 million parameters, trained on the generated encyclopedia only.

    >>> from lisax import Verifier, example_model
    >>> Verifier.open(example_model()).verify("Torimoor has 39,000 residents.", ["Torimoor is home to 39,000 people."]).label
    <Label.SUPPORTS: 'SUPPORTS'>
    """
    return Path(__file__).parent / "model"
