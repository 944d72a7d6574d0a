import fcntl
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from lisax.cli import main
from lisax.planning import plan_text
from lisax.planning.costs import Costs
from lisax.planning.machines import GIB
from lisax.planning.plan import Modelled, Plan, Run
from lisax.planning.plan_search import Setting

GIN = [
    *"--gin_file=models/t5_1_1_micro.gin --gin_file=runs/finetune.gin --gin.MODEL_DIR=out --gin.BATCH_SIZE=16".split(),
    *"--gin.MIXTURE_OR_TASK_NAME=list5_rank --gin.INITIAL_CHECKPOINT_PATH=None --gin.TRAIN_STEPS=1000".split(),
    "--gin.TASK_FEATURE_LENGTHS={'inputs': 32, 'targets': 2}",
]
needs_compiler = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None, reason="the TPU compiler (extra plan) is not installed"
)


def plan(*arguments: str, devices: int = 1) -> subprocess.CompletedProcess:
    env = os.environ | {"JAX_NUM_CPU_DEVICES": str(devices)}
    return alone("-m", "lisax", "plan", *GIN, *arguments, env=env)


def alone(*command: str, env: dict | None = None) -> subprocess.CompletedProcess:
    """Runs Python where no other does: one process at a time may use the TPU compiler."""
    with open(Path(tempfile.gettempdir()) / "lisax-tests-of-plan.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-P", *command]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)


def test_plans_for_cpus():
    done = plan("--topology=cpu-8", "--json", "--gin.PjitPartitioner.parameter_partitioning_dims=2", devices=8)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["fits"] and found["devices"] == 8
    # Parameters, and slots of their size, because so narrow a model's are not factored: all split in eight but norms.
    eighth = 2 * found["parameters"] * 4 / 8
    assert eighth <= found["state"] < 1.1 * eighth
    assert found["temporaries"] > 0 and found["flops"] > 0


# Without the TPU compiler, hence in this process.
@pytest.mark.parametrize(
    "arguments, message, status",
    [
        (["--topology=cpu-9"], "this machine has 1 cpu device", 1),
        (["--topology=cpu-1", "--gin.PjitPartitioner.num_partitions=2"], "does not divide the 1 devices", 1),
        (
            ["--topology=cpu-1", "--gin_file=models/table_fusion.gin", "--program=generate"],
            "fusion generates nothing",
            1,
        ),
        (["--topology=cpu-1", "--gin.TASK_FEATURE_LENGTHS=None"], "TASK_FEATURE_LENGTHS must be given", 2),
        (["--program=score", "--search"], "--search is for --program=train, found --program=score", 2),
        (["--price=-1"], "--price must be a positive number, found -1.0", 2),
        (["--watts=inf"], "--watts must be a positive number, found inf", 2),
    ],
)
def test_says_what_is_wrong(arguments, message, status, capsys):
    assert main(["plan", *GIN, *arguments]) == status and message in capsys.readouterr().err


@pytest.mark.parametrize("program", [pytest.param("train", marks=pytest.mark.slow), "score"])
@pytest.mark.parametrize("model, targets", [("table_fusion", 3), ("evidence_pointer", 24)])
def test_plans_models_of_several_texts(program, model, targets, capsys):
    lengths = f"--gin.TASK_FEATURE_LENGTHS={{'inputs': 96, 'targets': {targets}}}"
    given = ["--topology=cpu-1", "--json", f"--program={program}", f"--gin_file=models/{model}.gin", lengths]
    assert main(["plan", *GIN, *given]) == 0
    assert json.loads(capsys.readouterr().out)["fits"]


@needs_compiler
def test_plans_with_the_tpu_compiler():
    done = plan("--topology=v3-8", "--price=8", "--watts=2000")
    assert done.returncode == 0, done.stderr
    assert "8 × TPU v3" in done.stdout and "at 8 an hour" in done.stdout and "kWh at 2000 W" in done.stdout
    by_cycles, by_bounds = (
        float(re.search(rf"step by {what} +([\d.]+) ms, [\d,]+ examples/s, \d+% of the device's peak", done.stdout)[1])
        for what in ("cycles", "bounds")
    )
    # A schedule takes longer than its operations would, each at its own limit.
    assert 0 < by_bounds <= by_cycles


def test_shows_no_figure_that_is_not_one(capsys):
    found = Plan("train", "TPU v3", 8, 1, 1, True, temporaries=1, compile_seconds=1, costs=Costs.without("it loops"))
    assert plan_text.described(found, "v3-8", None, None, "T5Config").endswith(
        "not given           operations, bytes, step by bounds, step by cycles: it loops"
    )
    assert Run.of(found, SimpleNamespace(relative_steps=None, total_steps=9), 8.0, None) is None
    setting = Setting(1, False, False, "none", None, 1)
    plan_text.print_candidate("TPU v3", setting, Modelled(found.costs, 2 * GIB), None)
    assert capsys.readouterr().out.startswith("     unknown  at least 2.0 GiB")


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("topology", ["v2-8", "v4-8", "v5litepod-8", "v5p-8", "v6e-8", "tpu7x-8"])
def test_every_generation_has_figures_that_can_be(topology):
    done = plan(f"--topology={topology}", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    figures = {name: value for name, value in found.items() if isinstance(value, int | float)}
    assert min(figures.values()) >= 0
    assert found["flops"] > 0 and found["bytes"] > 0 and found["collectives"]["all-reduce"][0] > 0
    assert "cycles" in found["missing"] or 0 < found["share_of_peak"] < 1
    assert found["bound_seconds"] or "bound_seconds" in found["missing"]


@needs_compiler
def test_a_loop_of_unknown_turns_is_not_counted_once():
    done = plan("--topology=v3-8", "--program=generate")
    assert done.returncode == 0, done.stderr
    assert "step by cycles: the program loops" in done.stdout and "examples/s" not in done.stdout


@needs_compiler
def test_flags_of_other_compilers_do_not_end_it(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_gpu_autotune_level=0")
    done = plan("--topology=v3-8", "--program=score", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["fits"] and json.loads(done.stdout)["step_seconds"] > 0


@needs_compiler
def test_what_does_not_fit_is_refused_with_advice():
    done = plan(
        "--topology=v3-8",
        "--gin_file=models/t5_1_1_xxl.gin",
        "--gin.T5Config.scan_layers=True",
        "--gin.T5Config.dtype=bfloat16",
        "--gin.DROPOUT_RATE=0.1",
    )
    assert done.returncode == 1
    assert "does not fit" in done.stdout and "parameter_partitioning_dims=2" in done.stdout
