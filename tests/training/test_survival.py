"""What a run meets on real machines: a disk that fills up, a folder that somebody removes."""

import asyncio
import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from memory_task import config, source

from lisax.devices.quiet import saving_quietly
from lisax.errors import LisaxError
from lisax.training.train import train
from lisax.weights.checkpoints import complete_steps
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters

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
from lisax.errors import LisaxError
from lisax.weights.checkpoints import complete_steps, latest_checkpoint
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters
from lisax.weights.checkpoints import SaveCheckpointConfig
from lisax.training.train import train
from memory_task import config
try:
    train(config({disk!r} + "/m", 12, save=SaveCheckpointConfig(period=1, keep=None)))
except LisaxError as error:
    sys.exit(f"lisax: {{error}}")
finally:
    load_parameters(ModelFolder.find(latest_checkpoint({disk!r} + "/m")))
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
    ended = subprocess.run(
        ["unshare", "-rm", "sh", "-c", FULL_DISK.format(disk=disk, python=sys.executable, script=script)],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )
    assert ended.returncode == 0, ended.stderr
    (error,) = [line for line in ended.stderr.splitlines() if line.startswith("lisax: ")]
    # An array, a small file of the checkpoint, or TensorBoard's events meets the full disk first.
    assert str(disk / "m") in error and "No space left on device. " in error
    assert "Traceback" not in ended.stderr
    full, freed = [line for line in ended.stdout.splitlines() if line.startswith("whole:")]
    assert "12" not in full and freed.endswith(", 12]")


def test_what_tensorstore_reports_after_a_failed_save_is_dropped():
    script = """if True:
        import sys
        from lisax.devices.quiet import saving_quietly
        with saving_quietly():
            pass
        for error in (RuntimeError("Event loop is closed"), RuntimeError("another")):
            sys.excepthook(type(error), error, None)
            sys.unraisablehook(SimpleNamespace(exc_value=error))"""
    heard = "from types import SimpleNamespace; import sys; sys.unraisablehook = lambda found: print(found.exc_value)\n"
    told = subprocess.run([sys.executable, "-c", heard + script], capture_output=True, text=True)
    assert (told.stdout, told.stderr) == ("another\n", "RuntimeError: another\n")


def test_of_tasks_that_fail_unawaited_errors_of_files_are_dropped(caplog):
    with saving_quietly():
        pass

    async def fails(error):
        raise error

    async def all_of(errors):
        tasks = [asyncio.ensure_future(fails(error)) for error in errors]
        await asyncio.sleep(0)
        del tasks

    asyncio.run(all_of([OSError(28, "full"), ValueError("[os_error_code='28']"), KeyError("another")]))
    gc.collect()
    assert [record.exc_info[0] for record in caplog.records] == [KeyError]


def test_a_model_dir_removed_during_training(tmp_path, monkeypatch):
    """Somebody deletes MODEL_DIR after step 5: what is saved from then on is whole, and the run ends well."""

    def vandal(skip):
        for number, batch in enumerate(source(skip)):
            if number == 5:
                (tmp_path / "m").rename(tmp_path / "gone")  # at once, while a checkpoint may be written
                shutil.rmtree(tmp_path / "gone", ignore_errors=True)
            yield batch

    result = train(config(tmp_path / "m", 12, train_data=vandal))
    assert result.step == 12 and complete_steps(tmp_path / "m")[-1] == 12
    assert load_parameters(ModelFolder.find(result.latest))


def test_two_trainings_in_one_model_dir_are_refused(tmp_path):
    """By a process of its own, as a lock is a process's; and it is free again when that one is killed."""
    code = f"""if True:
        import time
        from lisax.files.run_lock import alone_in
        with alone_in({str(tmp_path / "m")!r}):
            print("in", flush=True)
            time.sleep(600)"""
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "in\n"
        with pytest.raises(LisaxError, match="another process is at work in this folder"):
            train(config(tmp_path / "m", 2))
        assert not complete_steps(tmp_path / "m")
    finally:
        other.kill()
        other.communicate()
    assert train(config(tmp_path / "m", 2)).step == 2


def _limited(limit: int, code: str) -> subprocess.CompletedProcess:
    """Python in which no file may grow beyond `limit` bytes, which is told as a full disk is."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); {code}"
    # Without -B, compiled modules are cut off at the limit, and break the next program.
    return subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("code", "named"),
    [
        (
            "from lisax.files.writing import write_json_lines; write_json_lines('{0}/x.jsonl', [{{'a': 'b' * 5000}}])",
            "x.jsonl",
        ),
        (
            "from lisax.files.resumable import resumable_groups; from pathlib import Path; "
            "resumable_groups(Path('{0}/x.jsonl'), lambda done: [['b' * 100]] * (50 - done))",
            "x.jsonl.partial",
        ),
        (
            "import numpy\nfrom lisax.retrieval.folder import writing\nwith writing('{0}/index') as index:\n"
            "  numpy.zeros(10_000).tofile(index.new_part('p') / 'x')",
            "index",
        ),
    ],
)
def test_a_full_disk_is_told_with_the_file(tmp_path, code, named):
    ended = _limited(3000, f"exec({code.format(tmp_path)!r})")
    last = ended.stderr.strip().splitlines()[-1]
    assert ended.returncode == 1 and last.startswith("lisax.errors.LisaxError: "), ended.stderr
    assert f"{tmp_path}/{named} could not be written: " in last
