"""LisT5's tasks of ranking and labelling over `examples/*.{split}.jsonl` in the data folder; as `list5_pair_…` for pair
scorers.

Plain and infused listwise have one format and differ in their records.
"""

from __future__ import annotations

from lisax.formats.format import RELEVANCE
from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.ranking import RANK, RANK_ENTITIES

from . import example_tasks, pairs
from .locations import examples

TASKS = {
    "rank": RANK,
    "rank_entities": RANK_ENTITIES,
    "label_pointwise": LABEL_POINTWISE,
    "label_listwise": LABEL_LISTWISE,
    "label_listwise_infused": LABEL_LISTWISE,
    "claim_only": CLAIM_ONLY,
}
# Single sentences that BM25 found, gold or not: a model learns labels from these before there is a ranker.
CANDIDATES = "label_candidates"


def stem_of(variant: str) -> str:
    """The example files of a variant: both rankers read the same."""
    return "rank" if TASKS[variant].answer is RELEVANCE else variant


def add_all() -> None:
    for prefix, add in (("list5", example_tasks.add), ("list5_pair", pairs.add)):
        for variant, text_format in TASKS.items():
            add(f"{prefix}_{variant}", text_format, examples(stem_of(variant)))
        add(f"{prefix}_{CANDIDATES}", LABEL_POINTWISE, examples(CANDIDATES))
    pairs.add("list5_pair_rerank", RANK, examples("rerank"))
