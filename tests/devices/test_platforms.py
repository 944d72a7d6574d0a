"""With the TPU compiler installed and no TPU attached nothing looks for one."""

import importlib.util
import os
import subprocess
import sys

import pytest

from lisax.devices import platforms

VERB = "from lisax import cli; assert cli.main(['data', 'list']) == 0"
LOAD = """
import lisax
from lisax.errors import LisaxError
try:
    lisax.load("missing")
except LisaxError:
    pass
"""
LOAD_AFTER_JAX = "import jax\n" + LOAD
ASK = """
import jax
assert jax.devices()
try:
    jax.devices("tpu")
except RuntimeError as error:
    print("asked" if "no_such_libtpu.so" in str(error) else "not asked")
"""


@pytest.fixture
def installed(tmp_path):
    """Runs a program where a libtpu is installed that is none: JAX says so when it looks for a TPU."""

    def run(program: str, *, plugin: bool = False, **environment: str) -> str:
        files = {"libtpu": f"def get_library_path(): return {str(tmp_path / 'no_such_libtpu.so')!r}"}
        if plugin:
            files["jax_plugins/nothing"] = "def initialize(): pass"
        for name, text in files.items():
            (tmp_path / name).mkdir(parents=True)
            (tmp_path / name / "__init__.py").write_text(text)
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in ("JAX_PLATFORMS", "TPU_LIBRARY_PATH", *platforms.VARIABLES)
        }
        path = os.pathsep.join([str(tmp_path), os.getcwd()])
        done = subprocess.run(
            [sys.executable, "-c", program + ASK],
            env=inherited | {"PYTHONPATH": path} | environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]

    return run


needs_no_tpu = pytest.mark.skipif(platforms.tpu_attached(), reason="a TPU is attached")


@needs_no_tpu
@pytest.mark.parametrize(
    ("program", "plugin"),
    [(VERB, False), (VERB, True), (LOAD, False), (LOAD_AFTER_JAX, False)],
    ids=["verb", "plugin", "load", "load after jax"],
)
def test_no_tpu_is_looked_for(installed, program, plugin):
    assert installed(program, plugin=plugin) == "not asked"


@pytest.mark.parametrize("environment", [{"JAX_PLATFORMS": ""}, {"TPU_WORKER_HOSTNAMES": "10.0.0.1"}])
def test_jax_looks_where_it_is_told_to_or_a_tpu_is_attached(installed, environment):
    assert installed(VERB, **environment) == "asked"


@needs_no_tpu
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="the TPU compiler (extra plan) is not installed")
def test_the_compiler_itself_prints_nothing():
    inherited = {name: value for name, value in os.environ.items() if name != "JAX_PLATFORMS"}
    done = subprocess.run(
        [sys.executable, "-c", f"{VERB}; import jax; jax.devices()"],
        env=inherited,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "files, attached",
    [
        ({}, False),
        ({"dev/accel0": ""}, True),
        ({"dev/accel/accel0": ""}, False),  # an NPU of another maker
        ({"dev/vfio/0": ""}, True),
        ({"dev/vfio/vfio": ""}, False),
        ({"sys/bus/pci/devices/00:04.0/vendor": "0x1ae0\n", "sys/bus/pci/devices/00:04.0/device": "0x0027\n"}, True),
        # A network card of Google's, and another maker's device of a TPU's number.
        ({"sys/bus/pci/devices/00:05.0/vendor": "0x1ae0\n", "sys/bus/pci/devices/00:05.0/device": "0x0042\n"}, False),
        ({"sys/bus/pci/devices/00:06.0/vendor": "0x8086\n", "sys/bus/pci/devices/00:06.0/device": "0x0027\n"}, False),
    ],
)
def test_a_tpu_is_known_by_its_devices(tmp_path, files, attached):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert platforms.tpu_attached(tmp_path, {}) is attached


def test_a_tpu_is_known_by_its_host(tmp_path):
    assert platforms.tpu_attached(tmp_path, {"TPU_ACCELERATOR_TYPE": "v3-8"})
    assert not platforms.tpu_attached(tmp_path, {"TPU_NAME": "one to be created"})
