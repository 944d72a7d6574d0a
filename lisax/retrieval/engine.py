"""bm25s, imported without the accelerator it reaches for.

bm25s runs a JAX operation when it is imported, if JAX is there; on a TPU or GPU machine that takes the
device, and anywhere it costs a second. Nothing here selects with JAX, so JAX is hidden for that moment.
"""

from __future__ import annotations

import sys
from types import ModuleType


def import_bm25s() -> ModuleType:
    if "bm25s" not in sys.modules:
        hidden = {name: sys.modules.get(name) for name in ("jax", "jax.lax")}
        sys.modules.update(dict.fromkeys(hidden))
        try:
            import bm25s.scoring
        finally:
            for name, module in hidden.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module
    import bm25s

    return bm25s
