"""What is imported is declared, and what is declared is pinned with all that it needs, and nothing else."""

import importlib.metadata
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(name: str) -> dict[str, str]:
    """Version by package of a file of requirements."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    split = [line.partition("==") for line in lines if line and not line.startswith("#")]
    assert all(separator for _, separator, _ in split), f"{name}: each line is PACKAGE==VERSION"
    return {canonicalize_name(package): version for package, _, version in split}


def closure(roots: list[str]) -> dict[str, SpecifierSet]:
    """All that these requirements bring here, with every bound on its version."""
    bounds, seen = defaultdict(SpecifierSet), set()
    todo = [Requirement(root) for root in roots]
    while todo:
        wanted = todo.pop()
        package, extras = canonicalize_name(wanted.name), wanted.extras or {""}
        if package == PROJECT["name"]:  # an extra that takes in another
            todo += [Requirement(text) for extra in wanted.extras for text in PROJECT["optional-dependencies"][extra]]
            continue
        bounds[package] &= wanted.specifier
        if (package, *sorted(extras)) in seen:
            continue
        seen.add((package, *sorted(extras)))
        for needed in map(Requirement, importlib.metadata.requires(package) or ()):
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                todo.append(needed)
    return bounds


def test_all_that_is_imported_is_declared_and_the_reverse():
    done = subprocess.run([sys.executable, "-m", "deptry", "lisax", "tasks"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "extra", "others"),
    [("requirements.txt", "test", ()), ("requirements-docs.txt", "docs", ("requirements.txt",))],
)
def test_an_installation_is_pinned_whole_and_alone(name, extra, others):
    if extra == "docs":
        pytest.importorskip("sphinx", reason="make docs installs it")
    pinned, before = pins(name), {package: at for other in others for package, at in pins(other).items()}
    bounds = closure(PROJECT["optional-dependencies"][extra] + ([] if others else PROJECT["dependencies"]))
    assert bounds.keys() - pinned.keys() - before.keys() == set(), "these are installed and not pinned"
    assert pinned.keys() - bounds.keys() == set(), "nothing needs these"
    assert pinned.keys() & before.keys() == set(), "these are pinned twice"
    all_pins = before | pinned
    misfit = {
        package: (all_pins[package], str(bound))
        for package, bound in bounds.items()
        if not bound.contains(all_pins[package], prereleases=True)
    }
    assert misfit == {}


def test_what_is_declared_goes_down_to_what_is_tested_and_leaves_what_comes_open():
    """A lower bound is the pin, and there is no upper bound."""
    pinned = pins("requirements.txt")
    for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["train"]:
        wanted = Requirement(text)
        bounds = {bound.operator: bound.version for bound in wanted.specifier}
        assert bounds.pop(">=") == pinned[canonicalize_name(wanted.name)], text
        assert bounds == {}, text


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements-docs.txt", "requirements-peers.txt", "requirements-beam.txt"]
)
def test_files_of_requirements_and_extras_name_the_same_versions(name):
    declared = [Requirement(text) for group in PROJECT["optional-dependencies"].values() for text in group]
    declared += [Requirement(text) for text in PROJECT["dependencies"]]
    for package, version in pins(name).items():
        for requirement in declared:
            if canonicalize_name(requirement.name) == package:
                assert requirement.specifier.contains(version), f"{name} pins {package} {version}, not {requirement}"
