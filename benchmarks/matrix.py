"""Writes the matrix of the papers' figures and ours into RESULTS.md, from `gin_configs/experiments/*/reproduce.yaml`.

python -m benchmarks.matrix
"""

from __future__ import annotations

from pathlib import Path

from lisax.files.writing import atomic_write
from lisax.papers.reproductions import matrix_markdown, sheets

RESULTS = Path(__file__).parent / "RESULTS.md"
BEGIN, END = "<!-- matrix: python -m benchmarks.matrix -->\n\n", "\n\n<!-- end of the matrix -->\n"


def parts(text: str) -> tuple[str, str, str]:
    """What stands before the matrix, the matrix, and what stands behind it. Raises ValueError without the comments."""
    before, matrix = text.split(BEGIN)
    matrix, after = matrix.split(END)
    return before, matrix, after


def main() -> None:
    before, _, after = parts(RESULTS.read_text(encoding="utf-8"))
    with atomic_write(RESULTS, "w") as file:
        file.write(before + BEGIN + matrix_markdown(sheets()) + END + after)


if __name__ == "__main__":
    main()
