import math

import pytest

from lisax.errors import LisaxError
from lisax.training.schedules import Schedule


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        (Schedule(), 0, 1e-8),
        (Schedule(), 500, 0.5 * 0.5 / math.sqrt(1000)),
        (Schedule(), 4000, 0.5 / math.sqrt(4000)),
        (Schedule("constant", 1e-4), 123456, 1e-4),
        (Schedule("constant*linear_warmup", 1.0, warmup_steps=10, step_offset=100), 105, 0.5),
        (Schedule("constant * rsqrt_normalized_decay", 1.0, warmup_steps=100), 400, 0.5),
        (Schedule("constant * decay_every", 1.0, decay_factor=0.1, steps_per_decay=10), 25, 0.01),
        (Schedule("constant * cosine_decay", 2.0, warmup_steps=0, steps_per_cycle=100), 50, 1.0),
        (Schedule("linear_decay", 2.0, warmup_steps=10, decay_factor=0.1), 5, 1.0),
        (Schedule("linear_decay", 2.0, warmup_steps=10, decay_factor=0.1), 15, 1.0),
        (Schedule("linear_decay", 2.0, warmup_steps=10, decay_factor=0.1), 30, 1e-8),
    ],
)
def test_factors(schedule, step, expected):
    assert float(schedule(step)) == pytest.approx(expected, rel=1e-5)


def test_unknown_factor():
    with pytest.raises(LisaxError, match="unknown learning-rate factor 'warm'"):
        Schedule("constant * warm")
