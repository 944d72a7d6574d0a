"""What `pip install` of a wheel brings is all that a checkout has, inside one package. `.ci/wheel` installs and uses it."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder where a wheel's files are, as in site-packages."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("made")
    for name in ("lisax", "tasks", "gin_configs"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "from setuptools.build_meta import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", build, str(made)], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(made / done.stdout.splitlines()[-1]) as wheel:
        wheel.extractall(made / "site")
    return made / "site"


def test_every_file_is_in_it_and_all_in_one_package(installed):
    for folder, into in (("lisax", "lisax"), ("tasks", "lisax/tasks"), ("gin_configs", "lisax/gin_configs")):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.parent.name != "__pycache__":
                assert (installed / into / path.relative_to(ROOT / folder)).is_file(), path
    assert (installed / "lisax/py.typed").is_file()
    assert sorted(path.name for path in installed.iterdir() if path.suffix != ".dist-info") == ["lisax"]
    assert (next(installed.glob("*.dist-info")) / "top_level.txt").read_text().split() == ["lisax"]
