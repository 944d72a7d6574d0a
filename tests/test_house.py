"""The house in order: rooms import downwards, no circles, and the code as ruff formats it. `make lint` says the same."""

from __future__ import annotations

import graphlib
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from tests import prose

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("command", ["ruff check", "ruff format --check"])
def test_the_code_is_as_ruff_would_have_it(command):
    done = subprocess.run([sys.executable, "-m", *command.split(), "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rooms_import_downwards_alone():
    """The layers of [tool.importlinter] in pyproject.toml."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", code, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_imports_itself_by_way_of_others():
    """Imports inside functions count: a circle that is cut by one of them is a circle."""
    graph = grimp.build_graph("lisax", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    imports["lisax"] = set()  # the public names, imported when they are asked for
    # `Index.open`, `Index.build` and `Verifier.open` are functions of the protocols that indexes and verifiers follow.
    imports["lisax.predict.verifier"] -= {"lisax.predict.table_verifier"}
    imports["lisax.predict.index"] -= {f"lisax.predict.{kind}_index" for kind in ("page", "passage", "table")}
    # An architecture builds its network, whose module brings flax: a bundle is read without it.
    networks = ("t5", "encoder", "table_fusion", "evidence_pointer", "dual_encoder", "pair", "reader")
    imports["lisax.models.architectures"] -= {f"lisax.models.{network}" for network in networks}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_the_tasks_are_imported_by_one_name():
    """seqio registers a name once: `tasks` is for T5X in a checkout, all else imports `lisax.tasks`."""
    graph = grimp.build_graph("lisax", cache_dir=None, include_external_packages=True)
    assert "tasks" not in graph.modules and "lisax.tasks.register" in graph.modules


def test_the_prose_gets_no_harder():
    """Hits of the eight patterns per room; `python -m tests.prose --write` records counts that fell."""
    risen = {room: count for room, count in prose.counts().items() if count > prose.MOST.get(room, 0)}
    assert not risen, f"more than {prose.MOST}: python -m tests.prose {' '.join(risen)}"


def test_each_prose_pattern_finds_its_example_and_leaves_plain_prose_alone():
    hard = {
        "headless": '"""Reads what is told."""',
        "fragment": '"""Of a model\'s checkpoint."""',
        "telling": "x = f'{x} tells'",
        "where": "# None where there is none",
        "standing": "# stands beside\n# and goes on",
        "counting": "# a line a call, as many",
        "alone": "# anew",
        "no": "x = 'are no numbers'",
    }
    plain = '"""Returns the values that a model reports."""\nWORDS = "what alone".split()  # there is no such word'
    assert {*hard} == {*prose.PATTERNS}
    for name, pattern in prose.PATTERNS.items():
        assert any(pattern.search(text) for _, text in prose.texts(hard[name])), name
        assert not any(pattern.search(text) for _, text in prose.texts(plain)), name


def test_the_prose_of_pages_is_their_paragraphs_without_code():
    page = "# What is told\n\n```\nanew\n```\n\nplain\ntext\n"
    assert [*prose.paragraphs(page)] == [(1, "# What is told"), (7, "plain text")]
