"""Two kills of processes that train into a bucket; a hundred are `benchmarks/kills.py`."""

import importlib.util

import pytest

if not all(map(importlib.util.find_spec, ("gcp_storage_emulator", "gcsfs"))):
    pytest.skip("needs gcp-storage-emulator and gcsfs: `make peers`", allow_module_level=True)

from memory_task import config

from benchmarks import kills
from lisax.training.train import train
from lisax.training.train_log import LOG_NAME

pytestmark = pytest.mark.slow


def test_no_step_is_lost_or_changed():
    # Of this seed both processes are killed, then the first alone, two seconds after their first steps.
    done = kills.run(2, seed=70)
    assert [kill.victims for kill in done] == [(0, 1), (0,)] and done[-1].saved > 0


def test_a_step_that_is_lost_or_changed_is_told(tmp_path):
    for name, seed in (("one", 0), ("other", 1)):
        train(config(tmp_path / name, 8, eval_period=kills.EVAL_PERIOD, random_seed=seed))
    kills.compare(str(tmp_path / "one"), str(tmp_path / "one"), 8)
    with pytest.raises(RuntimeError, match="step 1 is .* after kills"):
        kills.compare(str(tmp_path / "one"), str(tmp_path / "other"), 8)
    log = tmp_path / "one" / LOG_NAME
    lines = log.read_text().splitlines(keepends=True)
    for changed in (lines[:3] + lines[4:], lines[:3] + lines[2:]):
        log.write_text("".join(changed))
        with pytest.raises(RuntimeError, match="the train rows are of the steps"):
            kills.compare(str(tmp_path / "one"), str(tmp_path / "other"), 8)
