"""The settings of a LisT5 run: sizes, windows and each model's gin file; configurable by gin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from lisax.errors import LisaxError
from lisax.papers.recipe import MODEL, PagesRecipe
from lisax.retrieval.mediawiki import WIKIPEDIA
from lisax.sampling import negatives
from lisax.sampling.examples import LIST_LENGTH

STARTS = ("pretrain", "base")  # models that others start from
RERANK = "rerank"  # scores again the best results of vectors and BM25
RANKERS = ("rank_entities", "rank", RERANK)
METHODS = ("bm25", "titles", "both", "mediawiki")
GIVEN = "given"  # the verdicts of a given labeller, which is not trained here
ZERO_SHOT = "zero_shot"  # the selection of a given ranker, which is not trained here
VECTORS = "vectors"  # selects sentences by a sentence encoder and BM25, without training
# Shares of claim kinds in the generated worlds that models are trained on. One hop dominates, as in FEVER: a ranker
# that sees one sentence at a time cannot find the second page of a two-hop claim that does not name it.
WORLD_SHARES = {"one_hop": 0.85, "two_hop": 0.04, "joint": 0.06, "compare": 0.05}
# The same for claims over tables: micro models learn to look cells up, but barely to compare, count or find the
# greatest.
TABLE_SHARES = {"lookup": 0.6, "conjunction": 0.25, "superlative": 0.05, "count": 0.05, "compare": 0.05}
LISTWISE = ("label_listwise", "label_listwise_infused")
LABELLERS = ("claim_only", "label_pointwise", *LISTWISE)


@dataclasses.dataclass(frozen=True)
class Recipe(PagesRecipe):
    """Defaults are the paper's; a recipe for small machines is `experiments/list5/scratch.gin`. With a `backbone`, its
    vectors and BM25 select sentences, and a trained ranker is not needed; `rerank` is one that orders the best of them
    again.

    Two models of `train` only serve as starting points: `pretrain` is trained on span corruption; `base` on ranking and
    labelling single sentences at once, both against sentences retrieved by BM25."""

    gin_module: ClassVar[str] = "list5"
    model_names: ClassVar[Sequence[str]] = (*STARTS, *RANKERS, *LABELLERS)

    max_tokens: int = 512  # inputs of rankers and of the base
    pointwise_max_tokens: int = 512  # inputs of the pointwise labeller
    list_max_tokens: int = 512  # inputs of listwise models
    claim_max_tokens: int = 512  # inputs of the claim-only model
    target_tokens: int = 2  # targets in training: a word and EOS, times the examples packed in a row
    # Document retrieval: LisT5 expands 150 documents to 200 sentences. The paper alternates BM25 with a search of the
    # live Wikipedia ("mediawiki", which asks the api.php at `wiki` for each claim's entities); "both" alternates BM25
    # with a search of the corpus's own titles, which needs no network.
    method: str = "both"
    wiki: str = WIKIPEDIA
    # Values of k1 and b of which the best pair on held-out claims replaces the two; empty: no search.
    k1_grid: Sequence[float] = ()
    b_grid: Sequence[float] = ()
    documents: int = 150
    candidates: int = 200
    train_candidates: int | None = None  # sentences reranked per training claim; None: as for other claims
    # Sampling. Of training claims the first `train_claims` are reranked and used for the labellers.
    ranking_window: Sequence[int] = negatives.RANKING
    labelling_window: Sequence[int] = negatives.LABELLING
    base_window: Sequence[int] = (1, 10)
    negative_rounds: int = 1  # how often each positive is paired with a fresh negative
    # Of the model `rerank`: how many of a claim's best sentences it scores, and the ranks that its negatives come from.
    reranked: int = 10
    reranking_window: Sequence[int] = (1, 12)
    # Entities in the ranker's training: "titles" of the gold pages (as in the paper) or "spotted" as in inference.
    # Small models trained on few claims suffer where the two differ.
    training_entities: str = "titles"
    # Sentences of the window that each claim adds to the pointwise labeller's examples as NOINFO; the paper adds none.
    weak_sentences: int = 0
    # Infused lists of each training claim, see `sampling.examples.infused`; None, as in the paper: one for each
    # evidence set.
    infused_lists: int | None = None
    # Examples of contrasts that the labellers also learn from (`sampling.contrasts`; ours): claims that differ only in
    # the word that decides them.
    contrasts: int = 0
    # Examples that the labellers, or a reranker, also learn from, of claims about documents that were written for it
    # (`sampling.written`; ours).
    written: int = 0
    # A labeller whose probabilities of each training example the labellers also learn (ours), by the share that
    # `losses.Loss.teacher` has: a checkpoint, or a name that `lisax check --model` takes, such as mpnet-text.
    teacher: str | None = dataclasses.field(default=None, metadata=MODEL)
    # Sentences that the listwise labellers read of the five that are selected. If fewer, lists have one to that number
    # of them in training, and in use a labeller reads the first, the first two and so on: its label is that of the
    # mean.
    list_sentences: int = LIST_LENGTH
    # How many sentences are read on their own in use (0: none); the most decisive of them leads these lists.
    leading: int = 0
    # Train labellers on equally many examples of each label: of the more frequent labels, some are left out at random.
    balanced_labels: bool = False
    # Keep all checkpoints of rankers and labellers, and take the best ones on held-out claims, by R@5 and FEVER score
    # of the whole pipeline so far. Otherwise training chooses, by the accuracy on single examples.
    choose_checkpoints: bool = False
    # The encoder whose vectors select sentences with a `backbone`; None: the backbone's own.
    retriever: str | None = None
    # A ranker that is reported next to those trained here: a name or folder that `--ranker` takes, such as
    # hf:castorini/monot5-3b-msmarco-10k.
    zero_shot: str | None = None
    # A labeller that is reported next to those trained here: a checkpoint, or a name that `lisax check --model` takes,
    # such as minilm-text.
    labeller: str | None = None
    # Select sentences by the ranker and BM25 together, weighted on held-out claims; the paper selects by the ranker.
    fuse_bm25: bool = False
    # 2: also retrieve and select pages that the first pages and sentences name (DeSePtion, section 4).
    hops: int = 1
    # Apply the temporal step after every verifier (DeSePtion, section 5.2): dates decide if they can.
    temporal: bool = False
    label_seed: int | None = None  # seed of labellers and their examples, if different from `seed`

    def __post_init__(self):
        super().__post_init__()
        if self.backbone is None and "rank_entities" not in self.train:
            raise LisaxError("Recipe.train must name a gin file for 'rank_entities', whose selection is labelled")
        if self.backbone is None and RERANK in self.train:
            raise LisaxError(
                f"Recipe.train names '{RERANK}', which orders the results of a backbone's vectors: name a backbone"
            )
        if self.teacher is not None and self.backbone is None:
            raise LisaxError("Recipe.teacher teaches pair scorers: name a backbone")
        if self.backbone is not None:
            if others := [name for name in STARTS if name in self.train]:
                raise LisaxError(
                    f"Recipe.train names {', '.join(others)}, which is for T5: leave it out with a backbone"
                )
        self.check_choice("training_entities", "titles", "spotted")
        if self.retriever is not None and self.backbone is None:
            raise LisaxError("Recipe.retriever selects sentences in the place of a backbone's vectors: name a backbone")
        if self.method not in METHODS:
            raise LisaxError(f"Recipe.method must be one of {', '.join(METHODS)}, found '{self.method}'")
        if not 1 <= self.list_sentences <= LIST_LENGTH:
            raise LisaxError(f"Recipe.list_sentences must be from 1 to {LIST_LENGTH}, found {self.list_sentences}")
        if self.leading and self.list_sentences == LIST_LENGTH:
            raise LisaxError(
                f"Recipe.leading is for lists of fewer than {LIST_LENGTH} sentences: set Recipe.list_sentences"
            )
        if bool(self.k1_grid) != bool(self.b_grid):
            raise LisaxError("Recipe.k1_grid and Recipe.b_grid go together: give values for both, or for neither")
        self.check_choice("hops", 1, 2)

    @property
    def encoder(self) -> str:
        """The encoder whose vectors select sentences."""
        return self.retriever or self.backbone

    @property
    def rankers(self) -> tuple[str, ...]:
        return tuple(name for name in RANKERS if name in self.train)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The models whose checkpoints are chosen by their figures on held-out claims."""
        return (*self.rankers, *self.labellers) if self.choose_checkpoints else ()

    @property
    def first_selector(self) -> str:
        """The step whose selection the labellers read, or the second hop starts from."""
        if RERANK in self.train:
            return RERANK
        if "rank_entities" not in self.train:
            return VECTORS
        return "fused" if self.fuse_bm25 else "rank_entities"

    @property
    def selector(self) -> str:
        """The step whose selection the labellers read."""
        return "hops" if self.hops == 2 else self.first_selector

    @property
    def learning_selector(self) -> str:
        """The step whose selection of training claims the labellers learn from: not that of `rerank`, which has learned
        from those claims and orders their sentences better than others'."""
        return VECTORS if RERANK in self.train else self.selector

    @property
    def labellers(self) -> tuple[str, ...]:
        return tuple(name for name in LABELLERS if name in self.train)

    @property
    def labels(self) -> bool:
        """Whether the run trains a labeller. Stages that read this and not `labellers` are not redone for one more."""
        return bool(self.labellers)

    @staticmethod
    def setting_of_tokens(model: str) -> str:
        """The setting that limits the tokens of a model's input."""
        if model in ("claim_only", "label_pointwise"):
            return "claim_max_tokens" if model == "claim_only" else "pointwise_max_tokens"
        return "list_max_tokens" if "listwise" in model else "max_tokens"
