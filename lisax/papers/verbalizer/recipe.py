"""What the verbalizer's iterative training consists of (UDT-QA, section 3.2); itself set by gin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from lisax.papers.recipe import BaseRecipe
from lisax.records import LisaxError
from lisax.sampling.verbal_examples import STEMS, T_F, T_F_ID_T


@dataclasses.dataclass(frozen=True)
class VerbalizerRecipe(BaseRecipe):
    """The defaults are the paper's where it says; `experiments/udt_qa/verbalizer_scratch.gin` is for small machines.

    `train` maps a set of examples (`verbalize_t`, `verbalize_t_f`, `verbalize_t_f_id_t`) to the gin file of the model
    that learns it; T may be left out. `initial` maps one to what it starts from: another of them, or a checkpoint's path.
    """

    gin_module: ClassVar[str] = "udt_qa"
    model_names: ClassVar[Sequence[str]] = STEMS
    names_of_models: ClassVar[str] = "sets of examples are"

    max_tokens: int = 384  # of an input, with EOS
    target_tokens: int = 384
    # The paper does not say its thresholds. At 0.45 WebNLG keeps 87 % of its pairs, as DART did there (88 %).
    threshold: float = 0.45  # ROUGE-1 that a pair of T needs to be in T-F
    target_threshold: float = 0.6  # ROUGE-1 that an output on the target data needs to be in ID-T
    faithful_only: bool = True  # ours: outputs that needed the rule are not in ID-T
    target_units: int | None = None  # rows and sub-graphs of the target data that are verbalized for ID-T; None: all
    # Ours, for models that start from nothing: copies of each training pair with other names and numbers, so many for
    # each value that it has; see `Swapper`.
    swapped_copies: int = 0
    beam_size: int = 10
    max_pairs: int | None = None  # read at once
    # Ours: those that the first model reads at once of the target data, None: `max_pairs`. What a small model says of few
    # is faithful more often, and teaches the second one to say as much of many.
    target_pairs: int | None = None
    plain_word_count: int = 3  # times a word must be said of inputs without it to be one that any text may use
    report_records: int | None = None  # records and target units, each, that are reported; None: all, and 1,000 units
    long_cell_words: int = 6  # a row with a value of so many words is long-celled
    # Texts of these sources are not reported on a second dataset: DART's dev holds WebNLG's.
    report_without: Sequence[str] = ("webnlg",)
    seed: int = 42

    def __post_init__(self):
        super().__post_init__()
        if not {T_F, T_F_ID_T} <= self.train.keys():
            raise LisaxError(f"VerbalizerRecipe.train must name a gin file for {T_F} and for {T_F_ID_T}")
        for field in ("threshold", "target_threshold"):
            if not 0 <= getattr(self, field) <= 1:
                raise LisaxError(f"VerbalizerRecipe.{field} must lie between 0 and 1, found {getattr(self, field)}")

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(stem for stem in STEMS if stem in self.train)
