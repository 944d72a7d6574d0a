"""`docs/gin.md` lists every name that gin files may set: `python tests/gin_configs/test_gin_reference.py` writes it again."""

import dataclasses
import inspect
import re
from pathlib import Path

import gin

from lisax.training.gin_files import DEFAULTS, GIN_CONFIGS, register_configurables
from lisax.training.t5x_names import ANY, NO_EFFECT, REFUSED, SAME

PAGE = Path(__file__).parents[2] / "docs/gin.md"
FOLDERS = ("models", "runs")
MARK = "<!-- tables -->\n"


def macros() -> list[str]:
    """A line for each macro that a file of `gin_configs/models` or `runs` sets."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(path for folder in FOLDERS for path in (GIN_CONFIGS / folder).glob("*.gin")):
        for name, value in re.findall(r"^([A-Z]\w*) *= *([^#\n]*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name, {})[f"{path.parent.name}/{path.name}"] = value.strip()
    for name, value in re.findall(r"(\w+) = (.*)", DEFAULTS):
        found.setdefault(name, {})["else"] = value
    rows = []
    for name, places in sorted(found.items()):
        values = {value: [place for place in places if places[place] == value] for value in places.values()}
        said = "; ".join(f"`{value}` ({', '.join(where)})" for value, where in values.items())
        rows.append(f"| `{name}` | {said.replace('|', chr(92) + '|')} |\n")
    return ["| macro | value, and the file that sets it |\n|---|---|\n", *rows]


def configurables() -> list[str]:
    register_configurables()
    lines = ["| name | default |\n|---|---|\n"]
    for selector, entry in sorted(gin.config._REGISTRY.items()):
        cls = getattr(inspect.unwrap(entry.wrapped), "made", None)
        if cls is None or not (
            (dataclasses.is_dataclass(cls) or inspect.isfunction(cls))
            and cls.__module__.startswith(
                ("lisax.devices", "lisax.training", "lisax.weights", "lisax.scoring", "lisax.models")
            )
        ):
            continue
        for name, parameter in inspect.signature(cls).parameters.items():
            default = parameter.default
            plain = default is None or isinstance(default, (bool, int, float, str, tuple))
            said = "must be given" if default is parameter.empty else repr(default) if plain else type(default).__name__
            lines.append(f"| `{selector}.{name}` | `{said}` |\n")
    return lines


def t5x_names() -> list[str]:
    def values(given: tuple) -> str:
        return "any" if ANY in given else ", ".join(f"`{value!r}`" for value in given)

    return [
        "| T5X's | here |\n|---|---|\n",
        "| `evaluate` | `eval` |\n",
        *(f"| `{of}.{theirs}` | `{of}.{ours}` |\n" for of, names in SAME.items() for theirs, ours in names.items()),
        "\nThese change nothing; a value that is not listed is an error:\n\n",
        "| T5X's | values | because |\n|---|---|---|\n",
        *(f"| `{name}` | {values(given)} | {why} |\n" for name, (given, why) in NO_EFFECT.items()),
        "\nThese are errors:\n\n| T5X's | because |\n|---|---|\n",
        *(f"| `{name}` | {why} |\n" for name, why in REFUSED.items()),
    ]


def tables() -> str:
    sections = {"Macros": macros(), "Fields": configurables(), "T5X's names": t5x_names()}
    return "".join(f"\n## {title}\n\n{''.join(lines)}" for title, lines in sections.items())


def test_the_page_lists_what_gin_files_may_set():
    assert PAGE.read_text(encoding="utf-8").partition(MARK)[2] == tables(), __doc__


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text(encoding="utf-8").partition(MARK)[0] + MARK + tables(), encoding="utf-8")
