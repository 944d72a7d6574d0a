"""Cases of a test, kept as a table beside it: fields separated by tabs, the names in the first line, `#` for comments."""

from itertools import zip_longest
from pathlib import Path


def table(test: str, name: str) -> tuple[list[str], list[tuple[str | None, ...]]]:
    """The names and the rows, as `pytest.mark.parametrize` takes them; an empty field is None."""
    lines = Path(test).with_name(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    names, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert all(len(row) <= len(names) for row in rows), name
    return names, [tuple(field or None for field, _ in zip_longest(row, names)) for row in rows]
