"""Markdown that is hard: input that would take a bad reader minutes."""

import time

import pytest

from lisax.documents import read


def texts(path):
    return [sentence.text for sentence in read(path).page("a").sentences]


@pytest.mark.parametrize(
    "bad",
    [
        f"# a{' ' * 5_000}#x",
        *(mark * 20_000 for mark in ("__a ", "`a ", "[a](", "![](", "](")),
        "J. B. Name, " * 10_000,
    ],
)
def test_bad_markdown_is_read_in_no_time(tmp_path, bad):
    (tmp_path / "a.md").write_text(f"Before. And on.\n\n{bad}\n")
    started = time.process_time()
    assert texts(tmp_path / "a.md")[:2] == ["Before.", "And on."]
    assert time.process_time() - started < 4  # it takes one, and grows with the length
