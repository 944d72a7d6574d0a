"""LisT5's ranking tasks over `examples/rank.{split}.jsonl` in the data folder."""

from __future__ import annotations

from lisax.formats.ranking import RANK, RANK_ENTITIES

from . import example_tasks
from .locations import in_data_folder


def add_all() -> None:
    example_tasks.add("list5_rank", RANK, in_data_folder("examples/rank.{split}.jsonl"))
    example_tasks.add("list5_rank_entities", RANK_ENTITIES, in_data_folder("examples/rank.{split}.jsonl"))
