"""Finds hard prose: the patterns of `prose_patterns.toml` in comments, docstrings, string literals and the docs.

`python -m tests.prose [ROOM…]` prints the hits of these rooms, or of all; `--write` records the current counts.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests/prose_patterns.toml"
_DATA = tomllib.loads(RECORDED.read_text(encoding="utf-8"))
PATTERNS = {name: re.compile(pattern) for name, pattern in _DATA["patterns"].items()}
MOST = _DATA.get("hits", {})
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def rooms() -> dict[str, list[Path]]:
    """The Python files per room, `tasks` (a link) included; `lisax` has the files at its top, `docs` the pages."""
    house = ROOT / "lisax"
    files = {path.name: sorted(path.resolve().rglob("*.py")) for path in sorted(house.iterdir()) if path.is_dir()}
    pages = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *house.resolve().glob("*/README.md")])
    others = {"lisax": sorted(house.glob("*.py")), "docs": [page for page in pages if page.name != "CHANGELOG.md"]}
    return {name: found for name, found in (others | files).items() if found}


def paragraphs(page: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each paragraph of a Markdown page, on one line; without blocks of code."""
    prose = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"), page, flags=re.MULTILINE | re.DOTALL)
    for match in re.finditer(r"\S.*?(?=\n\s*\n|\Z)", prose, re.DOTALL):
        yield prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split())


def texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each block of comments, docstring and string literal, on one line. Docstrings begin with `<doc>`;
    an f-string has `{}` for its values. Single words and word lists (`"…".split()`) are left out."""
    tree = ast.parse(source)
    docs, skipped = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docs.add(node.body[0].value)
        elif isinstance(node, ast.JoinedStr):
            skipped |= {*node.values}
            yield node.lineno, "".join(one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
        elif isinstance(node, ast.Attribute) and node.attr == "split":
            skipped.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and node not in skipped:
            yield node.lineno, "<doc>" * (node in docs) + " ".join(node.value.split())
    yield from _comments(source)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    begin, end, words = 0, 0, []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if words and token.start[0] != end + 1:
                yield begin, " ".join(words)
                words = []
            begin, end = begin if words else token.start[0], token.start[0]
            words.append(token.string.strip("# "))
    if words:
        yield begin, " ".join(words)


def hits(files: list[Path]) -> Iterator[tuple[Path, int, str, str]]:
    """(file, line, pattern, text) of each hit."""
    for path in files:
        parts = texts if path.suffix == ".py" else paragraphs
        for line, text in parts(path.read_text(encoding="utf-8")):
            for name, pattern in PATTERNS.items():
                yield from ((path, line, name, text) for _ in pattern.finditer(text))


def counts() -> dict[str, int]:
    return {room: sum(1 for _ in hits(files)) for room, files in rooms().items()}


def main(arguments: list[str]) -> None:
    if arguments == ["--write"]:
        head = RECORDED.read_text(encoding="utf-8").partition("\n[hits]\n")[0]
        lines = "".join(f"{room} = {min(count, MOST.get(room, count))}\n" for room, count in counts().items())
        RECORDED.write_text(f"{head}\n[hits]\n{lines}", encoding="utf-8")
        return
    for room, files in rooms().items():
        if not arguments or room in arguments:
            for path, line, name, text in hits(files):
                print(f"{path.relative_to(ROOT)}:{line}: {name}: {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
