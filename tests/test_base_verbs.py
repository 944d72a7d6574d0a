"""What uses trained models does without TensorFlow, seqio, Orbax and all else of the extra `train`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


# .ci/wheel runs the same where these packages are not installed.
@pytest.mark.slow
def test_every_verb_of_use_works_without_what_training_needs(tmp_path):
    script = Path(__file__).with_name("base_verbs.py")
    done = subprocess.run([sys.executable, script, "--block"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lisax serve: answered" in done.stdout


def test_tasks_name_the_extra_that_they_need(tmp_path):
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import base_verbs; "
        "sys.meta_path.insert(0, base_verbs.Blocker()); from lisax.tasks.register import register"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    found = done.stderr.splitlines()[-1]
    assert found == "ModuleNotFoundError: this needs seqio, which is not installed: pip install 'lisax[train]'"
