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


@pytest.fixture
def located(folder, monkeypatch):
    """The tasks known at import read the examples of the module's `folder`."""
    monkeypatch.setenv("LISAX_DATA", str(folder))
    monkeypatch.delenv("LISAX_VOCABULARY", raising=False)
