"""What pages and examples show: commands and code with the output that stands below them.

`python -m tests.shown` runs all of them and writes their outputs anew, after a change that moves these on purpose.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/start.md", "docs/documents.md", "docs/data.md", "docs/how_it_works.md")
EXAMPLES = ROOT / "examples"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_PYTHON = re.compile(r"```python\n([^`]*?)```\n\n```\n(.*?)```", re.DOTALL)
_COMMAND = re.compile(r"^\$ lisax (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_SECONDS = re.compile(r"\d+(\.\d+)? s$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Shown:
    """Python's arguments, and the output that a page shows for them, from character `begin` of the page."""

    words: tuple[str, ...]
    output: str
    begin: int

    def run(self, folder: Path) -> str:
        """What it prints in a folder. Raises RuntimeError with its errors where it fails."""
        done = subprocess.run([sys.executable, *self.words], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{shlex.join(self.words)}: {done.stderr}")
        return done.stdout


def shown(page: Path) -> list[Shown]:
    """The commands and the code of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = [
        Shown(("-m", "lisax", *shlex.split(command[1])), command[2], block.start(1) + command.start(2))
        for block in _CONSOLE.finditer(text)
        for command in _COMMAND.finditer(block[1])
    ]
    found += [Shown(("-c", code[1]), code[2], code.start(2)) for code in _PYTHON.finditer(text)]
    return sorted(found, key=lambda one: one.begin)


def with_examples(folder: Path) -> Path:
    """The folder, in which `examples` is what it is in the checkout."""
    (folder / "examples").symlink_to(EXAMPLES)
    return folder


def timeless(output: str) -> str:
    """An output without the seconds at the ends of its lines."""
    return _SECONDS.sub("… s", output)


def scripts() -> list[Path]:
    return sorted(EXAMPLES.glob("*.py"))


def main() -> None:
    for name in PAGES:
        page = ROOT / name
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as made:
            folder = with_examples(Path(made))
            outputs = [(one, one.run(folder)) for one in shown(page)]
        for one, output in reversed(outputs):
            if timeless(output) != timeless(one.output):
                text = text[: one.begin] + output + text[one.begin + len(one.output) :]
        page.write_text(text, encoding="utf-8")
    for script in scripts():
        with tempfile.TemporaryDirectory() as made:
            output = Shown((str(script),), "", 0).run(Path(made))
        script.with_suffix(".txt").write_text(output, encoding="utf-8")


if __name__ == "__main__":
    main()
