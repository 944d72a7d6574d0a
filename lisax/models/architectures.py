"""The architecture of every model: a frozen dataclass, each field with the values that it may have.

`model.json` holds one as JSON (`describe`), which anyone may have written: `from_description` checks it. A class with a
`kind` of its own is known here as soon as it is defined. Neither flax nor jax is imported before a network is built, so
that a bundle is read without them.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lisax.errors import shown
from lisax.models.fields import (
    ACTIVATIONS,
    DTYPES,
    LAYERS,
    OBJECTIVES,
    RELATIONS,
    REMATS,
    FieldError,
    Items,
    Kinds,
    Maybe,
    Number,
    OneOf,
    Truth,
    Whole,
    check,
)

if TYPE_CHECKING:
    import flax.linen as nn
    import jax

# By the `kind` of a description; a T5's, that of most checkpoints, has none.
ARCHITECTURES: dict[str | None, type[Model]] = {}
# The parts of a backbone's parameters: others are those of a model that is built on it.
BACKBONE_PARTS = frozenset({"token_embedder", "encoder", "decoder", "pooler"})
# Of T5's relative positions: entries of a head's bias, and the distance from which on all share one.
RELATIVE_BUCKETS, RELATIVE_MAX_DISTANCE = 32, 128
POOLING = OneOf(("attention", "mean"))


def field(kind: Any, default: Any) -> Any:
    """A field of an architecture with its default and its allowed values: one of the kinds in `fields`."""
    return dataclasses.field(default=default, metadata={"kind": kind})


@dataclasses.dataclass(frozen=True)
class BuiltOn:
    """A field that is a model of this class; in JSON its description."""

    of: type[Model]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.of)

    def __str__(self) -> str:
        return f"a {self.of.title}"


class Model(abc.ABC):
    """The architecture of a network: a frozen dataclass. Its objective and its inference are in
    `training.model_kinds`."""

    kind: ClassVar[str | None]  # in `model.json`
    title: ClassVar[str]  # in messages
    backbone: Backbone  # that it is, or is built on: vocabulary, types, dropout, layers
    labels: int | None = None  # classes of an input; None: it has none
    passages: int | None = None  # texts that a row of its batches has end to end; None: unknown

    def __init_subclass__(cls, kind: str | None = None, title: str = "", **options: Any):
        super().__init_subclass__(**options)
        if title:
            cls.kind, cls.title = kind, title
            ARCHITECTURES[kind] = cls

    def __post_init__(self) -> None:
        """Checks the fields as the model is made; its backbone was checked when that was made."""
        check(vars(self), kinds_of(type(self)))

    @property
    def copies(self) -> Mapping[str, tuple[str, str]]:
        """Part of the parameters -> (its name there, the part of its backbone that it begins as)."""
        return {}

    @abc.abstractmethod
    def replaced(self, **fields: Any) -> Self:
        """The same model with other fields of its backbone."""

    @abc.abstractmethod
    def for_inference(self) -> Self:
        """The same model without the fields that only training needs, for parameters with a name for each layer."""

    @abc.abstractmethod
    def network(self) -> nn.Module:
        """The Flax module with this architecture."""

    @abc.abstractmethod
    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Inputs that its parameters can be drawn with."""


class Backbone(Model):
    """An encoder, with or without a decoder, that other models are built on.

    Its modules are `token_embedder` and `encoder` of the parameter tree, in it and in its heads, so that its checkpoint
    starts theirs."""

    vocab_size: int
    dtype: str  # of activations; parameters are always float32
    emb_dim: int  # of the encoder's hidden states
    num_heads: int
    dropout_rate: float
    scan_layers: bool
    remat: str
    attention_chunk: int | None
    padding_id: int = 0  # as published; here padding is 0
    max_length: int | None = None  # tokens of the longest text; None: any
    shared_layers: bool = False  # all layers of a stack are one, ALBERT's way

    @property
    def backbone(self) -> Self:
        return self

    @property
    @abc.abstractmethod
    def stacks(self) -> Mapping[str, int]:
        """The number of layers of each stack, whose field is `num_{stack}_layers`."""

    @property
    @abc.abstractmethod
    def layers_stand_alone(self) -> bool:
        """Whether the layers of a stack share no parameter."""

    def replaced(self, **fields: Any) -> Self:
        return dataclasses.replace(self, **fields)

    def for_inference(self) -> Self:
        return dataclasses.replace(self, scan_layers=False, remat="none", attention_chunk=None)

    @abc.abstractmethod
    def embedder(self) -> nn.Module:
        """(tokens int32 [batch, length], token types of the same shape or None) -> the arguments of `encoder`. Token 0
        is padding."""

    @abc.abstractmethod
    def encoder(self) -> nn.Module:
        """(embedded tokens, mask bool [batch, 1, length, length], dropout: bool) -> hidden states [batch, length,
        emb_dim] of `dtype`."""


@dataclasses.dataclass(frozen=True)
class T5Config(Backbone, title="T5"):
    """Architecture. `dtype` is that of activations; parameters are always float32."""

    vocab_size: int = field(Whole(1, 1 << 22), 32128)
    dtype: str = field(OneOf(DTYPES), "float32")
    emb_dim: int = field(Whole(1, 1 << 16), 512)
    num_heads: int = field(Whole(1, 1 << 12), 6)
    num_encoder_layers: int = field(LAYERS, 8)
    num_decoder_layers: int = field(LAYERS, 8)
    head_dim: int = field(Whole(1, 1 << 12), 64)
    mlp_dim: int = field(Whole(1, 1 << 20), 1024)
    mlp_activations: Sequence[str] = field(Items(OneOf(ACTIVATIONS), 1, 4), ("gelu", "linear"))
    dropout_rate: float = field(Number(0, 1), 0.0)
    # Dimensions of hidden states [batch, length, embed] along which a dropout mask is the same: all positions share one.
    dropout_broadcast_dims: Sequence[int] = field(Items(Whole(-3, -1), 0, 3), (-2,))
    # T5 1.0 reads logits from the scaled embedding; 1.1 has its own matrix.
    logits_via_embedding: bool = field(Truth(), False)
    # Each layer has a relative position bias of its own (umT5, and all that T5X's scalable_t5 trains); T5's layers
    # share one a stack.
    relative_bias_per_layer: bool = field(Truth(), False)
    # Softmax logits in float32 whatever `dtype` is.
    float32_attention_logits: bool = field(Truth(), False)
    # Fresh models only: "t5" is T5's own initialisation; with "matching" half of the encoder's heads begin
    # by finding other occurrences of their token: keys start as queries do, and a position does not see
    # itself. Small models trained from scratch to compare a claim with its evidence learn much faster so.
    attention_init: str = field(OneOf(("t5", "matching")), "t5")
    # One compiled body for all layers of a stack, whose parameters are one array with the layers as its second
    # dimension (T5X's scanned tree): large models compile in a fraction of the time.
    scan_layers: bool = field(Truth(), False)
    # The values that a layer's backward pass computes again instead of keeping: "none"; "attention": attention's logits;
    # "minimal": all but matrix products and attention's output; "values": attention's values too; "full": all but its
    # input.
    remat: str = field(OneOf(REMATS), "none")
    # Queries that attend at a time; None: all. Attention's memory is then that of this number of queries, at a little
    # time.
    attention_chunk: int | None = field(Maybe(Whole(1, 1 << 20)), None)

    def __post_init__(self):
        if self.dtype == "float16":
            raise FieldError(
                "dtype",
                "is float16, whose range T5's activations exceed, so that scores are NaN: use bfloat16 or float32",
            )
        for name in ("mlp_activations", "dropout_broadcast_dims"):
            if isinstance(getattr(self, name), list):  # as JSON and gin have it
                object.__setattr__(self, name, tuple(getattr(self, name)))
        super().__post_init__()

    @property
    def stacks(self) -> Mapping[str, int]:
        return {"encoder": self.num_encoder_layers, "decoder": self.num_decoder_layers}

    @property
    def layers_stand_alone(self) -> bool:
        return self.relative_bias_per_layer

    def embedder(self) -> nn.Module:
        from lisax.models.t5 import TokenEmbedder

        return TokenEmbedder(self)

    def encoder(self) -> nn.Module:
        from lisax.models.t5 import Encoder

        return Encoder(self)

    def network(self) -> nn.Module:
        from lisax.models.t5 import Transformer

        return Transformer(self)

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        return (_tokens(1, 2),) * 3


@dataclasses.dataclass(frozen=True)
class EncoderConfig(Backbone, kind="encoder", title="encoder of the BERT family"):
    """Architecture. `dtype` is that of activations; parameters are always float32."""

    vocab_size: int = field(Whole(1, 1 << 22), 30522)
    dtype: str = field(OneOf(DTYPES), "float32")
    emb_dim: int = field(Whole(1, 1 << 16), 768)
    num_heads: int = field(Whole(1, 1 << 12), 12)
    num_encoder_layers: int = field(LAYERS, 12)
    mlp_dim: int = field(Whole(1, 1 << 20), 3072)
    activation: str = field(OneOf(("gelu_exact", "gelu_tanh", "relu", "silu")), "gelu_exact")
    # Width of the embeddings, which a matrix brings to emb_dim (ALBERT); None: emb_dim, without such a matrix.
    embedding_dim: int | None = field(Maybe(Whole(1, 1 << 16)), None)
    max_positions: int = field(Whole(1, 1 << 20), 512)  # rows of the embedding of positions
    position_offset: int = field(Whole(0, 1 << 20), 0)  # row of a text's first token: RoBERTa's is padding_id + 1
    relative_bias: bool = field(Truth(), False)  # T5's biases of relative positions, shared by all layers (MPNet)
    token_types: int = field(Whole(0, 1 << 10), 2)  # 0: tokens have no type
    # Tokens after the first one with this id have type 1, all others type 0; None: all have type 0.
    separator_id: int | None = field(Maybe(Whole(1, 1 << 22)), None)
    # Padding's id as published. Here padding is 0: the two ids change places, in the embedding and in the vocabulary.
    padding_id: int = field(Whole(0, 1 << 22), 0)
    layer_norm_epsilon: float = field(Number(0, 1), 1e-12)
    shared_layers: bool = field(Truth(), False)
    pooler: bool = field(Truth(), False)  # a layer on the first token's state
    dropout_rate: float = field(Number(0, 1), 0.0)
    # As a T5's.
    scan_layers: bool = field(Truth(), False)
    remat: str = field(OneOf(REMATS), "none")
    attention_chunk: int | None = field(Maybe(Whole(1, 1 << 20)), None)

    def __post_init__(self):
        super().__post_init__()
        if self.emb_dim % self.num_heads:
            raise FieldError("num_heads", f"is {self.num_heads}, which must divide emb_dim {self.emb_dim}")
        for name, limit in (
            ("position_offset", "max_positions"),
            ("padding_id", "vocab_size"),
            ("separator_id", "vocab_size"),
        ):
            if (getattr(self, name) or 0) >= getattr(self, limit):
                raise FieldError(name, f"is {getattr(self, name)}, which must be below {limit} {getattr(self, limit)}")

    @property
    def embedding_width(self) -> int:
        return self.embedding_dim or self.emb_dim

    @property
    def max_length(self) -> int:
        """Tokens of the longest text."""
        return self.max_positions - self.position_offset

    @property
    def stacks(self) -> Mapping[str, int]:
        return {"encoder": self.num_encoder_layers}

    @property
    def layers_stand_alone(self) -> bool:
        return not self.shared_layers

    def embedder(self) -> nn.Module:
        from lisax.models.encoder import TokenEmbedder

        return TokenEmbedder(self)

    def encoder(self) -> nn.Module:
        from lisax.models.encoder import Encoder

        return Encoder(self)

    def network(self) -> nn.Module:
        from lisax.models.encoder import TextEncoder

        return TextEncoder(self)

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        return (_tokens(1, min(2, self.max_length)),)


@dataclasses.dataclass(frozen=True)
class OnBackbone(Model):
    """A model that is built on an encoder."""

    backbone: Backbone = dataclasses.field(metadata={"kind": BuiltOn(Backbone)})

    @property
    def vectors_once(self) -> bool:
        """Whether a text's vector depends on nothing that is trained, so that it has to be computed only once."""
        return not getattr(self, "train_encoder", True) and getattr(self, "pooling", None) == "mean"

    def replaced(self, **fields: Any) -> Self:
        return dataclasses.replace(self, backbone=self.backbone.replaced(**fields))

    def for_inference(self) -> Self:
        return dataclasses.replace(self, backbone=self.backbone.for_inference())


@dataclasses.dataclass(frozen=True)
class FusionConfig(OnBackbone, kind="table_fusion", title="table fusion"):
    """Architecture: an encoder with heads on it.

    training maximises `objective`. "joint": the probability of the right pair of table and truth, of all pairs;
    "reranking": that of the right table only; "uniform": that of the right truth where every table has the same weight;
    "ternary": that of each table's own class of true, false and irrelevant."""

    objective: str = field(OneOf(OBJECTIVES), "joint")
    # Heads of the attention across tables, each emb_dim / heads wide; with 0 no table sees another.
    heads: int = field(Whole(0, 1 << 12), 2)
    # One vector of a text: "mean" of its tokens, or their "attention" by a learned query, which learns a little faster
    # from scratch (to find a claim's word among a table's: loss 0.003 and 0.002 after 200 steps, 0.004 and 0.021).
    pooling: str = field(POOLING, "attention")
    # False: the encoder, trained on a claim with single tables before, stays as it is.
    train_encoder: bool = field(Truth(), True)

    def __post_init__(self):
        super().__post_init__()
        if self.heads and self.backbone.emb_dim % self.heads:
            raise FieldError("heads", f"is {self.heads}, which must divide emb_dim {self.backbone.emb_dim}, or be 0")

    @property
    def classes(self) -> int:
        return 3 if self.objective == "ternary" else 2

    def network(self) -> nn.Module:
        from lisax.models.table_fusion import TableFusion

        return TableFusion(self)

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        return (_tokens(1, 2, 2),)


@dataclasses.dataclass(frozen=True)
class PointerConfig(OnBackbone, kind="evidence_pointer", title="evidence pointer"):
    """Architecture: an encoder, and the pointer network on it.

    `relation` is how a claim is labelled. "sequence": at every step, by the state that points (the joint model); "set":
    once, by an MLP of its own on the vectors of all that was pointed to, side by side with their maximum and minimum
    (the paper's baseline without a joint loss); "none": not at all (documents)."""

    relation: str = field(OneOf(RELATIONS), "sequence")
    steps: int = field(Whole(1, 64), 5)  # N sentences, or D documents
    hidden: int = field(Whole(1, 1 << 16), 200)  # of the LSTM and of the MLPs
    hops: int = field(Whole(1, 64), 3)  # q
    beam_size: int = field(Whole(1, 1 << 10), 5)  # in inference
    pointer_weight: float = field(Number(0, 1e6), 1.0)  # lambda of L = lambda * L(ptr) + L(rel seq)
    # Labels are also learned along the model's own pointers, most of which are not yet evidence.
    own_steps: bool = field(Truth(), True)
    # False: the encoder, fine-tuned on single pairs before, stays as it is, as in the paper.
    train_encoder: bool = field(Truth(), True)
    pooling: str = field(POOLING, "attention")
    # lambda_2 of equation 7: pointers are also drawn, and rewarded by the FEVER score so far (the paper's baseline,
    # with the relation "set"). 0: not at all.
    reward_weight: float = field(Number(0, 1e6), 0.0)

    def __post_init__(self):
        super().__post_init__()
        if self.reward_weight and self.relation == "none":
            raise FieldError(
                "reward_weight", "is above 0, and the reward is of labels: give another relation than none"
            )

    def network(self) -> nn.Module:
        from lisax.models.evidence_pointer import EvidencePointer

        return EvidencePointer(self)

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        return (_tokens(1, 2, 2),)


@dataclasses.dataclass(frozen=True)
class DualEncoderConfig(OnBackbone, kind="dual_encoder", title="dual encoder"):
    """Architecture: an encoder. `pooling`: one vector of a text is the mean of its tokens' or
    that of the first token. `tied`: questions and passages share their encoder; the embedding they always do."""

    pooling: str = field(OneOf(("mean", "first")), "mean")
    tied: bool = field(Truth(), True)
    # Vectors of length 1, whose dot product is their cosine.
    normalized: bool = field(Truth(), False)
    # The divisor of scores in training; cosines want one far below 1.
    temperature: float = field(Number(1e-6, 1e6), 1.0)
    # Width that a matrix brings vectors to (GTR); None: the encoder's own, without such a matrix.
    projection: int | None = field(Maybe(Whole(1, 1 << 16)), None)

    @property
    def width(self) -> int:
        """The width of a vector."""
        return self.projection or self.backbone.emb_dim

    @property
    def copies(self) -> Mapping[str, tuple[str, str]]:
        return {} if self.tied else {"question": ("encoder", "encoder")}

    def network(self) -> nn.Module:
        from lisax.models.dual_encoder import DualEncoder

        return DualEncoder(self)

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        return _tokens(1, 2), _tokens(1, 2)


@dataclasses.dataclass(frozen=True)
class PairConfig(OnBackbone, kind="pair", title="pair scorer"):
    """Architecture: an encoder that reads two texts as one, and a linear layer that gives the classes. `pooling`: the
    vector of both is the mean of their tokens', that of the first token, the output of a layer with tanh on that (as in
    BERT's own classifiers), or the output of attention with a learned query."""

    labels: int = field(Whole(2, 1000), 3)
    pooling: str = field(OneOf(("mean", "first", "pooler", "attention")), "mean")

    def network(self) -> nn.Module:
        from lisax.models.pair import PairScorer

        return PairScorer(self)

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        return (_tokens(1, 2),)


@dataclasses.dataclass(frozen=True)
class ReaderConfig(OnBackbone, kind="reader", title="generating reader"):
    """A T5 whose inputs are `passages` texts end to end, each filled to the same length."""

    backbone: T5Config = dataclasses.field(metadata={"kind": BuiltOn(T5Config)})  # it has a decoder
    passages: int = field(Whole(1, 10_000), 100)

    def network(self) -> nn.Module:
        from lisax.models.reader import FusionInDecoder

        return FusionInDecoder(self.backbone, self.passages)

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        return _tokens(1, self.passages), _tokens(1, 2), _tokens(1, 2)


@dataclasses.dataclass(frozen=True)
class SpanReaderConfig(OnBackbone, kind="span_reader", title="pointing reader"):
    """An encoder whose inputs are `passages` texts end to end, each filled to the same length."""

    passages: int = field(Whole(1, 10_000), 100)

    def network(self) -> nn.Module:
        from lisax.models.reader import SpanReader

        return SpanReader(self)

    def example(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        return (_tokens(1, self.passages),)


def _tokens(*shape: int) -> jax.ShapeDtypeStruct:
    import jax
    import jax.numpy as jnp

    return jax.ShapeDtypeStruct(shape, jnp.int32)


# --- As JSON --------------------------------------------------------------------------------


def kinds_of(architecture: type[Model]) -> Kinds:
    """The allowed values of each of its fields."""
    return {entry.name: entry.metadata["kind"] for entry in dataclasses.fields(architecture)}


def describe(model: Model) -> dict[str, Any]:
    """`architecture` of `model.json`."""
    values = {entry.name: getattr(model, entry.name) for entry in dataclasses.fields(model)}
    return ({} if model.kind is None else {"kind": model.kind}) | {
        name: describe(value) if isinstance(value, Model) else value for name, value in values.items()
    }


def check_architecture(described: Any, allowed: type[Model] = Model, field: str = "") -> None:
    """FieldError unless `described` is `architecture` of a `model.json`: no field but those of its kind of model, each
    with a value that it may have. `field` is its place in another's description, and `allowed` the architectures that
    may be there."""
    if not isinstance(described, Mapping):
        raise FieldError(field or "architecture", f"must be an object, found {shown(described)}")
    within, kind = f"{field}." if field else "", described.get("kind")
    known = {name: model for name, model in ARCHITECTURES.items() if issubclass(model, allowed)}
    if not (kind is None or isinstance(kind, str)) or kind not in known:
        names = ", ".join(repr(name) for name in known if name)
        raise FieldError(
            f"{within}kind", f"must be left out of a T5's{names and f', or one of {names}'}, found {shown(kind)}"
        )
    kinds = kinds_of(ARCHITECTURES[kind])
    inner = {name: of.of for name, of in kinds.items() if isinstance(of, BuiltOn)}
    for name, allowed in inner.items():
        if name not in described:
            raise FieldError(f"{within}{name}", "is missing")
        check_architecture(described[name], allowed, f"{within}{name}")
    check({name: value for name, value in described.items() if name not in ("kind", *inner)}, kinds, within)


def from_description(described: Mapping[str, Any]) -> Model:
    """The model that `describe` described; raises `fields.FieldError` if it is not valid."""
    check_architecture(described)
    architecture = ARCHITECTURES[described.get("kind")]
    inner = {name for name, of in kinds_of(architecture).items() if isinstance(of, BuiltOn)}
    return architecture(
        **{
            name: from_description(value) if name in inner else value
            for name, value in described.items()
            if name != "kind"
        }
    )
