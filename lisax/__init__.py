"""LisaX checks claims against text, tables and knowledge graphs with T5, in JAX."""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# How etils.epath, and so Orbax, reaches a bucket: its other way, TensorFlow, takes seconds to import and knows no
# emulator; and gcsfs would ask of every bucket whether it is one of a new kind. Both look once, at their first use.
if importlib.util.find_spec("gcsfs"):
    os.environ.setdefault("EPATH_USE_TF", "false")
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")

__all__ = [
    "Answer",
    "Answerer",
    "Checker",
    "Claim",
    "DataError",
    "Document",
    "Evidence",
    "Graph",
    "Index",
    "Label",
    "LisaxError",
    "Ranker",
    "Sentence",
    "Table",
    "Verbalizer",
    "Verdict",
    "Verifier",
    "__version__",
    "example_model",
    "example_pages",
    "load",
]
# Where the names are. A module is imported when one of its names is first asked for: `import lisax` costs nothing.
_MODULES = {
    "errors": ("DataError", "LisaxError"),
    "examples": ("example_model", "example_pages"),
    "predict.answerer": ("Answerer",),
    "predict.checker": ("Checker",),
    "predict.index": ("Index",),
    "predict.ranker": ("Ranker",),
    "predict.reader": ("Answer",),
    "predict.verbalizer": ("Verbalizer",),
    "predict.verdicts": ("Evidence", "Verdict"),
    "predict.verifier": ("Verifier",),
    "records": ("Claim", "Document", "Graph", "Label", "Sentence", "Table"),
}

if TYPE_CHECKING:
    from lisax.errors import DataError, LisaxError
    from lisax.examples import example_model, example_pages
    from lisax.predict.answerer import Answerer
    from lisax.predict.checker import Checker
    from lisax.predict.fusion_model import FusionModel
    from lisax.predict.index import Index
    from lisax.predict.pointer_model import PointerModel
    from lisax.predict.ranker import Ranker
    from lisax.predict.reader import Answer
    from lisax.predict.text_model import TextModel
    from lisax.predict.verbalizer import Verbalizer
    from lisax.predict.verdicts import Evidence, Verdict
    from lisax.predict.verifier import Verifier
    from lisax.records import Claim, Document, Graph, Label, Sentence, Table


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module 'lisax' has no attribute '{name}'")
    if module.startswith("predict."):
        from lisax.runtime.platforms import choose_platforms

        choose_platforms()
    value = globals()[name] = getattr(importlib.import_module(f"lisax.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load(path: str) -> TextModel | FusionModel | PointerModel:
    """The verifier exported to the folder `path` (see `lisax export`), which may come from anyone: a `LisaxError` names
    what is wrong with it. Weights that are no numbers are told with the first score.

    `load(path).verify("claim", evidence)` of a labeller or an evidence pointer, `load(path).rank(query, texts)` of a
    ranker or a pointer and `load(path).verify("claim", tables)` of table fusion are a line each.

    >>> import lisax
    >>> verifier = lisax.load(lisax.example_model())
    >>> shares = verifier.verify("Torimoor has 12,000 residents.", ["Torimoor is home to 39,000 people."])
    >>> max(shares, key=shares.get).value
    'REFUTES'
    """
    # Imported here so that `import lisax` costs nothing until a model is wanted.
    from lisax.predict.opening import open_model
    from lisax.runtime.platforms import choose_platforms

    choose_platforms()
    return open_model(path)
