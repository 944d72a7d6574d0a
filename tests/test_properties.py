"""Property tests of this suite neither fail nor hurry on a machine under load."""

import os
import time

from hypothesis import given, settings
from hypothesis import strategies as st

SLOW = 0.3  # seconds; hypothesis' own deadline is 0.2


@given(st.just(None))
def test_an_example_may_take_its_time(_):
    time.sleep(SLOW)


@given(st.builds(time.sleep, st.just(SLOW)), st.integers())
@settings(max_examples=12)
def test_so_may_drawing_it(_, __):
    pass  # a dozen slow draws would fail its health check


def test_examples_are_the_same_where_ci_is_set():
    assert settings().derandomize or "CI" not in os.environ
