"""The settings of the verbalizer's iterative training (UDT-QA, section 3.2), configurable by gin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from lisax.errors import LisaxError
from lisax.papers.recipe import BaseRecipe
from lisax.sampling.verbal_examples import STEMS, T_F, T_F_ID_T


@dataclasses.dataclass(frozen=True)
class VerbalizerRecipe(BaseRecipe):
    """Defaults are the paper's if it gives them; `experiments/udt_qa/verbalizer_scratch.gin` is for small machines.

    `train` maps a set of examples (`verbalize_t`, `verbalize_t_f`, `verbalize_t_f_id_t`) to the gin file of the model
    trained on it; T may be left out. `initial` maps a model to its starting point: another of them, or a checkpoint's
    path."""

    gin_module: ClassVar[str] = "udt_qa"
    model_names: ClassVar[Sequence[str]] = STEMS
    names_of_models: ClassVar[str] = "sets of examples are"

    max_tokens: int = 384  # inputs, with EOS
    target_tokens: int = 384
    # The paper does not give its thresholds. At 0.45 WebNLG keeps 87 % of its pairs, as DART did there (88 %).
    threshold: float = 0.45  # least ROUGE-1 of pairs of T that are kept in T-F
    target_threshold: float = 0.6  # least ROUGE-1 of outputs on the target data that are kept in ID-T
    faithful_only: bool = True  # ours: no outputs in ID-T that needed the rule
    target_units: int | None = None  # target rows and sub-graphs that are verbalized for ID-T; None: all
    # Ours, for models without a pretrained start: copies of each training pair with other names and numbers, this many
    # per value of the pair; see `Swapper`.
    swapped_copies: int = 0
    beam_size: int = 10
    max_pairs: int | None = None  # pairs per input
    # Ours: pairs per input when the first model verbalizes the target data; None: `max_pairs`. A small model is more
    # often faithful on short inputs, and these outputs then train the second model on longer ones.
    target_pairs: int | None = None
    plain_word_count: int = 3  # least number of texts, with inputs lacking a word, that make it a word any text may use
    report_records: int | None = None  # reported records, and reported target units; None: all, and 1,000 units
    long_cell_words: int = 6  # a row with a value of this many words is long-celled
    # Sources left out when a second dataset is reported: DART's dev split contains WebNLG's.
    report_without: Sequence[str] = ("webnlg",)
    seed: int = 42

    def __post_init__(self):
        super().__post_init__()
        if not {T_F, T_F_ID_T} <= self.train.keys():
            raise LisaxError(f"VerbalizerRecipe.train must name a gin file for {T_F} and for {T_F_ID_T}")

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(stem for stem in STEMS if stem in self.train)
