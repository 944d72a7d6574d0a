"""LisaX checks claims against text, tables and knowledge graphs with T5, in JAX."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# How etils.epath, and so Orbax, reaches a bucket: its other way, TensorFlow, takes seconds to import and knows no
# emulator; and gcsfs would ask of every bucket whether it is one of a new kind. Both look once, at their first use.
if importlib.util.find_spec("gcsfs"):
    os.environ.setdefault("EPATH_USE_TF", "false")
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")

if TYPE_CHECKING:
    from lisax.predict.fusion_model import FusionModel
    from lisax.predict.pointer_model import PointerModel
    from lisax.predict.text_model import TextModel


def load(path: str) -> TextModel | FusionModel | PointerModel:
    """The verifier exported to the folder `path` (see `lisax export`), which may come from anyone: a `LisaxError` names
    what is wrong with it. Weights that are no numbers are told with the first score.

    `load(path).verify("claim", evidence)` of a labeller or an evidence pointer, `load(path).rank(query, texts)` of a
    ranker or a pointer and `load(path).verify("claim", tables)` of table fusion are a line each.
    """
    # Imported here so that `import lisax` costs nothing until a model is wanted.
    from lisax.predict.opening import open_model
    from lisax.runtime.platforms import choose_platforms

    choose_platforms()
    return open_model(path)
