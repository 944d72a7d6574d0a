"""What a run of DeSePtion consists of; itself set by gin."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

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
    joint loss; and `titles` and `labels`, single pairs. What it does not name is neither trained nor reported.
    `initial` and `warm_up` (a recipe of LisT5) are those of `Recipe` in recipe.py.
    """

    attacks: bool = True
    train: dict[str, str] = dataclasses.field(default_factory=dict)
    initial: dict[str, str] = dataclasses.field(default_factory=dict)
    preset: str = "paper"
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
    vocabulary: str | None = None
    vocabulary_size: int = 32_000
    train_claims: int | None = None
    validation_claims: int | None = None
    report_claims: int | None = None
    validation_share: float = 0.05
    warm_up: str | None = None
    warm_up_pages: int = 12_000
    seed: int = 0

    def __post_init__(self):
        self.check_attacks()
        for field in ("train", "initial"):
            if unknown := set(getattr(self, field)) - TASKS.keys():
                raise LisaxError(
                    f"PointerRecipe.{field} names {', '.join(sorted(unknown))}; models are {', '.join(TASKS)}"
                )
        if missing := {"documents", "evidence"} - self.train.keys():
            raise LisaxError(f"PointerRecipe.train must name a gin file for '{min(missing)}'")
        if self.hops not in (1, 2):
            raise LisaxError(f"PointerRecipe.hops must be 1 or 2, found {self.hops}")
        if not 0 < self.documents <= self.candidates:
            raise LisaxError(f"PointerRecipe.documents is {self.documents}: from 1 to the {self.candidates} candidates")
        if self.sentences < 1:
            raise LisaxError(f"PointerRecipe.sentences must be at least 1, found {self.sentences}")
        if not 0 < self.validation_share < 1:
            raise LisaxError(f"PointerRecipe.validation_share must lie between 0 and 1, found {self.validation_share}")


def read_recipe(
    gin_files: Sequence[str | os.PathLike], bindings: Sequence[str] = (), search_paths: Sequence[str] = ()
) -> PointerRecipe:
    """The recipe of gin files: `PointerRecipe.candidates = 20`."""
    from lisax.papers.list5.recipe import configured_recipe

    return configured_recipe("deseption", PointerRecipe, gin_files, bindings, search_paths)
