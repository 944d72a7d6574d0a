"""The settings of a run of open-domain table verification, configurable by gin."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import ClassVar

from lisax.corpora.tabfact import WORDINGS
from lisax.errors import LisaxError
from lisax.papers.recipe import MODEL, ClaimsRecipe
from lisax.retrieval.cells import Strategy

TEXT_MODELS = ("claim_only", "closed", "one", "top3", "top5", "top10")
_FUSION = re.compile(r"(joint|reranking|ternary|uniform)_top(1|3|5|10)(_no_attention)?")


@dataclasses.dataclass(frozen=True)
class TableRecipe(ClaimsRecipe):
    """Defaults are the paper's; a recipe for small machines is `experiments/open_tables/scratch.gin`.

    `train` maps a model to its gin file. Text-to-text models: `claim_only`; `closed`, on the gold table; `one`, `top3`,
    `top5`, `top10`, on the first retrieved. Table fusion: `joint_top5`, `reranking_top5`, `ternary_top5`,
    `uniform_top5`, each also as `…_no_attention`, with 1, 3, 5 or 10 tables. `report_claims` limits reported
    verification; retrieval is reported for all claims. With a `backbone`, `closed` reads retrieved tables too, one by
    one."""

    gin_module: ClassVar[str] = "open_tables"
    model_names: ClassVar[Sequence[str]] = (
        *TEXT_MODELS,
        "(joint|reranking|ternary|uniform)_top(1|3|5|10)[_no_attention]",
    )

    # The retrieval strategy that verification reads from, and the others that are reported.
    strategy: str = str(Strategy.ENTITY_CHAR_23)
    compared: Sequence[str] = ()
    # The entities of a claim used for retrieval: only "spans" of the claim, or "linked" against its gold table, as in
    # the paper, which no system in use can do. Both are reported.
    entities: str = "spans"
    wording: str = "lemmatised"  # of TabFact's claims, as the paper has them; or as "written", as users write theirs
    columns: int = 3  # of a table, kept per claim
    table_tokens: int = 512  # a claim with one table, in fusion
    text_tokens: int = 512  # a claim with all its tables, text-to-text
    claim_max_tokens: int = 128  # the claim alone
    target_tokens: int = 2  # a label word and EOS, times the examples packed in a row
    train_claims: int | None = None  # training claims used; None: all
    # With a backbone: the share of true and false claims that `closed` is also trained on with a retrieved table that
    # is not theirs, which is not enough to decide.
    wrong_tables: float = 0.0
    # With a backbone: examples that `closed` also learns from, of claims about tables that were written for it
    # (`sampling.written`; ours).
    written: int = 0
    # With a backbone: a labeller over tables whose probabilities of each training example `closed` also learns (ours), by
    # the share that `losses.Loss.teacher` has: a checkpoint, or a name that `lisax check --model` takes, such as
    # mpnet-tables.
    teacher: str | None = dataclasses.field(default=None, metadata=MODEL)
    warm_up_pipeline: str = (
        "open_tables"  # the pipeline of that recipe; or "list5", which trains on matching claims with sentences
    )
    fusion_seed: int | None = None  # seed of fusion models, if different from `seed`

    def __post_init__(self):
        super().__post_init__()
        for name in (self.strategy, *self.compared):
            if name not in list(Strategy):
                raise LisaxError(f"TableRecipe: no strategy is named '{name}'; there are {', '.join(Strategy)}")
        self.check_choice("wording", *WORDINGS)
        self.check_choice("entities", "spans", "linked")
        self.check_choice("warm_up_pipeline", "open_tables", "list5")
        if Strategy(self.strategy).whole_query and self.entities != "spans":
            raise LisaxError(
                f"TableRecipe.strategy '{self.strategy}' matches the whole claim: TableRecipe.entities is for "
                "strategies of entities, leave it 'spans'"
            )
        if self.teacher is not None and not self.reads_singly:
            raise LisaxError("TableRecipe.teacher teaches the model 'closed' with a backbone: name both")
        if self.written and not self.reads_singly:
            raise LisaxError("TableRecipe.written is learned by the model 'closed' with a backbone: name both")

    @classmethod
    def is_model(cls, name: str) -> bool:
        return name in TEXT_MODELS or bool(_FUSION.fullmatch(name))

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        return tuple(dict.fromkeys(map(Strategy, (self.strategy, *self.compared))))

    @property
    def fusion(self) -> tuple[str, ...]:
        """The fusion models, in training order."""
        return tuple(name for name in self.train if _FUSION.fullmatch(name))

    @property
    def reads_singly(self) -> bool:
        """Whether the model `closed` reads retrieved tables too, each on its own."""
        return self.backbone is not None and "closed" in self.train

    @property
    def main(self) -> str | None:
        """The model that the report shows: `closed` with a backbone; else joint with attention, most tables; or any."""
        if self.reads_singly:
            return "closed"
        joint = [name for name in self.fusion if name.startswith("joint") and not name.endswith("attention")]
        return max(joint, key=depth_of) if joint else next(iter((*self.fusion, *self.train)), None)

    @property
    def closest_to_gold(self) -> str | None:
        """The fusion model used on only the gold table: the one with the fewest tables. A model with attention that was
        always given several tables fails on a single one."""
        return min(self.fusion, key=depth_of, default=None)


def depth_of(model: str) -> int:
    """k, the number of tables that a model reads per claim; 0 for only the claim."""
    if model in ("claim_only", "closed", "one"):
        return 0 if model == "claim_only" else 1
    return int(re.search(r"top(\d+)", model)[1])


def is_fusion(model: str) -> bool:
    return bool(_FUSION.fullmatch(model))


def task_of(model: str) -> str:
    return f"tables_fusion_top{depth_of(model)}" if is_fusion(model) else f"tables_{model}"
