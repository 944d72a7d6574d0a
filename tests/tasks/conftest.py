"""What tests that register tasks share."""

from __future__ import annotations

import pytest
import seqio


@pytest.fixture
def forget():
    """Removes what a test registers."""
    registries = (seqio.MixtureRegistry, seqio.TaskRegistry)
    before = [set(registry.names()) for registry in registries]
    yield
    for registry, names in zip(registries, before):
        for name in set(registry.names()) - names:
            registry.remove(name)
