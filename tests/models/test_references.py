"""Every form of the T5 against recorded outputs of the reference implementation; needs neither torch nor a download.

`tests/references/write_references.py` writes the records; `tests/weights/interop/test_transformers.py` compares with the
reference itself. `t5x_models.json` has what T5X's network, search, loss and Adafactor made of the same parameters.
"""

import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from applying import applied
from safetensors.numpy import load_file

from lisax.models.architectures import ReaderConfig
from lisax.models.decoding import Decoding, generate
from lisax.training.losses import Loss
from lisax.training.objectives import apply_model
from lisax.training.optimizers import Adafactor
from tests.references import recorded

STACKED = {"scan_layers": True, "remat": "full", "attention_chunk": 10}  # the chunk divides both lengths


@functools.cache
def record(name):
    return load_file(recorded.file_of(name))


def stacked(config, parameters):
    """The same parameters with all layers of a stack in one array, the layer second, as T5X's scanned tree has them."""
    counts = {"encoder": config.num_encoder_layers, "decoder": config.num_decoder_layers}
    found = {"token_embedder": parameters["token_embedder"]}
    for name, count in counts.items():
        rest = {key: tree for key, tree in parameters[name].items() if not key.startswith("layers_")}
        layers = [parameters[name][f"layers_{i}"] for i in range(count)]
        found[name] = rest | {name: jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *layers)}
    return found


@pytest.mark.parametrize("form", ["unrolled", "stacked"])
@pytest.mark.parametrize("name", recorded.ARCHITECTURES)
def test_encoder_states_and_logits(name, form):
    config = recorded.ARCHITECTURES[name]
    parameters, inputs, targets = recorded.drawn(config), recorded.inputs(config), recorded.targets(config)
    if form == "stacked":
        parameters, config = stacked(config, parameters), dataclasses.replace(config, **STACKED)
    encoded = applied(config, parameters, inputs, method="encode")
    np.testing.assert_allclose(
        recorded.stored(encoded, inputs, recorded.ENCODED_AT), record(name)["encoded"], atol=1e-4
    )
    logits = applied(config, parameters, inputs, recorded.shifted(targets), targets)
    np.testing.assert_allclose(recorded.stored(logits, targets, recorded.LOGITS_AT), record(name)["logits"], atol=1e-4)


@pytest.mark.parametrize("name", recorded.ARCHITECTURES)
def test_label_scores(name):
    config = recorded.ARCHITECTURES[name]
    pieces = np.array([7, 33, 1])
    found = applied(config, recorded.drawn(config), recorded.inputs(config), pieces, method="first_step_logits")
    rows = np.concatenate(
        [np.full((recorded.targets(config)[row, recorded.LOGITS_AT] > 0).sum(), row) for row in range(4)]
    )
    first = [int(np.argmax(rows == row)) for row in range(4)]  # of each row, the outputs at position 0
    np.testing.assert_allclose(found, record(name)["logits"][first][:, pieces], atol=1e-4)


# A search knows nothing of the architecture: each on one of them, and beams, which reorder the cache, on all.
@pytest.mark.parametrize(
    ("name", "search"),
    [
        *(("t5_1_1", search) for search in recorded.SEARCHES),
        *((name, "beams") for name in ("t5_1_0", "mt5", "umt5", "texts")),
    ],
)
def test_searches_with_a_cache(name, search):
    config = recorded.ARCHITECTURES.get(name, recorded.T5_1_1)
    model, inputs = config, recorded.questions(config)
    if name == "texts":
        model, inputs = ReaderConfig(config, recorded.PASSAGES), recorded.passages(config).reshape(4, -1)
    found = jax.jit(generate, static_argnums=(0, 4, 5))(
        model, recorded.drawn(config), inputs, np.arange(4), recorded.SEARCH_LENGTH, recorded.SEARCHES[search]
    )
    np.testing.assert_array_equal(found.tokens, record(name)[f"{search}.tokens"])
    np.testing.assert_allclose(found.scores, record(name)[f"{search}.scores"], rtol=1e-5, atol=1e-4)


T5X = json.loads((recorded.FOLDER / "t5x_models.json").read_text())


@pytest.mark.parametrize("name", T5X)
def test_four_beams_as_t5x_has_them(name):
    config, decoding = recorded.ARCHITECTURES[name], Decoding(beam_size=4, search="t5x", length_penalty=0.6)
    found = jax.jit(generate, static_argnums=(0, 4, 5))(
        config, recorded.drawn(config), recorded.questions(config), np.arange(4), recorded.SEARCH_LENGTH, decoding
    )
    tokens = [[[token for token in beam if token] for beam in row] for row in found.tokens.tolist()]
    assert tokens == T5X[name]["tokens"]
    np.testing.assert_allclose(found.scores, T5X[name]["scores"], rtol=1e-5)


@pytest.mark.parametrize("name", T5X)
def test_four_steps_as_t5x_makes_them(name):
    """Without dropout; with matrices so small that they would not be factored by default."""
    config = dataclasses.replace(recorded.ARCHITECTURES[name], dropout_rate=0.0)
    optimizer, targets = Adafactor(min_dim_size_to_factor=16), recorded.targets(config)
    batch = {
        "encoder_input_tokens": recorded.inputs(config),
        "decoder_input_tokens": recorded.shifted(targets),
        "decoder_target_tokens": targets,
    }

    def loss(parameters):
        losses = Loss().per_token(apply_model(config, parameters, batch), targets)
        return jnp.sum(losses * (targets > 0)) / np.sum(targets > 0)

    @jax.jit
    def step(parameters, slots, count):
        value, gradients = jax.value_and_grad(loss)(parameters)
        return value, *optimizer.update(gradients, slots, parameters, 0.01, count)

    parameters, found = jax.tree.map(jnp.asarray, recorded.drawn(config)), []
    slots = optimizer.init(parameters)
    for count in range(5):
        value, parameters, slots = step(parameters, slots, count)
        found.append(float(value))
    np.testing.assert_allclose(found, T5X[name]["losses"], rtol=1e-5)


@pytest.mark.parametrize("name", [*recorded.ARCHITECTURES, "texts"])
def test_hypotheses_differ_in_length(name):
    """Otherwise the searches would say little of how a hypothesis ends and of the length penalty."""
    lengths = [
        {(*row, 1).index(1) for row in record(name)[f"{search}.tokens"].reshape(-1, recorded.SEARCH_LENGTH).tolist()}
        for search in recorded.SEARCHES
    ]
    assert all(len(of_search) > 1 for of_search in lengths) and len(set.union(*lengths)) > 5
