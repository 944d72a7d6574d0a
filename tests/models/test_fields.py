"""What a model may be described by: every field of the dataclasses, T5s of every size, and nothing else."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.models import architectures, fields, t5
from lisax.models.architectures import (
    Backbone,
    EncoderConfig,
    FusionConfig,
    ReaderConfig,
    T5Config,
    describe,
    from_description,
)
from lisax.models.fields import FieldError
from lisax.training.gin_files import parsed

LAYERS = {"num_encoder_layers": 24, "num_decoder_layers": 24}
T5_11B = LAYERS | {"emb_dim": 1024, "num_heads": 128, "head_dim": 128, "mlp_dim": 65536}
XXL = LAYERS | {"emb_dim": 4096, "num_heads": 64, "head_dim": 64, "mlp_dim": 10240}
LARGE = {  # the paper's and others' largest, which no gin file here has
    "T5-11B": T5_11B | {"vocab_size": 32128, "mlp_activations": ["relu"]},
    "mT5-XXL": XXL | {"vocab_size": 250112},
    "umT5-XXL": XXL | {"vocab_size": 256384},
}


def test_every_field_of_every_kind_says_what_it_may_be():
    assert list(architectures.ARCHITECTURES) == [
        *(None, "encoder", "table_fusion", "evidence_pointer", "dual_encoder", "pair", "reader", "span_reader")
    ]
    for architecture in architectures.ARCHITECTURES.values():
        kinds = architectures.kinds_of(architecture)
        assert {entry.name for entry in dataclasses.fields(architecture)} == kinds.keys()
        model = architecture(*(() if issubclass(architecture, Backbone) else (T5Config(),)))
        for name, value in vars(model).items():
            assert kinds[name].accepts(value)
        assert from_description(describe(model)) == model == model.replaced(scan_layers=True).for_inference()
    assert tuple(t5.ACTIVATIONS) == fields.ACTIVATIONS and tuple(t5.REMAT) == fields.REMATS


@pytest.mark.parametrize("described", LARGE.values(), ids=LARGE)
def test_the_largest_models_are_let_in(described):
    assert from_description(described).emb_dim == described["emb_dim"]


@pytest.mark.parametrize(
    ("described", "field"),
    [
        ([], "architecture"),
        ({"kind": ["reader"]}, "kind"),
        ({"kind": "reader"}, "backbone"),
        ({"kind": "reader", "backbone": [1]}, "backbone"),
        ({"kind": "reader", "backbone": {"kind": "reader"}}, "backbone.kind"),
        ({"kind": "reader", "backbone": {"emb_dim": 0}}, "backbone.emb_dim"),
        ({"vocab_size": 10**12}, "vocab_size"),
        ({"num_heads": 0}, "num_heads"),
        ({"num_encoder_layers": 100_000}, "num_encoder_layers"),
        ({"mlp_activations": ["Module"]}, "mlp_activations"),
        ({"mlp_activations": "gelu"}, "mlp_activations"),
        ({"mlp_activations": ["gelu"] * 99}, "mlp_activations"),
        ({"dtype": "object"}, "dtype"),
        ({"scan_layers": 1}, "scan_layers"),
        ({"dropout_rate": math.nan}, "dropout_rate"),
        ({"dropout_rate": -(10**400)}, "dropout_rate"),
        ({"layers": 3}, "layers"),
        ({"\x1b[2J": 3}, r"'\x1b[2J'"),
        ({"kind": "table_fusion", "backbone": {"emb_dim": 8}, "heads": 3}, "heads"),
        ({"kind": "table_fusion", "backbone": {}, "heads": -1}, "heads"),
        ({"kind": "table_fusion", "backbone": {}, "objective": "both"}, "objective"),
        ({"kind": "table_fusion", "backbone": {}, "pooling": "first"}, "pooling"),
        ({"kind": "evidence_pointer", "backbone": {}, "steps": 10**6}, "steps"),
        ({"kind": "evidence_pointer", "backbone": {}, "relation": "each"}, "relation"),
        ({"kind": "evidence_pointer", "backbone": {}, "pooling": "first"}, "pooling"),
        ({"kind": "pointer"}, "kind"),
        ({"kind": "reader", "backbone": {"kind": "encoder"}}, "backbone.kind"),
        ({"kind": "pair", "backbone": {"kind": "pair", "backbone": {}}}, "backbone.kind"),
        ({"kind": "pair", "backbone": {"kind": "encoder", "num_heads": 5}}, "num_heads"),
        ({"kind": "encoder", "layer_norm_epsilon": math.nan}, "layer_norm_epsilon"),
    ],
)
def test_what_no_model_is_is_named(described, field):
    with pytest.raises(FieldError) as told:
        from_description(described)
    assert told.value.field == field and str(told.value).isprintable() and len(str(told.value)) < 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
DESCRIPTIONS = [
    describe(T5Config()),
    describe(FusionConfig(EncoderConfig())),
    describe(FusionConfig(T5Config())),
    describe(ReaderConfig(T5Config())),
]


@given(st.sampled_from(DESCRIPTIONS), st.data())
def test_any_value_anywhere_is_a_model_or_told(described, data):
    name = data.draw(st.sampled_from(sorted(described)))
    changed = described | {name: data.draw(JSON)}
    if data.draw(st.booleans()) and "backbone" in described:
        inner = data.draw(st.sampled_from(sorted(described["backbone"])))
        changed = described | {"backbone": described["backbone"] | {inner: data.draw(JSON)}}
    try:
        made = from_description(changed)
    except FieldError as error:
        assert str(error).isprintable() and len(str(error)) < 500
    else:
        assert hash(made) is not None


def test_gin_files_are_held_to_the_same():
    with parsed(["models/t5_1_1_tiny.gin"], ["DROPOUT_RATE = 0.0", "T5Config.dtype = 'object'"]) as gin:
        with pytest.raises(ValueError, match="dtype must be one of 'float32', 'bfloat16'"):
            gin.get_configurable("T5Config")()
    assert not issubclass(FieldError, LisaxError)  # who reads a file says which


def test_a_t5_in_float16_is_refused_with_the_reason():
    with pytest.raises(fields.FieldError, match="exceed, so that scores are NaN: use bfloat16 or float32"):
        T5Config(dtype="float16")
    assert EncoderConfig(dtype="float16").dtype == "float16" and T5Config(dtype="bfloat16").dtype == "bfloat16"
