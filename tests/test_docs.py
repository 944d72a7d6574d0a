"""The documentation says what is so: outputs on its pages, the names of its API page, its version, the site's build."""

import re
import subprocess
import sys

import pytest
import yaml

import lisax
from lisax.cli import main
from lisax.weights.pretrained import MODELS
from tests.shown import PAGES, ROOT, shown, timeless, with_examples


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Runs a command or code in a folder with the examples, in this process, which has the imports; returns its output."""
    monkeypatch.chdir(with_examples(tmp_path))

    def printed(kind: str, *words: str) -> str:
        if kind == "-c":
            exec(words[0], {})
        else:
            assert main(words[1:]) == 0
        return capsys.readouterr().out

    return printed


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_stands_below_them(page, printed):
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")
    found = shown(ROOT / page)
    assert found
    for one in found:
        assert timeless(printed(*one.words)) == timeless(one.output), one.words


def test_the_api_answers_what_the_readme_shows(printed):
    """Which leaves some of the answer out; the API's is that of `check --json`, whatever the spaces."""
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")
    answer = re.search(r"```\n({\"claim\".*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    claim = re.search(r"'{\"claim\": \"(.*?)\"}'", (ROOT / "README.md").read_text(encoding="utf-8"))[1]
    words = ("-m", "lisax", "check", claim, "--corpus", "examples/pages", "--json")
    whole = "".join(printed(*words).split())
    assert re.match(".*".join(map(re.escape, "".join(answer.split()).split("…"))), whole)


def test_the_api_page_has_every_public_name():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\.\. auto\w+:: lisax\.(\w+)(?:\(\))?$", page, re.MULTILINE))
    assert named == {*lisax.__all__} - {"__version__"}


def test_the_version_has_its_place_in_the_changelog_and_its_notes():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert newest == lisax.__version__
    assert (ROOT / f"docs/releases/{newest}.md").is_file()


def test_hosted_ci_runs_what_ci_runs():
    steps = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]["ci"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run"]
    for form in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        content = yaml.safe_load(form.read_text(encoding="utf-8"))
        assert form.stem == "config" or {"name", "description", "body"} <= content.keys(), form


def test_pictures_are_there_for_light_and_dark_screens():
    """Of those that are HTML, which the site's build does not check."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {page: re.findall(r'(?:src|srcset)="([^"]+)"', page.read_text(encoding="utf-8")) for page in pages}
    found = {(page.parent / name).resolve() for page in named for name in named[page]}
    assert found == {*(ROOT / "docs/images").glob("*.png")}
    for names in named.values():
        assert {name.replace("-dark.png", ".png") for name in names[::2]} == {*names[1::2]}


def test_the_site_is_refused_where_a_link_leads_nowhere(tmp_path):
    pytest.importorskip("sphinx", reason="make docs installs it")
    (tmp_path / "index.md").write_text("# Page\n\n[there](nowhere.md), [below](#no-heading)\n")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", str(ROOT / "docs")]
    settings = ["-D", "root_doc=index", "-D", "include_patterns=index.md", "-D", "html_theme=basic"]
    done = subprocess.run([*command, *settings, tmp_path, tmp_path / "site"], capture_output=True, text=True)
    assert done.returncode == 1 and "nowhere.md" in done.stderr and "no-heading" in done.stderr
