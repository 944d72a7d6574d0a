"""LisaX checks claims against text, tables and knowledge graphs with T5, in JAX."""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Settings that other libraries read once, when they are loaded. onnxruntime, huggingface_hub and Ray would report their use
# to their makers, numba would take compiled code from a folder that a `.numba_config.yaml` of the current one names,
# and Keras, which TensorFlow loads, would write its settings into the user's home.
for _name, _value in {
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "NUMBA_CACHE_DIR": "",
    "NUMBA_CACHE_LOCATOR_CLASSES": "",
    "KERAS_HOME": os.devnull,
}.items():
    os.environ.setdefault(_name, _value)

# gcsfs is how etils.epath, and so Orbax, should reach a bucket: TensorFlow, the alternative, takes seconds to import
# and supports no emulator. And gcsfs would query for every bucket whether it is of a new kind. Both read these settings
# once, on first use.
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
# The modules of the public names, imported on first access: `import lisax` costs nothing.
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
    from lisax.predict.index import Index
    from lisax.predict.ranker import Ranker
    from lisax.predict.reader import Answer
    from lisax.predict.verbalizer import Verbalizer
    from lisax.predict.verdicts import Evidence, Verdict
    from lisax.predict.verifier import Verifier
    from lisax.records import Claim, Document, Graph, Label, Sentence, Table


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module 'lisax' has no attribute '{name}'")
    if module.startswith("predict."):
        from lisax.devices.platforms import choose_platforms

        choose_platforms()
    value = globals()[name] = getattr(importlib.import_module(f"lisax.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load(model: str, index: str | None = None) -> Ranker | Verifier | Answerer | Verbalizer:
    """Opens a model by its card: as a Ranker, a Verifier, a Verbalizer, or with the folder of an `index` an
    Answerer.

    `model` is a checkpoint or a bundle, or a name that `lisax models list` shows. It may come from an untrusted source:
    a `LisaxError` names the fault. Weights that are not numbers are reported with the first score.

    >>> import lisax
    >>> verdict = lisax.load(lisax.example_model()).verify(
    ...     "Torimoor has 12,000 residents.", ["Torimoor is home to 39,000 people."]
    ... )
    >>> verdict.label.value
    'REFUTES'
    """
    # Imported here so that `import lisax` costs nothing until a model is needed.
    from lisax.devices.platforms import choose_platforms
    from lisax.predict.loading import load

    choose_platforms()
    return load(model, index)
