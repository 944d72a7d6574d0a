"""What can be checked of the Dockerfile and the compose file without Docker: instructions, files, extras, commands."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from lisax.cli import root

ROOT = Path(__file__).parent.parent
INSTRUCTIONS = {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}  # fmt: skip
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def of(name: str) -> list[str]:
    return [rest for word, rest in instructions() if word == name]


def ignored() -> set[str]:
    return {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}


def test_the_instructions():
    words = [word for word, _ in instructions()]
    assert words[0] == "FROM" and set(words) <= INSTRUCTIONS
    assert all(re.match(r"python:3\.1[12]-slim\b", image) for image in of("FROM"))
    last = words[len(words) - words[::-1].index("FROM") :]
    assert last.index("USER") < last.index("ENTRYPOINT") and of("USER") == ["lisax"]  # not root
    assert "useradd" in of("RUN")[-1] and " lisax " in of("RUN")[-1]
    (check,) = of("HEALTHCHECK")
    compile(json.loads(check.partition(" CMD ")[2])[2], "HEALTHCHECK", "exec")


def test_what_is_copied_is_here_and_is_sent():
    copied = [shlex.split(rest)[:-1] for rest in of("COPY") if not rest.startswith("--from")]
    for source in (source for sources in copied for source in sources):
        assert (ROOT / source).exists(), source
    assert {source for sources in copied for source in sources} == ignored()


def test_what_is_installed_is_this_project_at_its_pins():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (install,) = [shlex.split(run) for run in of("RUN") if "/pip install" in run]
    (wanted,) = [re.fullmatch(r"\.\[([a-z0-9,]+)\]", word) for word in install if word.startswith(".")]
    assert set(wanted[1].split(",")) <= set(project["optional-dependencies"])
    assert install[install.index("--constraint") + 1] in ignored()
    assert {project["readme"], "LICENSE"} <= ignored()


def commands() -> dict[str, list[str]]:
    """The `lisax` commands of both files."""
    found = {"CMD": json.loads(of("CMD")[0])}
    found |= {run: run.split()[1:] for run in of("RUN") if "/bin/lisax " in run}
    return found | {name: one["command"] for name, one in COMPOSE["services"].items() if "command" in one}


@pytest.mark.parametrize("name", commands())
def test_the_commands_are_some_that_there_are(name):
    verb, words = root(), commands()[name]
    context = click.Context(verb)
    while isinstance(verb, click.Group):
        _, verb, words = verb.resolve_command(context, words)
    verb.make_context(verb.name, list(words))  # raises UsageError for an unknown option or a wrong value


def test_the_services_are_built_here_and_only_the_page_is_open_to_this_machine():
    services = COMPOSE["services"]
    assert [name for name, one in services.items() if one.get("build") != "."] == ["opensearch"]
    assert {name: one["ports"] for name, one in services.items() if "ports" in one} == {"page": ["127.0.0.1:8765:8765"]}
    assert of("EXPOSE") == ["8765"]
    used = {volume.partition(":")[0] for one in services.values() for volume in one.get("volumes", ())}
    assert {name for name in used if not name.startswith("$")} == set(COMPOSE["volumes"])
    for one in services.values():
        assert set(one.get("depends_on", ())) <= set(services)
