"""What a run of DeSePtion consists of; itself set by gin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from lisax.papers.attack_recipe import AttackRecipe
from lisax.records import LisaxError

# Model -> task. The first and third teach the encoder single pairs, before the pointers that start from it.
TASKS = {
    "titles": "pointer_titles",
    "documents": "pointer_documents",
    "labels": "pointer_labels",
    "evidence": "pointer_sentences",
    "evidence_set": "pointer_sentences",
}


@dataclasses.dataclass(frozen=True)
class PointerRecipe(AttackRecipe):
    """The defaults are the paper's; a recipe for small machines is `experiments/deseption/scratch.gin`.

    `train` maps a model to its gin file: `documents` and `evidence`, the two pointers; `evidence_set`, without the
    joint loss; and `titles` and `labels`, single pairs. `warm_up` is a recipe of LisT5.
    """

    gin_module: ClassVar[str] = "deseption"
    model_names: ClassVar[Sequence[str]] = tuple(TASKS)

    attacks: bool = True
    candidates: int = 30  # M pages
    documents: int = 5  # D, pages that are pointed to
    sentences: int = 50  # candidates of the evidence pointer; of each page as many as of the others
    title_tokens: int = 64  # of a claim with a title
    sentence_tokens: int = 128  # of a claim with a sentence
    target_tokens: int = 2  # of a pair's answer: a word and EOS
    title_negatives: int = 4  # titles of other candidates beside each gold one (the paper: 630,265 beside 140,085)
    # Ranks of the sentences that claims without enough information are labelled with. Pairs are as many of each label,
    # as in the paper, unless each claim adds `weak_sentences` more of no information (as LisT5's; ours).
    labelling_window: Sequence[int] = (1, 10)
    weak_sentences: int = 0
    # Defences, reported beside the joint model: the temporal step, and with 2 hops pages that the first ones name.
    temporal: bool = True
    hops: int = 2
    k1: float = 0.6
    b: float = 0.5
    train_claims: int | None = None  # claims of train that models learn from; None: all

    def __post_init__(self):
        super().__post_init__()
        if missing := {"documents", "evidence"} - self.train.keys():
            raise LisaxError(f"PointerRecipe.train must name a gin file for '{min(missing)}'")
        if self.hops not in (1, 2):
            raise LisaxError(f"PointerRecipe.hops must be 1 or 2, found {self.hops}")
        if not 0 < self.documents <= self.candidates:
            raise LisaxError(f"PointerRecipe.documents is {self.documents}: from 1 to the {self.candidates} candidates")
        if self.sentences < 1:
            raise LisaxError(f"PointerRecipe.sentences must be at least 1, found {self.sentences}")
