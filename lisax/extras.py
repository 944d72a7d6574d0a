"""Packages that only some verbs need, and the extra of LisaX that installs them."""

from __future__ import annotations

from lisax.errors import LisaxError

# Module that is imported -> extra in pyproject.toml. Modules with a sentence of their own at their import (clients of
# clusters, buckets, the TPU compiler) are not here.
EXTRAS = dict.fromkeys(
    (
        "clu",
        "gin",
        "optax",
        "orbax",
        "seqio",
        "sklearn",
        "tensorboard",
        "tensorflow",
        "tensorflow_datasets",
        "tensorstore",
    ),
    "train",
) | {"mcp": "mcp", "ray": "ray", "redis": "redis"}


def not_installed(error: ImportError) -> LisaxError | None:
    """The sentence that names the extra of a missing package; None for other errors."""
    module = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or module not in EXTRAS:
        return None
    return LisaxError(f"this needs {module}, which is not installed: pip install 'lisax[{EXTRAS[module]}]'")
