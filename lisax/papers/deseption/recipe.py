"""The settings of a DeSePtion run, configurable by gin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from lisax.errors import LisaxError
from lisax.papers.recipe import PagesRecipe

# Model -> task. The first and third train the encoder on single pairs; the pointers start from them.
TASKS = {
    "titles": "pointer_titles",
    "documents": "pointer_documents",
    "labels": "pointer_labels",
    "evidence": "pointer_sentences",
    "evidence_set": "pointer_sentences",
    "evidence_reinforced": "pointer_sentences",
}


@dataclasses.dataclass(frozen=True)
class PointerRecipe(PagesRecipe):
    """Defaults are the paper's; a recipe for small machines is `experiments/deseption/scratch.gin`.

    `train` maps a model to its gin file: `documents` and `evidence` are the two pointers; `evidence_set` lacks the
    joint loss, and `evidence_reinforced` besides is rewarded by the FEVER score (the paper's baseline); `titles` and
    `labels` are trained on single pairs. `warm_up` is a recipe of LisT5. With a `backbone`, the pointers start from it
    or from an adapter of it, and nothing is trained on single pairs."""

    gin_module: ClassVar[str] = "deseption"
    model_names: ClassVar[Sequence[str]] = tuple(TASKS)

    attacks: bool = True
    candidates: int = 30  # M: candidate pages
    documents: int = 5  # D: pages that are pointed to
    sentences: int = 50  # candidates of the evidence pointer, equally many per page
    title_tokens: int = 64  # a claim with a title
    sentence_tokens: int = 128  # a claim with a sentence
    target_tokens: int = 2  # a pair's answer: a word and EOS
    title_negatives: int = 4  # negative titles per gold title (the paper: 630,265 to 140,085)
    # Ranks of the sentences used to label NOT ENOUGH INFO claims. There are equally many pairs of each label, as in the
    # paper, unless each claim adds `weak_sentences` further pairs without information (as in LisT5; ours here).
    labelling_window: Sequence[int] = (1, 10)
    weak_sentences: int = 0
    # Defences, reported next to the joint model: the temporal step and, with 2 hops, pages that the first pages name.
    temporal: bool = True
    hops: int = 2

    def __post_init__(self):
        super().__post_init__()
        if missing := {"documents", "evidence"} - self.train.keys():
            raise LisaxError(f"PointerRecipe.train must name a gin file for '{min(missing)}'")
        if self.backbone is not None and (pairs := sorted({"titles", "labels"} & self.train.keys())):
            raise LisaxError(
                f"PointerRecipe.train names {', '.join(pairs)}, which is for T5: leave it out with a backbone"
            )
        self.check_choice("hops", 1, 2)
        if not 0 < self.documents <= self.candidates:
            raise LisaxError(f"PointerRecipe.documents is {self.documents}: from 1 to the {self.candidates} candidates")
