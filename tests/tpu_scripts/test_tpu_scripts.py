"""tpu.sh against a stand-in gcloud that records how it was called."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tpu_scripts" / "tpu.sh"


@pytest.fixture
def tpu(tmp_path):
    calls = tmp_path / "calls"
    calls.touch()
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {calls}\necho >> {calls}\n')
    gcloud.chmod(0o755)

    def run(*arguments, **environment):
        base = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TPU_NAME": "mine", "ZONE": "europe-west4-a"}
        done = subprocess.run([SCRIPT, *arguments], env=base | environment, capture_output=True, text=True)
        return done, calls.read_text().splitlines()

    return run


def test_create_run_fetch_delete(tpu):
    start = "compute|tpus|tpu-vm|"
    tpu("create", SPOT="1")
    tpu("run", "lisax", "train", "--gin.MODEL_DIR=gs://a b/model")
    tpu("fetch", "lisax/out", "here")
    done, calls = tpu("delete")
    assert done.returncode == 0
    assert calls[0] == (start + "create|mine|--zone=europe-west4-a|--accelerator-type=v3-8|"
                        "--version=tpu-ubuntu2204-base|--spot|")
    assert calls[1].startswith(start + "ssh|mine|--zone=europe-west4-a|--worker=all|--command=cd lisax")
    assert r"lisax train --gin.MODEL_DIR=gs://a\ b/model" in calls[1]
    assert calls[2] == start + "scp|--recurse|mine:lisax/out|here|--zone=europe-west4-a|--worker=0|"
    assert calls[3] == start + "delete|mine|--zone=europe-west4-a|--quiet|"


def test_dry_run_prints_and_calls_nothing(tpu):
    for verb in ("create", "setup", "watch", "delete"):
        done, calls = tpu("--dry-run", verb)
        assert done.returncode == 0 and "gcloud compute tpus tpu-vm" in done.stdout and not calls


def test_wrong_use_says_so(tpu):
    assert "no verb 'nothing'" in tpu("nothing")[0].stderr
    assert "set TPU_NAME" in tpu("create", TPU_NAME="")[0].stderr
    assert tpu("run")[0].returncode == 2
    assert "create" in tpu("--help")[0].stdout
