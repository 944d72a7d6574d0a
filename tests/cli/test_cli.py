"""The command line: light to start, clear when something is wrong."""

import subprocess
import sys
import time

import pytest

from lisax import cli

HEAVY = ("jax", "tensorflow", "numpy", "numba", "seqio", "bm25s")


def test_help_imports_nothing_heavy_and_is_quick():
    program = f"""
import sys
from lisax.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
assert not set({HEAVY}) & set(sys.modules), set({HEAVY}) & set(sys.modules)
"""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert time.perf_counter() - started < 5  # a tenth of a second on an idle machine
    assert all(verb in done.stdout for verb in cli.VERBS)


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([verb, "--help"])
    assert stopped.value.code == 0 and "usage" in capsys.readouterr().out


def test_wrong_usage_is_2_and_bad_input_is_1_without_a_traceback(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["nothing"])
    assert stopped.value.code == 2
    assert cli.main(["data", "check", str(tmp_path / "missing")]) == 1
    assert (
        cli.main(
            [
                "verify",
                "--checkpoint",
                str(tmp_path / "none"),
                "--claims",
                "c",
                "--run",
                "r",
                "--index",
                "i",
                "--out",
                "o",
            ]
        )
        == 1
    )
    error = capsys.readouterr().err
    assert "missing" in error and "no such checkpoint or bundle" in error and "Traceback" not in error


def test_interruption_is_130(monkeypatch, capsys):
    def interrupted(_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("lisax.cli.data.main", interrupted)
    assert cli.main(["data", "list"]) == 130
    assert "interrupted; the same command goes on" in capsys.readouterr().err
    monkeypatch.setattr("lisax.cli.attack.main", interrupted)
    assert cli.main(["attack", "--out", "x"]) == 130
    assert "interrupted; the same command starts again" in capsys.readouterr().err
