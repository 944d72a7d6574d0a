"""T5 is not computed in float16, and the error says why."""

from __future__ import annotations

import pytest

from lisax.models.architectures import EncoderConfig, T5Config
from lisax.models.fields import FieldError


def test_float16_is_refused_with_the_reason():
    with pytest.raises(FieldError, match="overflow, so that scores are NaN: use bfloat16 or float32"):
        T5Config(dtype="float16")
    assert EncoderConfig(dtype="float16").dtype == "float16" and T5Config(dtype="bfloat16").dtype == "bfloat16"
