"""What a run of open-domain table verification consists of; itself set by gin."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence

from lisax.records import LisaxError
from lisax.retrieval.cells import Strategy
from lisax.retrieval.tables import MODES

TEXT_MODELS = ("claim_only", "closed", "one", "top3", "top5", "top10")
_FUSION = re.compile(r"(joint|ternary|uniform)_top(1|3|5|10)(_no_attention)?")


@dataclasses.dataclass(frozen=True)
class TableRecipe:
    """The defaults are the paper's; a recipe for small machines is `experiments/open_tables/scratch.gin`.

    `train` maps a model to its gin file: text-to-text ones (`claim_only`; `closed`, on the gold table; `one`, `top3`,
    `top5`, `top10`, on the first retrieved) and table fusion (`joint_top5`, `ternary_top5`, `uniform_top5`, each also
    `…_no_attention`; 1, 3, 5 or 10 tables). What it does not name is neither trained nor reported. `initial` and
    `warm_up` are those of `Recipe` in recipe.py.
    """

    train: dict[str, str] = dataclasses.field(default_factory=dict)
    initial: dict[str, str] = dataclasses.field(default_factory=dict)
    preset: str = "paper"
    # The strategy that verification reads from, and those that are reported beside it.
    strategy: str = str(Strategy.ENTITY_CHAR_23)
    compared: Sequence[str] = ()
    # Entities of a claim that tables are retrieved by: "spans" of the claim alone; or "linked" against its gold table,
    # as in the paper, which no system in use can do. Both are reported.
    entities: str = "spans"
    columns: int = 3  # of a table that are kept for a claim
    table_tokens: int = 512  # of a claim with one table, in fusion
    text_tokens: int = 512  # of a claim with all its tables, text-to-text
    claim_max_tokens: int = 128  # of the claim alone
    target_tokens: int = 2  # a label word and EOS, times the examples packed in a row
    vocabulary: str | None = None
    vocabulary_size: int = 32_000
    train_claims: int | None = None
    validation_claims: int | None = None
    report_claims: int | None = None  # verified; retrieval is reported over all claims of the split
    validation_share: float = 0.05
    warm_up: str | None = None
    warm_up_pipeline: str = (
        "open_tables"  # whose recipe that is: or "list5", which learns to match claims with sentences
    )
    warm_up_pages: int = 12_000
    seed: int = 0
    fusion_seed: int | None = None  # of fusion models, if another than `seed`

    def __post_init__(self):
        known = [*TEXT_MODELS]
        for field in ("train", "initial"):
            if unknown := [name for name in getattr(self, field) if name not in known and not _FUSION.fullmatch(name)]:
                raise LisaxError(
                    f"TableRecipe.{field} names {', '.join(sorted(unknown))}; models are "
                    f"{', '.join(known)} and (joint|ternary|uniform)_top(1|3|5|10)[_no_attention]"
                )
        for name in (self.strategy, *self.compared):
            if name not in list(Strategy):
                raise LisaxError(f"TableRecipe: no strategy is named '{name}'; there are {', '.join(Strategy)}")
        if self.entities not in MODES:
            raise LisaxError(f"TableRecipe.entities must be 'spans' or 'linked', found '{self.entities}'")
        if self.warm_up_pipeline not in ("open_tables", "list5"):
            raise LisaxError(
                f"TableRecipe.warm_up_pipeline must be 'open_tables' or 'list5', found '{self.warm_up_pipeline}'"
            )
        if Strategy(self.strategy).whole_query and self.entities != "spans":
            raise LisaxError(
                f"TableRecipe.strategy '{self.strategy}' matches the whole claim: TableRecipe.entities is for "
                "strategies of entities, leave it 'spans'"
            )
        if not 0 < self.validation_share < 1:
            raise LisaxError(f"TableRecipe.validation_share must lie between 0 and 1, found {self.validation_share}")
        if self.columns < 1:
            raise LisaxError(f"TableRecipe.columns must be at least 1, found {self.columns}")

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        return tuple(dict.fromkeys(map(Strategy, (self.strategy, *self.compared))))

    @property
    def fusion(self) -> tuple[str, ...]:
        """The fusion models, in the order in which they are trained."""
        return tuple(name for name in self.train if _FUSION.fullmatch(name))

    @property
    def text(self) -> tuple[str, ...]:
        return tuple(name for name in self.train if name in TEXT_MODELS)

    @property
    def main(self) -> str | None:
        """The model that the page is about: the joint one with attention of most tables, else any other."""
        joint = [name for name in self.fusion if name.startswith("joint") and not name.endswith("attention")]
        return max(joint, key=depth_of) if joint else next(iter((*self.fusion, *self.text)), None)

    @property
    def closest_to_gold(self) -> str | None:
        """The fusion model that reads the gold table alone: that of fewest tables. What has always read several side by
        side, with attention, makes nothing of one."""
        return min(self.fusion, key=depth_of, default=None)


def depth_of(model: str) -> int:
    """k, the tables that a model reads for a claim; 0 for the claim alone."""
    if model in ("claim_only", "closed", "one"):
        return 0 if model == "claim_only" else 1
    return int(re.search(r"top(\d+)", model)[1])


def is_fusion(model: str) -> bool:
    return bool(_FUSION.fullmatch(model))


def task_of(model: str) -> str:
    return f"tables_fusion_top{depth_of(model)}" if is_fusion(model) else f"tables_{model}"


def read_recipe(
    gin_files: Sequence[str | os.PathLike], bindings: Sequence[str] = (), search_paths: Sequence[str] = ()
) -> TableRecipe:
    """The recipe of gin files: `TableRecipe.columns = 3`."""
    from lisax.papers.list5.recipe import configured_recipe

    return configured_recipe("open_tables", TableRecipe, gin_files, bindings, search_paths)
