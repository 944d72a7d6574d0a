"""Low-rank adapters (LoRA, Hu et al. 2021): next to a pretrained matrix W [in, out] are two thin ones, A [in, rank] and
B [rank, out], and a layer computes x W + alpha / rank * x A B. Only A and B are trained.

A model that is adapted has two trees of parameters. The kept tree is its backbone's, as pretrained. The trained tree
has `lora_a` and `lora_b` next to each adapted `kernel`, and all parameters outside the backbone, such as a pair
scorer's head. `joined` makes one tree of both, which every network takes (`attention.Dense`). Where layers are stacked
(`scan_layers`), so are their adapters: [in, layers, rank] and [rank, layers, out].
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from lisax.errors import LisaxError
from lisax.models.architectures import BACKBONE_PARTS
from lisax.models.axes import LORA_A, LORA_B
from lisax.models.fields import LORA, FieldError, check

if TYPE_CHECKING:  # an adapter is read without JAX
    from jax import Array

# The names of a layer's matrices, in T5 and in the BERT family.
MATRICES = "query|key|value|out|wi|wi_0|wi_1|wo"

RANK = 8  # of an adapter for which none is given

Tree = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Lora:
    """Which matrices get adapters, and of which rank.

    `rank` and `alpha` that are None are those of the adapter that is trained further, or 8 and twice the rank (`like`).
    `targets` is a regular expression for the end of a matrix's path without `kernel`: `query|value`, or
    `layers_[45]/mlp/wo`."""

    rank: int | None = None
    alpha: float | None = None
    targets: str = MATRICES

    def __post_init__(self):
        try:
            check({name: value for name, value in dataclasses.asdict(self).items() if value is not None}, LORA)
            re.compile(self.targets)
        except FieldError as error:
            raise LisaxError(f"Lora.{error}") from None
        except re.error as error:
            raise LisaxError(f"Lora.targets is not a regular expression ({error}): {self.targets}") from None

    def like(self, earlier: Lora | None) -> Lora:
        """This one with its rank and alpha: where not given, those of an `earlier` one with the same targets, or else 8
        and twice the rank."""
        given = earlier if earlier is not None and earlier.targets == self.targets else Lora(RANK, 2.0 * RANK)
        rank = self.rank or given.rank
        return Lora(rank, self.alpha or (given.alpha if rank == given.rank else 2.0 * rank), self.targets)

    @property
    def scale(self) -> float:
        known = self.like(None)
        return known.alpha / known.rank

    def split(self, parameters: Tree, seed: int = 0) -> tuple[Tree, Tree]:
        """(kept, trained): the backbone's parameters, and fresh adapters, whose products are 0, with all other
        parameters. Raises LisaxError if no matrix of the backbone is a target."""
        import jax

        kept = {name: tree for name, tree in parameters.items() if name in BACKBONE_PARTS}
        others = {name: tree for name, tree in parameters.items() if name not in BACKBONE_PARTS}
        adapters = self.like(None)._fresh(kept, (), jax.random.key(seed))
        if not adapters:
            raise LisaxError(f"Lora.targets matches no matrix of the backbone: {self.targets}")
        return kept, others | adapters

    def _fresh(self, tree: Tree, path: tuple[str, ...], key: Array) -> Tree:
        import jax
        import jax.numpy as jnp

        made = {}
        for i, (name, part) in enumerate(sorted(tree.items())):
            if isinstance(part, dict):
                inner = self._fresh(part, (*path, name), jax.random.fold_in(key, i))
                made |= {name: inner} if inner else {}
            elif name == "kernel" and re.search(rf"(^|/)({self.targets})$", "/".join(path)):
                inputs, *layers, outputs = part.shape
                draw = jax.random.normal(jax.random.fold_in(key, i), (inputs, *layers, self.rank), jnp.float32)
                made |= {LORA_A: draw * inputs**-0.5, LORA_B: jnp.zeros((self.rank, *layers, outputs), jnp.float32)}
        return made


def merged(parameters: Tree) -> Tree:
    """`joined` parameters as numpy arrays, with each adapter's product added to its kernel; also where layers are
    stacked."""
    tree = {name: merged(part) if isinstance(part, dict) else np.asarray(part) for name, part in parameters.items()}
    if LORA_A in tree:
        a, b = tree.pop(LORA_A), tree.pop(LORA_B)
        tree["kernel"] = tree["kernel"] + np.einsum("i...r,r...o->i...o", a, b)
    return tree


def joined(kept: Tree, trained: Tree, scale: float) -> Tree:
    """One tree, adapters next to their kernels."""
    whole = {**kept, **trained}
    for name in kept.keys() & trained.keys():
        whole[name] = joined(kept[name], trained[name], scale)
    if LORA_A in trained:
        whole[LORA_A] = trained[LORA_A] * scale
    return whole
