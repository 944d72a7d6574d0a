"""A few kills of two processes that train into a bucket; a hundred of them are `benchmarks/kills.py`."""

from __future__ import annotations

import importlib.util

import pytest

if not all(map(importlib.util.find_spec, ("gcp_storage_emulator", "gcsfs"))):
    pytest.skip("needs gcp-storage-emulator and gcsfs: `make peers`", allow_module_level=True)

from benchmarks import kills


def test_no_step_is_lost_or_changed():
    done = kills.run(3, seed=0)
    assert [len(kill.victims) for kill in done].count(0) == 0 and done[-1].saved > 0
