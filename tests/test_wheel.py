"""What `pip install` of a wheel brings is all that a checkout has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("lisax", "tasks", "gin_configs")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder where a wheel's files are, as in site-packages."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("made")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "from setuptools.build_meta import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", build, str(made)], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(made / done.stdout.splitlines()[-1]) as wheel:
        wheel.extractall(made / "site")
    return made / "site"


def test_every_file_is_in_it(installed):
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.parent.name != "__pycache__":
                assert (installed / path.relative_to(ROOT)).is_file(), path


def test_it_finds_its_gin_files_from_anywhere(installed, tmp_path):
    def lisax(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "lisax", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(installed)},
        )

    assert lisax("--help").returncode == 0
    done = lisax("train", "--gin_file=models/t5_1_1_micro.gin", "--gin_file=runs/finetune.gin")
    assert done.returncode == 1 and "these must be given: --gin." in done.stderr
