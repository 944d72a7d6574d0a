"""What a run meets on real machines: a disk that fills up, a folder that somebody removes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lisax.runtime.checkpoints import complete_steps
from lisax.runtime.restore import load_parameters
from lisax.runtime.train import train
from memory_task import config, source

HERE = Path(__file__).parent

# In a mount namespace of its own: a disk of 6 MB, of which ballast leaves room for some checkpoints only.
FULL_DISK = """
set -e
mount -t tmpfs -o size=6m tmpfs {disk}
head -c 5500000 /dev/zero > {disk}/ballast
set +e
{python} {script} && exit 3
rm {disk}/ballast
{python} {script}
"""

SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from lisax.runtime.checkpoints import complete_steps, latest_checkpoint
from lisax.runtime.restore import load_parameters
from lisax.runtime.checkpoints import SaveCheckpointConfig
from lisax.runtime.train import train
from memory_task import config
try:
    train(config({disk!r} + "/m", 12, save=SaveCheckpointConfig(period=1, keep=None)))
finally:
    load_parameters(latest_checkpoint({disk!r} + "/m"))
    print("whole:", complete_steps({disk!r} + "/m"))
"""


def _may_mount(folder: Path) -> bool:
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    return bool(shutil.which("unshare")) and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.slow
def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if not _may_mount(disk):
        pytest.skip("mounting a small disk is not allowed here")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(here=str(HERE), disk=str(disk)))
    ended = subprocess.run(["unshare", "-rm", "sh", "-c", FULL_DISK.format(disk=disk, python=sys.executable, script=script)],
                           capture_output=True, text=True, timeout=240, env=os.environ | {"JAX_PLATFORMS": "cpu"})
    assert ended.returncode == 0, ended.stderr
    assert "LisaxError" in ended.stderr and "Check that the disk has room" in ended.stderr
    full, freed = [line for line in ended.stdout.splitlines() if line.startswith("whole:")]
    assert "12" not in full and freed.endswith(", 12]")


def test_a_model_dir_removed_during_training(tmp_path, monkeypatch):
    """Somebody deletes MODEL_DIR after step 5: what is saved from then on is whole, and the run ends well."""
    def vandal(skip):
        for number, batch in enumerate(source(skip)):
            if number == 5:
                shutil.rmtree(tmp_path / "m")
            yield batch

    result = train(config(tmp_path / "m", 12, train_data=vandal))
    assert result.step == 12 and complete_steps(tmp_path / "m")[-1] == 12
    assert load_parameters(result.latest)
