"""Every architecture has its one entry, with an objective and an inference that agree with it."""

import pytest

from lisax.errors import LisaxError
from lisax.models.architectures import (
    ARCHITECTURES,
    DualEncoderConfig,
    EncoderConfig,
    FusionConfig,
    PairConfig,
    T5Config,
)
from lisax.training.model_kinds import MODEL_KINDS, kind_of


def test_every_architecture_has_an_entry_and_every_metric_its_sums():
    assert list(MODEL_KINDS) == list(ARCHITECTURES.values())
    for config, kind in MODEL_KINDS.items():
        assert kind.config is config and "loss" in kind.objective.metrics
        assert kind.inference.needs in ("words", "tables", "candidates", None)
    assert [kind.inference.scores_targets for kind in MODEL_KINDS.values()] == [True, *[False] * 7]


def test_what_a_kind_does_not_do_is_told():
    questions = kind_of(DualEncoderConfig(T5Config())).inference
    with pytest.raises(LisaxError, match="are used by `lisax index vectors` and `lisax"):
        questions.check()
    with pytest.raises(LisaxError, match="plan --program=train"):
        questions.compiled()
    alone = kind_of(EncoderConfig())
    for call in (alone.inference.check, alone.inference.compiled, lambda: list(alone.inference.scores())):
        with pytest.raises(LisaxError, match="an encoder without a head predicts nothing"):
            call()
    with pytest.raises(LisaxError, match="an encoder without a head has nothing to learn: .* models/pair.gin"):
        alone.objective.check(EncoderConfig(), None, {}, False)
    pair = kind_of(PairConfig(EncoderConfig())).inference
    for call in (lambda: pair.scores(None, []), lambda: pair.compiled(None, "generate", {}, 1, None, None)):
        with pytest.raises(LisaxError, match="a pair scorer"):
            call()
    with pytest.raises(LisaxError, match="table fusion generates nothing: plan --program=score"):
        kind_of(FusionConfig(T5Config())).inference.compiled(None, "generate", {}, 1, None, None)
