"""LisT5's ranking tasks over `examples/rank.{split}.jsonl` in the data folder."""

from __future__ import annotations

from lisax.formats.families import Family

from . import families
from .locations import in_data_folder


def add_all() -> None:
    families.add("list5_rank", Family.RANK, in_data_folder("examples/rank.{split}.jsonl"))
    families.add("list5_rank_entities", Family.RANK_ENTITIES, in_data_folder("examples/rank.{split}.jsonl"))
