"""What is logged of several steps, and when training ends early."""

import jax.numpy as jnp
import pytest
from memory_task import config

from lisax.errors import LisaxError
from lisax.training.train import _Patience
from lisax.training.train_log import Meter
from lisax.weights.checkpoints import SaveCheckpointConfig


def metrics_of(loss, tokens, rate, norm):
    found = {"loss": loss, "target_tokens": tokens, "input_tokens": 10, "examples": 2}
    return {name: jnp.float32(x) for name, x in (found | {"learning_rate": rate, "gradient_norm": norm}).items()}


def test_scalars_are_of_all_steps_since_the_last():
    meter = Meter({"loss": ("loss", "target_tokens")})
    meter.add(metrics_of(9.0, 3, 0.1, 7.0))
    meter.run()  # what came before is not timed
    assert meter.flush(1) == pytest.approx({"loss": 3.0, "learning_rate": 0.1, "gradient_norm": 7.0})
    for step in ((8.0, 4, 0.2, 1.0), (1.0, 1, 0.3, 3.0), (1.0, 5, 0.4, 5.0)):
        meter.add(metrics_of(*step))
    found = meter.flush(4)
    # The loss is a mean over tokens, the norm one over steps, and the rate that of the last step.
    assert (found["loss"], found["gradient_norm"], found["learning_rate"]) == pytest.approx((1.0, 3.0, 0.4))
    assert found["examples_per_second"] / found["steps_per_second"] == pytest.approx(2)
    assert found["tokens_per_second"] / found["steps_per_second"] == pytest.approx((3 * 10 + 4 + 1 + 5) / 3)
    assert meter.flush(4) is None


def test_a_loss_that_is_no_number_names_its_step():
    meter = Meter({"loss": ("loss", "target_tokens")})
    for loss in (1.0, float("nan"), 1.0):
        meter.add(metrics_of(loss, 1, 0.1, 1.0))
    with pytest.raises(LisaxError, match="the loss of step 8 is nan"):
        meter.flush(9)


@pytest.mark.parametrize(
    ("mode", "values", "ended"),
    [
        ("min", (3.0, 2.0, 2.5, 2.2), [False, False, False, True]),
        ("min", (3.0, 3.0, 2.9, 2.8), [False, False, False, False]),
        ("max", (3.0, 2.0, 2.5, 3.5), [False, False, True, False]),
        ("max", (3.0, 3.5, 3.5, 3.0), [False, False, False, True]),
    ],
)
def test_patience_is_of_evaluations_that_were_not_better(tmp_path, mode, values, ended):
    save = SaveCheckpointConfig(best_metric="loss", best_mode=mode)
    waiting = _Patience(config(tmp_path, 100, save=save, patience=2, eval_period=4))
    found = []
    for step, value in zip(range(4, 20, 4), values):
        waiting.hear({"loss": value}, step)
        found.append(waiting.ended(step))
    assert found == ended
