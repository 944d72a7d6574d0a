"""Every command that a page, a header or a message quotes names a verb and options that there are."""

import re
from pathlib import Path

import click
import pytest

from lisax.cli import verbs

ROOT = Path(__file__).parents[2]
ROOMS = ("lisax", "tasks", "gin_configs", "tpu_scripts", "benchmarks", "docs", "tests")
KINDS = {".py", ".md", ".gin", ".sh", ".html", ".txt", ""}
WORD = re.compile(r"[a-z][a-z0-9-]*(\|[a-z][a-z0-9-]*)*")


def quoted(text: str) -> list[str]:
    """Commands in backticks, and those with which a line (of a block, a comment, a string) begins."""
    found = []
    # A string or a comment that goes on in the next line is one text.
    text = re.sub(r'"\n\s*f?"', "", text)
    for match in re.finditer(r"`(?:\.venv/bin/)?lisax +([^`]+)`", text):
        found.append(re.sub(r"\s*\n[\s#]*", " ", match.group(1)))
    for match in re.finditer(r"^[\s#$]*(?:\S+=\S+ )?(?:\S*/bin/)?lisax +((?:.*\\\n)*.*)", text, re.MULTILINE):
        found.append(re.sub(r"\s*\\\n[\s#]*", " ", match.group(1)).partition(" #")[0])
    return found


def problem(command: str) -> str | None:
    """What a quoted command names that there is not; None for text that only looks like one."""
    words = command.replace("[", " ").replace("]", " ").split()
    if words[0].startswith("-"):
        return None
    if not re.fullmatch(WORD, words[0]) or (words[0] not in verbs.NAMES and "|" not in words[0] and len(words) > 1):
        options = [word for word in words if word.startswith("--")]
        return f"no verb '{words[0]}'" if options else None
    context = click.Context(verbs.Root("lisax"))
    for name in words[0].split("|"):
        verb = verbs.Root("lisax").get_command(context, name)
        if verb is None:
            return f"no verb '{name}'"
        reached, rest = [verb], words[1:]
        if isinstance(verb, verbs.VerbGroup) and rest and rest[0].isupper():  # PAPER, NAME: any verb of the group
            known = {option for one in verb.commands.values() for parameter in one.params for option in parameter.opts}
            if unknown := [word for word in rest if word.startswith("--") and word.rstrip(",.:)") not in known]:
                return f"no verb of '{name}' has an option {unknown[0]}"
            continue
        if rest and rest[0].startswith(("{", "…")):  # filled in when a message is printed; any of them
            continue
        if isinstance(verb, verbs.VerbGroup) and rest and re.fullmatch(WORD, rest[0]):
            names = rest.pop(0).split("|")
            if unknown := [one for one in names if one not in verb.commands]:
                return f"no verb '{name} {unknown[0]}'"
            reached = [verb.commands[one] for one in names]
        for word in rest:
            flag = word.rstrip(",.:)").partition("=")[0]
            if not flag.startswith("--") or "{" in flag:
                continue
            for one in reached:
                known = {option for parameter in one.params for option in (*parameter.opts, "--help")}
                if isinstance(one, verbs.VerbGroup):
                    return f"'{name}' needs a verb before {flag}"
                if flag not in known and not (flag.startswith("--gin.") and "--gin_bindings" in known):
                    return f"'{name}' has no option {flag}"
    return None


def files() -> list[Path]:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*.txt"), ROOT / "Makefile", ROOT / ".ci" / "run"]
    for room in ROOMS:
        pages += [path for path in (ROOT / room).rglob("*") if path.suffix in KINDS and path.is_file()]
    return [path for path in pages if "__pycache__" not in path.parts and path != Path(__file__)]


def test_quoted_commands_name_verbs_and_options_that_there_are():
    wrong, count = [], 0
    for path in files():
        for command in quoted(path.read_text(encoding="utf-8", errors="replace")):
            count += 1
            if said := problem(command):
                wrong.append(f"{path.relative_to(ROOT)}: lisax {command}: {said}")
    assert not wrong, "\n".join(wrong)
    assert count > 300


@pytest.mark.parametrize(
    "text, said",
    [
        ("`lisax evaluate fever --gold x`", "no verb 'evaluate'"),
        ("`lisax index bm25`", "no verb 'index bm25'"),
        (".venv/bin/lisax verify --checkpoint x", "'verify' has no option --checkpoint"),
        ("#   lisax run list5 \\\n#     --fold 3", "'run' has no option --fold"),
        ("`lisax train\n--steps=3`", "'train' has no option --steps"),
        ("`lisax attack --out x`", "'attack' needs a verb before --out"),
        ("`lisax retrieve documents|tables --index x`", None),
        ("`lisax train --gin.TRAIN_STEPS=3`", None),
        ("`lisax --help`", None),
        ("`lisax run NAME --until`", None),
        ("`lisax run NAME --untill`", "no verb of 'run' has an option --untill"),
    ],
)
def test_what_is_wrong_is_found(text, said):
    assert [problem(command) for command in quoted(text)] == [said]
