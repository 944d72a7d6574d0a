"""README's first lines print what README says that they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_first_example_prints_what_stands_below_it():
    text = README.read_text(encoding="utf-8")
    code, printed = re.search(
        r"```python\n(from lisax import Checker.*?)```\n\n```\n(.*?)```", text, re.DOTALL
    ).groups()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(code, {})
    assert said.getvalue() == printed
