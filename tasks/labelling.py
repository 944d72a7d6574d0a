"""LisT5's labelling tasks over `examples/{variant}.{split}.jsonl` in the data folder.

Plain and infused listwise have one format and differ in their records.
"""

from __future__ import annotations

from lisax.formats.families import Family

from . import families
from .locations import in_data_folder

VARIANTS = {
    "label_pointwise": Family.LABEL_POINTWISE,
    "label_listwise": Family.LABEL_LISTWISE,
    "label_listwise_infused": Family.LABEL_LISTWISE,
    "claim_only": Family.CLAIM_ONLY,
}

# Single sentences that BM25 found, gold or not: what a model learns labels from before there is a ranker.
CANDIDATES = "label_candidates"


def add_all() -> None:
    families.add(
        f"list5_{CANDIDATES}", Family.LABEL_POINTWISE, in_data_folder("examples/" + CANDIDATES + ".{split}.jsonl")
    )
    for variant, family in VARIANTS.items():
        families.add(f"list5_{variant}", family, in_data_folder("examples/" + variant + ".{split}.jsonl"))
