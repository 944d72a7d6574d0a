"""LisT5's labelling tasks over `examples/{variant}.{split}.jsonl` in the data folder.

Plain and infused listwise have one format and differ in their records.
"""

from __future__ import annotations

from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE

from . import example_tasks
from .locations import in_data_folder

VARIANTS = {
    "label_pointwise": LABEL_POINTWISE,
    "label_listwise": LABEL_LISTWISE,
    "label_listwise_infused": LABEL_LISTWISE,
    "claim_only": CLAIM_ONLY,
}

# Single sentences that BM25 found, gold or not: what a model learns labels from before there is a ranker.
CANDIDATES = "label_candidates"


def add_all() -> None:
    example_tasks.add(
        f"list5_{CANDIDATES}", LABEL_POINTWISE, in_data_folder("examples/" + CANDIDATES + ".{split}.jsonl")
    )
    for variant, text_format in VARIANTS.items():
        example_tasks.add(f"list5_{variant}", text_format, in_data_folder("examples/" + variant + ".{split}.jsonl"))
